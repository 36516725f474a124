"""Statistics, lists of values and surplus digits that stand in the model itself of a PMML file."""

import pytest

from tests.kit.rows import rows
from tests.ppdm_models.formats.pmml.test_pmml_unread import ATTRIBUTES, PLAIN, SECRET
from treewarden.ppdm_models.files.load import formats, open_model
from treewarden.ppdm_models.formats.common.origin import has_digits_of_double
from treewarden.ppdm_models.tree.side_channels import LeakKind

AGE = '<DataField name="age" optype="continuous" dataType="double"/>'
USE = '<MiningField name="age"/>'
TOWN = '<DataField name="town" optype="categorical" dataType="string">{}</DataField>'
ASK = '<MiningField name="town"/><MiningField name="age"/>'
FIRST = '<SimplePredicate field="age" operator="lessOrEqual" value="30"/>'
SECOND = '<SimplePredicate field="age" operator="greaterThan" value="30"/>'
LONG = "30.000000000000000000413471"
LONGER = f"30.{'0' * 20}{'413471' * 30}"


def leaks(text):
    return open_model(text.encode(), "m.pmml").leaks


def kinds(text):
    return [leak.kind for leak in leaks(text)]


def replaced(*pairs):
    text = PLAIN
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def declared(values, tag="Value", more=""):
    return "".join(f'<{tag} value="{value}"{more}/>' for value in values)


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ('missingValueReplacement="41.3"', LeakKind.AVERAGES),
        ('missingValueReplacement="0" missingValueTreatment="asValue"', LeakKind.AVERAGES),
        ('missingValueReplacement="41" missingValueTreatment="asMode"', LeakKind.AVERAGES),
        ('missingValueReplacement="41" missingValueTreatment="asMean"', LeakKind.AVERAGES),
        ('missingValueReplacement="41" missingValueTreatment="asMedian"', LeakKind.MEDIANS),
    ],
)
def test_what_missing_numbers_become_is_a_statistic(attributes, kind):
    (leak,) = leaks(replaced((USE, f'<MiningField name="age" {attributes}/>')))
    assert (leak.kind, leak.removable) == (kind, False)


@pytest.mark.parametrize(("text", "kinds_told"), [("missing", []), ("ulm", [LeakKind.AVERAGES])])
def test_what_missing_categories_become_is_a_statistic_but_a_word_for_no_value(text, kinds_told):
    town = TOWN.format(declared(["ulm", "bonn", "missing"]))
    use = f'<MiningField name="town" missingValueReplacement="{text}"/>{USE}'
    test = '<SimplePredicate field="town" operator="{}" value="bonn"/>'
    tests = ((FIRST, test.format("equal")), (SECOND, test.format("notEqual")))
    assert kinds(replaced((AGE, AGE + town), (USE, use), *tests)) == kinds_told


def scaled(*points):
    norms = "".join(f'<LinearNorm orig="{orig}" norm="{norm}"/>' for orig, norm in points)
    field = (
        '<LocalTransformations><DerivedField name="scale" optype="continuous" dataType="double">'
        f'<NormContinuous field="age">{norms}</NormContinuous></DerivedField></LocalTransformations>'
    )
    return replaced(
        ("</MiningSchema>", f"</MiningSchema>{field}"), ('field="age" op', 'field="scale" op')
    )


@pytest.mark.parametrize(
    ("points", "kinds_told"),
    [
        ([("0", "0"), ("1", "100")], []),
        ([("0", "-1"), ("1000", "0.125")], []),
        ([("18", "0"), ("87", "1")], [LeakKind.EXTREMES]),
        ([("0", "-0.26"), ("1", "-0.246")], [LeakKind.EXTREMES]),
    ],
)
def test_points_of_a_scaling_are_extremes_but_where_people_choose_them(points, kinds_told):
    assert kinds(scaled(*points)) == kinds_told


