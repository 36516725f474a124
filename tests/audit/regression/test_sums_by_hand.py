"""Sums of people's numbers that were worked out by hand: how they are counted, what rounding does, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.audit.regression.test_releases_of_numbers import BEFORE, NEW, ONE_LEAF, joined, tree_of
from treewarden.audit.engine.problem import KNOWN_FACT
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.inverters import ValueSums
from treewarden.audit.joint.cells import cells_of
from treewarden.audit.joint.known_facts import KnownNumbers
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import TargetNumbers, numbers_of
from treewarden.audit.progress import FOREVER
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.inference import (
    OTHER_VALUES,
    problem_with,
    sums_with_rows,
    values_of,
)
from treewarden.audit.regression.releases import NO_TOTAL, OTHER_STEPS, _in_words, _rows
from treewarden.audit.regression.result import ValueBounds
from treewarden.audit.regression.rows import Scale, mean_sums, rows_of, scale_of
from treewarden.audit.regression.totals import with_known
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.nodes import LearnerFigures
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Feature, Node, Task, Tree

PLACE = (Feature("place", numeric=False),)


def tree_with_spreads(leaves):
    """Return a tree and its table, whose leaves publish the mean and the spread: place -> numbers, spread."""
    nodes = [
        Node(
            *(number, str(number), 0, (), CategoryTest("place", (place,))),
            score=float(np.mean(numbers)),
            records=float(len(numbers)),
            figures=LearnerFigures(spread=(0.0, spread)),
        )
        for number, (place, (numbers, spread)) in enumerate(leaves.items(), 1)
    ]
    root = Node(0, "0", None, tuple(node.index for node in nodes), score=0.0)
    tree = Tree((root, *nodes), PLACE, "pay", (), task=Task.REGRESSION)
    people = [(place, pay) for place, (numbers, _) in leaves.items() for pay in numbers]
    return tree, table_of({"place": [p for p, _ in people], "pay": [pay for _, pay in people]})


def found(leaves):
    tree, table = tree_with_spreads(leaves)
    people = build_population(tree, table, sensitive="pay")
    return values_of(forest_of(tree, people), people, TimeBudget(FOREVER, 0.0))


def test_a_spread_that_one_person_lies_beyond_is_of_another_table():
    # The mean is 1.8; 1 is further from it than 0.5, all others are not. Others have the ends of the range.
    numbers, others = [1.0, 2.0, 2.0, 2.0, 2.0], ([0.0, 4.05], 5.0)
    assert isinstance(found({"a": (numbers, 0.16), "b": others}), ValueBounds)
    refused = found({"a": (numbers, 0.0625), "b": others})
    assert isinstance(refused, Undetermined)
    assert refused.reason == OTHER_VALUES


def test_a_spread_that_drowns_in_the_rounding_of_squares_still_fits():
    # A difference of two means of squares of a million rounds to 0, though the numbers differ.
    near = [1e6, 1e6 + 0.001]
    assert isinstance(found({"a": (near, 0.0), "b": ([2e6], 0.0)}), ValueBounds)


@pytest.mark.parametrize(
    ("is_whole", "sums", "ends"),
    [(True, 5.0, (5, 5)), (False, 5.0, (4, 6)), (False, 5.5, (5, 6))],
)
def test_ends_of_whole_sums_are_rounded_inwards_and_of_real_ones_outwards(is_whole, sums, ends):
    scale = Scale(0.0, 1.0, 100, is_whole=is_whole, largest=100.0)
    low, high = scale.ends(np.array([sums]), np.array([sums]), np.array([2]))
    assert (low[0], high[0]) == ends


def test_a_sum_that_rounding_moved_below_a_whole_number_is_that_number():
    scale = Scale(0.0, 1.0, 100, is_whole=True, largest=100.0)
    for moved in (5 - 1e-13, 5 + 1e-13):
        low, high = scale.ends(np.array([moved]), np.array([moved]), np.array([2]))
        assert (low[0], high[0]) == (5, 5)


def test_known_numbers_are_rows_that_are_numbered_one_after_the_other():
    numbers = numbers_of(np.array([1.0, 2.0, 4.0]), np.ones(3), np.arange(3))
    cells = cells_of(np.array([[0, 1, 2]]), np.ones(3))
    scale = scale_of(numbers, 3)
    tree, table = tree_with_spreads({"a": ([1.0], 0.0), "b": ([2.0], 0.0), "c": ([4.0], 0.0)})
    people = build_population(tree, table, sensitive="pay")
    forest = forest_of(tree, people)
    rows = rows_of(mean_sums(forest, people, 4.0), forest.stops, cells, scale)
    known = KnownNumbers(np.eye(3, dtype=bool)[:2], np.array([1.0, 2.0]))
    added = with_known(rows, [known]).parts[len(rows.parts) :]
    assert [part.trees.tolist() for part in added] == [[KNOWN_FACT], [KNOWN_FACT]]
    assert [part.nodes.tolist() for part in added] == [[0], [1]]


@pytest.mark.parametrize(("total", "problem"), [(7.0, ""), (8.0, OTHER_VALUES)])
def test_sums_of_whole_numbers_are_those_of_the_table_or_of_another_one(total, problem):
    # Everybody is in one leaf, where 1, 2 and 4 add up to 7.
    numbers = numbers_of(np.array([1.0, 2.0, 4.0]), np.ones(3), np.arange(3))
    cells, scale = cells_of(np.zeros((1, 3), dtype=np.intp), np.ones(3)), scale_of(numbers, 3)
    ends = np.array([total])
    one, anything = np.zeros(1, dtype=np.intp), np.full(3, np.inf)
    told = ValueSums(one, one, ends, ends, -anything, anything, is_all=True, facts={})
    rows = rows_of(told, np.zeros((1, 3), dtype=np.intp), cells, scale)
    assert problem_with(rows, numbers) == problem


def test_numbers_on_no_grid_are_counted_as_finely_as_the_sum_of_all_people_allows():
    # 2 ** 15 people need 16 of the 60 bits of a sum, and leave 44 for the range.
    tree, table = tree_with_spreads({"a": ([1 / 3], 0.0), "b": ([2 / 3], 0.0)})
    people = build_population(tree, table, sensitive="pay")
    numbers = numbers_of(np.array([1 / 3, 2 / 3]), np.full(2, 2.0**14), np.arange(2))
    many = replace(people, counts=np.full(2, 2.0**14), numbers=numbers)
    leaves = [replace(leaf, records=2.0**14) for leaf in tree.leaves]
    forest = forest_of(replace(tree, nodes=(tree.root, *leaves)), many)
    _, rows = sums_with_rows(forest, many, {}, 1)
    assert (rows.scale.is_whole, rows.scale.span) == (False, 2**44)


def test_a_release_whose_trees_contradict_each_other_about_everybody_is_named():
    all_numbers, shared, held = joined([BEFORE, [*BEFORE, NEW]], [ONE_LEAF, ONE_LEAF])
    first, second = all_numbers.each
    numbers = shared.numbers
    apart = replace(first, low=first.low + 50, high=first.high - 50)
    refused = _rows(held, shared, numbers, (apart, second), None)
    assert isinstance(refused, Undetermined)
    assert refused.reason == f"m0.pmml: {NO_TOTAL}"
    assert not isinstance(_rows(held, shared, numbers, (first, second), None), Undetermined)


def test_a_table_whose_values_lie_on_another_grid_leaves_something_unsaid():
    # Alone the first table's values are whole tens, with the newcomer's all are whole fives.
    found_all, *_ = joined([BEFORE, [*BEFORE, (5, "c", 75)]], [ONE_LEAF, ONE_LEAF])
    assert OTHER_STEPS in found_all.bounds.left
    found_all, *_ = joined([BEFORE, [*BEFORE, NEW]], [ONE_LEAF, ONE_LEAF])
    assert OTHER_STEPS not in found_all.bounds.left


def test_a_leaf_whose_mean_was_rounded_is_not_recovered(monkeypatch):
    # 33 may be a third of 98, 99 or 100; 60 is the number of one person.
    def printed(people, leaf_of, made=tree_of):
        return made(people, leaf_of).replace(b"33.333333333333336", b"33").replace(b"60.0", b"60")

    monkeypatch.setitem(joined.__globals__, "tree_of", printed)
    people = [(1, "a", 10), (2, "a", 49), (3, "a", 41), (4, "b", 60)]
    leaf_of = {"a": 0, "b": 1}
    found_all, *_ = joined([people, people], [leaf_of, leaf_of])
    assert found_all.bounds.leaves == 4
    assert found_all.bounds.recovered == 2


@pytest.mark.parametrize("low", [0.0, -1e-13])
def test_a_difference_that_may_be_nothing_is_told_as_nothing(low):
    numbers = TargetNumbers(*(np.array([each]) for each in (5.0, 0.0, 5.0)), 1.0)
    assert _in_words(low, 0.0, 1, numbers) == "the number is 0"
