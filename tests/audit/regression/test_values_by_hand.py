"""Rows over numbers that were solved by hand, and all small tables held against what is proved of them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewarden.audit.clock import FOREVER, clock
from treewarden.audit.population.target import step_of
from treewarden.audit.regression import inference
from treewarden.audit.regression.printed_numbers import rounding
from treewarden.audit.regression.rows import Scale, UnitRange, ValueRows
from treewarden.audit.regression.search import (
    NONE_FOUND,
    OUT_OF_TIME,
    _SumProgram,
    by_programs,
    determined,
    reached_from,
    solved,
)

AB_CD, AC_BD, AD_BC = [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]


def rows_of(trees, x, most, sizes=None):
    """Return the rows of trees, each of which parts the cells, about true sums in whole units."""
    x = np.asarray(x, dtype=float)
    place, ends, start = [], [], 0
    for tree in np.asarray(trees):
        place.append(tree + start)
        ends.append(np.bincount(tree, x))
        start += tree.max() + 1
    sums = np.concatenate(ends)
    sizes = np.ones(len(x)) if sizes is None else np.asarray(sizes, dtype=float)
    least, top = np.zeros(len(x)), np.full(len(x), float(most))
    scale = Scale(0.0, 1.0, float(most), is_whole=True)
    return ValueRows(np.array(place), sums, sums, sizes, least, top, scale)


def joined(rows, x):
    """Return what is proved of the cells, and what tables that fit reach."""
    x = np.asarray(x, dtype=float)
    low, high = inference.propagated(rows, *inference.starting_ends(rows))
    reached = reached_from(rows, x)
    found = solved(rows, low < high)
    if found is not None:
        low, high = inference.propagated(rows, *determined(rows, found, low, high))
        low, high, _ = by_programs(rows, found, reached, low, high, FOREVER)
    return low, high, reached


def test_two_trees_over_four_people_leave_one_number_free():
    # a = 4 + t, b = 5 - t, c = 6 - t, d = 5 + t, all from 0 to 10: t goes from -4 to 5
    x = [4, 5, 6, 5]
    low, high, reached = joined(rows_of([AB_CD, AC_BD], x, 10), x)
    assert (low.tolist(), high.tolist()) == ([0, 0, 1, 1], [9, 9, 10, 10])
    # the search ends where everybody was moved far enough
    assert (low <= reached.low).all()
    assert (reached.high <= high).all()
    assert (reached.high - reached.low >= 3).all()


@pytest.mark.parametrize(("until", "why"), [(FOREVER, NONE_FOUND), (clock(0), OUT_OF_TIME)])
def test_why_no_more_tables_are_looked_for_is_said(monkeypatch, until, why):
    monkeypatch.setattr(_SumProgram, "move", lambda *_: False)
    x = np.array([4, 5, 6, 5], dtype=float)
    rows = rows_of([AB_CD, AC_BD], x, 10)
    low, high = inference.propagated(rows, *inference.starting_ends(rows))
    found = solved(rows, low < high)
    assert by_programs(rows, found, reached_from(rows, x), low, high, until)[2] == why


def test_the_one_who_alone_can_have_the_greatest_number_has_it():
    # a + b = 7 and c + d = 12 in one tree, a + c = 13 in the other: of 10, c has at least 6 and nobody else can have 10
    x = [3, 4, 10, 2]
    rows = rows_of([AB_CD, AC_BD], x, 10)
    low, high, reached = joined(rows, x)
    assert low[2] < high[2]
    known = replace(rows, ranges=(UnitRange(np.ones(4, dtype=bool), 2.0, 10.0),))
    low, high = inference.held_ends(
        known, *inference.propagated(known, *inference.starting_ends(known))
    )
    assert (low[2], high[2]) == (10, 10)
    assert low.tolist() == high.tolist() == x
    reached = reached_from(known, np.array(x, dtype=float))
    assert not reached.take(known, np.arange(4), np.array([1.0, -1.0, -1.0, 1.0]))
    assert reached.take(rows, np.arange(4), np.array([1.0, -1.0, -1.0, 1.0]))


def test_a_third_tree_fixes_it_though_no_leaf_alone_does():
    x = [4, 5, 6, 5]
    rows = rows_of([AB_CD, AC_BD, AD_BC], x, 10)
    low, high = inference.propagated(rows, *inference.starting_ends(rows))
    assert (low < high).all()
    low, high, reached = joined(rows, x)
    assert low.tolist() == high.tolist() == x
    assert reached.low.tolist() == reached.high.tolist() == x


def test_the_range_alone_settles_a_leaf_at_its_end():
    x = [0, 1, 2, 3]
    rows = rows_of([AB_CD, AC_BD], x, 3)
    low, high = inference.propagated(rows, *inference.starting_ends(rows))
    assert low.tolist() == high.tolist() == x


def test_of_several_people_whom_no_leaf_tells_apart_only_sums_are_known():
    rows = rows_of([[0, 1]], [28, 15], 10, sizes=[3, 3])
    low, high = inference.of_one(rows, *inference.propagated(rows, *inference.starting_ends(rows)))
    assert low.tolist() == [8, 0]
    assert high.tolist() == [10, 10]


def test_weights_of_any_kind_prove_nothing_that_is_false():
    x = np.array([4, 5, 6, 5], dtype=float)
    rows = rows_of([AB_CD, AC_BD], x, 10)
    start = inference.starting_ends(rows)
    found = solved(rows, start[0] < start[1])
    draw = np.random.default_rng(0)
    for _ in range(20):
        weights = draw.normal(size=(4, len(found.rows)))
        wrong = replace(found, determined=np.arange(4), weights=weights)
        low, high = determined(rows, wrong, *start)
        assert (low <= x).all()
        assert (x <= high).all()
        # t = -4 and t = 5 fit as well
        assert (low <= [0, 0, 1, 1]).all()
        assert (high >= [9, 9, 10, 10]).all()


@st.composite
def tables(draw):
    """Return trees over a few cells, the true sums of these, how many people each has, and the largest number."""
    cells, most = draw(st.integers(2, 5)), draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, 2), min_size=cells, max_size=cells))
    x = [draw(st.integers(0, most * size)) for size in sizes]
    part = st.lists(st.integers(0, 2), min_size=cells, max_size=cells)
    trees = draw(st.lists(part, min_size=1, max_size=3))
    named = [np.unique(tree, return_inverse=True)[1].reshape(-1) for tree in trees]
    return named, x, sizes, most


@given(tables())
def test_every_table_that_fits_lies_within_the_proofs_and_each_that_is_reached_fits(table):
    trees, x, sizes, most = table
    rows = rows_of(trees, x, most, sizes)
    low, high, reached = joined(rows, x)
    every = product(*(range(most * size + 1) for size in sizes))
    fit = np.array([each for each in every if not rows.are_broken_by(np.array(each, float)).any()])
    assert (low <= fit.min(axis=0)).all()
    assert (fit.max(axis=0) <= high).all()
    assert all(one in fit[:, cell] for cell, one in enumerate(reached.low))
    assert all(one in fit[:, cell] for cell, one in enumerate(reached.high))


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([1.0, 4.0, 7.0], 3.0),
        ([0.1, 0.25, 0.4], 0.15),
        ([25000.0, 31000.0, 32000.0], 1000.0),
        ([1.0, 2.0, 1 / 3], 0.0),
        ([0.0, 0.1, 1e9], 0.0),
        ([5.0], 0.0),
    ],
)
def test_the_step_is_what_all_values_are_multiples_of(values, step):
    assert step_of(np.array(sorted(values))) == step


@pytest.mark.parametrize(
    ("numbers", "room"),
    [
        ([152.13, 7.5], [0.005, 0.005]),
        ([12.0, 3.0], [0.5, 0.5]),
        ([0.25, 120000.0], [0.005, 5000.0]),
    ],
)
def test_numbers_that_are_read_off_a_page_were_rounded_by_half_a_unit(numbers, room):
    assert rounding(np.array(numbers)) == pytest.approx(np.array(room), rel=1e-2)
    assert (rounding(np.array(numbers)) >= room).all()


def test_numbers_of_full_length_were_rounded_by_the_machine():
    assert rounding(np.array([1 / 3, 2.5])).max() < 1e-15
    single = np.array([1 / 3, 1.25], dtype=np.float32).astype(float)
    assert 1e-9 < rounding(single).max() < 1e-6
