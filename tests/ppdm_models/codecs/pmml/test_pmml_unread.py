"""Whatever stands in a PMML file beside its model is named, wherever it stands, and goes with the file's redaction."""

import pytest

from ppdm_models.files.load import formats, load_model, open_model
from ppdm_models.tree.leaks import LeakGroup, LeakKind

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
