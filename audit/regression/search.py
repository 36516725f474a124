"""Tables that fit, found to show what values a person may have: each keeps the sum of every leaf as it truly is.

What changes from the true table is a whole number of units for each cell, and is checked in whole numbers: no sum of
any row moves, and all people stay within the range. How a change was found does not matter. What such tables do not
reach may be proved yet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize, sparse

from treewarden.audit.clock import Clock
from treewarden.audit.regression.rows import ROUNDING, ValueRows
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray

# Proofs by weights of the rows: whatever the weights are, what they prove is true.
#
# Let x be what fits, b the rows' sums (between low and high), w any weights. Then
#
# x_c = w·b + (e_c - A'w)·x,
#
# where w·b lies between ends that the rows give, and the last term between ends that the boxes of x give. Where the
# rows
# determine x_c, weights with A'w = e_c leave only what rounding does.

MOST_CELLS = 2000
"""So many open cells are solved for at once: as many numbers squared are kept, and their time goes with the cube."""
MOST_ROWS = 3 * MOST_CELLS
RANK = 1e-9
"""What is below that share of the largest is rounding."""
NOTHING = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class OpenCellSolution:
    """What the rows determine of the open cells (N,), which stand at ``cells``.

    ``weights`` (D, R) prove the cells at ``determined`` (D,), of the dense ``matrix`` (R, N) of the rows at ``rows``
    (R,), which are those of the first trees.
    """

    cells: IndexArray
    rows: IndexArray
    matrix: FloatArray
    determined: IndexArray
    weights: FloatArray


def solved(rows: ValueRows, is_open: BoolArray) -> OpenCellSolution | None:
    """Return what the rows determine of the open cells (C,), or None where these are too many to be solved for."""
    cells = np.flatnonzero(is_open)
    if not 0 < len(cells) <= MOST_CELLS:
        return None
    chosen, matrix = _matrix(rows, cells)
    q, r, order = linalg.qr(matrix, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > RANK * diagonal[0]).sum())
    square = r[:rank, :rank]
    # What of each pivot follows the other cells: where nothing does, the rows determine it.
    follow = linalg.solve_triangular(square, r[:rank, rank:], check_finite=False)
    fixed = np.flatnonzero((np.abs(follow) < NOTHING).all(axis=1))
    weights = linalg.solve_triangular(square, q[:, :rank].T, check_finite=False)[fixed]
    return OpenCellSolution(cells, chosen, matrix, order[:rank][fixed], weights)


def determined(
    rows: ValueRows, found: OpenCellSolution, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return boxes (C,) within the given ones that hold all tables which the given ones hold and which fit."""
    wanted = np.zeros((len(found.determined), len(found.cells)))
    wanted[np.arange(len(wanted)), found.determined] = 1.0
    ends = proved(rows, found, found.weights, wanted, low, high)
    least, most = rows.scale.inward(*ends)
    at = found.cells[found.determined]
    low, high = low.copy(), high.copy()
    low[at], high[at] = np.maximum(low[at], least), np.minimum(high[at], most)
    return low, high


