"""Tables of amounts that fit, found to show what a person may have: each keeps the sum of every row as it truly is.

What changes from the true table is a whole number of units for each cell, and is checked in whole numbers: no sum of
any row moves, and all people stay within the range. How a change was found does not matter. What such tables do not
reach may be proved yet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, sparse

from treewarden.audit.clock import Clock
from treewarden.audit.engine.amount_weights import OpenCellSolution, proved
from treewarden.audit.engine.amounts import able_groups, amounts_in
from treewarden.audit.engine.counts import Counts, Propagated
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

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
COARSE = 24
"""Real amounts are told the solver in units of the range over two to that, which suit its tolerances."""


@dataclass(slots=True)
class ReachedAmounts:
    """Cells' sums as tables that fit have them: from ``low`` to ``high``, (C,), about the true ``x``; changed in place.

    ``down`` and ``up`` (C,) are how many whole units each may be moved by. From ``apart_low`` to ``apart_high`` (C,)
    they are in tables whose least and greatest amount people of other cells have, so that those of the cell need not;
    crossed where there is none.
    """

    x: IntArray
    down: IntArray
    up: IntArray
    low: IntArray
    high: IntArray
    apart_low: IntArray
    apart_high: IntArray

    def take(self, counts: Counts, cells: IndexArray, change: IntArray) -> bool:
        """Take a table by the whole units that it changes cells by; return whether it fits."""
        if ((change > self.up[cells]) | (-change > self.down[cells])).any():
            return False
        whole = np.zeros_like(self.x)
        whole[cells] = change
        if (counts.matrix @ whole).any():
            return False
        return self._taken(counts, self.x + whole)

    def _taken(self, counts: Counts, x: IntArray) -> bool:
        """Take a table (C,) that fits the rows, if somebody has the ends of each range in it."""
        able = able_groups(counts, x)
        if not able.any(axis=1).all():
            return False
        alone = able & (able.sum(axis=1, keepdims=True) == 1)
        apart = ~alone.any(axis=0)
        self.low, self.high = np.minimum(self.low, x), np.maximum(self.high, x)
        self.apart_low = np.where(apart, np.minimum(self.apart_low, x), self.apart_low)
        self.apart_high = np.where(apart, np.maximum(self.apart_high, x), self.apart_high)
        return True


def reached_from(counts: Counts, x: IntArray) -> ReachedAmounts:
    """Return the true sums (C,) alone; crossed ends where nobody could have an end of some range in them."""
    least, most = counts.start()
    margin = amounts_in(counts).margin
    up = np.maximum(most[:, 0] - x - margin, 0)
    down = np.maximum(x - least[:, 0] - margin, 0)
    none = most[:, 0] + 1, least[:, 0] - 1
    reached = ReachedAmounts(x, down, up, *none, *none)
    reached.take(counts, np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.int64))
    return reached


def by_programs(
    counts: Counts,
    solution: OpenCellSolution,
    reached: ReachedAmounts,
    boxes: Propagated,
    clock: Clock,
) -> tuple[Propagated, str]:
    """Look for tables that fit; return boxes that are proved meanwhile, and why not all was tried, "" if it was.

    First many cells at once are moved in random directions. Then it is proved of each cell that was not moved far how
    far it can be, by the duals of a linear program, and it is moved by itself.
    """
    program = _SumProgram(counts, solution, reached)
    random = np.random.default_rng(0)
    missed, first = 0, clock.share(0.5)
    for _ in range(AIMS):
        short = program.short()
        if first.is_over or missed >= MOST_MISSED or not short.any():
            break
        sizes = np.where(short, 1.0, 0.05)
        missed = 0 if program.move(random.normal(size=len(short)) * sizes, first) else missed + 1
    is_late = first.is_over
    low, high = boxes.low[:, 0].copy(), boxes.high[:, 0].copy()
    proofs = Propagated(low[:, None], high[:, None], boxes.row)
    order = np.flatnonzero(program.short() & (low < high)[solution.cells])
    for at in order.tolist():
        for sign in (1.0, -1.0):
            if clock.is_over:
                return proofs, OUT_OF_TIME
            program.prove(at, sign, low, high)
    if missed >= MOST_MISSED:
        return proofs, OUT_OF_TIME if is_late else NONE_FOUND
    for at in order.tolist():
        cell = solution.cells[at]
        ends = high[cell] - reached.high[cell], reached.low[cell] - low[cell]
        for sign, end in zip((1.0, -1.0), ends, strict=True):
            if clock.is_over:
                return proofs, OUT_OF_TIME
            if end >= program.step and program.short()[at]:
                aim = np.zeros(len(solution.cells))
                aim[at] = sign
                program.move(aim, clock)
    return proofs, ""


class _SumProgram:
    """All tables that have the true sums, as a program over the open cells; ``step`` units are moved at once."""

    def __init__(self, counts: Counts, solution: OpenCellSolution, reached: ReachedAmounts) -> None:
        self.counts, self.solution, self.reached = counts, solution, reached
        self.amounts = amounts_in(counts)
        self.matrix = sparse.csr_array(solution.matrix)
        self.step = max(1, self.amounts.span // FINEST)
        self.coarse = 1 if self.amounts.is_whole else max(self.amounts.span >> COARSE, 1)
        self.up, self.down = reached.up[solution.cells], reached.down[solution.cells]

    def short(self) -> BoolArray:
        """Return which open cells (N,) were not moved far."""
        cells = self.solution.cells
        wide = ENOUGH * self.amounts.span
        return np.asarray(self.reached.high[cells] - self.reached.low[cells] < wide)

    def move(self, aim: FloatArray, clock: Clock) -> bool:
        """Move cells far in a direction (N,), by whole steps; return whether a table was found."""
        answer = optimize.milp(
            -aim,
            constraints=optimize.LinearConstraint(self.matrix, 0.0, 0.0),
            integrality=np.ones(len(aim)),
            bounds=optimize.Bounds(-(self.down // self.step), self.up // self.step),
            options={"time_limit": min(SECONDS, max(clock.left, 0.01)), "mip_rel_gap": GAP},
        )
        if answer.x is None:
            return False
        change = np.rint(answer.x).astype(np.int64) * self.step
        return bool(change.any()) and self.reached.take(self.counts, self.solution.cells, change)

    def prove(self, at: int, sign: float, low: IntArray, high: IntArray) -> None:
        """Bring the upper end (sign 1) or the lower one of an open cell's box nearer, as far as weights prove it."""
        aim = np.zeros(len(self.solution.cells))
        aim[at] = sign
        answer = optimize.linprog(
            -aim,
            A_eq=self.matrix,
            b_eq=np.zeros(len(self.solution.rows)),
            bounds=np.stack((-self.down, self.up), axis=1) / self.coarse,
            method="highs",
        )
        if answer.status != 0:
            return
        weights = -sign * np.asarray(answer.eqlin.marginals)
        least, most = proved(
            self.counts, self.solution, weights[None, :], np.abs(aim)[None, :], low, high
        )
        cell = self.solution.cells[at]
        low[cell], high[cell] = max(low[cell], least[0]), min(high[cell], most[0])
