"""Groups whose people have amounts: what follows for one person, and which witness tables reach the ends of a range.

Proofs are weights of rows over amounts: whatever the weights are, what they prove is true.

Let x be what fits, b the rows' sums (between low and high), w any weights. Then

x_c = w·b + (e_c - A'w)·x,

where w·b lies between ends that the rows give, and the last term between ends that the boxes of x give. Where the rows
determine x_c, weights with A'w = e_c leave only what rounding does.

Witness tables show what a person may have: each keeps the sum of every row as it truly is.

What changes from the true table is a whole number of units for each cell, and is checked in whole numbers: no sum of
any row moves, and all people stay within the range. How a change was found does not matter. What such tables do not
reach may be proved yet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize, sparse

from treewarden.audit.bounds import RowBounds
from treewarden.audit.engine.counts import Counts, counts_of, look_once, propagate
from treewarden.audit.engine.problem import Amounts, Problem
from treewarden.audit.engine.time_budget import SECONDS_A_PROGRAM_ENTRY
from treewarden.audit.progress import Clock
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray


def amounts_in(counts: Counts) -> Amounts:
    """Return what is known of each person's amount, of a problem of amounts."""
    assert counts.amounts is not None
    return counts.amounts


def ends_of_one(
    sizes: IntArray, amounts: Amounts, low: IntArray, high: IntArray
) -> tuple[IntArray, IntArray]:
    """Return between which ends the amount of one person of each group lies (C,), from those of the group's sum.

    The others of the group have their least or their most at one end.
    """
    others = sizes - 1
    return (
        np.maximum(amounts.least, low - others * amounts.most),
        np.minimum(amounts.most, high - others * amounts.least),
    )


def ends_by_row(problem: Problem, rows: IndexArray) -> tuple[IntArray, IntArray]:
    """Return between which ends some rows, each by itself, leave the amount of one person of each group, (C,).

    Raises:
        ContradictionError: no table fits.
    """
    counts = counts_of(problem)
    low, high = look_once(counts, rows)
    return ends_of_one(counts.sizes, amounts_in(counts), low[:, 0], high[:, 0])


def hold_ranges(counts: Counts, boxes: RowBounds, clock: Clock) -> RowBounds:
    """Return boxes within the given ones that hold every table which these hold, which fits and has its ranges.

    Somebody has the greatest amount of a range, and somebody the least: where the people of one group alone can, one of
    them does.

    Raises:
        ContradictionError: no table fits.
    """
    amounts, sizes = amounts_in(counts), counts.sizes
    while True:
        low, high = boxes.low[:, 0].copy(), boxes.high[:, 0].copy()
        least, most = ends_of_one(sizes, amounts, low, high)
        for amount_range in amounts.ranges:
            top, bottom = amount_range.high - amounts.room, amount_range.low + amounts.room
            able = np.flatnonzero(amount_range.has & (most >= top))
            if len(able) == 1:
                others = (sizes[able] - 1) * amounts.least[able]
                low[able] = np.maximum(low[able], top + others)
            able = np.flatnonzero(amount_range.has & (least <= bottom))
            if len(able) == 1:
                others = (sizes[able] - 1) * amounts.most[able]
                high[able] = np.minimum(high[able], bottom + others)
        if (low == boxes.low[:, 0]).all() and (high == boxes.high[:, 0]).all():
            return boxes
        boxes = propagate(counts, RowBounds(low[:, None], high[:, None], boxes.row), clock)


def able_groups(counts: Counts, x: IntArray) -> BoolArray:
    """Return which groups can have the greatest and the least amount of each range, by these sums, (2 * ranges, C)."""
    amounts, others, found = amounts_in(counts), counts.sizes - 1, list[BoolArray]()
    for amount_range in amounts.ranges:
        top, bottom = amount_range.high - amounts.room, amount_range.low + amounts.room
        greatest = (x >= top + others * amounts.least) & (amounts.most >= top)
        least = (x <= bottom + others * amounts.most) & (amounts.least <= bottom)
        found += [greatest & amount_range.has, least & amount_range.has]
    return np.array(found, dtype=bool).reshape(-1, len(x))


