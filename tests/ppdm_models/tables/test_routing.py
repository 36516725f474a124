"""Where records stop, against a walker that takes one record at a time."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.tiers import examples
from tests.ppdm_models.tree_strategies import trees
from treewarden.ppdm_models.tables.routing import NOWHERE, SEVERAL, route
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
    are_opposite,
)
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Missing,
    Node,
    NoTrueChild,
    Tree,
)

TRUE, FALSE, UNKNOWN = "true", "false", "unknown"


def said(test, record):
    """One test asked of one record, in the words of the PMML standard."""
    if isinstance(test, Always):
        return TRUE
    if isinstance(test, Never):
        return FALSE
    if isinstance(test, AllOf | AnyOf):
        parts = {said(part, record) for part in test.parts}
        decisive = FALSE if isinstance(test, AllOf) else TRUE
        if decisive in parts:
            return decisive
        return UNKNOWN if UNKNOWN in parts else (TRUE if isinstance(test, AllOf) else FALSE)
    value = record[test.feature]
    if isinstance(test, MissingTest):
        return TRUE if (value is None) != test.negated else FALSE
    if value is None:
        return UNKNOWN
    if isinstance(test, CategoryTest):
        return TRUE if (value in test.values) != test.negated else FALSE
    above = value > test.low or (test.low_closed and value == test.low)
    below = value < test.high or (test.high_closed and value == test.high)
    return TRUE if above and below else FALSE


def walked(tree, record):
    """One record's path, step by step."""
    record = dict(record)
    for feature in tree.features:
        if feature.single and record[feature.name] is not None:
            record[feature.name] = float(np.float32(record[feature.name]))
    if said(tree.root.test, record) != TRUE:
        return NOWHERE
    node = tree.root
    while node.children:
        following = step(tree, node, record)
        if isinstance(following, int):
            return following
        node = following
    return node.index


def step(tree, node, record):
    for child in node.children:
        answered = said(tree.nodes[child].test, record)
        if answered == TRUE:
            return tree.nodes[child]
        if answered == UNKNOWN and tree.missing is not Missing.NONE:
            if tree.missing is Missing.LAST_PREDICTION:
                return node.index
            if tree.missing is Missing.DEFAULT_CHILD and node.default_child is not None:
                return tree.nodes[node.default_child]
            return (
                NOWHERE
                if tree.missing in (Missing.NULL_PREDICTION, Missing.DEFAULT_CHILD)
                else SEVERAL
            )
    return node.index if tree.no_true_child is NoTrueChild.LAST_PREDICTION else NOWHERE


def columns_of(tree, records):
    columns = {}
    for feature in tree.features:
        values = [record[feature.name] for record in records]
        if feature.numeric:
            columns[feature.name] = NumericColumn(
                np.array([math.nan if v is None else v for v in values])
            )
        else:
            codes = [-1 if v is None else feature.values.index(v) for v in values]
            columns[feature.name] = CategoricalColumn(
                codes=np.array(codes, dtype=np.int64), categories=feature.values
            )
    return columns


@st.composite
def trees_with_records(draw):
    tree = draw(trees())
    edges = [0.0, 1.0]
    for node in tree.nodes:
        parts = node.test.parts if isinstance(node.test, AllOf | AnyOf) else (node.test,)
        for part in parts:
            if isinstance(part, NumericTest):
                edges += [end for end in (part.low, part.high) if math.isfinite(end)]
    numbers = st.none() | st.sampled_from(edges).map(lambda value: max(-1e38, min(1e38, value)))
    record = st.fixed_dictionaries(
        {
            f.name: numbers if f.numeric else st.none() | st.sampled_from(f.values)
            for f in tree.features
        }
    )
    return tree, draw(st.lists(record, min_size=1, max_size=8))


@settings(max_examples=examples(300))
@given(trees_with_records())
def test_many_records_go_where_each_goes_alone(drawn):
    tree, records = drawn
    assert route(tree, columns_of(tree, records)).tolist() == [
        walked(tree, record) for record in records
    ]


AGE = Feature("age", numeric=True)


def split(**tree):
    nodes = (
        Node(0, "root", None, (1, 2), default_child=2),
        Node(1, "young", 0, test=NumericTest("age", high=30.0)),
        Node(2, "old", 0, test=NumericTest("age", low=30.0)),
    )
    return Tree(nodes, (AGE,), "class", ("a",), **tree)


