"""Whatever stands in a PMML file beside its model is named, wherever it stands, and goes with the file's redaction."""

import pytest

from tests.kit.rows import rows
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import formats, load_model, open_model
from treewarden.ppdm_models.formats.common.origin import MOST_SIGNS
from treewarden.ppdm_models.tree.side_channels import LeakGroup, LeakKind

SECRET = "30,m,Anna Schmidt,1961-03-04,HIV"
PLAIN = """<?xml version="1.0"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
  <Header><Application name="tool" version="1.0"/></Header>
  <DataDictionary>
    <DataField name="age" optype="continuous" dataType="double"/>
    <DataField name="flu" optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>
  </DataDictionary>
  <TreeModel functionName="classification" splitCharacteristic="binarySplit">
    <MiningSchema><MiningField name="age"/><MiningField name="flu" usageType="target"/></MiningSchema>
    <Node id="0" score="no" recordCount="40"><True/>
      <Node id="1" score="no" recordCount="20"><SimplePredicate field="age" operator="lessOrEqual" value="30"/></Node>
      <Node id="2" score="yes" recordCount="20"><SimplePredicate field="age" operator="greaterThan" value="30"/></Node>
    </Node>
  </TreeModel>
</PMML>
"""
ELEMENTS = (
    f'<Extension name="x" value="{SECRET}"/>',
    f"<Extension>{SECRET}</Extension>",
    f"<Extension><row>{SECRET}</row></Extension>",
    f'<Extension name="treewarden:note" value="{SECRET}"/>',
    f'<Extension name="treewarden:{SECRET}" value="1"/>',
    '<Extension name="treewarden:rows" value="30,1;50,0;30,1"/>',
    f'<Extension name="storageType" extender="{SECRET}" value="string"/>',
    f'<x:Rows xmlns:x="http://example.org/x"><x:r>{SECRET}</x:r></x:Rows>',
    f'<ModelVerification xmlns="http://example.org/x"><row>{SECRET}</row></ModelVerification>',
    f"<![CDATA[{SECRET}]]>",
    SECRET,
    f"<?note {SECRET}?>",
    f"<!-- {SECRET} -->",
)
PLACES = (
    "</Header>",
    "</DataDictionary>",
    "</DataField>",
    "</MiningSchema>",
    "</TreeModel>",
    "</PMML>",
    "<True/>",
)
ATTRIBUTES = (
    ("<Header>", f'<Header description="{SECRET}">'),
    ("<Header>", f'<Header modelVersion="{SECRET}">'),
    ('<Application name="tool"', f'<Application name="{SECRET}"'),
    ('name="tool" version="1.0"', f'name="tool" version="{SECRET}"'),
    ("<TreeModel ", f'<TreeModel modelName="{SECRET}" '),
    ("<TreeModel ", f'<TreeModel algorithmName="{SECRET}" '),
    ("<TreeModel ", f'<TreeModel note="{SECRET}" '),
    ("<TreeModel ", f'<TreeModel x-mathContext="{SECRET}" '),
    ("<TreeModel ", f'<TreeModel isScorable="{SECRET}" '),
    ("<DataField ", f'<DataField displayName="{SECRET}" '),
    ("<DataField ", f'<DataField taxonomy="{SECRET}" '),
    ("<DataDictionary>", f'<DataDictionary numberOfFields="{SECRET}">'),
    ("<MiningField ", f'<MiningField importance="{SECRET}" '),
    ('<Value value="no"/>', f'<Value value="no" displayValue="{SECRET}"/>'),
    ('<Node id="1"', f'<Node id="{SECRET}"'),
    ('<Node id="1"', f'<Node note="{SECRET}" id="1"'),
    (
        "</DataDictionary>",
        f'<DataField name="z" optype="categorical" dataType="string"><Value value="{SECRET}"/>'
        "</DataField></DataDictionary>",
    ),
)


