"""Derived fields of PMML: a test on one becomes the test on the raw field that says the same."""

import math

import numpy as np
import pytest

from ppdm_models.files.load import load_model, load_tree
from ppdm_models.tree.column import NumericColumn
from ppdm_models.tree.predicate import (
    AllOf,
    AnyOf,
    CategoryTest,
    MissingTest,
    Never,
    NumericTest,
    answer,
)

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


@pytest.mark.parametrize(
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
        (apply("min", X, constant(4)), simple("lessThan", 5), MissingTest("x", negated=True)),
        (apply("max", X, constant(4)), simple("lessThan", 3), Never()),
        (apply("floor", X), simple("equal", 3), NumericTest("x", 3.0, 4.0, low_closed=True)),
        (apply("+", X, constant(2)), simple("isMissing"), MissingTest("x")),
    ],
)
def test_a_comparison_of_a_computed_number_is_one_of_the_raw_number(expression, predicate, test):
    found = made(expression, predicate)
    if test is not None:
        assert says(found) == says(test)
    assert {"x"} == {found.feature} if not isinstance(found, Never) else True


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
        (simple("greaterThan", 1.5), CategoryTest("c", ("b", "d"))),
        (simple("equal", 1), CategoryTest("c", ("a",))),
        (simple("greaterThan", 2.5), Never()),
    ],
)
def test_codes_are_sets_of_categories(predicate, test):
    assert made(by_table(), predicate) == test


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
        apply("abs", X),
        apply("ownFunction", X),
        apply("*", X, constant(0)),
        lines((0, 0), (1, 1), (2, 0)),
        '<FieldRef field="f"/>',
    ],
)
def test_what_cannot_be_said_of_a_raw_field_stays_a_field_of_its_own(expression):
    tree = read(expression, simple("lessThan", 3))
    assert tree.nodes[1].test == NumericTest("f", high=3.0)
    assert "the field 'f' is computed" in tree.notes[0]


def test_a_computed_field_says_what_it_is_made_of():
    tree = read(
        apply("concat", X, '<FieldRef field="c"/>'),
        simple("equal", "q"),
        kind="string",
        optype="categorical",
    )
    assert "(Apply of 'x', 'c')" in tree.notes[0]


def test_a_function_that_takes_no_negative_numbers_never_holds_for_them():
    test = made(apply("sqrt", X), simple("lessThan", 3))
    said = answer(test, {"x": NumericColumn(np.array([-1.0, 0.0, 8.9, 9.0]))}, 4).true
    assert said.tolist() == [False, True, True, False]