def stop_of(tree, age):
    return int(route(tree, {"age": NumericColumn(np.array([age]))})[0])


@pytest.mark.parametrize(
    ("missing", "stop"),
    [
        (Missing.NONE, NOWHERE),
        (Missing.LAST_PREDICTION, 0),
        (Missing.NULL_PREDICTION, NOWHERE),
        (Missing.DEFAULT_CHILD, 2),
        (Missing.WEIGHTED_CONFIDENCE, SEVERAL),
        (Missing.AGGREGATE_NODES, SEVERAL),
    ],
)
def test_a_missing_value_goes_by_the_strategy_of_the_tree(missing, stop):
    assert stop_of(split(missing=missing), math.nan) == stop


def test_a_missing_value_is_skipped_like_false_where_the_tree_has_no_strategy():
    tree = split(missing=Missing.NONE, no_true_child=NoTrueChild.LAST_PREDICTION)
    assert stop_of(tree, math.nan) == 0


def test_a_record_that_no_child_takes_stops_at_the_parent_only_where_the_tree_says_so():
    assert stop_of(split(), 30.0) == NOWHERE
    assert stop_of(split(no_true_child=NoTrueChild.LAST_PREDICTION), 30.0) == 0


def test_a_32_bit_feature_is_compared_as_32_bit():
    tree = split(no_true_child=NoTrueChild.LAST_PREDICTION)
    single = Tree(tree.nodes, (Feature("age", numeric=True, single=True),), "class", ("a",))
    just_above = np.nextafter(30.0, 31.0)
    assert stop_of(tree, just_above) == 2
    assert stop_of(single, just_above) == NOWHERE


BELOW = NumericTest("age", high=1.0)
CLOSED = NumericTest("age", high=1.0, high_closed=True)
ABOVE = NumericTest("age", low=1.0)
FROM = NumericTest("age", low=1.0, low_closed=True)
RED = CategoryTest("colour", ("red", "blue"))
NOT_RED = CategoryTest("colour", ("blue", "red"), negated=True)


@pytest.mark.parametrize(("one", "other"), [(BELOW, FROM), (CLOSED, ABOVE), (RED, NOT_RED)])
def test_of_opposite_tests_one_holds_of_every_value(one, other):
    assert are_opposite(one, other)
    assert are_opposite(other, one)
    columns = {
        "age": NumericColumn(np.array([-math.inf, 0.0, 1.0, 2.0, math.inf])),
        "colour": CategoricalColumn(np.arange(5) % 3, ("red", "blue", "green")),
    }
    assert (answer(one, columns, 5).true != answer(other, columns, 5).true).all()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (BELOW, ABOVE),
        (CLOSED, FROM),
        (BELOW, BELOW),
        (BELOW, NumericTest("size", low=1.0, low_closed=True)),
        (BELOW, NumericTest("age", low=1.0, high=2.0, low_closed=True)),
        (NumericTest("age", low=0.0, high=1.0), FROM),
        (NumericTest("age"), NumericTest("age")),
        (RED, RED),
        (RED, CategoryTest("colour", ("red",), negated=True)),
        (RED, CategoryTest("hair", ("red", "blue"), negated=True)),
        (MissingTest("age"), MissingTest("age", negated=True)),
        (Always(), Never()),
    ],
)
def test_tests_that_are_not_seen_to_be_opposite(one, other):
    assert not are_opposite(one, other)
    assert not are_opposite(other, one)


@pytest.mark.parametrize(
    ("test", "missing_says"),
    [
        (AllOf((Always(), NumericTest("age", high=1.0))), (False, True)),
        (AllOf((Never(), NumericTest("age", high=1.0))), (False, False)),
        (AnyOf((Always(), NumericTest("age", high=1.0))), (True, False)),
        (AnyOf((Never(), NumericTest("age", high=1.0))), (False, True)),
        (MissingTest("age"), (True, False)),
        (MissingTest("age", negated=True), (False, False)),
    ],
)
def test_three_valued_logic(test, missing_says):
    found = answer(test, {"age": NumericColumn(np.array([math.nan]))}, 1)
    assert (bool(found.true[0]), bool(found.unknown[0])) == missing_says