INNER = (
    '<DecisionTree functionName="classification" modelName="refined"><Node id="e0" score="no"><True/>'
    '<Node id="e1" score="yes" recordCount="1"><SimplePredicate field="age" operator="equal" value="30"/></Node>'
    "</Node></DecisionTree>"
)
MISPLACED = (
    ("<True/>", f"<True/>{INNER}"),
    ("<True/>", f"<True/><Extension name='x'>{INNER}</Extension>"),
    (
        "<True/>",
        '<True/><Regression functionName="regression"><RegressionTable intercept="1"><NumericPredictor name="age" '
        'coefficient="44"/></RegressionTable></Regression>',
    ),
    ("<True/>", '<True/><Partition name="p"><PartitionFieldStats field="age"/></Partition>'),
    ("<True/>", f"<True/><Timestamp>{SECRET}</Timestamp>"),
    ("<True/>", f"<True/><Annotation>{SECRET}</Annotation>"),
    ("<True/>", f'<True/><MiningField name="{SECRET}"/>'),
    ("<True/>", f'<True/><Value value="{SECRET}"/>'),
    ("<True/>", '<True/><ModelVerification recordCount="1"/>'),
    ("<True/>", '<True/><ModelStats><UnivariateStats field="age"/></ModelStats>'),
    ("</TreeModel>", f"{INNER}</TreeModel>"),
    ("</TreeModel>", '<Node id="9" score="yes" recordCount="1"><True/></Node></TreeModel>'),
    (
        "</TreeModel>",
        '<MiningSchema><MiningField name="age"/></MiningSchema></TreeModel>',
    ),
    (
        "</TreeModel>",
        '<Output><OutputField name="p" feature="predictedValue"/></Output>'
        f'<Output><OutputField name="q" feature="transformedValue"><Constant>{SECRET}</Constant></OutputField></Output>'
        "</TreeModel>",
    ),
    (
        "</TreeModel>",
        f'<Output><OutputField name="q" feature="transformedValue"><Constant>{SECRET}</Constant></OutputField></Output>'
        "</TreeModel>",
    ),
    ("</TreeModel>", f'<Output><OutputField name="{SECRET}"/></Output></TreeModel>'),
    ("</TreeModel>", '<Output><OutputField name="Anna is 30 and ill"/></Output></TreeModel>'),
    (
        "</TreeModel>",
        f'<Output><OutputField name="p" feature="probability" value="{SECRET}"/></Output></TreeModel>',
    ),
    (
        "</TreeModel>",
        '<Output><OutputField name="q" feature="transformedValue"><MapValues outputColumn="o"><FieldColumnPair '
        f'field="age" column="i"/><InlineTable><row><i>1</i><o>{SECRET}</o></row></InlineTable></MapValues>'
        "</OutputField></Output></TreeModel>",
    ),
    (
        "</MiningSchema>",
        f'</MiningSchema><LocalTransformations><DerivedField name="{SECRET}" optype="continuous" dataType="double">'
        '<FieldRef field="age"/></DerivedField></LocalTransformations>',
    ),
    (
        "</MiningSchema>",
        '</MiningSchema><LocalTransformations><DerivedField name="d" optype="categorical" dataType="string">'
        f"<Constant>{SECRET}</Constant></DerivedField></LocalTransformations>",
    ),
    (
        "</DataDictionary>",
        '</DataDictionary><TransformationDictionary><DefineFunction name="f" optype="categorical"><ParameterField '
        f'name="{SECRET}"/><Constant>{SECRET}</Constant></DefineFunction></TransformationDictionary>',
    ),
    ("</MiningSchema>", f'<MiningField name="{SECRET}" usageType="supplementary"/></MiningSchema>'),
    ("</DataDictionary>", f'<DataField name="{SECRET}" optype="continuous"/></DataDictionary>'),
    ("</DataDictionary>", f"</DataDictionary><DataDictionary>{SECRET}</DataDictionary>"),
    ("<PMML ", f'<!DOCTYPE PMML [<!-- {SECRET} --><!ENTITY e "{SECRET}">]><PMML '),
    ("<PMML ", '<PMML xmlns:x="30:Anna" '),
    ("<PMML ", '<PMML xmlns:Anna_Schmidt_has_HIV="http://www.dmg.org/PMML-4_4" '),
    ("<PMML ", f'<PMML xml:lang="{SECRET}" '),
    ("<PMML ", f'<PMML xmlns:ns1="http://www.dmg.org/PMML-4_4" ns1:x="{SECRET}" '),
    ("<TreeModel ", '<TreeModel Anna_Schmidt_has_HIV="" '),
    ("</PMML>\n", f"</PMML><!-- {SECRET} -->"),
    (
        '<SimplePredicate field="age" operator="lessOrEqual" value="30"/></Node>',
        '<SimplePredicate field="age" operator="lessOrEqual" value="30"/><Node id="7" score="no"><CompoundPredicate '
        'booleanOperator="or"><SimplePredicate field="age" operator="isMissing" value="Anna"/><True/>'
        "</CompoundPredicate></Node></Node>",
    ),
)
"""What is replaced in the plain file, and by what: parts that PMML has, where nothing evaluates them."""
SENTENCES = (
    f"<Header><Timestamp>{SECRET}</Timestamp>",
    "<Header><Timestamp>Anna Schmidt, 30, has HIV</Timestamp>",
    "<Header><Timestamp>2020-01-01 Anna Schmidt has HIV</Timestamp>",
    "<Header><Timestamp>2020-01-01<Extension>Anna has HIV</Extension></Timestamp>",
    '<Header><Timestamp note="Anna has HIV">2020-01-01</Timestamp>',
    '<Header copyright="Anna Schmidt, 30, has HIV">',
    '<Header copyright="Copyright (c) 2020 Anna Schmidt is 30 and has HIV">',
    '<Header modelVersion="Anna has HIV">',
)
MOMENTS = (
    *("2026-11-20T15:10:41Z", "2026-11-20 15:11:51.570132", "2026-11-20", "2020", "20261120"),
    *("May 21, 2017 5:45:45 PM", "Sep 16, 2013 1:21:46 PM", "Mon Nov 20 15:10:41 CET 2026"),
    *("Fri, 20 Nov 2026 15:10:41 +0100", "20.11.2026 15:10", "11/20/2026 3:10:41 PM", "1795182041"),
    *("2026-11-20T15:10:41+01:00", "20 November 2026", "Fri Nov 20 15:10:41 2026", ""),
)
MAKERS = (
    *("DMG.org", "Copyright (c) 2026 root", "Copyright (c) 2021 Software AG", "Jo Doe", "vfed"),
    *("Copyright(c) 2002 SAS Institute Inc., Cary, NC, USA. All Rights Reserved.", "2026"),
    *("(C) Copyright IBM Corp. 1994, 2011", "TIBCO Statistica, Copyright 2019 TIBCO Software Inc."),
    "Copyright(c) SPSS Inc. 1989-2009. All rights reserved.",
)


