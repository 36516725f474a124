"""Derived fields of PMML: a test on one becomes the test on the raw field that says the same."""

import math
import shutil
from collections import Counter

import numpy as np
import pytest

from tests.judges.pmml_derived import compare, draw, ends_as_read
from tests.kit.rows import rows
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import load_model, load_tree
from treewarden.ppdm_models.formats.pmml._comparisons import FALSE, TRUE, sides
from treewarden.ppdm_models.formats.pmml._schemas import raw_cases
from treewarden.ppdm_models.formats.pmml._sources import RawField, _value_of
from treewarden.ppdm_models.formats.pmml._values import Constant, DataType
from treewarden.ppdm_models.tables.routing import NOWHERE, routed
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    CategoryTest,
    MissingTest,
    Never,
    NumericTest,
    answer,
    features_of,
)
from treewarden.ppdm_models.tree.tree import Feature

FIELDS = """<DataDictionary><DataField name="x" optype="continuous" dataType="double"/>
<DataField name="c" optype="categorical" dataType="string"><Value value="a"/><Value value="b"/>
<Value value="d"/></DataField>
<DataField name="y" optype="continuous" dataType="double"/></DataDictionary>"""


def read(expression, predicate, *, kind="double", optype="continuous", schema="", missing="none"):
    derived = (
        f'<DerivedField name="f" optype="{optype}" dataType="{kind}">{expression}</DerivedField>'
    )
    fields = schema or '<MiningField name="x"/><MiningField name="c"/>'
    data = (
        f'<PMML>{FIELDS}<TreeModel functionName="regression" missingValueStrategy="{missing}"><MiningSchema>{fields}'
        f'</MiningSchema><LocalTransformations>{derived}</LocalTransformations><Node score="1"><True/>'
        f'<Node score="1">{predicate}</Node></Node></TreeModel></PMML>'
    )
    return load_tree(data.encode(), "x.pmml")


def simple(operator, value=None, field="f"):
    said = "" if value is None else f' value="{value}"'
    return f'<SimplePredicate field="{field}" operator="{operator}"{said}/>'


def made(expression, predicate, **more):
    return read(expression, predicate, **more).nodes[1].test


X = '<FieldRef field="x"/>'


def constant(value):
    return f"<Constant>{value}</Constant>"


def apply(function, *parts, more=""):
    return f'<Apply function="{function}"{more}>{"".join(parts)}</Apply>'


def lines(*points, more=""):
    inner = "".join(f'<LinearNorm orig="{x}" norm="{y}"/>' for x, y in points)
    return f'<NormContinuous field="x"{more}>{inner}</NormContinuous>'


@rows(
    ("expression", "predicate", "test"),
    [
        (
            lines((0, 0), (10, 1)),
            simple("lessOrEqual", 0.5),
            NumericTest("x", high=5.0, high_closed=True),
        ),
        (lines((0, 1), (10, 0)), simple("lessThan", 0.5), NumericTest("x", low=5.0)),
        (lines((0, 0), (10, 1), (20, 3)), simple("greaterThan", 2), NumericTest("x", low=15.0)),
        (apply("+", X, constant(2)), simple("lessThan", 5), NumericTest("x", high=3.0)),
        (apply("-", constant(2), X), simple("lessThan", 5), NumericTest("x", low=-3.0)),
        (
            apply("*", constant(-2), X),
            simple("greaterOrEqual", 5),
            NumericTest("x", high=-2.5, high_closed=True),
        ),
        (
            apply("/", apply("-", X, constant(1)), constant(4)),
            simple("greaterThan", 2),
            NumericTest("x", low=9.0),
        ),
        (apply("sqrt", X), simple("lessOrEqual", 3), None),
        (apply("pow", X, constant(3)), simple("lessThan", 8), NumericTest("x", high=2.0)),
        (apply("threshold", X, constant(4)), simple("greaterThan", 0.5), NumericTest("x", low=4.0)),
        (apply("min", X, constant(4)), simple("lessThan", 5), Always()),
        (apply("max", X, constant(4)), simple("lessThan", 3), Never()),
        (apply("abs", X), simple("lessThan", 3), NumericTest("x", -3.0, 3.0)),
        (apply("*", X, constant(0)), simple("lessThan", 3), MissingTest("x", negated=True)),
        (
            lines((0, 0), (1, 1), (2, 0)),
            simple("greaterThan", 0.5),
            NumericTest("x", 0.5, 1.5),
        ),
        (apply("floor", X), simple("equal", 3), NumericTest("x", 3.0, 4.0, low_closed=True)),
        (apply("+", X, constant(2)), simple("isMissing"), MissingTest("x")),
    ],
)
def test_a_comparison_of_a_computed_number_is_one_of_the_raw_number(expression, predicate, test):
    found = made(expression, predicate)
    if test is not None:
        assert says(found) == says(test)
    assert set(features_of(found)) <= {"x"}


