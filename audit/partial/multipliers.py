"""The multipliers of linear rows, over tables of known margins: Newton's method on the dual.

Of the greatest entropy under the rows sum z S_c >= b_c the dual in one multiplier a column and one a row is convex,
the multipliers of the table's own rows being eliminated: F(v, x) = sum_r n_r ln sum_j exp(v_j + sum_c x_c S_c[r, j])
- c v - x b, over x >= 0, or any x of a row that asks for just so much. Its value bounds that entropy from above
whatever v and x are, so that nothing here has to be exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy import linalg, optimize, sparse

from audit.partial.allowance import Allowance
from ppdm_models.arrays import BoolArray, FloatArray, IndexArray

STEPS = 200
FEWEST_STEPS = 5
"""Fewer steps than these are seldom enough, so that none is begun where they cannot be paid."""
CLOSE = 1e-11
"""A step is the last one where what is broken is less than this for each record."""
SHORTEST = 1e-10
FARTHEST = 5.0
"""No step changes the logarithm of a cell by more, for each multiplier: behind that Newton's matrix may be flat."""
SMALL = 1e-10
"""Added to what Newton's matrix has on its diagonal, in shares of that: columns that move together are many."""
FLAT = 1e-5
"""The least that this is a share of, in shares of the greatest."""
SPARSE_BELOW = 0.05
"""Share of cells that rows speak of below which they are kept sparse."""
MOST_AT_ONCE = 20_000_000
TABLES = 12.0
"""Operations that a step takes for each cell of its table, and for each that rows speak of."""
AT_ONCE = 20.0
"""Of products of matrices, so many operations take as long as one of others."""