def people_leaks(text: str) -> list[LeakKind]:
    data = text.encode()
    found = open_model(data, "model.pmml").leaks
    return [leak.kind for leak in found if leak.kind.group is LeakGroup.PEOPLE]


def test_a_file_that_is_all_model_gives_nothing_away():
    assert people_leaks(PLAIN) == []


def test_a_band_of_our_own_is_part_of_the_model_whatever_its_class_is_called():
    band = '<Extension name="treewarden:band" value="0 10 &gt;50K a year"/>'
    text = PLAIN.replace('"yes"', '"&gt;50K a year"')
    node = '<SimplePredicate field="age" operator="greaterThan" value="30"/>'
    text = text.replace(node, f"{band}{node}")
    assert load_model(text.encode(), "model.pmml").nodes[2].bands == (None, (0.0, 10.0))
    assert people_leaks(text) == []


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("element", ELEMENTS)
def test_a_record_is_named_wherever_it_hides_and_goes_with_redaction(element, place):
    text = PLAIN.replace(
        place,
        f"{place if place == '<True/>' else ''}{element}{'' if place == '<True/>' else place}",
        1,
    )
    assert people_leaks(text)
    clean = formats()["pmml"].open(text.encode(), "model.pmml").without(frozenset(LeakKind))
    assert b"Anna" not in clean
    assert people_leaks(clean.decode()) == []
    assert load_model(clean, "model.pmml") == load_model(PLAIN.encode(), "model.pmml")