def says(test):
    """What a test says of numbers that are not within rounding of a boundary, and of a missing one."""
    whole = np.arange(-40, 41) / 4
    numbers = np.concatenate([whole - 1e-9, whole + 1e-9, [np.nan]])
    said = answer(test, {"x": NumericColumn(numbers)}, len(numbers))
    return said.true.tolist(), said.unknown.tolist()


@pytest.mark.parametrize(
    ("function", "inverse"), [("ln", math.exp), ("exp", math.log), ("log10", lambda v: 10**v)]
)
def test_the_boundary_is_where_the_function_crosses_it(function, inverse):
    compute = {"ln": math.log, "exp": math.exp, "log10": math.log10}[function]
    test = made(apply(function, X), simple("lessThan", 1.7))
    near = inverse(1.7)
    numbers = [near * (1 + share) for share in (-1e-3, -1e-13, 1e-13, 1e-3)]
    said = answer(test, {"x": NumericColumn(np.array(numbers))}, len(numbers)).true
    assert said.tolist() == [compute(number) < 1.7 for number in numbers]


def test_an_indicator_is_a_test_of_its_value_and_other_methods_stay_computed():
    def tested(more):
        expression = f'<NormDiscrete field="c"{more} value="a"/>'
        return made(expression, simple("greaterThan", 0.5))

    assert tested("") == tested(' method="indicator"') == CategoryTest("c", ("a",))
    assert set(features_of(tested(' method="thermometer"'))) == {"f"}


def test_a_function_of_the_file_is_followed_as_far_as_it_reads_its_parameters():
    def tested(parameter):
        body = apply("*", constant(2), f'<FieldRef field="{parameter}"/>')
        data = (
            f'<PMML>{FIELDS}<TransformationDictionary><DefineFunction name="twice" optype="continuous" '
            f'dataType="double"><ParameterField name="p" dataType="double"/>{body}</DefineFunction>'
            '</TransformationDictionary><TreeModel functionName="regression"><MiningSchema><MiningField name="x"/>'
            '</MiningSchema><LocalTransformations><DerivedField name="f" optype="continuous" dataType="double">'
            f'{apply("twice", X)}</DerivedField></LocalTransformations><Node score="1"><True/><Node score="1">'
            f"{simple('lessThan', 6)}</Node></Node></TreeModel></PMML>"
        )
        return load_tree(data.encode(), "x.pmml").nodes[1].test

    assert tested("p") == NumericTest("x", high=3.0)
    assert set(features_of(tested("x"))) == {"f"}


@pytest.mark.parametrize("end", ["INF", "-INF", "Infinity"])
def test_every_number_differs_from_an_infinite_one(end):
    assert made(X, simple("notEqual", end, "x")) == MissingTest("x", negated=True)
    assert made(X, simple("equal", end, "x")) == Never()
    everybody = simple("greaterThan" if end.startswith("-") else "lessThan", end, "x")
    assert made(X, everybody) == MissingTest("x", negated=True)


def discretize(more=""):
    return (
        f'<Discretize field="x"{more}><DiscretizeBin binValue="low"><Interval closure="openClosed" rightMargin="3"/>'
        '</DiscretizeBin><DiscretizeBin binValue="high"><Interval closure="openOpen" leftMargin="3" rightMargin="9"/>'
        "</DiscretizeBin></Discretize>"
    )


@pytest.mark.parametrize(
    ("more", "value", "test"),
    [
        ("", "low", NumericTest("x", high=3.0, high_closed=True)),
        ("", "high", NumericTest("x", 3.0, 9.0)),
        (' defaultValue="rest"', "rest", NumericTest("x", low=9.0, low_closed=True)),
        (
            ' mapMissingTo="low"',
            "low",
            AnyOf((MissingTest("x"), NumericTest("x", high=3.0, high_closed=True))),
        ),
    ],
)
def test_a_bin_is_an_interval(more, value, test):
    found = made(discretize(more), simple("equal", value), kind="string", optype="categorical")
    assert set(getattr(found, "parts", (found,))) >= set(getattr(test, "parts", (test,)))


def by_table(more=""):
    rows = "".join(
        f"<row><in>{a}</in><out>{b}</out></row>" for a, b in (("a", 1), ("b", 2), ("d", 2))
    )
    return (
        f'<MapValues outputColumn="out"{more}><FieldColumnPair field="c" column="in"/><InlineTable>{rows}</InlineTable>'
        "</MapValues>"
    )