@pytest.mark.parametrize(
    ("text", "is_held"),
    [
        ("30", True),
        ("0.1", True),
        ("2.45000000000000018", True),
        ("16.7950000999999993", True),
        ("0.1000000000000000055511151231257827021181583404541015625", True),
        ("5210242556402597888", True),
        ("1e300", True),
        ("100000000000000000000000000000", True),
        (LONG, False),
        (LONGER, False),
        ("123456789012345678e-99999999999999999999", False),
        ("0.10000000000000000001", False),
        ("196103041234567890123", False),
    ],
)
def test_digits_of_a_double_are_those_that_tell_it_and_its_own(text, is_held):
    assert has_digits_of_double(text) is is_held


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('operator="lessOrEqual" value="30"', f'operator="lessOrEqual" value="{LONG}"'),
        (USE, f'<MiningField name="age" importance="{LONG}"/>'),
        (
            FIRST,
            f'<SimpleSetPredicate field="age" booleanOperator="isIn"><Array n="2" type="real">20 {LONG}</Array>'
            "</SimpleSetPredicate>",
        ),
        (
            "</MiningSchema>",
            '</MiningSchema><Output><OutputField name="p" feature="transformedValue"><Constant dataType="double">'
            f"{LONG.replace('.', '&#46;')}</Constant></OutputField></Output>",
        ),
    ],
)
@pytest.mark.parametrize("number", [LONG, LONGER, f"{LONG}e00000"])
def test_digits_beyond_those_of_a_double_are_told(old, new, number):
    new = new.replace(LONG, number).replace(
        LONG.replace(".", "&#46;"), number.replace(".", "&#46;")
    )
    assert LeakKind.UNKNOWN in kinds(replaced((old, new)))


def test_a_number_of_fields_that_is_false_is_told_and_goes():
    assert kinds(replaced(("<DataDictionary>", '<DataDictionary numberOfFields="2">'))) == []
    text = replaced(("<DataDictionary>", '<DataDictionary numberOfFields="19610304">'))
    assert kinds(text) == [LeakKind.UNKNOWN]
    clean = formats()["pmml"].open(text.encode(), "m.pmml").without(frozenset(LeakKind))
    assert b"19610304" not in clean


@pytest.mark.parametrize(("number", "told"), [(100, False), (101, True)])
def test_a_long_list_of_values_that_no_node_uses_is_told(number, told):
    town = TOWN.format(declared(f"t{index}" for index in range(number)))
    tested = TOWN.format(declared(f"t{index}" for index in range(number + 1)))
    found = leaks(replaced((AGE, AGE + town), (USE, ASK)))
    assert any("list of" in leak.what for leak in found) is told
    test = '<SimplePredicate field="town" operator="{}" value="t0"/>'
    used = ((FIRST, test.format("equal")), (SECOND, test.format("notEqual")))
    assert (
        any(
            "list of" in leak.what
            for leak in leaks(replaced((AGE, AGE + tested), (USE, ASK), *used))
        )
        is told
    )


def test_a_long_list_of_values_in_one_test_that_the_field_does_not_have_is_told():
    listed = " ".join(f"t{index}" for index in range(120))
    test = (
        f'<SimpleSetPredicate field="town" booleanOperator="{{}}"><Array n="120" type="string">{listed}</Array>'
        "</SimpleSetPredicate>"
    )
    tests = ((FIRST, test.format("isIn")), (SECOND, test.format("isNotIn")))
    all_declared = TOWN.format(declared(listed.split()))
    assert kinds(replaced((AGE, AGE + all_declared), (USE, ASK), *tests)) == []
    few = TOWN.format(declared(["t0"]))
    (leak,) = leaks(replaced((AGE, AGE + few), (USE, ASK), *tests))
    assert leak.kind is LeakKind.UNKNOWN


@pytest.mark.parametrize(
    ("more", "number", "told"),
    [("", 2, True), (' property="missing"', 3, False), (' property="missing"', 30, True)],
)
def test_values_that_a_number_declares_are_told_but_signs_for_no_value(more, number, told):
    values = declared(range(-number, 0), more=more)
    text = replaced((AGE, AGE.replace("/>", f">{values}</DataField>")))
    assert (LeakKind.UNKNOWN in kinds(text)) is told


@pytest.mark.parametrize(("number", "told"), [(2, False), (30, True)])
def test_numbers_that_a_column_declares_which_no_model_asks_for_are_told(number, told):
    field = f'<DataField name="z" optype="categorical" dataType="string">{declared(range(number))}</DataField>'
    assert (LeakKind.UNKNOWN in kinds(replaced((AGE, AGE + field)))) is told


@rows(("old", "new"), ATTRIBUTES)
def test_what_is_called_removable_goes_with_redaction(old, new):
    text = PLAIN.replace(old, new, 1)
    found = [leak for leak in leaks(text) if leak.kind is LeakKind.UNKNOWN]
    clean = formats()["pmml"].open(text.encode(), "m.pmml").without(frozenset(LeakKind))
    assert found
    assert (SECRET.encode() in clean) is not all(leak.removable for leak in found)
