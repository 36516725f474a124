"""Rows over people who each add a number of their own: whatever they prove is held against listing every table."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.judges.rows_by_hand import rows_of
from tests.kit.rows import rows
from treewarden.audit.engine.counts import counts_of
from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.inverters import Added
from treewarden.audit.joint.cells import scaled_of
from treewarden.audit.joint.leaf_facts import OTHER_LABELS, problem_with
from treewarden.audit.progress import clock

pytest.importorskip("ortools", reason="looks for other tables")


def added(numbers, total, *, room=1e-9, output=1):
    """Return one sum over all cells, a profile to each."""
    numbers = np.array(numbers, dtype=float)
    where = np.zeros(len(numbers), dtype=np.intp)
    ends = np.array([total - room]), np.array([total + room])
    return Added(0, output, np.array([0]), where, numbers, *ends)


def with_sums(rows, *sums):
    return replace(rows, scaled=scaled_of(sums, np.arange(len(rows.sizes)), rows.sizes))


def test_a_sum_tells_apart_what_counts_do_not():
    rows = rows_of(("ab cd", "ac bd"), [1, 1, 1, 1])
    open_ = reason(rows, budget=TimeBudget(clock(5.0)))
    assert (open_.low < open_.high).all()
    told = reason(with_sums(rows, added([1, 2, 3, 4.5], 5.5)), budget=TimeBudget(clock(5.0)))
    assert told.low[:, 1].tolist() == told.high[:, 1].tolist() == [1, 0, 0, 1]


def test_a_sum_that_is_the_same_either_way_tells_nothing():
    rows = with_sums(rows_of(("ab cd", "ac bd"), [1, 1, 1, 1]), added([1, 2, 3, 4], 5))
    told = reason(rows, budget=TimeBudget(clock(5.0)))
    assert told.reached_low[:, 1].tolist() == [0, 0, 0, 0]
    assert told.reached_high[:, 1].tolist() == [1, 1, 1, 1]


def test_a_sum_that_no_table_has_is_a_contradiction():
    rows = with_sums(rows_of(("ab cd", "ac bd"), [1, 1, 1, 1]), added([1, 2, 3, 4], 5.1))
    assert "no table" in reason(rows, budget=TimeBudget(clock(5.0))).problem


def test_true_values_that_do_not_add_up_are_of_another_table():
    rows = rows_of(("ab cd", "ac bd"), [1, 1, 1, 1])
    truth = np.array([[0, 1], [1, 0], [1, 0], [0, 1]])
    assert problem_with(with_sums(rows, added([1, 2, 3, 4.5], 5.5)), truth) == ""
    assert problem_with(with_sums(rows, added([1, 2, 3, 4.5], 5)), truth) == OTHER_LABELS


@rows("seed", range(30))
def test_nothing_is_proved_or_found_that_no_listing_of_tables_has(seed):
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, 3, 4).tolist()
    true = np.array([draw.integers(size + 1) for size in sizes])
    trees = ("ab cd", "ac bd")
    sums = [true[[0, 1]].sum(), true[[2, 3]].sum(), true[[0, 2]].sum(), true[[1, 3]].sum()]
    numbers = draw.normal(0, 1, 4) if seed % 2 else draw.integers(-2, 3, 4) / 3
    rows = with_sums(rows_of(trees, sums, sizes=sizes), added(numbers, float(numbers @ true)))
    counts = counts_of(rows)
    tables = [
        np.array(each)
        for each in product(*(range(size + 1) for size in sizes))
        if counts.fits(np.array(each)[:, None])
    ]
    assert any((each == true).all() for each in tables)
    assert all(abs(numbers @ each - numbers @ true) < 1e-6 for each in tables)
    truth = np.stack([np.array(sizes) - true, true], axis=1)
    told = reason(rows, truth=truth, budget=TimeBudget(clock(5.0)))
    low, high = np.min(tables, axis=0), np.max(tables, axis=0)
    assert told.low[:, 1].tolist() == low.tolist() == told.reached_low[:, 1].tolist()
    assert told.high[:, 1].tolist() == high.tolist() == told.reached_high[:, 1].tolist()


def test_sums_of_several_classes_are_of_their_own_class():
    first = np.array([0, 1])
    table = np.array([[1, 0, 0], [0, 0, 1]])
    scaled = scaled_of([added([0.3, 0.7], 0.7, output=2)], first, np.array([1, 1]))
    assert scaled.over(3).fits(table.reshape(-1))
    assert not scaled.over(3).fits(table[::-1].reshape(-1))


def test_large_numbers_leave_room_for_sums_over_everybody():
    scaled = scaled_of([added([1e9, -1e9], 0.0)], np.array([0, 1]), np.array([10**6, 10**6]))
    assert scaled.fits(np.array([10**6, 10**6]))
    assert not scaled.fits(np.array([10**6, 10**6 - 1]))