@pytest.mark.parametrize(
    ("predicate", "test"),
    [
        (simple("greaterThan", 1.5), CategoryTest("c", ("a",), negated=True)),
        (simple("equal", 1), CategoryTest("c", ("a",))),
    ],
)
def test_codes_are_sets_of_categories(predicate, test):
    assert made(by_table(), predicate) == test


def test_values_that_are_not_listed_go_where_a_table_sends_them_though_it_keeps_the_others():
    kept = "".join(f"<row><in>{name}</in><out>{name}</out></row>" for name in "abd")
    table = (
        '<MapValues outputColumn="out" defaultValue="a"><FieldColumnPair field="c" column="in"/>'
        f"<InlineTable>{kept}</InlineTable></MapValues>"
    )
    schema = '<MiningField name="x"/><MiningField name="c" invalidValueTreatment="asIs"/>'
    category = {"kind": "string", "optype": "categorical", "schema": schema}
    # An unlisted value is taken for an "a".
    assert made(table, simple("equal", "a"), **category) == CategoryTest(
        "c", ("b", "d"), negated=True
    )


def test_a_test_that_holds_for_no_category_still_asks_for_the_field():
    test = made(by_table(), simple("greaterThan", 2.5))
    names = CategoricalColumn(np.array([0, 1, -1]), ("a", "b"))
    assert not answer(test, {"c": names}, 3).true.any()
    assert set(features_of(test)) == {"c"}


def test_an_indicator_is_a_category():
    expression = '<NormDiscrete field="c" value="a"/>'
    assert made(expression, simple("greaterOrEqual", 0.5)) == CategoryTest("c", ("a",))
    assert made(expression, simple("lessThan", 0.5)) == CategoryTest("c", ("a",), negated=True)


def test_a_missing_value_goes_where_what_stands_in_for_it_goes():
    expression = apply("if", apply("isMissing", X), constant(7), X)
    under, over = NumericTest("x", high=5.0), NumericTest("x", low=5.0)
    assert made(expression, simple("lessThan", 5)) == AllOf((MissingTest("x", True), under))
    assert made(expression, simple("greaterThan", 5)) == AnyOf((MissingTest("x"), over))


@pytest.mark.parametrize(
    ("value", "test"),
    [
        (3, AnyOf((MissingTest("x"), NumericTest("x", high=5.0)))),
        (7, AllOf((MissingTest("x", negated=True), NumericTest("x", high=5.0)))),
    ],
)
def test_missing_values_that_the_schema_replaces_go_where_the_replacement_goes(value, test):
    schema = f'<MiningField name="x" missingValueReplacement="{value}"/><MiningField name="c"/>'
    assert made(X, simple("lessThan", 5, "x"), schema=schema) == test


def test_a_field_of_fields_is_followed():
    inner = '<DerivedField name="g" optype="continuous" dataType="double"><FieldRef field="f"/></DerivedField>'
    data = (
        f'<PMML>{FIELDS}<TransformationDictionary>{inner}<DerivedField name="f" optype="continuous" dataType="double">'
        f'{apply("+", X, constant(1))}</DerivedField></TransformationDictionary><TreeModel functionName="regression">'
        f'<MiningSchema><MiningField name="x"/></MiningSchema><Node>{simple("lessThan", 3, "g")}</Node></TreeModel>'
        "</PMML>"
    )
    assert says(load_tree(data.encode(), "x").root.test) == says(NumericTest("x", high=2.0))


def test_the_innermost_of_two_fields_of_one_name_counts():
    def scope(name, shift):
        return (
            f'<{name}><DerivedField name="f" optype="continuous" dataType="double">'
            f"{apply('+', X, constant(shift))}</DerivedField></{name}>"
        )

    def tree(local):
        return (
            '<Segment><True/><TreeModel functionName="regression"><MiningSchema><MiningField name="x"/></MiningSchema>'
            f"{local}<Node>{simple('lessThan', 10, 'f')}</Node></TreeModel></Segment>"
        )

    data = (
        f'<PMML>{FIELDS}{scope("TransformationDictionary", 1)}<MiningModel functionName="regression"><MiningSchema>'
        f'<MiningField name="x"/></MiningSchema><Segmentation multipleModelMethod="sum">{tree("")}'
        f"{tree(scope('LocalTransformations', 2))}</Segmentation></MiningModel></PMML>"
    )
    ends = [one.root.test.high for one in load_model(data.encode(), "x").trees]
    assert ends == pytest.approx([9.0, 8.0], rel=1e-15)