def fits_nearly(counts: Counts, x: IntArray) -> bool:
    """Whether sums (C,) fulfil all rows, each of which rounding may move by the margin."""
    amounts, total = amounts_in(counts), counts.matrix @ x
    room = counts.matrix @ np.full(len(x), amounts.margin)
    least, most = (end[:, 0] for end in counts.start())
    is_inside = (x >= least - amounts.margin) & (x <= most + amounts.margin)
    fits = (total >= counts.low - room) & (total <= counts.high + room)
    return bool(is_inside.all() and fits.all())


MOST_CELLS = 2000
"""So many open cells are solved for at once: as many numbers squared are kept, and their time goes with the cube."""
MOST_ROWS = 3 * MOST_CELLS
RANK = 1e-9
"""What is below that share of the largest is rounding."""
NOTHING = 1e-7
BEYOND = 2.0**62
"""No end of a box is further away."""


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


def solved(counts: Counts, parts: IndexArray, is_open: BoolArray) -> OpenCellSolution | None:
    """Return what the rows determine of the open cells (C,), or None where these are too many to be solved for.

    ``parts`` is where the rows of each tree begin: these are taken all or none.
    """
    cells = np.flatnonzero(is_open)
    if not 0 < len(cells) <= MOST_CELLS:
        return None
    chosen = _rows_about(counts, parts, cells)
    matrix = counts.matrix[chosen][:, cells].toarray().astype(np.float64)
    q, r, order = linalg.qr(matrix, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > RANK * diagonal[0]).sum())
    square = r[:rank, :rank]
    # What of each pivot follows the other cells: where nothing does, the rows determine it.
    follow = linalg.solve_triangular(square, r[:rank, rank:], check_finite=False)
    fixed = np.flatnonzero((np.abs(follow) < NOTHING).all(axis=1))
    weights = linalg.solve_triangular(square, q[:, :rank].T, check_finite=False)[fixed]
    return OpenCellSolution(cells, chosen, matrix, order[:rank][fixed], weights)


def _rows_about(counts: Counts, parts: IndexArray, cells: IndexArray) -> IndexArray:
    """Return the rows about some cells, of as many trees as need be."""
    is_here = np.zeros(counts.matrix.shape[1], dtype=np.int64)
    is_here[cells] = 1
    about = np.flatnonzero(counts.matrix @ is_here > 0)
    most = min(MOST_ROWS, 4 * len(cells) + 64)
    if len(about) <= most:
        return about
    end = parts[np.searchsorted(parts, about[most], side="right") :]
    return about[about < end[0]] if len(end) else about


def determined(counts: Counts, solution: OpenCellSolution, boxes: RowBounds) -> RowBounds:
    """Return boxes within the given ones that hold all tables which the given ones hold and which fit."""
    targets = np.zeros((len(solution.determined), len(solution.cells)))
    targets[np.arange(len(targets)), solution.determined] = 1.0
    low, high = boxes.low[:, 0].copy(), boxes.high[:, 0].copy()
    least, most = proved(counts, solution, solution.weights, targets, low, high)
    at = solution.cells[solution.determined]
    low[at], high[at] = np.maximum(low[at], least), np.minimum(high[at], most)
    return RowBounds(low[:, None], high[:, None], boxes.row)


