"""What each part of the engine says of rows that were worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import entr

from tests.judges.rows_by_hand import rows_of
from treewarden.audit.bounds import ContradictionError
from treewarden.audit.engine import dual as dual_rows
from treewarden.audit.engine.counts import by_leaves, counts_of, look_once, opened, propagate
from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.dual import (
    DENSE_ENTRIES,
    dual_of,
    square,
    steps,
    with_short_indices,
)
from treewarden.audit.engine.problem import How, IntegerCellRows, Problem
from treewarden.audit.engine.search import MilpModel, SearchAnswer, _has_room, one_off
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.progress import FOREVER

FOUR = ("ab cd", "ac bd")


def column(*numbers):
    """Return how many of each cell have the second class, (C, 1)."""
    return np.array(numbers, dtype=np.int64)[:, None]


def test_a_table_beyond_either_end_of_a_row_does_not_fit():
    counts = counts_of(rows_of(FOUR, [1, 1, 1, 1]))
    assert counts.fits(column(1, 0, 0, 1))
    assert not counts.fits(column(0, 0, 0, 0))
    assert not counts.fits(column(1, 1, 1, 1))


def test_a_table_that_breaks_a_row_with_coefficients_does_not_fit():
    # 3 a + 5 b is 5 beside a + b = 1
    scaled = IntegerCellRows(
        sparse.csr_array(np.array([[3, 5]])), *map(np.array, ([5], [5])), np.array([1])
    )
    counts = counts_of(replace(rows_of(("ab",), [1]), scaled=scaled))
    assert counts.fits(column(0, 1))
    assert not counts.fits(column(1, 0))


def test_rows_that_say_no_more_than_the_boxes_are_left_out():
    counts = counts_of(rows_of(("ab", "a", "b"), [1, 0, 0], [1, 1, 1]))
    left = opened(counts, *counts.start())
    assert left.rows.tolist() == [0]
    assert left.part.tolist() == [0, -1, -1]


def test_one_row_that_nothing_fulfils_is_a_contradiction_among_others_that_hold():
    counts = counts_of(rows_of(("ab", "ab"), [1, 3]))
    with pytest.raises(ContradictionError):
        look_once(counts, np.arange(2))


def test_a_person_who_counts_twice_needs_room_for_two():
    # a counts twice in the row, b once: 2 a + b is 2 to 3
    rows = rows_of(("ab",), [2], [3])
    rows = replace(rows, matrix=sparse.csr_array(np.array([[2, 1]])))
    low, high = one_off(counts_of(rows), column(1, 0))
    assert (low.tolist(), high.tolist()) == ([[1], [0]], [[1], [1]])
    low, high = one_off(counts_of(rows), column(1, 1))
    assert (low.tolist(), high.tolist()) == ([[1], [0]], [[1], [1]])


@pytest.mark.parametrize(
    ("low", "high", "first", "last"),
    [([0, 6], [1, 6], (0, 1), (4, 6)), ([7, 0], [8, 7], (3, 3), (0, 1))],
)
def test_what_one_row_moves_moves_the_next_as_often_as_it_counts_there(low, high, first, last):
    # a + b of four people each is at most 1, or at least 7; 2 a + c is 6, or at most 7
    rows = rows_of(("ab", "ac"), low, high, sizes=[4, 4, 6])
    rows = replace(rows, matrix=sparse.csr_array(np.array([[1, 1, 0], [2, 0, 1]])))
    counts = counts_of(rows)
    boxes = propagate(counts, by_leaves(counts))
    assert (boxes.low[0, 0], boxes.high[0, 0]) == first
    assert (boxes.low[2, 0], boxes.high[2, 0]) == last


def test_people_whose_class_is_known_take_no_part_in_the_search_for_the_others():
    # One of the two of a has the first class; of the other and of b one has the second, one the third.
    low = [1, 0, 0] + [0, 0, 0] + [1, 1, 1]
    high = [1, 1, 1] + [0, 1, 1] + [1, 1, 1]
    rows = rows_of(("a b", "ab"), low, high, sizes=[2, 1], classes=3)
    found = reason(rows, budget=TimeBudget(FOREVER))
    assert found.problem == ""
    assert found.left == ()
    assert found.reached_low.tolist() == [[1, 0, 0], [0, 0, 0]]
    assert found.reached_high.tolist() == [[1, 1, 1], [0, 1, 1]]


def test_groups_of_three_alternatives_may_have_alternatives_of_their_own():
    rows = rows_of(("a b",), [0] * 6, [1] * 6, classes=3)
    allowed = np.array([[True, True, False], [False, True, True]])
    wide = sparse.csr_array(np.eye(6, dtype=np.int64))
    problem = replace(rows, matrix=wide, allowed=allowed)
    assert isinstance(problem, Problem)
    assert counts_of(problem).most.tolist() == [[1, 1, 0], [0, 1, 1]]


def test_whoever_is_in_one_leaf_but_not_in_another_of_the_same_sum_has_nothing():
    # acf and ac both hold one: no single row says that f has none, their difference does.
    rows = rows_of(("acf bde gh", "ac eh bdfg"), [1, 2, 1, 1, 1, 2])
    found = reason(rows, budget=TimeBudget(FOREVER))
    assert found.low[5].tolist() == [1, 0]
    assert found.how == ("",) * 5 + (How.CERTIFICATE, "", "")


def test_what_is_known_of_a_cell_has_its_own_entropy():
    # Of seven people 3 have the class, and the newcomer has it: nothing is open.
    found = reason(rows_of(("a", "ab"), [3, 4], sizes=[7, 1]), budget=TimeBudget(FOREVER))
    assert found.estimate.bound == pytest.approx(7 * (entr(3 / 7) + entr(4 / 7)))


def test_the_bound_on_the_entropy_holds_to_the_last_digit():
    # Of two thousand people each may have either class: no table has more than 2000 log 2, added up exactly.
    people = 2000
    rows = Problem(
        sparse.csr_array(np.ones((1, people), dtype=np.int64)),
        *(np.array([end]) for end in (1, people - 1, 1, 0, 0)),
        np.ones(people, dtype=np.int64),
        2,
    )
    counts = counts_of(rows)
    low, high = counts.start()
    dual = dual_of(counts, opened(counts, low, high), low.astype(float), high.astype(float))
    bound = dual.bound(np.zeros(1))
    assert math.fsum([math.log(2)] * people) <= bound
    assert bound == pytest.approx(people * math.log(2))


def test_newton_needs_few_steps():
    counts = counts_of(rows_of(("ab cde", "ac bde", "ad bce"), [1, 2] * 3))
    boxes = propagate(counts, by_leaves(counts))
    left = opened(counts, boxes.low, boxes.high)
    dual = dual_of(counts, left, boxes.low.astype(float), boxes.high.astype(float))
    residuals = [
        step.residual
        for step, _ in zip(steps(dual, np.zeros(len(left.low)), FOREVER), range(6), strict=False)
    ]
    # Each step near the end squares how far it still is.
    assert min(residuals) < 1e-12


def test_what_is_not_decided_together_is_asked_one_by_one(monkeypatch):
    move = MilpModel.move

    def move_one(model, table, targets, clock, units):
        if len(targets) > 1:
            return SearchAnswer(None)
        return move(model, table, targets, clock, units)

    monkeypatch.setattr(MilpModel, "move", move_one)
    found = reason(rows_of(FOUR, [1, 1, 1, 1]), budget=TimeBudget(FOREVER, 5.0))
    assert found.left == ()
    assert (found.reached_low == 0).all()
    assert (found.reached_high == 1).all()


def test_a_number_may_move_by_one_where_all_its_rows_leave_room_for_one():
    # Numbers 0, 1 and 2 are in one row each, number 3 in the first and the last.
    across = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]])
    counts = SimpleNamespace(most_often=1, across=across)
    assert _has_room(counts, np.array([0, 1, 2])).tolist() == [False, True, True, False]
    assert _has_room(counts, np.array([1, 0, 1])).tolist() == [True, False, True, True]


@pytest.mark.parametrize("most", [0, DENSE_ENTRIES])
def test_rows_nearly_full_and_rows_of_few_multiply_to_the_same_square(monkeypatch, most):
    monkeypatch.setattr(dual_rows, "DENSE_ENTRIES", most)  # 0: none is multiplied as full
    random = np.random.default_rng(46)
    shares = np.where(np.arange(600) % 7 == 0, 0.5, 0.01)[:, None]
    dense = np.where(random.random((600, 900)) < shares, random.random((600, 900)), 0.0)
    matrix = sparse.csr_array(dense)
    above = np.triu_indices(600)
    assert np.allclose(square(matrix, FOREVER)[above], (dense @ dense.T)[above], rtol=1e-12)


def test_indices_are_short_only_where_all_fit_into_32_bits():
    long = sparse.csr_array((np.ones(1), (np.zeros(1, np.int64), np.full(1, 2**40))), (1, 2**41))
    assert with_short_indices(long).indices.dtype == np.int64
    short = with_short_indices(sparse.csr_array(np.eye(3)))
    assert short.indices.dtype == np.int32
    assert (short.toarray() == np.eye(3)).all()
