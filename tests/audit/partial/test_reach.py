"""Where people can stop for all that is known of them, held against every value that their hidden columns can have."""

from dataclasses import replace
from importlib import import_module
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.ppdm_models.tree_strategies import trees
from treewarden.audit.partial.partial_view import ImpliedValue, branches, partial_view
from treewarden.audit.partial.reachability import reach
from treewarden.audit.partial.secret_values import column_tests, value_kinds_of
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn, Treatment
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest, atoms
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Missing,
    Node,
    NoTrueChild,
    Tree,
)

MOST_WAYS = 3000


def domain(tree, feature, column, counts, cuts=()):
    return value_kinds_of(column_tests([tree])[feature.name], feature, column, counts, cuts)


@st.composite
def tables(draw, tree):
    """A few records over the features of a tree, some of whose values stand in its tests, some missing."""
    size = draw(st.integers(1, 4))
    ends = {
        part.low
        for node in tree.nodes
        for part in atoms(node.test)
        if isinstance(part, NumericTest)
    }
    ends = sorted(end for end in ends if np.isfinite(end)) or [0.0]
    columns = {}
    for feature in tree.features:
        if feature.numeric:
            near = st.sampled_from(ends) | st.floats(-5, 5) | st.just(np.nan)
            columns[feature.name] = NumericColumn(
                np.array(draw(st.lists(near, min_size=size, max_size=size)))
            )
        else:
            codes = st.integers(-1, len(feature.values) - 1)
            columns[feature.name] = CategoricalColumn(
                np.array(draw(st.lists(codes, min_size=size, max_size=size)), dtype=np.int64),
                feature.values,
            )
    return columns, size


def every_way(tree, columns, hidden, profile):
    """Return where a profile stops for every value of the hidden columns."""
    places = [range(len(domain)) for domain in hidden.values()]
    ways = np.array(list(product(*places)), dtype=np.intp).reshape(
        prod(map(len, places)), len(places)
    )
    rows = np.full(len(ways), profile, dtype=np.intp)
    full = {name: column.take(rows) for name, column in columns.items()}
    for position, (name, domain) in enumerate(hidden.items()):
        full[name] = domain.values.take(ways[:, position])
    stops = route(tree, full)
    return set(stops[stops >= 0].tolist())


def where(found):
    """Return the nodes where each profile can stop, (P, N)."""
    return found.over(np.arange(len(found.crowd_of))).toarray()[found.lump_of]


@given(st.data())
def test_a_person_can_stop_exactly_where_some_hidden_values_lead(data):
    tree = data.draw(trees())
    columns, size = data.draw(tables(tree))
    names = [feature.name for feature in tree.features]
    concealed = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    counts = np.ones(size)
    features = {feature.name: feature for feature in tree.features}
    hidden = {name: domain(tree, features[name], columns[name], counts) for name in concealed}
    assume(prod(len(each) for each in hidden.values()) <= MOST_WAYS)
    known = {name: columns[name] for name in names if name not in hidden}
    tests = branches(tree)
    found = reach(partial_view(tests, known, hidden, {}, size))
    for profile in range(size):
        here = set(np.flatnonzero(where(found)[profile]).tolist())
        ways = every_way(tree, columns, hidden, profile)
        assert here >= ways
        if not tests.are_mixed(hidden):
            assert here == ways


def of_two_tests():
    """A tree that asks about a number x, and below about a colour."""
    return Tree(
        (
            Node(0, "0", None, (1, 2)),
            Node(1, "1", 0, (3, 4), test=NumericTest("x", high=5.0, high_closed=True)),
            Node(2, "2", 0, test=NumericTest("x", low=5.0)),
            Node(3, "3", 1, test=CategoryTest("colour", ("red",))),
            Node(4, "4", 1, test=CategoryTest("colour", ("red",), negated=True)),
        ),
        (Feature("x", numeric=True), Feature("colour", numeric=False, values=("red", "blue"))),
        "illness",
        ("no", "yes"),
    )


def test_a_guess_of_a_hidden_value_closes_the_other_ways():
    tree = of_two_tests()
    x = NumericColumn(np.array([1.0, 1.0, 7.0]))
    colour = CategoricalColumn(np.array([0, 1, 0]), ("red", "blue"))
    hidden = {"colour": domain(tree, tree.features[1], colour, np.ones(3))}
    open_ = reach(partial_view(branches(tree), {"x": x}, hidden, {}, 3))
    assert open_.lump_of.tolist() == [0, 0, 1] or open_.lump_of.tolist() == [1, 1, 0]
    guess = {"colour": ImpliedValue(colour, np.array([True, False, False]))}
    told = reach(partial_view(branches(tree), {"x": x}, hidden, guess, 3))
    assert (where(told) > 0).tolist() == [
        [False, False, False, True, False],
        [False, False, False, True, True],
        [False, False, True, False, False],
    ]


