"""The quick way down a tree of plain splits leads to the same leaves as the general one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewarden.ppdm_models.tables import routing
from treewarden.ppdm_models.tables.routing import FEWEST_NODES, branching
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    CategoryTest,
    MissingTest,
    NumericTest,
)
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Missing,
    Node,
    Tree,
)

NAMES = ("x", "y")
KINDS = ("at most", "under", "or missing", "else", "above first")


def split(kind, name, end):
    """Return the tests of the two children."""
    at_most, above = NumericTest(name, high=end, high_closed=True), NumericTest(name, low=end)
    under, from_on = NumericTest(name, high=end), NumericTest(name, low=end, low_closed=True)
    return {
        "at most": (at_most, above),
        "under": (under, from_on),
        "or missing": (
            AnyOf((MissingTest(name), at_most)),
            AllOf((MissingTest(name, negated=True), above)),
        ),
        "else": (under, Always()),
        "above first": (from_on, under),
    }[kind]


def grown(splits, missing=Missing.NONE):
    """Return the tree that makes its oldest leaf a split, one by one."""
    said = [(None, Always())]
    children = {}
    for parent, (kind, name, end) in enumerate(splits):
        children[parent] = (len(said), len(said) + 1)
        said += [(parent, test) for test in split(kind, NAMES[name], end)]
    nodes = tuple(
        Node(index, str(index), parent, children.get(index, ()), test, score="a")
        for index, (parent, test) in enumerate(said)
    )
    features = tuple(Feature(name, True, single=name == "y") for name in NAMES)
    return Tree(nodes, features, "z", ("a",), missing=missing)


def slowly(tree, columns, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(routing, "branching", lambda tree: None)
        return routing.route(tree, columns)


numbers = st.sampled_from([-1.0, 0.0, 0.1, float(np.float32(0.1)), 1.0, 2.0])
splits = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 1), numbers),
    min_size=FEWEST_NODES // 2,
    max_size=20,
)
values = st.lists(
    st.tuples(*[st.one_of(numbers, st.just(float("nan")), st.just(float("inf")))] * 2), max_size=30
)


@given(splits, values, st.sampled_from([Missing.NONE, Missing.LAST_PREDICTION]))
def test_both_ways_lead_to_the_same_leaf(made, rows, missing):
    tree = grown(made, missing)
    table = np.array(rows).reshape(-1, 2)
    columns = {name: NumericColumn(table[:, i]) for i, name in enumerate(NAMES)}
    assert branching(tree) is not None
    with pytest.MonkeyPatch.context() as patch:
        assert np.array_equal(routing.route(tree, columns), slowly(tree, columns, patch))


@pytest.mark.parametrize("size", [0, 6, 7, 8, 21, 30])
def test_records_that_are_not_sent_down_side_by_side_come_to_the_same_leaf(size, monkeypatch):
    monkeypatch.setattr("treewarden.ppdm_models.tables.routing.TOGETHER", 7)
    ages = np.linspace(-1.0, FEWEST_NODES, size)
    columns = {"x": NumericColumn(ages), "y": NumericColumn(ages[::-1])}
    tree = grown(PLAIN)
    found = routing.route(tree, columns)
    assert np.array_equal(found, slowly(tree, columns, monkeypatch))
    assert len(set(found.tolist())) > 1 or not size


PLAIN = [("under", 0, float(end)) for end in range(FEWEST_NODES)]


@pytest.mark.parametrize(
    "test",
    [
        CategoryTest("x", ("a",)),
        NumericTest("x", 0.0, 1.0),
        AnyOf((MissingTest("y"), NumericTest("x", high=0.0))),
        AllOf((MissingTest("x"), NumericTest("x", high=0.0))),
    ],
)
def test_other_splits_are_left_to_the_general_way(test):
    tree = grown(PLAIN)
    nodes = list(tree.nodes)
    nodes[1] = Node(1, "1", 0, nodes[1].children, test, score="a")
    assert branching(Tree(tuple(nodes), tree.features, "z", ("a",))) is None