@pytest.mark.parametrize(("old", "new"), ATTRIBUTES)
def test_a_record_in_an_attribute_is_named(old, new):
    assert old in PLAIN
    assert people_leaks(PLAIN.replace(old, new, 1))


def test_a_document_type_is_named():
    assert people_leaks(PLAIN.replace("<PMML", f'<!DOCTYPE PMML SYSTEM "{SECRET}"><PMML', 1))


@rows(("old", "new"), MISPLACED)
def test_what_stands_where_nothing_evaluates_it_is_named_and_goes_with_redaction(old, new):
    assert old in PLAIN
    text = PLAIN.replace(old, new, 1)
    assert LeakKind.UNKNOWN in people_leaks(text)
    clean = redacted(text)
    assert people_leaks(clean) == []
    assert not any(word in clean for word in ("Anna", "DecisionTree", "Regression", "Partition"))


def redacted(text: str) -> str:
    clean = formats()["pmml"].open(text.encode(), "model.pmml").without(frozenset(LeakKind))
    assert load_model(clean, "model.pmml") == load_model(text.encode(), "model.pmml")
    return clean.decode()


@pytest.mark.parametrize("header", SENTENCES)
def test_a_sentence_in_a_field_of_origin_is_no_origin(header):
    text = PLAIN.replace("<Header>", header, 1)
    assert LeakKind.UNKNOWN in people_leaks(text)
    assert people_leaks(redacted(text)) == []


@rows("moment", MOMENTS)
def test_a_moment_as_programs_write_it_is_origin(moment):
    assert people_leaks(PLAIN.replace("<Header>", f"<Header><Timestamp>{moment}</Timestamp>")) == []


@pytest.mark.parametrize("maker", MAKERS)
def test_a_copyright_as_programs_write_it_is_origin(maker):
    assert people_leaks(PLAIN.replace("<Header>", f'<Header copyright="{maker}">')) == []


@pytest.mark.parametrize(
    "setting", ["criterion", "unmodelled", "tool", "sets", "quality", "min-leaf-records"]
)
def test_a_setting_of_our_own_says_words_of_a_list_only(setting):
    item = f'<Extension name="treewarden:{setting}" value="anna schmidt has hiv"/>'
    data = PLAIN.replace("<MiningSchema>", f"{item}<MiningSchema>", 1).encode()
    try:
        found = open_model(data, "model.pmml").leaks
    except TreeFormatError:
        return
    assert LeakKind.UNKNOWN in [leak.kind for leak in found]


def test_counts_of_classes_in_a_tree_of_numbers_are_named():
    text = PLAIN.replace("classification", "regression").replace(
        '"no" recordCount', '"1" recordCount'
    )
    text = text.replace('"yes" recordCount', '"2" recordCount').replace(
        'name="flu" optype="categorical" dataType='
        '"string"><Value value="no"/><Value value="yes"/></DataField>',
        'name="flu" optype="continuous"/>',
    )
    assert people_leaks(text) == []
    part = f'<ScoreDistribution value="{SECRET}" recordCount="1"/>'
    text = text.replace("<True/>", f"<True/>{part}", 1)
    assert people_leaks(text) == [LeakKind.UNKNOWN]
    assert people_leaks(redacted(text)) == []