def proved(
    counts: Counts,
    solution: OpenCellSolution,
    weights: FloatArray,
    targets: FloatArray,
    low: IntArray,
    high: IntArray,
) -> tuple[IntArray, IntArray]:
    """Return between which ends ``targets`` (D, N) times the open cells lies, (D,), as weights of the rows prove."""
    fixed_low, fixed_high = low.copy(), high.copy()
    fixed_low[solution.cells] = fixed_high[solution.cells] = 0
    row_low = (counts.low - counts.matrix @ fixed_high)[solution.rows].astype(np.float64)
    row_high = (counts.high - counts.matrix @ fixed_low)[solution.rows].astype(np.float64)
    rest = targets - weights @ solution.matrix
    size = np.abs(weights) @ solution.matrix
    rest_room = 2.0**-52 * (len(solution.rows) + 2) * (size + np.abs(targets))
    least, most = (end[solution.cells].astype(np.float64) for end in (low, high))
    plus, minus = np.maximum(weights, 0.0), np.maximum(-weights, 0.0)
    ends_low = plus @ row_low - minus @ row_high
    ends_high = plus @ row_high - minus @ row_low
    above, below = np.maximum(rest, 0.0), np.maximum(-rest, 0.0)
    ends_low += above @ least - below @ most
    ends_high += above @ most - below @ least
    largest = np.maximum(np.abs(least), np.abs(most))
    room = rest_room @ largest
    terms = np.abs(weights) @ (np.abs(row_low) + np.abs(row_high)) + 2 * np.abs(rest) @ largest
    room += 2.0**-52 * (len(solution.rows) + len(solution.cells) + 4) * terms
    return _whole_ends(ends_low - room, ends_high + room, is_whole=amounts_in(counts).is_whole)


def _whole_ends(low: FloatArray, high: FloatArray, *, is_whole: bool) -> tuple[IntArray, IntArray]:
    """Return ends as whole numbers: inwards of what is whole itself, outwards of what is not."""
    ends = (np.ceil(low), np.floor(high)) if is_whole else (np.floor(low), np.ceil(high))
    least, most = (np.clip(end, -BEYOND, BEYOND).astype(np.int64) for end in ends)
    return least, most


AIMS = 40
"""In so many directions, each of all cells at once, tables are looked for before single cells are moved."""
MOST_MISSED = 3
"""So often in a row no table is found before nothing more is tried."""
SECONDS = 2.0
"""What one search may take by the clock."""
MOST_SEARCHED = 100
"""So many nodes it may look at where work is counted."""
OUT_OF_TIME = "the time was used up before other tables were searched for in every direction"
NONE_FOUND = (
    f"{MOST_MISSED} short searches in a row found no other table, so the search was stopped. "
    "More time would not change that"
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
    boxes: RowBounds,
    clock: Clock,
) -> tuple[RowBounds, str]:
    """Look for tables that fit; return boxes that are proved meanwhile, and why not all was tried, "" if it was.

    First many cells at once are moved in random directions. Then it is proved of each cell that was not moved far how
    far it can be, by the duals of a linear program, and it is moved by itself.
    """
    program = _SumProgram(counts, solution, reached)
    random = np.random.default_rng(0)
    missed, first = 0, clock.share(0.5)
    for _ in range(AIMS):
        clock.spend(SECONDS_A_PROGRAM_ENTRY * program.matrix.nnz)
        short = program.short()
        if first.is_over or missed >= MOST_MISSED or not short.any():
            break
        sizes = np.where(short, 1.0, 0.05)
        missed = 0 if program.move(random.normal(size=len(short)) * sizes, first) else missed + 1
    is_late = first.is_over
    low, high = boxes.low[:, 0].copy(), boxes.high[:, 0].copy()
    proofs = RowBounds(low[:, None], high[:, None], boxes.row)
    order = np.flatnonzero(program.short() & (low < high)[solution.cells])
    for at in order.tolist():
        for sign in (1.0, -1.0):
            if clock.is_over:
                return proofs, OUT_OF_TIME
            clock.spend(SECONDS_A_PROGRAM_ENTRY * program.matrix.nnz)
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
                clock.spend(SECONDS_A_PROGRAM_ENTRY * program.matrix.nnz)
                aim = np.zeros(len(solution.cells))
                aim[at] = sign
                program.move(aim, clock)
    return proofs, ""


def _limits(clock: Clock) -> dict[str, float]:
    """Return how far a program is searched: by the clock, or where work is counted by nodes."""
    if clock.meter is None:
        return {"time_limit": min(SECONDS, max(clock.left, 0.01))}
    return {"time_limit": max(min(clock.wall_left, 1e6), 0.01), "node_limit": MOST_SEARCHED}


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
            options={**_limits(clock), "mip_rel_gap": GAP},
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
