"""Rows over amounts that were solved by hand, and all small tables held against what is proved of them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from treewarden.audit.bounds import NO_ROW, RowBounds
from treewarden.audit.engine import amounts
from treewarden.audit.engine.amounts import (
    NONE_FOUND,
    OUT_OF_TIME,
    able_groups,
    determined,
    ends_of_one,
    proved,
    reached_from,
    solved,
)
from treewarden.audit.engine.counts import counts_of
from treewarden.audit.engine.driver import NO_TABLE, reason
from treewarden.audit.engine.problem import AmountRange, Amounts, Problem
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.progress import FOREVER

AB_CD, AC_BD, AD_BC = [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]


def problem_of(trees, x, most, sizes=None, *, ranges=(), is_whole=True):
    """Return the rows of trees, each of which parts the cells, about true sums in whole units."""
    x, low, origins, rows = np.asarray(x), [], [], []
    for number, tree in enumerate(np.asarray(trees)):
        for node in np.unique(tree).tolist():
            rows.append((tree == node).astype(np.int64))
            low.append(int(x[tree == node].sum()))
            origins.append((number, node))
    cells, low = len(x), np.array(low)
    numbers, nodes = np.array(origins).T
    least, top = np.zeros(cells, dtype=np.int64), np.full(cells, most)
    return Problem(
        matrix=sparse.csr_array(np.array(rows)),
        low=low,
        high=low,
        output=np.zeros(len(low), dtype=np.intp),
        trees=numbers,
        nodes=nodes,
        sizes=np.ones(cells, dtype=np.int64) if sizes is None else np.asarray(sizes),
        classes=1,
        amounts=Amounts(least, top, most, is_whole, ranges),
    )


def joined(problem, x=None, seconds=5.0):
    """Return what is proved of the cells, and what tables that fit reach, (C,) each."""
    truth = None if x is None else np.asarray(x)[:, None]
    bounds = reason(problem, truth=truth, budget=TimeBudget(FOREVER, seconds))
    assert bounds.problem == ""
    ends = bounds.low, bounds.high, bounds.reached_low, bounds.reached_high
    return (*(end[:, 0] for end in ends), bounds)


def by_rows(problem):
    """Return what the rows prove one at a time, (C,) each."""
    return joined(replace(problem, trees=np.zeros_like(problem.trees)))[:2]


def test_two_trees_over_four_people_leave_one_number_free():
    # a = 4 + t, b = 5 - t, c = 6 - t, d = 5 + t, all from 0 to 10: t goes from -4 to 5
    x = [4, 5, 6, 5]
    low, high, reached_low, reached_high, bounds = joined(problem_of([AB_CD, AC_BD], x, 10), x)
    assert (low.tolist(), high.tolist()) == ([0, 0, 1, 1], [9, 9, 10, 10])
    # the search ends where everybody was moved far enough
    assert (low <= reached_low).all()
    assert (reached_high <= high).all()
    assert (reached_high - reached_low >= 3).all()
    assert bounds.left == ()


@pytest.mark.parametrize(("seconds", "why"), [(60.0, NONE_FOUND), (0.0, OUT_OF_TIME)])
def test_why_no_more_tables_are_looked_for_is_said(monkeypatch, seconds, why):
    monkeypatch.setattr(amounts._SumProgram, "move", lambda *_: False)
    x = [4, 5, 6, 5]
    assert joined(problem_of([AB_CD, AC_BD], x, 10), x, seconds)[-1].left == (why,)


def test_the_one_who_alone_can_have_the_greatest_number_has_it():
    # a + b = 7 and c + d = 12 in one tree, a + c = 13 in the other: of 10, c has at least 6 and nobody else can have 10
    x = [3, 4, 10, 2]
    problem = problem_of([AB_CD, AC_BD], x, 10)
    low, high, *_ = joined(problem, x)
    assert low[2] < high[2]
    somebody = AmountRange(np.ones(4, dtype=bool), 2, 10)
    known = replace(problem, amounts=replace(problem.amounts, ranges=(somebody,)))
    low, high, reached_low, reached_high, _ = joined(known, x)
    assert low.tolist() == high.tolist() == reached_low.tolist() == reached_high.tolist() == x
    change = np.array([1, -1, -1, 1])
    for of, is_table in ((known, False), (problem, True)):
        counts = counts_of(of)
        assert reached_from(counts, np.array(x)).take(counts, np.arange(4), change) is is_table


def test_a_third_tree_fixes_it_though_no_leaf_alone_does():
    x = [4, 5, 6, 5]
    problem = problem_of([AB_CD, AC_BD, AD_BC], x, 10)
    low, high = by_rows(problem)
    assert (low < high).all()
    for known in (x, None):
        low, high, reached_low, reached_high, bounds = joined(problem, known)
        assert low.tolist() == high.tolist() == x
        assert set(bounds.how) == {"certificate"}
        # Nobody's number is open: where a table is known, no other is looked for.
        assert bounds.left == (() if known else (NO_TABLE,))
    assert (reached_low > reached_high).all()


def test_the_range_alone_settles_a_leaf_at_its_end():
    x = [0, 1, 2, 3]
    low, high = by_rows(problem_of([AB_CD, AC_BD], x, 3))
    assert low.tolist() == high.tolist() == x


def test_a_leaf_whose_people_all_have_the_most_settles_them_by_itself():
    bounds = joined(problem_of([AB_CD], [10, 10, 3, 4], 10))[-1]
    assert bounds.how == ("leaf", "leaf", "", "")
    assert bounds.row.tolist() == [0, 0, NO_ROW, NO_ROW]


def test_of_several_people_whom_no_leaf_tells_apart_only_sums_are_known():
    problem = problem_of([[0, 1]], [28, 15], 10, sizes=[3, 3])
    low, high = ends_of_one(problem.sizes, problem.amounts, *by_rows(problem))
    assert low.tolist() == [8, 0]
    assert high.tolist() == [10, 10]


def test_a_table_that_the_rows_do_not_fit_is_no_table_found():
    problem = problem_of([AB_CD, AC_BD], [4, 5, 6, 5], 10)
    *_, reached_low, reached_high, bounds = joined(problem, [4, 5, 6, 6])
    assert (reached_low > reached_high).all()
    assert "no consistent table is known" in bounds.left[0]


def test_only_people_of_a_range_can_have_its_ends():
    # Of a and b somebody has 4, and somebody 10; d has 10 and is not of them.
    x = np.array([4, 5, 6, 10])
    of_two = AmountRange(np.array([True, True, False, False]), 4, 10)
    counts = counts_of(problem_of([AB_CD], x, 10, ranges=(of_two,)))
    assert able_groups(counts, x).tolist() == [[False] * 4, [True, False, False, False]]


def test_rows_that_no_amounts_fulfil_are_a_problem_and_prove_nothing_else():
    problem = problem_of([AB_CD, AC_BD], [4, 5, 6, 5], 10)
    low = problem.low.copy()
    low[0] = 21
    bounds = reason(replace(problem, low=low, high=low), budget=TimeBudget(FOREVER, 1.0))
    assert bounds.problem


def test_weights_of_any_kind_prove_nothing_that_is_false():
    x = np.array([4, 5, 6, 5])
    draw = np.random.default_rng(0)
    for is_whole in (True, False):
        problem = problem_of([AB_CD, AC_BD], x, 10, is_whole=is_whole)
        counts = counts_of(problem)
        low, high = counts.start()
        start = RowBounds(low, high, np.full(4, NO_ROW))
        found = solved(counts, problem.parts, np.ones(4, dtype=bool))
        for _ in range(20):
            weights = draw.normal(size=(4, len(found.rows)))
            wrong = replace(found, determined=np.arange(4), weights=weights)
            boxes = determined(counts, wrong, start)
            # t = -4 and t = 5 fit as well
            assert (boxes.low[:, 0] <= [0, 0, 1, 1]).all(), is_whole
            assert (boxes.high[:, 0] >= [9, 9, 10, 10]).all(), is_whole


def test_a_proof_about_huge_amounts_is_off_by_what_its_own_sums_may_be_and_no_more():
    # One person has 2^50 units: products of that size are rounded by a quarter of a unit at most.
    huge = 2**50
    counts = counts_of(problem_of([[0]], [huge], 2 * huge, is_whole=False))
    found = solved(counts, np.array([0]), np.ones(1, dtype=bool))
    low, high = (end[:, 0] for end in counts.start())
    least, most = proved(counts, found, np.ones((1, 1)), np.ones((1, 1)), low, high)
    assert huge - 6 <= least[0] < huge < most[0] <= huge + 6


@st.composite
def tables(draw):
    """Return trees over a few cells, the true sums of these, how many people each has, and the largest number."""
    cells, most = draw(st.integers(2, 5)), draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, 2), min_size=cells, max_size=cells))
    x = [draw(st.integers(0, most * size)) for size in sizes]
    part = st.lists(st.integers(0, 2), min_size=cells, max_size=cells)
    trees = draw(st.lists(part, min_size=1, max_size=3))
    return trees, x, sizes, most


@given(tables())
def test_every_table_that_fits_lies_within_the_proofs_and_each_that_is_reached_fits(table):
    trees, x, sizes, most = table
    problem = problem_of(trees, x, most, sizes)
    low, high, reached_low, reached_high, _ = joined(problem, x)
    every = np.array(list(product(*(range(most * size + 1) for size in sizes))))
    total = every @ problem.matrix.toarray().T
    fit = every[((problem.low <= total) & (total <= problem.high)).all(axis=1)]
    assert (low <= fit.min(axis=0)).all()
    assert (fit.max(axis=0) <= high).all()
    assert all(one in fit[:, cell] for cell, one in enumerate(reached_low))
    assert all(one in fit[:, cell] for cell, one in enumerate(reached_high))