def proved(
    rows: ValueRows,
    found: OpenCellSolution,
    weights: FloatArray,
    wanted: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return between which ends ``wanted`` (D, N) times the open cells lies, (D,), as weights of the rows prove."""
    fixed = low.copy()
    fixed[found.cells] = 0.0
    fixed_high = high.copy()
    fixed_high[found.cells] = 0.0
    row_low = (rows.low - rows.sums(fixed_high))[found.rows]
    row_high = (rows.high - rows.sums(fixed))[found.rows]
    slack = ROUNDING * (np.abs(rows.low) + np.abs(rows.high) + rows.sums(np.abs(high)))
    row_low, row_high = row_low - slack[found.rows], row_high + slack[found.rows]
    rest = wanted - weights @ found.matrix
    size = np.abs(weights) @ found.matrix
    rest_room = 2.0**-52 * (len(found.rows) + 2) * (size + np.abs(wanted))
    least, most = low[found.cells], high[found.cells]
    plus, minus = np.maximum(weights, 0.0), np.maximum(-weights, 0.0)
    ends_low = plus @ row_low - minus @ row_high
    ends_high = plus @ row_high - minus @ row_low
    above, below = np.maximum(rest, 0.0), np.maximum(-rest, 0.0)
    ends_low += above @ least - below @ most
    ends_high += above @ most - below @ least
    largest = np.maximum(np.abs(least), np.abs(most))
    room = rest_room @ largest
    terms = np.abs(weights) @ (np.abs(row_low) + np.abs(row_high)) + 2 * np.abs(rest) @ largest
    room += 2.0**-52 * (len(found.rows) + len(found.cells) + 2) * terms
    return ends_low - room, ends_high + room


def _matrix(rows: ValueRows, cells: IndexArray) -> tuple[IndexArray, FloatArray]:
    """Return the rows about some cells, of as many trees as need be, and them as a matrix."""
    matrices, chosen, taken = [], [], 0
    for place in rows.place:
        here = place[cells]
        there = np.flatnonzero(here >= 0)
        each, inside = np.unique(here[there], return_inverse=True)
        matrix = np.zeros((len(each), len(cells)))
        matrix[inside.reshape(-1), there] = 1.0
        matrices.append(matrix)
        chosen.append(each)
        taken += len(each)
        if taken > min(MOST_ROWS, 4 * len(cells) + 64):
            break
    return np.concatenate(chosen), np.concatenate(matrices)


AIMS = 40
"""In so many directions, each of all cells at once, tables are looked for before single cells are moved."""
MOST_MISSED = 3
"""So often in a row no table is found before nothing more is tried."""
SECONDS = 2.0
"""What one search may take."""
OUT_OF_TIME = "time was over before other tables were looked for in every direction"
NONE_FOUND = (
    f"{MOST_MISSED} searches for other tables in a row found none, each within {SECONDS:g} seconds at most, so that no "
    "more were made; a larger budget would not change that"
)
ENOUGH = 0.3
"""Cells that reach that share of the range are not moved by themselves."""
GAP = 0.1
"""A table need not be the one that goes furthest: within that share of it is enough."""
FINEST = 1024
"""The range is parted into no more steps than that for the search, which takes longer the finer they are."""
EXACT = 2.0**52


@dataclass(slots=True)
class Reached:
    """Cells' sums as tables that fit have them: from ``low`` to ``high``, (C,), about the true ``x``; changed in place.

    ``down`` and ``up`` (C,) are how many whole units each may be moved by. From ``apart_low`` to ``apart_high`` (C,)
    they are in tables whose least and greatest number people of other cells have, so that those of the cell need not;
    crossed where there is none.
    """

    x: FloatArray
    down: FloatArray
    up: FloatArray
    low: FloatArray
    high: FloatArray
    apart_low: FloatArray
    apart_high: FloatArray

    def take(self, rows: ValueRows, cells: IndexArray, change: FloatArray) -> bool:
        """Take a table by the whole units that it changes cells by; return whether it fits."""
        if ((change > self.up[cells]) | (-change > self.down[cells])).any():
            return False
        if (change != np.rint(change)).any() or np.abs(change).sum() > EXACT:
            return False
        whole = np.zeros(len(self.x))
        whole[cells] = change
        if rows.sums(whole).any():
            return False
        return self._taken(rows, self.x + whole)

    def _taken(self, rows: ValueRows, x: FloatArray) -> bool:
        """Take a table (C,) that fits the rows, if somebody has the ends of each range in it."""
        able = _able(rows, x)
        if not able.any(axis=1).all():
            return False
        alone = able & (able.sum(axis=1, keepdims=True) == 1)
        apart = ~alone.any(axis=0)
        self.low, self.high = np.minimum(self.low, x), np.maximum(self.high, x)
        self.apart_low = np.where(apart, np.minimum(self.apart_low, x), self.apart_low)
        self.apart_high = np.where(apart, np.maximum(self.apart_high, x), self.apart_high)
        return True


def _able(rows: ValueRows, x: FloatArray) -> BoolArray:
    """Return which cells can have the greatest and the least number of each range, with these sums, (2 * ranges, C)."""
    others, found = rows.sizes - 1, []
    for unit_range in rows.ranges:
        greatest = (x >= unit_range.high + others * rows.least - rows.room) & (
            rows.most >= unit_range.high - rows.room
        )
        least = (x <= unit_range.low + others * rows.most + rows.room) & (
            rows.least <= unit_range.low + rows.room
        )
        found += [greatest & unit_range.has, least & unit_range.has]
    return np.array(found, dtype=bool).reshape(-1, len(x))


def reached_from(rows: ValueRows, x: FloatArray) -> Reached:
    """Return the true sums alone; ``x`` (C,) need be whole only where the scale says so."""
    # A margin of one unit holds whatever rounding the true sums have.
    margin = 0.0 if rows.scale.is_whole else 1.0
    up = np.floor(rows.sizes * rows.most - x - margin)
    down = np.floor(x - rows.sizes * rows.least - margin)
    ends = np.full(len(x), np.inf), np.full(len(x), -np.inf)
    reached = Reached(x, np.maximum(down, 0), np.maximum(up, 0), x, x, *ends)
    reached.take(rows, np.zeros(0, dtype=np.intp), np.zeros(0))
    return reached


def by_programs(
    rows: ValueRows,
    found: OpenCellSolution,
    reached: Reached,
    low: FloatArray,
    high: FloatArray,
    clock: Clock,
) -> tuple[FloatArray, FloatArray, str]:
    """Look for tables that fit; return boxes (C,) that are proved meanwhile, and why not all was tried, "" if it was.

    First many cells at once are moved in random directions. Then it is proved of each cell that was not moved far how
    far it can be, by the duals of a linear program, and it is moved by itself.
    """
    program = _SumProgram(rows, found, reached)
    random = np.random.default_rng(0)
    missed, first = 0, clock.share(0.5)
    for _ in range(AIMS):
        short = program.short()
        if first.is_over or missed >= MOST_MISSED or not short.any():
            break
        sizes = np.where(short, 1.0, 0.05)
        missed = 0 if program.move(random.normal(size=len(short)) * sizes, first) else missed + 1
    is_late = first.is_over
    low, high = low.copy(), high.copy()
    order = np.flatnonzero(program.short() & (low < high)[found.cells])
    for at in order.tolist():
        for sign in (1.0, -1.0):
            if clock.is_over:
                return low, high, OUT_OF_TIME
            program.prove(at, sign, low, high)
    if missed >= MOST_MISSED:
        return low, high, OUT_OF_TIME if is_late else NONE_FOUND
    for at in order.tolist():
        cell = found.cells[at]
        ends = high[cell] - reached.high[cell], reached.low[cell] - low[cell]
        for sign, end in zip((1.0, -1.0), ends, strict=True):
            if clock.is_over:
                return low, high, OUT_OF_TIME
            if end >= program.step and program.short()[at]:
                aim = np.zeros(len(found.cells))
                aim[at] = sign
                program.move(aim, clock)
    return low, high, ""


class _SumProgram:
    """All tables that have the true sums, as a program over the open cells; ``step`` units are moved at once."""

    def __init__(self, rows: ValueRows, found: OpenCellSolution, reached: Reached) -> None:
        self.rows, self.found, self.reached = rows, found, reached
        self.matrix = sparse.csr_array(found.matrix)
        self.step = float(max(1.0, rows.scale.most // FINEST))
        self.up, self.down = reached.up[found.cells], reached.down[found.cells]

    def short(self) -> BoolArray:
        """Return which open cells (N,) were not moved far."""
        cells = self.found.cells
        wide = ENOUGH * self.rows.scale.most
        return np.asarray(self.reached.high[cells] - self.reached.low[cells] < wide)

    def move(self, aim: FloatArray, clock: Clock) -> bool:
        """Move cells far in a direction (N,), by whole steps; return whether a table was found."""
        solution = optimize.milp(
            -aim,
            constraints=optimize.LinearConstraint(self.matrix, 0.0, 0.0),
            integrality=np.ones(len(aim)),
            bounds=optimize.Bounds(-(self.down // self.step), self.up // self.step),
            options={"time_limit": min(SECONDS, max(clock.left, 0.01)), "mip_rel_gap": GAP},
        )
        if solution.x is None:
            return False
        change = np.rint(solution.x) * self.step
        return bool(change.any()) and self.reached.take(self.rows, self.found.cells, change)

    def prove(self, at: int, sign: float, low: FloatArray, high: FloatArray) -> None:
        """Bring the upper end (sign 1) or the lower one of an open cell's box nearer, as far as weights prove it."""
        aim = np.zeros(len(self.found.cells))
        aim[at] = sign
        solution = optimize.linprog(
            -aim,
            A_eq=self.matrix,
            b_eq=np.zeros(len(self.found.rows)),
            bounds=np.stack((-self.down, self.up), axis=1),
            method="highs",
        )
        if solution.status != 0:
            return
        weights = -sign * np.asarray(solution.eqlin.marginals)
        least, most = self.rows.scale.inward(
            *proved(self.rows, self.found, weights[None, :], np.abs(aim)[None, :], low, high)
        )
        cell = self.found.cells[at]
        low[cell], high[cell] = max(low[cell], least[0]), min(high[cell], most[0])