@pytest.mark.parametrize(
    "expression",
    [
        apply("+", X, X),
        apply("/", X, '<FieldRef field="y"/>'),
        apply("ownFunction", X),
        apply("sin", X),
        apply("modulo", X, constant(2)),
        apply("-", X),
        '<TextIndex textField="c"><Constant>a</Constant></TextIndex>',
        constant(1),
    ],
)
def test_what_cannot_be_said_of_a_raw_field_stays_a_field_of_its_own(expression):
    schema = "".join(f'<MiningField name="{name}"/>' for name in "xyc")
    tree = read(expression, simple("lessThan", 3), schema=schema)
    assert tree.nodes[1].test == NumericTest("f", high=3.0)
    assert "cannot compute the field 'f'" in tree.notes[0]


def test_a_computed_field_says_what_it_is_made_of():
    tree = read(
        apply("concat", X, '<FieldRef field="c"/>'),
        simple("equal", "q"),
        kind="string",
        optype="categorical",
    )
    assert "(Apply of 'x', 'c')" in tree.notes[0]


def ends(tree, numbers):
    """Where records with these values of x stop, and which are refused."""
    return [part.tolist() for part in routed(tree, {"x": NumericColumn(np.array(numbers))})]


def test_a_record_is_refused_where_a_function_has_no_result_for_it():
    tree = read(apply("sqrt", X), simple("lessThan", 3), schema='<MiningField name="x"/>')
    stops, refused = ends(tree, [-1.0, 0.0, 8.9, 9.0, math.nan])
    assert stops == [NOWHERE, 1, 1, NOWHERE, NOWHERE]
    assert refused == [True, False, False, False, True]
    assert any("cannot be computed from some values of 'x'" in note for note in tree.notes)


def test_a_record_is_refused_only_by_the_tests_that_ask_for_what_cannot_be_computed():
    compound = (
        f'<CompoundPredicate booleanOperator="surrogate">{simple("lessThan", 3, "x")}'
        f"{simple('lessThan', 3)}</CompoundPredicate>"
    )
    tree = read(apply("ln", X), compound, schema='<MiningField name="x"/>')
    assert ends(tree, [-1.0, math.nan]) == [[1, NOWHERE], [False, True]]


@pytest.mark.parametrize(
    ("missing", "stop"),
    [("none", NOWHERE), ("lastPrediction", 0), ("nullPrediction", NOWHERE)],
)
def test_a_computed_field_without_a_value_is_unknown(missing, stop):
    expression = apply("ln", X, more=' invalidValueTreatment="asMissing"')
    only_x = '<MiningField name="x"/>'
    tree = read(expression, simple("lessThan", 3), missing=missing, schema=only_x)
    assert ends(tree, [-1.0, 0.0, 1.0, 100.0])[0] == [stop, 1, 1, NOWHERE]


@pytest.mark.parametrize("default", ["2", "5"])
def test_a_default_value_stands_in_for_no_result(default):
    more = f' defaultValue="{default}" invalidValueTreatment="asMissing"'
    tree = read(
        apply("sqrt", X, more=more), simple("lessThan", 3), schema='<MiningField name="x"/>'
    )
    assert ends(tree, [-1.0, 16.0])[0] == [1 if default == "2" else NOWHERE, NOWHERE]


def test_an_if_without_else_has_no_value_there():
    condition = apply("greaterThan", X, constant(0))
    expression = apply("if", condition, constant(1))
    only_x = '<MiningField name="x"/>'
    tree = read(expression, simple("equal", 1), missing="lastPrediction", schema=only_x)
    assert ends(tree, [1.0, -1.0])[0] == [1, 0]


def test_a_branch_that_no_raw_field_says_is_not_taken_for_no_branch():
    ratio = apply("/", '<FieldRef field="y"/>', X)
    expression = apply("if", apply("greaterThan", X, constant(0)), ratio, constant(-1))
    schema = "".join(f'<MiningField name="{name}"/>' for name in "xy")
    tree = read(expression, simple("lessOrEqual", 3), schema=schema)
    assert tree.nodes[1].test == NumericTest("f", high=3.0, high_closed=True)
    assert [feature.computation for feature in tree.features if feature.name == "f"] == [
        "x.pmml:4: Apply of 'x', 'y'"
    ]


def test_texts_are_compared_as_they_are_written():
    rows = "<row><in> a</in><out> u</out></row><row><in>a</in><out>u</out></row>"
    expression = (
        '<MapValues outputColumn="out"><FieldColumnPair field="c" column="in"/>'
        f"<InlineTable>{rows}</InlineTable></MapValues>"
    )
    test = made(expression, simple("equal", "u"), kind="string", optype="categorical")
    names = CategoricalColumn(np.array([0, 1]), (" a", "a"))
    assert answer(test, {"c": names}, 2).true.tolist() == [False, True]


