"""The multipliers of linear rows over tables of known margins: Newton's method on the dual.

Of the greatest entropy under the rows sum z V_c >= b_c the dual in one multiplier a place and one a row is convex,
the multipliers of the table's own groups being eliminated: F(v, x) = sum_r n_r ln sum_j exp(v_j + sum_c x_c V_c[r, j])
- d v - x b, over x >= 0, or any x of a row that asks for just so much. Its value bounds that entropy from above
whatever v and x are, so that nothing here has to be exact.

The rows are over tables of people by group and place. They also tell which cells of such tables can hold people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize, sparse

from treewarden.audit.engine.dual import on_one_thread
from treewarden.audit.partial.fitting.flows import Allowance
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray

# Linear rows over tables of people by group and place, and the cells of such tables that can hold people.

MOST_SPOKEN = 25_000_000
"""What cells count in all rows together, up to which rows are put in: 600 MB, by rows and by cells."""


@dataclass(frozen=True, slots=True)
class PlaceCells:
    """Where whom of R groups can be among J = ``places``: K cells, group by group.

    ``group`` and ``place`` (K,) are those of each cell, ``begins`` (R + 1,) the first cell of each group.
    """

    begins: IndexArray
    group: IndexArray
    place: IndexArray
    places: int

    def __len__(self) -> int:
        return len(self.group)

    def table(self, people: FloatArray) -> sparse.csr_array:
        """Return the table, (R, J), of so many people in each cell, (K,)."""
        shape = len(self.begins) - 1, self.places
        return sparse.csr_array((people, self.place, self.begins), shape=shape)


def cells_of(can: sparse.csr_array) -> PlaceCells:
    """Return the cells of a table that can hold somebody, (R, J), 1 where they can."""
    groups, places = can.shape
    able = sparse.csr_array(can != 0)
    able.sort_indices()
    group = np.repeat(np.arange(groups), np.diff(able.indptr))
    return PlaceCells(able.indptr.astype(np.intp), group, able.indices.astype(np.intp), places)


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

    def over(self, cells: PlaceCells) -> sparse.csr_array:
        """Return what each cell counts in each row, (C, K)."""
        at = self.branch[cells.group] * cells.places + cells.place
        is_spoken = np.zeros(self.value.shape[1], dtype=bool)
        is_spoken[self.value.indices] = True
        some = np.flatnonzero(is_spoken[at])
        found = sparse.csr_array(self.value[:, at[some]])
        shape = found.shape[0], len(cells)
        return sparse.csr_array((found.data, some[found.indices], found.indptr), shape=shape)


@dataclass(frozen=True, slots=True)
class CountRows:
    """C rows over K cells: what each counts by row, ``value`` (C, K), and by cell, ``across`` (K, C).

    ``least`` (C,) is asked for, and no more either where it ``is_equal``, (C,).
    """

    value: sparse.csr_array
    across: sparse.csr_array
    least: FloatArray
    is_equal: BoolArray

    def __len__(self) -> int:
        return len(self.least)


def rows_over(cells: PlaceCells, slopes: Sequence[Slopes]) -> CountRows | None:
    """Return rows over some cells; None where they speak of too many."""
    value, spoken = [sparse.csr_array((0, len(cells)))], 0
    for slope in slopes:
        value.append(slope.over(cells))
        spoken += value[-1].nnz
        if spoken > MOST_SPOKEN:
            return None
    whole = sparse.csr_array(sparse.vstack(value, format="csr"))
    least = np.concatenate([np.zeros(0), *(each.least for each in slopes)])
    is_equal = np.concatenate([np.zeros(0, dtype=bool), *(each.is_equal for each in slopes)])
    return CountRows(whole, sparse.csr_array(whole.T), least, is_equal)


STEPS = 200
FEWEST_STEPS = 5
"""Fewer steps than these are seldom enough, so that none is begun where they cannot be paid."""
CLOSE = 1e-11
"""A step is the last one where what is broken is less than this for each record."""
SHORTEST = 1e-10
FARTHEST = 5.0
"""How far the first step may change the logarithm of a cell, for each multiplier: behind that the dual may be flat.

Each step may go twice as far as the one before, if that went as far as it might; and no farther than this, if not.
"""
SMALL = 1e-10
"""Added to what Newton's matrix has on its diagonal, in shares of that: places that move together are many."""
FLAT = 1e-5
"""The least that this is a share of, in shares of the greatest."""
MOST_MULTIPLIERS = 6_000
"""So many at most are looked for: Newton's matrix is of 290 MB then, and there are a few of that size."""
CELL = 12.0
"""Operations that a step takes for each cell, and for each that a row speaks of."""
SPARSE_BELOW = 0.05
"""Share of such cells that are no zero below which sums by group are kept sparse."""
AT_ONCE = 20.0
"""Of products of matrices, so many operations take as long as one of others."""