@pytest.mark.parametrize("most", [0, 3])
def test_what_is_not_kept_is_walked_again(monkeypatch, most):
    tree = of_two_tests()
    colour = CategoricalColumn(np.array([0, 1, 0, -1, 1, 1]), ("red", "blue"))
    hidden = {"colour": domain(tree, tree.features[1], colour, np.ones(6))}
    x = NumericColumn(np.array([1.0, 2.0, 7.0, 8.0, 5.0, 6.0]))
    found = reach(partial_view(branches(tree), {"x": x}, hidden, {}, 6))
    monkeypatch.setattr(import_module("treewarden.audit.partial.reachability"), "MOST_KEPT", most)
    monkeypatch.setattr(import_module("treewarden.audit.partial.partial_view"), "FEW_VALUES", 0)
    again = reach(partial_view(branches(tree), {"x": x}, hidden, {}, 6))
    assert found.lump_of.tolist() == again.lump_of.tolist()
    assert where(found).tolist() == where(again).tolist()
    assert sorted({*where(found).sum(axis=1).tolist()}) == [1.0, 2.0]


@pytest.mark.parametrize("missing", [Missing.NONE, Missing.LAST_PREDICTION, Missing.DEFAULT_CHILD])
@pytest.mark.parametrize("unmatched", list(NoTrueChild))
def test_the_last_of_two_opposite_tests_is_asked_where_a_value_can_be_missing(missing, unmatched):
    nodes = (replace(of_two_tests().nodes[0], default_child=1), *of_two_tests().nodes[1:])
    tree = replace(of_two_tests(), nodes=nodes, missing=missing, no_true_child=unmatched)
    columns = {
        "x": NumericColumn(np.array([1.0, 1.0, 7.0, np.nan, np.nan])),
        "colour": CategoricalColumn(np.array([0, -1, 0, 1, -1]), ("red", "blue")),
    }
    features = {feature.name: feature for feature in tree.features}
    for concealed in ([], ["colour"], ["x"], ["x", "colour"]):
        hidden = {
            name: domain(tree, features[name], columns[name], np.ones(5)) for name in concealed
        }
        known = {name: columns[name] for name in columns if name not in hidden}
        found = reach(partial_view(branches(tree), known, hidden, {}, 5))
        for profile in range(5):
            here = np.flatnonzero(where(found)[profile])
            assert set(here.tolist()) == every_way(tree, columns, hidden, profile)


def test_a_number_that_the_model_takes_for_missing_can_be_hidden_although_nobody_has_it():
    treated = Feature("x", numeric=True, treatments=(Treatment(missing=(9.0,)),))
    tree = replace(of_two_tests(), features=(treated, of_two_tests().features[1]))
    columns = {
        "x": NumericColumn(np.array([1.0, 7.0])),
        "colour": CategoricalColumn(np.array([0, 1]), ("red", "blue")),
    }
    hidden = {"x": domain(tree, treated, columns["x"], np.ones(2))}
    assert np.isnan(hidden["x"].seen.numbers).any()
    seen = partial_view(branches(tree), columns, {}, {}, 2)
    assert seen.rest == {2, 4}
    assert seen.hiding(hidden).rest == {4}


def test_values_between_cuts_are_in_the_domain_and_nobody_has_them():
    tree = of_two_tests()
    whole = NumericColumn(np.array([1.0, 2.0, np.nan]))
    found = domain(tree, tree.features[0], whole, np.array([3.0, 2.0, 1.0]), cuts=[2.5])
    values = found.values.numbers
    assert values[:-1].tolist() == [1.0, 2.0, 3.0, 5.0, 6.0]
    assert np.isnan(values[-1])
    assert found.share.tolist() == [3.0, 2.0, 0.0, 0.0, 0.0, 1.0]
    halves = NumericColumn(np.array([0.5, 2.0, 3.0]))
    found = domain(tree, tree.features[0], halves, np.ones(3))
    assert found.values.numbers.tolist() == [0.5, 2.0, 3.0, 4.0, 5.0, 6.0]
