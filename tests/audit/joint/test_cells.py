"""Cells of people whom no leaf tells apart, and the rows over them."""

import numpy as np
import pytest

from treewarden.audit.engine.problem import ALL_PEOPLE, breaking
from treewarden.audit.inverters import LeafSums
from treewarden.audit.joint.cells import (
    ReleaseCells,
    cells_of,
    class_by_leaf,
    rows_of,
)
from treewarden.audit.joint.ensemble_inference import recovered_leaves
from treewarden.audit.joint.leaf_facts import OTHER_LABELS, OTHER_WAY_ROUND, problem_with
from treewarden.audit.reading import Undetermined

STOPS = np.array([[1, 1, 2, 2, 2], [1, 1, 1, 2, 2]])
PEOPLE = np.array([1.0, 2.0, 1.0, 3.0, 1.0])


def sums(low, high=None, trees=(0, 0, 1, 1), nodes=(1, 2, 1, 2), output=(1, 1, 1, 1)):
    ends = np.array(low), np.array(high or low)
    columns = (np.array(each) for each in (trees, nodes, output))
    return LeafSums(*columns, *ends, np.zeros(len(low)), {})


def test_people_in_the_same_leaf_of_every_tree_are_one_cell():
    cells = cells_of(STOPS, PEOPLE)
    assert cells.of.tolist() == [0, 0, 1, 2, 2]
    assert cells.sizes.tolist() == [3, 1, 4]
    assert cells.summed(np.array([[1, 0], [1, 1], [0, 1], [2, 1], [1, 0]])).tolist() == [
        [2, 1],
        [0, 1],
        [3, 1],
    ]


def test_each_leaf_is_a_row_over_its_cells_and_all_people_are_one():
    rows = rows_of([ReleaseCells(STOPS, sums([1, 2, 2, 1]))], cells_of(STOPS, PEOPLE), 2)
    assert rows.matrix.toarray().tolist() == [[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1], [1] * 3]
    assert rows.trees.tolist() == [0, 0, 1, 1, ALL_PEOPLE]
    assert (rows.low[-1], rows.high[-1]) == (3, 3)
    assert rows.people.tolist() == [3, 5, 4, 4, 8]


def test_what_all_people_have_is_what_every_tree_allows():
    found = sums([1, 2, 1, 0], [2, 3, 4, 1])
    rows = rows_of([ReleaseCells(STOPS, found)], cells_of(STOPS, PEOPLE), 2)
    assert (rows.low[-1], rows.high[-1]) == (3, 5)


def test_trees_that_count_other_people_are_not_joined():
    found = rows_of([ReleaseCells(STOPS, sums([1, 2, 2, 2]))], cells_of(STOPS, PEOPLE), 2)
    assert isinstance(found, Undetermined)
    assert "class totals" in found.reason


def test_rows_of_other_labels_are_noticed_and_those_of_the_other_class_named():
    cells = cells_of(STOPS, PEOPLE)
    rows = rows_of([ReleaseCells(STOPS, sums([1, 2, 2, 1]))], cells, 2)
    truth = np.array([[2, 1], [0, 1], [3, 1]])
    assert not len(breaking(rows, truth))
    assert problem_with(rows, truth) == ""
    assert problem_with(rows, truth[:, ::-1]) == OTHER_WAY_ROUND
    assert problem_with(rows, np.array([[3, 0], [0, 1], [2, 2]])) == OTHER_LABELS


@pytest.mark.parametrize(("low", "certain"), [([0, 3, 1, 2], [0, 1]), ([3, 5, 4, 4], range(5))])
def test_a_pure_leaf_proves_its_people(low, certain):
    cells = cells_of(STOPS, PEOPLE)
    found = class_by_leaf(rows_of([ReleaseCells(STOPS, sums(low))], cells, 2), cells) >= 0
    assert np.flatnonzero(found).tolist() == list(certain)


def test_of_three_classes_nobody_of_one_is_no_proof():
    three = sums([0, 0], trees=(0, 0), nodes=(1, 2), output=(2, 2))
    cells = cells_of(STOPS[:1], PEOPLE)
    rows = rows_of([ReleaseCells(STOPS[:1], three)], cells, 3)
    assert (class_by_leaf(rows, cells) < 0).all()


def test_a_leaf_is_recovered_if_every_class_is_exact():
    found = sums(
        [1, 2, 0, 0], [1, 2, 0, 1], trees=(0, 0, 0, 0), nodes=(1, 1, 2, 2), output=(0, 1, 0, 1)
    )
    assert recovered_leaves(found) == (1, 2)