@dataclass(frozen=True, slots=True)
class Slopes:
    """C rows over a table of (R, J), whose groups of people are in B branches: ``branch`` (R,).

    In row c what is at (r, j) counts ``value[c, branch[r] * J + j]``, (C, B * J); ``least`` (C,) is asked for, and no
    more either where it ``is_equal``, (C,).
    """

    branch: IndexArray
    value: sparse.csr_array
    least: FloatArray
    is_equal: BoolArray

    def only(self, rows: IndexArray, groups: IndexArray, places: IndexArray, size: int) -> Slopes:
        """Return some of the rows, over some of the groups and of the J = ``size`` places."""
        branches = np.arange(self.value.shape[1] // size)
        cells = (branches[:, None] * size + places).ravel()
        value = sparse.csr_array(self.value[rows][:, cells])
        return Slopes(self.branch[groups], value, self.least[rows], self.is_equal[rows])

    @property
    def most(self) -> FloatArray:
        """The most that a cell counts in each row, (C,)."""
        return np.asarray(abs(self.value).max(axis=1).toarray()).ravel()

    def places(self, size: int) -> IndexArray:
        """Return which of the J = ``size`` places rows speak of."""
        return np.unique(self.value.indices % size)

    def add(self, multipliers: FloatArray, powers: FloatArray) -> None:
        """Add what these multipliers of the rows do to the logarithm of each cell, (R, J)."""
        found = np.asarray(multipliers @ self.value).reshape(-1, powers.shape[1])
        there = np.flatnonzero(found.any(axis=0))
        powers[:, there] += found[:, there][self.branch]

    def over(self, table: FloatArray) -> FloatArray:
        """Return what a table, (R, J), counts in each row, (C,)."""
        shape, places = (
            (self.value.shape[1] // table.shape[1], len(table)),
            self.places(table.shape[1]),
        )
        ones = np.ones(len(table)), (self.branch, np.arange(len(table)))
        by_branch = np.zeros((shape[0], table.shape[1]))
        by_branch[:, places] = sparse.csr_array(ones, shape=shape) @ table[:, places]
        return np.asarray(self.value @ by_branch.ravel())

    def spread(self, some: slice, places: int) -> sparse.csr_array:
        """Return what each cell of some groups of people counts, (C, R' * J)."""
        branch = self.branch[some]
        cells = sparse.csc_array(self.value)
        of_branch = np.diff(cells.indptr[::places])[branch]
        ends = np.cumsum(of_branch)
        first = cells.indptr[:-1:places][branch]
        at = np.arange(int(of_branch.sum())) + np.repeat(first - ends + of_branch, of_branch)
        column = np.repeat(np.arange(cells.shape[1]), np.diff(cells.indptr))[at] % places
        column = column + places * np.repeat(np.arange(len(branch)), of_branch)
        shape = len(self.least), len(branch) * places
        return sparse.coo_array((cells.data[at], (cells.indices[at], column)), shape=shape).tocsr()

    def spread_dense(self, some: slice, places: int) -> FloatArray:
        """Return the same, quicker where rows speak of many cells."""
        of_branch = self.value.toarray().reshape(len(self.least), -1, places)
        return np.asarray(of_branch[:, self.branch[some]].reshape(len(self.least), -1))


@dataclass(frozen=True, slots=True)
class _At:
    """The dual at some multipliers: its value and gradient, and the table there, (R, J)."""

    value: float
    slope: FloatArray
    table: FloatArray


def multipliers(
    can: BoolArray,
    supply: FloatArray,
    demand: FloatArray,
    rows: Sequence[Slopes],
    start: FloatArray,
    allowance: Allowance,
) -> FloatArray | None:
    """Return the multipliers of the places and then of all rows, (J + C,), nearly optimal; None where all is spent.

    ``can`` (R, J) says where the ``supply`` (R,) can be; all columns' ``demand`` (J,) is positive. ``start`` are
    multipliers of the columns and the first rows.
    """
    is_equal = np.concatenate([np.ones(len(demand), dtype=bool), *(each.is_equal for each in rows)])
    x, bounded = np.zeros(len(is_equal)), ~is_equal
    x[: len(start)] = start
    spoken = sum(len(each.places(len(demand))) for each in rows)
    most = np.concatenate([np.ones(len(demand)), *(each.most for each in rows)])
    cost = _cost(can.shape, len(x), spoken)
    if allowance.left < FEWEST_STEPS * cost:
        return None
    pieces = list(islice(_cells(rows, len(can), len(demand)), 2))
    at = _dual(x, can, supply, demand, rows)
    for _ in range(STEPS):
        if not allowance.spend(cost):
            return None
        wanted = np.where(bounded, x - np.maximum(x - at.slope, 0.0), at.slope)
        if np.abs(wanted).max() <= CLOSE * supply.sum():
            break
        # What fits into memory at once is worked out once.
        cells = pieces if len(pieces) == 1 else _cells(rows, len(can), len(demand))
        step = _newton(_curvature(at.table, supply, cells, len(x)), at.slope, x, bounded)
        step *= min(1.0, FARTHEST / max(float((np.abs(step) * most).max()), SHORTEST))
        found = _along(x, step, at, can, supply, demand, rows)
        if found is None:
            break
        x, at = found
    return x


def _newton(matrix: FloatArray, slope: FloatArray, x: FloatArray, bounded: BoolArray) -> FloatArray:
    """Return the step to the least of the dual's second-order model, the ``bounded`` multipliers kept at 0 or more.

    Those without bounds follow from the others, of which that leaves a least-squares problem.
    """
    own = matrix.diagonal()
    matrix[np.diag_indices_from(matrix)] += SMALL * np.maximum(own, FLAT * own.max())
    free, some = np.flatnonzero(~bounded), np.flatnonzero(bounded)
    factors = linalg.cho_factor(matrix[np.ix_(free, free)])
    alone = linalg.cho_solve(factors, slope[free])
    cross = matrix[np.ix_(free, some)]
    step = np.zeros(len(x))
    if len(some):
        following = linalg.cho_solve(factors, cross)
        left = matrix[np.ix_(some, some)] - cross.T @ following
        left[np.diag_indices_from(left)] += SMALL * own[some]
        lower = linalg.cholesky(left, lower=True)
        wanted = left @ x[some] - (slope[some] - cross.T @ alone)
        aim = linalg.solve_triangular(lower, wanted, lower=True)
        step[some] = optimize.nnls(lower.T, aim)[0] - x[some]
        alone = alone + following @ step[some]
    step[free] = -alone
    return step


def _cost(shape: tuple[int, int], size: int, spoken: int) -> float:
    """Return how many operations a step takes: a matrix of all multipliers, its factors, and columns of tables."""
    records, columns = shape
    products = records * size**2 + size**3
    return float(products / AT_ONCE + TABLES * records * (columns + spoken))


def _along(
    x: FloatArray,
    step: FloatArray,
    at: _At,
    can: BoolArray,
    supply: FloatArray,
    demand: FloatArray,
    rows: Sequence[Slopes],
) -> tuple[FloatArray, _At] | None:
    """Return the first point of a shrinking step that makes the dual less."""
    length = 1.0
    while length > SHORTEST:
        there = x + length * step
        found = _dual(there, can, supply, demand, rows)
        if found.value <= at.value + 1e-4 * float(at.slope @ (there - x)):
            return (there, found) if found.value < at.value else None
        length /= 2
    return None


def _dual(
    x: FloatArray,
    can: BoolArray,
    supply: FloatArray,
    demand: FloatArray,
    rows: Sequence[Slopes],
) -> _At:
    places = len(demand)
    power = np.tile(x[:places], (len(can), 1))
    at = places
    for each in rows:
        more = x[at : at + len(each.least)]
        at += len(more)
        if more.any():
            each.add(more, power)
    power[~can] = -np.inf
    top = power.max(axis=1, keepdims=True)
    table = np.exp(power - top)
    total = table.sum(axis=1, keepdims=True)
    asked = np.concatenate([demand, *(each.least for each in rows)])
    value = float(supply @ (np.log(total) + top)[:, 0] - asked @ x)
    table *= supply[:, None] / total
    held = np.concatenate([table.sum(axis=0), *(each.over(table) for each in rows)])
    return _At(value, held - asked, table)


@dataclass(frozen=True, slots=True)
class _Cells:
    """What the cells of some groups of people, R' of them, count in all rows, (C, R' * J)."""

    groups: slice
    value: sparse.csr_array | FloatArray


def _cells(rows: Sequence[Slopes], groups: int, places: int) -> Iterator[_Cells]:
    """Yield what cells count in rows, so many groups at a time as memory holds."""
    size = sum(len(each.least) for each in rows)
    speaking = sum(each.value.nnz for each in rows)
    is_sparse = speaking < SPARSE_BELOW * sum(math.prod(each.value.shape) for each in rows)
    each_group = (
        sum(len(each.places(places)) * len(each.least) for each in rows)
        if is_sparse
        else size * places
    )
    step = max(1, MOST_AT_ONCE // max(each_group, 1))
    for start in range(0, groups, step):
        some = slice(start, start + step)
        if is_sparse:
            value = sparse.csr_array(sparse.vstack([each.spread(some, places) for each in rows]))
            yield _Cells(some, value)
        else:
            yield _Cells(some, np.concatenate([each.spread_dense(some, places) for each in rows]))


def _curvature(
    table: FloatArray, supply: FloatArray, cells: Iterable[_Cells], size: int
) -> FloatArray:
    """Return the dual's second derivatives, by places and then by rows, ``size`` together."""
    places = table.shape[1]
    found = np.zeros((size, size))
    for each in cells:
        own, people = table[each.groups], supply[each.groups]
        weighed = each.value * own.reshape(1, -1)
        by_group, cross = _summed(weighed, own.shape)
        sums = np.concatenate([own, by_group.T], axis=1) / np.sqrt(people)[:, None]
        found -= sums.T @ sums
        found[:places, :places] += np.diag(own.sum(axis=0))
        found[places:, :places] += cross
        found[:places, places:] += cross.T
        found[places:, places:] += _dense(weighed @ each.value.T)
    return found


def _summed(
    cells: sparse.csr_array | FloatArray, shape: tuple[int, int]
) -> tuple[FloatArray, FloatArray]:
    """Return sums of what rows say of cells, (C, R' * J), by group of people, (C, R'), and by place, (C, J)."""
    groups, places = shape
    if isinstance(cells, np.ndarray):
        found = cells.reshape(-1, groups, places)
        return found.sum(axis=2), found.sum(axis=1)
    at = cells.tocoo()
    group, place = np.divmod(at.col, places)
    rows = cells.shape[0]
    of_group = sparse.coo_array((at.data, (at.row, group)), shape=(rows, groups))
    of_place = sparse.coo_array((at.data, (at.row, place)), shape=(rows, places))
    return of_group.toarray(), of_place.toarray()


def _dense(matrix: sparse.csr_array | FloatArray) -> FloatArray:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())