def test_a_table_that_is_looked_up_holds_the_columns_that_it_names():
    table = (
        '<TransformationDictionary><DerivedField name="code" optype="continuous" dataType="double"><MapValues '
        'outputColumn="out"><FieldColumnPair field="town" column="in"/><InlineTable><row><in>A</in><out>1</out>{}</row>'
        "<row><in>B</in><out>2</out></row></InlineTable></MapValues></DerivedField></TransformationDictionary>"
    )
    values = '<Value value="A"/><Value value="B"/>'
    town = f'<DataField name="town" optype="categorical" dataType="string">{values}</DataField>'
    text = PLAIN.replace("</DataDictionary>", f"{town}</DataDictionary>{table}")
    text = text.replace("<MiningSchema>", '<MiningSchema><MiningField name="town"/>')
    text = text.replace('field="age"', 'field="code"').replace('value="30"', 'value="1.5"')
    assert people_leaks(text.replace("{}", "")) == []
    assert people_leaks(text.replace("{}", f"<in>{SECRET}</in>")) == [LeakKind.UNKNOWN]
    for cell in (f"<note>{SECRET}</note>", SECRET, f"<x>{SECRET}</x>"):
        extended = text.replace("{}", cell)
        assert people_leaks(extended) == [LeakKind.UNKNOWN]
        assert people_leaks(redacted(extended)) == []


@pytest.mark.parametrize("element", ["Node", "DecisionTree", "Extension", "x"])
def test_elements_that_nest_beyond_all_bounds_are_refused(element):
    deep = f"<{element}>" * 10_000 + f"</{element}>" * 10_000
    with pytest.raises(TreeFormatError, match="nest"):
        load_model(PLAIN.replace("<True/>", f"<True/>{deep}", 1).encode(), "model.pmml")


def test_a_huge_attribute_and_a_model_inside_that_is_damaged_end_in_a_leak():
    huge = PLAIN.replace("<TreeModel ", f'<TreeModel note="{"x" * 5_000_000}" ')
    assert people_leaks(huge) == [LeakKind.UNKNOWN]
    twice = PLAIN.replace("<True/>", f"<True/>{INNER.replace('e1', 'e0')}")
    assert people_leaks(twice) == [LeakKind.UNKNOWN]


@pytest.mark.parametrize("place", ["<Header>", "<DataDictionary>", "<TreeModel "])
def test_a_model_that_stands_before_the_model_changes_nothing_of_how_that_is_read(place):
    hidden = f"<Extension>{INNER}</Extension>"
    text = PLAIN.replace(
        place, f"{hidden}{place}" if place == "<TreeModel " else f"{place}{hidden}"
    )
    assert load_model(text.encode(), "model.pmml") == load_model(PLAIN.encode(), "model.pmml")
    assert people_leaks(text) == [LeakKind.UNKNOWN]
    assert people_leaks(redacted(text)) == []


def test_fields_that_are_declared_behind_the_model_are_an_error_and_not_guessed():
    start, end = PLAIN.index("  <DataDictionary>"), PLAIN.index("  <TreeModel")
    late = PLAIN[:start] + PLAIN[end:].replace("</PMML>", f"{PLAIN[start:end]}</PMML>")
    with pytest.raises(TreeFormatError, match="comes after a model"):
        load_model(late.encode(), "model.pmml")


