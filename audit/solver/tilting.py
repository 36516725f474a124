"""Maximum entropy under few linear rows by exponential tilting: Newton's method on one multiplier for each row.

Where nothing but linear rows bind the people of a leaf, as sums of survey weights do, the maximum is known but for the
rows' multipliers: everybody's mass in a class is in proportion to ``scale * exp(-row @ multipliers)`` (Jaynes 1957;
Csiszar 1975). So thousands of masses follow from as many unknowns as there are rows, in time linear in the masses.
The answer is judged as one of IPOPT's is, by every row and by stationarity; where the rows leave no interior there is
none, and IPOPT is asked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from treewarden.audit.ipopt.backend import Solution, Status
from treewarden.audit.ipopt.program import SMALLEST_MASS, BlockProgram
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray

MOST_ROWS = 16
"""Rows across groups up to which the multipliers are looked for: each step solves a dense system of so many."""
MOST_STEPS = 60
MOST_ROUNDS = 24
"""How often the set of inequalities that bind is changed."""
CLOSE_RECORDS = 1e-9
LEAST_RISE = 1e-4
NO_RISE = 1e-10
SHORTEST_STEP = 1e-6
NO_CURVATURE = 1e-13
"""Relative to the largest: directions in which rows say nothing that the others do not."""
LONGEST_STEP = 1e3
LEAST_SHARE = 1e-7
"""Of a group in a class: less than this is forced to be nothing, which the way from inside says exactly."""


def tilted(program: BlockProgram) -> Solution | None:
    """Return the optimum of a program of groups and few linear rows; None where it is another, or has no interior."""
    if len(program.splits) or program.cost.any() or program.is_impossible:
        return None
    groups = _groups(program)
    if groups is None:
        return None
    rows = _across(program, groups)
    if rows is None:
        return None
    solved = _multipliers(groups, rows)
    if solved is None:
        return None
    solution = _solution(program, groups, rows, *solved)
    shares = solution.z[: len(program.scale)] / groups.records[groups.group]
    return solution if shares.min() > LEAST_SHARE else None


@dataclass(frozen=True, slots=True)
class _Groups:
    """The masses by group: each mass (n,) is in one ``group``, whose ``records`` (G,) it shares; ``row`` (G,) says so.

    ``sums`` (totals, n) gives the totals in terms of masses and ``constant`` (totals,), by the rows ``of_total``.
    """

    scale: FloatArray
    group: IndexArray
    records: FloatArray
    row: IndexArray
    sums: sparse.csr_matrix
    constant: FloatArray
    of_total: IndexArray

    def masses(self, exponents: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the masses (n,) for ``log(mass / scale)`` but for what is the same in a group; and that (G,)."""
        most = np.full(len(self.records), -np.inf)
        np.maximum.at(most, self.group, exponents)
        parts = self.scale * np.exp(exponents - most[self.group])
        total = np.bincount(self.group, weights=parts, minlength=len(self.records))
        return parts * (self.records / total)[self.group], most + np.log(total / self.records)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows across groups (r, n) and their ends; ``place`` (r,) is the program's row, or the variable it bounds."""

    weights: FloatArray
    low: FloatArray
    high: FloatArray
    place: IndexArray
    is_bound: BoolArray


def _groups(program: BlockProgram) -> _Groups | None:
    """Return the groups of masses whose records some rows give, and the totals; None where a mass is in no group."""
    masses, rows = len(program.scale), program.rows
    width = np.diff(rows.indptr)
    equal = program.low == program.high
    owner = np.repeat(np.arange(rows.shape[0]), width)
    totals_in = np.bincount(owner[rows.indices >= masses], minlength=rows.shape[0])
    are_ones = np.bincount(owner[rows.data != 1.0], minlength=rows.shape[0]) == 0
    candidates = np.flatnonzero(
        equal & are_ones & (totals_in == 0) & (width > 0) & (program.low > 0)
    )
    group, taken = _disjoint(rows, candidates[np.argsort(width[candidates], kind="stable")])
    if not len(taken) or (group < 0)[:masses].any():
        return None
    of_total = np.full(program.size - masses, -1, dtype=np.intp)
    for row in np.flatnonzero(equal & (totals_in == 1)).tolist():
        span = slice(rows.indptr[row], rows.indptr[row + 1])
        number = int(rows.indices[span].max()) - masses
        if of_total[number] < 0:
            of_total[number] = row
    if (of_total < 0).any():
        return None
    own = rows[of_total]
    factor = -np.asarray(own[:, masses:].diagonal())
    return _Groups(
        scale=program.scale,
        group=group[:masses],
        records=program.low[taken],
        row=taken,
        sums=sparse.csr_matrix(sparse.diags(1 / factor) @ own[:, :masses]),
        constant=-program.low[of_total] / factor,
        of_total=of_total,
    )