@dataclass(frozen=True, slots=True)
class _MultiplierProblem:
    """People of ``supply`` (R,) over places of ``demand`` (J,), and the rows over the cells where they can be.

    ``of_group`` (K, R) and ``of_place`` (K, J) are 1 at the group and the place of each cell; ``speaks`` (R,) is how
    many rows speak of each group.
    """

    cells: PlaceCells
    supply: FloatArray
    demand: FloatArray
    rows: CountRows
    of_group: sparse.csr_array
    of_place: sparse.csr_array
    speaks: IndexArray

    @property
    def size(self) -> int:
        """How many multipliers there are."""
        return len(self.demand) + len(self.rows)

    @property
    def is_dense(self) -> bool:
        """Whether sums of groups by place and row are kept as an array."""
        filled = len(self.cells) + self.speaks.sum()
        return bool(filled >= SPARSE_BELOW * len(self.supply) * self.size)

    @property
    def cost(self) -> float:
        """How many operations a step takes: a matrix of all multipliers, its factors, and what cells count."""
        if self.is_dense:
            products = len(self.supply) * float(self.size) ** 2 / AT_ONCE
        else:
            products = float(np.sum((np.diff(self.cells.begins) + self.speaks) ** 2.0))
        by_cell = np.diff(self.rows.across.indptr).astype(np.float64)
        spoken = float(by_cell @ by_cell) + CELL * float(by_cell.sum() + len(self.cells))
        return products + float(self.size) ** 3 / AT_ONCE + spoken

    def at(self, x: FloatArray) -> _At:
        """Return the dual at some multipliers."""
        cells, rows, places = self.cells, self.rows, len(self.demand)
        power, begins = x[cells.place] + rows.across @ x[places:], cells.begins[:-1]
        top = np.maximum.reduceat(power, begins)
        held = np.exp(power - top[cells.group])
        total = np.add.reduceat(held, begins)
        asked = np.concatenate([self.demand, rows.least])
        value = float(self.supply @ (np.log(total) + top) - asked @ x)
        held *= (self.supply / total)[cells.group]
        there = np.concatenate([np.bincount(cells.place, held, places), rows.value @ held])
        return _At(value, there - asked, held)

    def curvature(self, people: FloatArray) -> FloatArray:
        """Return the dual's second derivatives, by places and then by rows, where so many people are in each cell."""
        places, value = len(self.demand), self.rows.value
        weighed = sparse.csr_array(
            (value.data * people[value.indices], value.indices, value.indptr), shape=value.shape
        )
        sums = sparse.hstack([self.cells.table(people), (weighed @ self.of_group).T], format="csr")
        sums = sparse.csr_array(sparse.diags_array(1 / np.sqrt(self.supply)) @ sums)
        if self.is_dense:
            whole = sums.toarray()
            found = -(whole.T @ whole)
        else:
            found = -(sums.T @ sums).toarray()
        # Where all people of a place can be nowhere else that is 0, which a difference of two sums would miss.
        moving = people * (1 - people / self.supply[self.cells.group])
        found[np.arange(places), np.arange(places)] = np.bincount(self.cells.place, moving, places)
        by_place = (weighed @ self.of_place).toarray()
        found[places:, :places] += by_place
        found[:places, places:] += by_place.T
        found[places:, places:] += (weighed @ self.rows.across).toarray()
        return np.asarray(found)


def _problem(
    cells: PlaceCells, supply: FloatArray, demand: FloatArray, rows: CountRows
) -> _MultiplierProblem:
    at, ones = np.arange(len(cells)), np.ones(len(cells))
    of_group = sparse.csr_array((ones, (at, cells.group)), shape=(len(cells), len(supply)))
    of_place = sparse.csr_array((ones, (at, cells.place)), shape=(len(cells), len(demand)))
    speaking = sparse.csc_array(abs(rows.value) @ of_group)
    return _MultiplierProblem(
        cells=cells,
        supply=supply,
        demand=demand,
        rows=rows,
        of_group=of_group,
        of_place=of_place,
        speaks=np.diff(speaking.indptr).astype(np.intp),
    )


@dataclass(frozen=True, slots=True)
class _At:
    """The dual at some multipliers: its value and gradient, and the people in each cell there, (K,)."""

    value: float
    slope: FloatArray
    held: FloatArray


def multipliers(
    cells: PlaceCells,
    supply: FloatArray,
    demand: FloatArray,
    rows: CountRows,
    start: FloatArray,
    allowance: Allowance,
) -> FloatArray | None:
    """Return the multipliers of the places and then of all rows, (J + C,), nearly optimal.

    None where all is spent, or they are too many.
    ``cells`` say where the ``supply`` (R,) can be; all ``demand`` (J,) is positive. ``start`` are multipliers of
    the places and the first rows.

    Raises:
        ValueError: some group can be nowhere.
    """
    if not np.diff(cells.begins).all():
        raise ValueError("somebody can be nowhere")
    if len(demand) + len(rows) > MOST_MULTIPLIERS:
        return None
    problem = _problem(cells, supply, demand, rows)
    bounded = np.concatenate([np.zeros(len(demand), dtype=bool), ~rows.is_equal])
    x, cost = np.zeros(problem.size), problem.cost
    x[: len(start)] = start
    most, told = np.ones(problem.size), rows.value.tocoo()
    np.maximum.at(most, len(demand) + told.row, np.abs(told.data))
    if allowance.left < FEWEST_STEPS * cost:
        return None
    at, farthest = problem.at(x), FARTHEST
    # Threads gain little on such matrices, and lose very much where other processes want the same cores.
    with on_one_thread():
        for _ in range(STEPS):
            if not allowance.spend(cost):
                return None
            wanted = np.where(bounded, x - np.maximum(x - at.slope, 0.0), at.slope)
            if np.abs(wanted).max() <= CLOSE * supply.sum():
                break
            step = _newton(problem.curvature(at.held), at.slope, x, bounded)
            step *= min(1.0, farthest / max(float((np.abs(step) * most).max()), SHORTEST))
            found = _along(x, step, at, problem)
            if found is None:
                break
            farthest = 2 * farthest if np.array_equal(found[0], x + step) else FARTHEST
            x, at = found
    return x


def _along(
    x: FloatArray, step: FloatArray, at: _At, problem: _MultiplierProblem
) -> tuple[FloatArray, _At] | None:
    """Return the first point of a shrinking step that makes the dual less."""
    length = 1.0
    while length > SHORTEST:
        there = x + length * step
        found = problem.at(there)
        if found.value <= at.value + 1e-4 * float(at.slope @ (there - x)):
            return (there, found) if found.value < at.value else None
        length /= 2
    return None


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