SENTENCE = "patient 4711 has hiv"
HARMLESS = """<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>
<DataDictionary>
<DataField name="age" optype="continuous" dataType="double"/>
<DataField name="flu" optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>
</DataDictionary>
<TreeModel functionName="classification" splitCharacteristic="binarySplit">
<MiningSchema><MiningField name="age"/><MiningField name="flu" usageType="target"/></MiningSchema>
<Output><OutputField name="p" optype="categorical" dataType="string" feature="predictedValue"/></Output>
<LocalTransformations><DerivedField name="double(age)" optype="continuous" dataType="double"><FieldRef field="age"/>
</DerivedField></LocalTransformations>
<Node id="0" score="no"><True/>
<Node id="1" score="no"><SimplePredicate field="double(age)" operator="lessOrEqual" value="30"/></Node>
<Node id="2" score="yes"><SimplePredicate field="double(age)" operator="greaterThan" value="30"/></Node>
</Node></TreeModel></PMML>"""
NAMED = {
    "a field by which records are grouped": (
        '<MiningField name="age"/>',
        f'<MiningField name="age"/><MiningField name="{SENTENCE}" usageType="group"/>',
    ),
    "a weight": (
        '<MiningField name="age"/>',
        f'<MiningField name="age"/><MiningField name="{SENTENCE}" usageType="frequencyWeight"/>',
    ),
    "the field that a result is of": (
        'feature="predictedValue"',
        f'feature="predictedValue" targetField="{SENTENCE}"',
    ),
    "a derived field": ("double(age)", SENTENCE),
    "a class that nobody has": (
        '<Value value="no"/>',
        f'<Value value="{SENTENCE}"/><Value value="no"/>',
    ),
}


@pytest.mark.parametrize("case", NAMED)
def test_a_sentence_as_a_name_is_told(case):
    old, new = NAMED[case]

    def unknown(text):
        leaks = open_model(text.encode(), "m.pmml").leaks
        return [leak for leak in leaks if leak.kind is LeakKind.UNKNOWN]

    assert unknown(HARMLESS) == []
    assert old in HARMLESS
    assert unknown(HARMLESS.replace(old, new))


@pytest.mark.parametrize(("outliers", "removable"), [("asIs", True), ("asExtremeValues", False)])
def test_ends_of_a_field_of_the_schema_are_extremes(outliers, removable):
    ends = f'<MiningField name="age" outliers="{outliers}" lowValue="20" highValue="80"/>'
    text = HARMLESS.replace('<MiningField name="age"/>', ends)
    (leak,) = open_model(text.encode(), "m.pmml").leaks
    assert (leak.kind, leak.removable) == (LeakKind.EXTREMES, removable)


def test_what_a_model_has_may_be_named_again_and_nothing_else():
    result = '<Output><OutputField name="p" feature="predictedValue" targetField="{}"/></Output>'
    for name, is_told in (("flu", False), (SECRET, True)):
        text = PLAIN.replace("</MiningSchema>", f"</MiningSchema>{result.format(name)}")
        leaks = open_model(text.encode(), "x").leaks
        assert ["'targetField'" in leak.what for leak in leaks] == [True] * is_told


def test_a_class_that_nodes_predict_may_be_called_anything():
    assert open_model(PLAIN.replace('"no"', f'"{SECRET}"').encode(), "x").leaks == ()


def test_a_field_that_nobody_asks_for_declares_few_numbers_or_is_told():
    for number, is_told in ((MOST_SIGNS, False), (MOST_SIGNS + 1, True)):
        values = "".join(f'<Value value="{value}"/>' for value in range(number))
        field = f'<DataField name="z" optype="categorical" dataType="integer">{values}</DataField>'
        text = PLAIN.replace("</DataDictionary>", f"{field}</DataDictionary>")
        told = [leak.what for leak in open_model(text.encode(), "x").leaks]
        assert any("that no model uses" in what for what in told) is is_told, number


def test_an_attribute_that_no_node_has_goes_and_is_not_only_called_otherwise():
    data = PLAIN.replace('<Node id="1"', f'<Node note="{SECRET}" id="1"').encode()
    (leak,) = open_model(data, "x").leaks
    assert "'note' of Node" in leak.what
    assert b"note=" not in open_model(data, "x").opened.without(frozenset({leak.kind}))