def _disjoint(rows: sparse.csr_matrix, candidates: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the number of the group of each variable, -1 for none, and rows that share no variable, taken in order."""
    group = np.full(rows.shape[1], -1, dtype=np.intp)
    part = rows[candidates]
    width = np.diff(part.indptr)
    owner = np.repeat(np.arange(len(candidates)), width)
    times = np.bincount(part.indices, minlength=rows.shape[1])
    are_alone = np.bincount(owner[times[part.indices] > 1], minlength=len(candidates)) == 0
    taken = list[int]()
    for number in np.flatnonzero(~are_alone).tolist():
        inside = part.indices[part.indptr[number] : part.indptr[number + 1]]
        if (group[inside] < 0).all():
            group[inside] = len(taken)
            taken.append(number)
    alone = np.flatnonzero(are_alone)
    place = np.full(len(candidates), -1, dtype=np.intp)
    place[alone] = len(taken) + np.arange(len(alone))
    is_alone = are_alone[owner]
    group[part.indices[is_alone]] = place[owner[is_alone]]
    return group, candidates[np.concatenate([np.array(taken, dtype=np.intp), alone])]


def _across(program: BlockProgram, groups: _Groups) -> _Rows | None:
    """Return the rows across groups and the bounds that can bind, over masses alone; None where they are too many."""
    masses = len(program.scale)
    other_rows = np.setdiff1d(
        np.arange(program.rows.shape[0]), np.concatenate([groups.row, groups.of_total])
    )
    lower = np.where(program.lower > SMALLEST_MASS, program.lower, -np.inf)
    bounded = np.flatnonzero(np.isfinite(lower) | np.isfinite(program.upper))
    if len(other_rows) + len(bounded) > MOST_ROWS + len(groups.constant):
        return None
    picked = sparse.identity(program.size, format="csr")[bounded]
    both = sparse.csr_matrix(sparse.vstack([program.rows[other_rows], picked]))
    offset = both[:, masses:] @ groups.constant
    weights = np.asarray((both[:, :masses] + both[:, masses:] @ groups.sums).todense())
    low = np.concatenate([program.low[other_rows], lower[bounded]]) - offset
    high = np.concatenate([program.high[other_rows], program.upper[bounded]]) - offset
    least, most = _reach(weights, groups)
    binds = (least < low) | (most > high)
    if binds.sum() > MOST_ROWS:
        return None
    is_bound = np.arange(len(low)) >= len(other_rows)
    place = np.concatenate([other_rows, bounded])
    return _Rows(
        weights=np.ascontiguousarray(weights[binds]),
        low=low[binds],
        high=high[binds],
        place=place[binds],
        is_bound=is_bound[binds],
    )


def _reach(weights: FloatArray, groups: _Groups) -> tuple[FloatArray, FloatArray]:
    """Return the least and the most that each row (r, n) can come to, whatever the masses of the groups."""
    ends = []
    for side in (np.minimum, np.maximum):
        end = np.full(
            (len(weights), len(groups.records)), np.inf if side is np.minimum else -np.inf
        )
        for row, values in zip(end, weights, strict=True):
            side.at(row, groups.group, values)
        ends.append(end @ groups.records)
    return ends[0], ends[1]


def _multipliers(groups: _Groups, rows: _Rows) -> tuple[FloatArray, int] | None:
    """Return the rows' multipliers and the steps that it took; None where no set of binding rows is found."""
    price, steps = np.zeros(len(rows.low)), 0
    at_low = at_high = rows.low == rows.high
    is_equal = rows.low == rows.high
    close = CLOSE_RECORDS * max(1.0, float(groups.records.sum()) ** 0.5)
    for _ in range(MOST_ROUNDS):
        binding = at_low | at_high
        ends = np.where(at_high, rows.high, rows.low)
        price = np.where(binding, price, 0.0)
        taken = _newton(groups, rows.weights[binding], ends[binding], price[binding], close)
        if taken is None:
            return None
        price[binding], steps = taken[0], steps + taken[1]
        wrong = binding & ~is_equal & np.where(at_high, price < 0, price > 0)
        if wrong.any():
            at_low, at_high = at_low & ~wrong, at_high & ~wrong
            continue
        value = rows.weights @ groups.masses(-price @ rows.weights)[0]
        below = ~binding & (value < rows.low - close)
        above = ~binding & (value > rows.high + close)
        if not (below | above).any():
            return price, steps
        at_low, at_high = at_low | below, at_high | above
    return None


def _newton(
    groups: _Groups, weights: FloatArray, ends: FloatArray, price: FloatArray, close: float
) -> tuple[FloatArray, int] | None:
    """Return the multipliers (b,) for which rows (b, n) come to their ends, and the steps; None if it gets nowhere."""
    z, level = groups.masses(-price @ weights)
    dual = -float(groups.records @ level) - float(price @ ends)
    for number in range(MOST_STEPS):
        miss = weights @ z - ends
        most = float(np.abs(miss).max(initial=0.0))
        if most <= close:
            return price, number
        step = _step(groups, weights, z, miss)
        if step is None:
            return None
        length, rise = 1.0, float(miss @ step)
        is_near = rise <= NO_RISE * max(1.0, abs(dual))  # too near for the dual to show progress
        while True:
            new = price + length * step
            moved, level = groups.masses(-new @ weights)
            value = -float(groups.records @ level) - float(new @ ends)
            if is_near and np.abs(weights @ moved - ends).max() > most / 2:
                return price, number  # rows that say the same, but for their last digits
            if is_near or value >= dual + LEAST_RISE * length * rise:
                break
            length /= 2
            if length < SHORTEST_STEP:
                return None
        price, z, dual = new, moved, value
    return None


def _step(
    groups: _Groups, weights: FloatArray, z: FloatArray, miss: FloatArray
) -> FloatArray | None:
    """Return Newton's step; None where it is one to a point at infinity, as rows that force masses to 0 have it."""
    weighed = weights * z
    by_group = np.stack(
        [np.bincount(groups.group, weights=row, minlength=len(groups.records)) for row in weighed]
    )
    curvature = weighed @ weights.T - (by_group / groups.records) @ by_group.T
    unit = np.sqrt(np.maximum(np.diag(curvature), 0.0))
    if not unit.all():
        return None
    scaled = curvature / np.outer(unit, unit)
    step = np.linalg.lstsq(scaled, miss / unit, rcond=NO_CURVATURE)[0] / unit
    return step if np.isfinite(step).all() and np.abs(step).max() < LONGEST_STEP else None


def _solution(
    program: BlockProgram, groups: _Groups, rows: _Rows, price: FloatArray, steps: int
) -> Solution:
    """Return the point with the multipliers of all rows and bounds of the program."""
    masses = len(program.scale)
    y, level = groups.masses(-price @ rows.weights)
    y = np.maximum(y, SMALLEST_MASS)
    z = np.concatenate([y, groups.sums @ y + groups.constant])
    linear, bounds = np.zeros(program.rows.shape[0]), np.zeros(program.size)
    linear[rows.place[~rows.is_bound]] = price[~rows.is_bound]
    np.add.at(bounds, rows.place[rows.is_bound], price[rows.is_bound])
    # A total has no part in the objective, so the row that makes it passes on what the others ask of it.
    asked = (program.rows.T @ linear + bounds)[masses:]
    factor = np.asarray(program.rows[groups.of_total][:, masses:].diagonal())
    linear[groups.of_total] = -asked / factor
    linear[groups.row] = level - 1.0
    residual = program.gradient(z, 0.0) + program.rows.T @ linear + bounds
    is_least = y <= SMALLEST_MASS
    bounds[:masses][is_least] -= residual[:masses][is_least]
    return Solution(
        z=z, linear=linear, split=np.zeros(0), bounds=bounds, status=Status.SOLVED, iterations=steps
    )