@pytest.mark.parametrize("other", ['<FieldRef field="f"/>', '<FieldRef field="g"/>'])
def test_a_field_computed_from_itself_is_refused(other):
    data = (
        f'<PMML>{FIELDS}<TransformationDictionary><DerivedField name="g" optype="continuous" dataType="double">'
        '<FieldRef field="f"/></DerivedField><DerivedField name="f" optype="continuous" dataType="double">'
        f'{other}</DerivedField></TransformationDictionary><TreeModel functionName="regression"><MiningSchema>'
        f'<MiningField name="x"/></MiningSchema><Node>{simple("lessThan", 3)}</Node></TreeModel></PMML>'
    )
    with pytest.raises(TreeFormatError, match="the field 'f' is computed from itself"):
        load_tree(data.encode(), "x.pmml")


def test_a_tree_that_predicts_two_fields_is_refused():
    schema = '<MiningField name="c" usageType="target"/><MiningField name="y" usageType="target"/>'
    with pytest.raises(TreeFormatError, match="the tree predicts 'c' and 'y'"):
        read(X, simple("lessThan", 3), schema=schema + '<MiningField name="x"/>')


def test_a_raw_field_tested_beside_its_32_bits_keeps_its_digits():
    shared = f'<CompoundPredicate booleanOperator="and">{simple("lessThan", 0.3)}{simple("lessThan", 0.3, "x")}'
    tree = read(X, f"{shared}</CompoundPredicate>", kind="float", schema='<MiningField name="x"/>')
    assert [feature.single for feature in tree.features if feature.name == "x"] == [False]
    near = math.nextafter(0.3, 0.0)
    assert ends(tree, [near, 0.29])[0] == [NOWHERE, 1]


@pytest.mark.parametrize("number", [100, 1050])
def test_fields_that_follow_each_other_without_end_are_read_or_stay_their_own(number):
    derived = "".join(
        f'<DerivedField name="f{place}" optype="continuous" dataType="double">'
        f"{apply('abs', apply('-', reference(place - 1), constant(1)))}</DerivedField>"
        for place in range(1, number)
    )
    nodes = "".join(
        f'<Node score="1">{simple("lessThan", 3, f"f{place}")}</Node>'
        for place in range(1, number, 50)
    )
    data = (
        f"<PMML>{FIELDS}<TransformationDictionary>{derived}</TransformationDictionary>"
        '<TreeModel functionName="regression"><MiningSchema><MiningField name="x"/></MiningSchema>'
        f'<Node score="1"><True/>{nodes}</Node></TreeModel></PMML>'
    )
    assert len(load_tree(data.encode(), "x.pmml").nodes) == 1 + number // 50


def reference(place):
    return f'<FieldRef field="{f"f{place}" if place else "x"}"/>'


SEEDS = range(4)
MODELS = 100


def test_the_same_seed_draws_the_same_case():
    assert draw(5) == draw(5)


def test_most_drawn_models_are_read():
    read = [not isinstance(ends_as_read(draw(seed)), str) for seed in range(60)]
    assert sum(read) > 40


@pytest.mark.parametrize("seed", SEEDS)
def test_records_end_where_jpmml_sends_them(seed):
    pytest.importorskip("jpmml_evaluator")
    pytest.importorskip("jpype")
    if shutil.which("java") is None:
        pytest.skip("JPMML-Evaluator needs Java")
    counts, misses = Counter(), []
    for case in range(MODELS):
        counted, missed = compare(1000 * seed + case)
        counts += counted
        misses += missed
    assert misses == []
    assert counts["records x fields"] > 5_000


def test_nothing_lies_beyond_an_end_that_is_infinite():
    for end in (math.inf, -math.inf):
        found = sides(end, FALSE, TRUE, FALSE)
        assert [segment.low == segment.high for segment in found].count(True) == 1
        assert len(found) == 2


def test_a_whole_number_is_compared_with_one_that_is_not_by_order_alone():
    assert _value_of(DataType.INTEGER, "2.5", is_ordered=False) is None
    found = _value_of(DataType.INTEGER, "2.5", is_ordered=True)
    assert (found.value, found.kind) == (2.5, DataType.DOUBLE)


def test_categories_stay_texts_where_numbers_have_32_bits():
    names = Feature("c", numeric=False, values=("a", "b"), single=True)
    cases = raw_cases(RawField("c"), names, None, is_continuous=False)
    assert cases.listed == {name: Constant(name, DataType.STRING) for name in "ab"}
