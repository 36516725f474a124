"""The canonical learner: the best split by brute force, ties by rank, and the same tree in any order of the rows."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ppdm_models.methods.tpp.tpp_strategies import categories, classes, numbers, tables
from treewarden.ppdm_models.errors import LearnerError
from treewarden.ppdm_models.learn.growers import BestFirst
from treewarden.ppdm_models.learn.splits import of_classes, of_numbers, threshold
from treewarden.ppdm_models.methods.tpp.cells import rows_of
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest

XOR = {"a": numbers([0, 0, 1, 1]), "b": numbers([0, 1, 0, 1])}


def suited(response):
    return "gini" if response.classes else "variance"


def grown(columns, response, splits=100, **settings):
    settings.setdefault("criterion", suited(response))
    return BestFirst(**settings).growth(columns, response, splits).tree(splits)


def impurity(response, rows):
    """Return gini or variance times records, as an exact fraction."""
    values = [int(value) for value in response.values[rows]]
    if response.classes:
        counts = np.bincount(values)
        return len(values) - Fraction(int((counts**2).sum()), len(values))
    return sum(value**2 for value in values) - Fraction(sum(values) ** 2, len(values))


def every_cut(columns, rows):
    """Yield the left rows of every binary candidate."""
    for column in columns.values():
        values = column.keys
        for value in sorted(set(values[rows].tolist())):
            if isinstance(column, NumericColumn):
                yield rows[values[rows] <= value]
            elif column.categories[value] != "*":
                yield rows[values[rows] == value]


@given(tables())
def test_no_candidate_is_better_than_the_one_that_is_chosen(table):
    columns, response = table
    tree = grown(columns, response, 1)
    rows = np.arange(len(response.values))
    gains = [
        impurity(response, rows)
        - impurity(response, left)
        - impurity(response, np.setdiff1d(rows, left))
        for left in every_cut(columns, rows)
        if 0 < len(left) < len(rows)
    ]
    best = max(gains, default=Fraction(0))
    own = sum(impurity(response, part) for part in rows_of(tree, columns, len(rows))[1:])
    chosen = impurity(response, rows) - own if len(tree.nodes) > 1 else Fraction(0)
    assert float(chosen) == pytest.approx(float(best), abs=1e-9)
    assert (len(tree.nodes) > 1) == (best > 0)


@given(tables(), st.integers(1, 4))
def test_no_set_of_categories_is_better_than_the_one_that_is_chosen(table, min_leaf):
    columns, response = table
    columns = {
        n: c
        for n, c in columns.items()
        if isinstance(c, CategoricalColumn) and "*" not in c.categories
    }
    rows = np.arange(len(response.values))
    gains = [Fraction(0)]
    for column in columns.values():
        for size in range(1, len(column.categories)):
            for chosen in combinations(range(len(column.categories)), size):
                left, right = (
                    rows[np.isin(column.codes, chosen) == side] for side in (True, False)
                )
                if min(len(left), len(right)) >= min_leaf:
                    apart = impurity(response, left) + impurity(response, right)
                    gains.append(impurity(response, rows) - apart)
    tree = grown(columns, response, 1, sets=True, min_leaf=min_leaf)
    own = sum(impurity(response, part) for part in rows_of(tree, columns, len(rows))[1:])
    chosen = impurity(response, rows) - own if len(tree.nodes) > 1 else Fraction(0)
    assert float(chosen) == pytest.approx(float(max(gains)), abs=1e-9)


def test_the_best_set_need_not_be_next_to_each_other_by_mean():
    # By share of y: a 0, b 1/3, c 1. Parted in that order, no side but one holds three records.
    columns, response = {"c": categories("abbbcc")}, classes("xxxyyy")
    tree = grown(columns, response, 1, sets=True, min_leaf=3)
    assert tree.nodes[1].test == CategoryTest("c", ("a", "c"))


def test_of_equally_good_sets_the_one_without_the_second_category_comes_first():
    # To single out b is as good as to single out c.
    columns, response = {"c": categories("aabbccdd")}, classes("xyxxyyxy")
    (_, left, _) = grown(columns, response, 1, sets=True).nodes
    assert left.test == CategoryTest("c", ("a", "c", "d"))


def test_one_branch_per_category_and_sets_exclude_each_other():
    with pytest.raises(ValueError, match="no sets"):
        BestFirst(multiway=True, sets=True)


@given(tables(), st.sampled_from([True, False]), st.randoms())
def test_the_order_of_the_records_changes_nothing(table, multiway, random):
    columns, response = table
    order = list(range(len(response.values)))
    random.shuffle(order)
    rows = np.array(order, dtype=np.intp)
    mixed = {name: column.take(rows) for name, column in columns.items()}
    again = type(response)("y", response.values[rows], response.classes, response.per_unit)
    assert grown(mixed, again, multiway=multiway) == grown(columns, response, multiway=multiway)


@given(tables(), st.integers(0, 5), st.sampled_from([True, False]))
def test_trees_are_nested(table, splits, multiway):
    columns, response = table
    growth = BestFirst(suited(response), multiway).growth(columns, response, 100)
    assert growth.tree(splits) == grown(columns, response, splits, multiway=multiway)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain-ratio"])
def test_of_two_attributes_that_say_the_same_the_first_is_taken_and_the_tie_is_told(criterion):
    columns = {"first": numbers([1, 2, 3, 4]), "second": numbers([1, 2, 3, 4])}
    growth = BestFirst(criterion).growth(columns, classes("xxyy"), 9)
    assert growth.tree(9).nodes[1].test == NumericTest("first", high=2.5, high_closed=True)
    assert growth.tied(9) == 1


def test_one_category_against_the_rest_and_never_the_one_that_stands_for_several():
    tree = grown({"c": categories("**ab")}, classes("xxxy"))
    assert tree.nodes[1].test == CategoryTest("c", ("b",))
    assert len(grown({"c": categories("**a*")}, classes("xyxy"), 1).leaves) == 2
    assert len(grown({"c": categories("***")}, classes("xyy")).leaves) == 1


def test_multiway_makes_one_branch_per_category_there_is():
    tree = grown({"c": categories("abc")}, classes("xyx"), multiway=True)
    assert [node.test for node in tree.leaves] == [CategoryTest("c", (v,)) for v in "abc"]


def test_a_split_that_changes_no_share_is_not_made():
    assert len(grown(XOR, classes("xyyx")).leaves) == 1


@pytest.mark.parametrize(
    ("settings", "leaves"),
    [({}, 4), ({"min_leaf": 2}, 2), ({"min_records": 3}, 2), ({"max_depth": 1}, 2)],
)
def test_growth_stops_by_counts_alone(settings, leaves):
    assert (
        len(
            grown(
                {"n": numbers([1, 2, 3, 4])}, of_numbers("y", np.array([1.0, 2, 7, 8])), **settings
            ).leaves
        )
        == leaves
    )


def test_a_leaf_predicts_the_mean_to_the_last_digit():
    values = np.array([0.1, 0.2, 0.4])
    tree = grown({"n": numbers([1, 1, 1])}, of_numbers("y", values))
    assert tree.root.score == float(Fraction(7, 30))


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_a_threshold_parts_its_neighbours(one, other):
    low, high = sorted((one, other))
    if low < high:
        assert low <= threshold(low, high) < high


@pytest.mark.parametrize(
    ("columns", "response", "settings", "message"),
    [
        ({"n": numbers([1, np.nan])}, classes("xy"), {}, "column 'n', record 2: no value"),
        (
            {"n": numbers([1, 2])},
            classes("xy"),
            {"criterion": "variance"},
            "for classes choose gini",
        ),
        (
            {"n": numbers([1, 2])},
            of_numbers("y", np.ones(2)),
            {"criterion": "gini"},
            "gini needs classes",
        ),
    ],
)
def test_what_cannot_be_grown_is_refused(columns, response, settings, message):
    with pytest.raises(LearnerError, match=message):
        grown(columns, response, **settings)


@pytest.mark.parametrize("values", [[1 / 3, 1.0], [1e300, 1.0], [np.inf, 1.0]])
def test_numbers_that_cannot_be_added_up_exactly_are_refused(values):
    with pytest.raises(LearnerError):
        of_numbers("y", np.array(values))


def test_classes_that_no_record_has_change_nothing():
    columns = {"n": NumericColumn(np.array([1.0, 2.0]))}
    tree = grown(columns, of_classes("y", np.array([0, 2]), ("a", "b", "c")))
    assert [leaf.score for leaf in tree.leaves] == ["a", "c"]
