"""Rows of real numbers: what is proved of whole unknowns, by hand and against all of them and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from treewarden.audit.bounds import ContradictionError
from treewarden.audit.engine.fillings import FewUnknowns
from treewarden.audit.engine.real_rows import RealRows, _by_combinations, _DenseSystem, tighten
from treewarden.audit.engine.time_budget import SECONDS_A_FLOP
from treewarden.audit.progress import FOREVER, work_clock


def rows_of(matrix, low, high, spread=0.0):
    """Return rows whose coefficients may all be off by ``spread``."""
    own = sparse.csr_array(np.array(matrix, dtype=np.float64))
    off = own.copy()
    off.data = np.full(len(own.data), spread)
    return RealRows(own, off, np.array(low, dtype=np.float64), np.array(high, dtype=np.float64))


def boxes(size, low, high):
    return np.full(size, low, dtype=np.int64), np.full(size, high, dtype=np.int64)


def test_a_row_leaves_each_unknown_what_the_others_do_not_need():
    # x + 2 y + 3 z is 3
    low, high = tighten(rows_of([[1, 2, 3]], [3], [3]), *boxes(3, 0, 10), FOREVER)
    assert low.tolist() == [0, 0, 0]
    assert high.tolist() == [3, 1, 1]


def test_two_rows_together_settle_what_neither_does():
    # x + y = 10 and x - y = 2, beside a row that says little
    rows = rows_of([[1, 1], [1, -1], [1, 0]], [10, 2, -5], [10, 2, 15])
    low, high = tighten(rows, *boxes(2, 0, 10), FOREVER)
    assert low.tolist() == high.tolist() == [6, 4]


def test_work_on_rows_together_is_counted_and_cheaper_proofs_come_first_again():
    # x and y are settled together; z stays, and a row more than unknowns takes work as well
    rows = rows_of([[1, 1, 0], [1, -1, 0], [1, 0, 1], [0, 0, 1]], [10, 2, -5, -5], [10, 2, 40, 40])
    until = work_clock(1e9)
    # Only lower ends can move, and only two of them.
    low, high = _by_combinations(rows, np.zeros(3, dtype=np.int64), np.array([6, 4, 10]), until)
    assert low.tolist() == [6, 4, 0]
    assert high.tolist() == [6, 4, 10]
    assert until.meter.spent == pytest.approx(SECONDS_A_FLOP * (3 + 4) ** 3)


def test_a_row_whose_ends_are_zero_is_combined_with_others():
    # -2x - 2y + z = 0 and x - y = 0, so z = 4x, and no z up to 3 but 0: both rows are as narrow as can be
    rows = rows_of([[-2, -2, 1], [1, -1, 0]], [0, 0], [0, 0])
    low, high = np.zeros(3, dtype=np.int64), np.full(3, 3)
    weights = _DenseSystem.from_rows(rows, low, high).weights(1e4)
    assert np.isfinite(weights).all()
    assert weights.any()
    low, high = tighten(rows, low, high, FOREVER)
    assert low.tolist() == high.tolist() == [0, 0, 0]


@st.composite
def cases(draw):
    """Draw rows over up to four unknowns in boxes, which numbers that are drawn as well fulfil."""
    size = draw(st.integers(1, 4))
    number, factor = st.integers(0, 3), st.sampled_from([-2.0, -1.0, 0.5, 1.0, 1.5, 3.0])
    truth = np.array(draw(st.lists(number, min_size=size, max_size=size)))
    matrix, low, high = [], [], []
    for _ in range(draw(st.integers(1, 4))):
        row = np.array(draw(st.lists(factor, min_size=size, max_size=size)))
        below, above = draw(st.sampled_from([0.0, 0.25, 2.0])), draw(st.sampled_from([0.0, 1.5]))
        matrix.append(row)
        low.append(row @ truth - below)
        high.append(row @ truth + above)
    return rows_of(matrix, low, high, draw(st.sampled_from([0.0, 0.01])))


@given(cases())
def test_no_numbers_that_fulfil_the_rows_are_lost(rows):
    size = rows.matrix.shape[1]
    every = np.array(list(product(range(4), repeat=size)))
    total, off = every @ rows.matrix.toarray().T, every @ rows.spread.toarray().T
    fit = every[((total + off >= rows.low) & (total - off <= rows.high)).all(axis=1)]
    low, high = tighten(rows, *boxes(size, 0, 3), FOREVER)
    assert (low <= fit.min(axis=0)).all()
    assert (fit.max(axis=0) <= high).all()


def test_two_rows_over_thirty_people_settle_who_of_them_adds_up_to_their_ends():
    # 2^30 ways, too many to list and too few rows for linear combinations
    draw = np.random.default_rng(0)
    inside, matrix = draw.permutation(30) < 15, draw.random((2, 30))
    total = matrix @ inside
    rows = rows_of(matrix, total - 1e-7, total + 1e-7, spread=1e-9)
    low, high = tighten(rows, *boxes(30, 0, 1), FOREVER)
    assert low.tolist() == high.tolist() == inside.astype(int).tolist()


def test_people_whom_a_small_leaf_settles_make_others_small_enough():
    # The second row alone has 2^50 ways; the first settles half of its people.
    draw = np.random.default_rng(1)
    inside = (draw.permutation(50) < 25).astype(int)
    matrix = draw.random((2, 50))
    matrix[0, 25:] = 0
    total = matrix @ inside
    rows = rows_of(matrix, total - 1e-9, total + 1e-9)
    low, high = tighten(rows, *boxes(50, 0, 1), FOREVER)
    assert low.tolist() == high.tolist() == inside.tolist()


@st.composite
def few_unknowns(draw):
    """Draw rows over up to five unknowns with spans of their own, which numbers that are drawn as well fulfil."""
    spans = np.array(draw(st.lists(st.integers(1, 3), min_size=1, max_size=5)))
    truth = np.array([draw(st.integers(0, int(span))) for span in spans])
    number = st.sampled_from([-1.0, 0.0, 0.3, 0.7, 1.0, 1.1])
    rows = draw(st.integers(1, 3))
    matrix = np.array([[draw(number) for _ in spans] for _ in range(rows)])
    width = np.array([draw(st.sampled_from([0.0, 0.35, np.inf])) for _ in range(rows)])
    spread = np.full(matrix.shape, draw(st.sampled_from([0.0, 0.01])))
    return FewUnknowns(matrix, spread, matrix @ truth - 0.1, matrix @ truth + width, spans)


@given(few_unknowns())
def test_fillings_by_halves_are_those_by_all(rows):
    every = np.array(list(product(*(range(span + 1) for span in rows.spans))))
    total, off = every @ rows.matrix.T, every @ rows.spread.T
    fit = every[((total + off >= rows.low) & (total - off <= rows.high)).all(axis=1)]
    near = ((total + off >= rows.low - 1e-12) & (total - off <= rows.high + 1e-12)).all(axis=1)
    low, high = rows.shared_ends(FOREVER)
    assert (low <= fit.min(axis=0)).all()
    assert (fit.max(axis=0) <= high).all()
    assert (low >= every[near].min(axis=0)).all()
    assert (high <= every[near].max(axis=0)).all()


def test_fillings_that_no_row_allows_contradict():
    one = np.array([[1.0, 2.0]])
    rows = FewUnknowns(one, 0 * one, np.array([2.5]), np.array([2.75]), np.array([1, 1]))
    with pytest.raises(ContradictionError):
        rows.shared_ends(FOREVER)


def test_an_unknown_with_most_of_the_ways_is_not_listed():
    one = np.array([[1.0, 2.0]])
    spans = np.array([1, 2**30])
    rows = FewUnknowns(one, 0 * one, np.array([2.0]), np.array([2.0]), spans)
    assert rows.shared_ends(FOREVER) is None


@st.composite
def systems(draw):
    """Draw a system of rows, and weights of them for each unknown: any ones prove something."""
    rows, size = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    number = st.sampled_from([-1.5, -1.0, 0.0, 0.25, 1.0, 2.0])

    def drawn(*shape):
        return np.array([draw(number) for _ in range(int(np.prod(shape)))]).reshape(shape)

    least = np.array([float(draw(st.integers(0, 2))) for _ in range(size)])
    most = least + [float(draw(st.integers(0, 2))) for _ in range(size)]
    middle = drawn(rows) * draw(st.sampled_from([1.0, 1e6]))
    half = np.abs(drawn(rows))
    return _DenseSystem(drawn(rows, size), middle, half, least, most), drawn(size, rows)


def exact_ends(system, weights, at):
    """Return between which ends weights prove an unknown to lie, in exact arithmetic."""
    matrix = [[Fraction(number) for number in row] for row in system.matrix.tolist()]
    own = [Fraction(weight) for weight in weights[at].tolist()]
    total = sum(w * Fraction(b) for w, b in zip(own, system.middle.tolist(), strict=True))
    width = sum(abs(w) * Fraction(h) for w, h in zip(own, system.half.tolist(), strict=True))
    made = [
        sum(w * row[column] for w, row in zip(own, matrix, strict=True)) - (column == at)
        for column in range(len(system.least))
    ]
    ends = list(zip(made, system.least.tolist(), system.most.tolist(), strict=True))
    most = sum(max(part * Fraction(a), part * Fraction(b)) for part, a, b in ends)
    least = sum(min(part * Fraction(a), part * Fraction(b)) for part, a, b in ends)
    return total - width - most, total + width - least


def check_enclosures(system, weights):
    low, high = system.enclosures(weights)
    size = 1 + np.abs(weights) @ np.abs(system.middle)
    for at in range(len(system.least)):
        least, most = exact_ends(system, weights, at)
        assert Fraction(low[at]) <= least
        assert most <= Fraction(high[at])
        assert low[at] >= float(least) - 1e-12 * size[at]
        assert high[at] <= float(most) + 1e-12 * size[at]


@given(systems())
def test_an_enclosure_is_what_its_weights_prove_rounded_outward(case):
    check_enclosures(*case)


def test_sums_far_larger_than_the_unknowns_are_rounded_outward_too():
    one = np.ones((1, 1))
    check_enclosures(_DenseSystem(one, np.array([1e6]), np.zeros(1), np.zeros(1), one[0]), one)
