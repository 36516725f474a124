"""Maximum entropy of a convex block by exponential tilting: Newton's method on one multiplier for each row.

If only linear rows and boxes bind the people of a block, the maximum is known but for the rows' multipliers: a mass is
in proportion to ``scale * exp(-row @ multipliers)`` within its group (Jaynes 1957; Csiszar 1975). So the unknowns are
as many as the rows across groups, not as the masses. A convex split row is stood for by its tangents where it is broken
(Kelley 1960). The answer is judged as one of IPOPT's is: every row, stationarity, and that multipliers have the signs
of an optimum. If the rows leave no interior there is none, and IPOPT is asked.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from treewarden.audit.ipopt.backend import Solution, Status
from treewarden.audit.ipopt.program import SMALLEST_MASS, BlockProgram, DualGroups, DualRows
from treewarden.audit.solver.dual_newton import (
    CLOSE_RECORDS,
    DualCurvature,
    curvature_of,
    find_multipliers,
    is_densely_filled,
)
from treewarden.ppdm_models.arrays import FloatArray, IndexArray

LEAST_SHARE = 1e-7
"""Of a group in a class: less than this is forced to be nothing, which the way from inside says exactly."""
EXACT_SIZE = 1000
"""Variables up to which the way from inside costs next to nothing."""
SAME_SHARE = 1e-9
"""Numbers of records that differ by no more, relative to each other, are the same."""
MOST_ROUNDS = 25
"""How often tangents of split rows are added."""
NEAR_SHARE = 1e-6
"""By how much of its node's records a split row is broken where one tangent will do."""
CLOSE_SHARE, STATIONARY = 1e-9, 1e-7
"""By how much of its node's records a split row may be broken at the end, and how far from stationary it may be."""
FLAT_LEVEL = 1e-9
"""Masses whose logarithms differ by no more from their scales' are those of no multipliers."""
NEAR_END = 1e-4
"""How near to its end a row is taken to be at it in a start, in the roots of the records."""


def tilted(program: BlockProgram) -> Solution | None:
    """Return the optimum of a convex program of groups; None if it is another, or has no interior."""
    if not program.is_convex or program.cost.any() or program.is_impossible:
        return None
    groups = _groups(program)
    if groups is None:
        return None
    solution = _under_tangents(program, groups)
    if solution is None:
        return None
    shares = solution.z[: len(program.scale)] / groups.records[groups.group]
    is_inside = shares.min() > LEAST_SHARE or program.size > EXACT_SIZE
    return solution if is_inside else None


def _groups(program: BlockProgram) -> DualGroups | None:
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
    narrow_first = candidates[np.argsort(width[candidates], kind="stable")]
    for chosen in (_of_whole_groups(program, narrow_first), narrow_first):
        group, taken = _disjoint(rows, chosen)
        if len(taken) and (group >= 0)[:masses].all():
            break
    else:
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
    return DualGroups(
        scale=program.scale,
        group=group[:masses],
        records=program.low[taken],
        row=taken,
        sums=sparse.csr_matrix(sparse.diags(1 / factor) @ own[:, :masses]),
        constant=-program.low[of_total] / factor,
        of_total=of_total,
    )


def _of_whole_groups(program: BlockProgram, candidates: IndexArray) -> IndexArray:
    """Return the rows, the widest first, whose records are what each of their masses could have, a class at a time."""
    part = program.rows[candidates]
    row = np.repeat(np.arange(len(candidates)), np.diff(part.indptr))
    classes = program.scale[part.indices] / program.low[candidates][row]
    is_odd = (classes < 0.5) | (np.abs(classes - np.round(classes)) > SAME_SHARE)
    odd_masses = np.bincount(row[is_odd], minlength=len(candidates))
    return np.asarray(candidates[odd_masses == 0][::-1])


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


def _across(program: BlockProgram, groups: DualGroups) -> DualRows:
    """Return the rows across groups and the bounds, over masses alone, but for those that can never bind."""
    masses = len(program.scale)
    other_rows = np.setdiff1d(
        np.arange(program.rows.shape[0]), np.concatenate([groups.row, groups.of_total])
    )
    lower = np.where(program.lower > SMALLEST_MASS, program.lower, -np.inf)
    bounded = np.flatnonzero(np.isfinite(lower) | np.isfinite(program.upper))
    picked = sparse.identity(program.size, format="csr")[bounded]
    both = sparse.csr_matrix(sparse.vstack([program.rows[other_rows], picked]))
    offset = both[:, masses:] @ groups.constant
    weights = sparse.csr_matrix(both[:, :masses] + both[:, masses:] @ groups.sums)
    low = np.concatenate([program.low[other_rows], lower[bounded]]) - offset
    high = np.concatenate([program.high[other_rows], program.upper[bounded]]) - offset
    least, most = _reach(weights, groups)
    binds = (least < low - CLOSE_RECORDS) | (most > high + CLOSE_RECORDS)
    is_bound = np.arange(len(low)) >= len(other_rows)
    place = np.concatenate([other_rows, bounded])
    return DualRows(
        weights=sparse.csr_matrix(weights[binds]),
        low=low[binds],
        high=high[binds],
        place=place[binds],
        is_bound=is_bound[binds],
        of_split=np.zeros(0, dtype=np.intp),
    )


def _reach(weights: sparse.csr_matrix, groups: DualGroups) -> tuple[FloatArray, FloatArray]:
    """Return ends (r,) between which each row's value lies, whatever the masses of the groups."""
    is_full = is_densely_filled(weights)
    least, most = np.zeros(weights.shape[0]), np.zeros(weights.shape[0])
    full, rest = np.flatnonzero(is_full), np.flatnonzero(~is_full)
    least[full], most[full] = _reach_of_full(sparse.csr_matrix(weights[full]), groups)
    least[rest], most[rest] = _reach_of_few(sparse.csr_matrix(weights[rest]), groups)
    return least, most


FULL_ROWS = 64
"""Rows that are looked at as they stand, all masses of them, at a time: bounds the memory."""


def _reach_of_full(weights: sparse.csr_matrix, groups: DualGroups) -> tuple[FloatArray, FloatArray]:
    """Return the ends of rows about many masses: the least and the most of each group, added up."""
    order = np.argsort(groups.group, kind="stable")
    starts = np.searchsorted(groups.group[order], np.arange(len(groups.records)))
    are_pairs = bool((np.diff(starts, append=len(order)) == 2).all())
    records = groups.records[groups.group][order]
    least, most = np.zeros(weights.shape[0]), np.zeros(weights.shape[0])
    for first in range(0, weights.shape[0], FULL_ROWS):
        rows = slice(first, first + FULL_ROWS)
        reached = weights[rows].toarray()[:, order] * records
        if are_pairs:
            ends = reached[:, ::2], reached[:, 1::2]
            least[rows], most[rows] = np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1)
            continue
        least[rows] = np.minimum.reduceat(reached, starts, axis=1).sum(axis=1)
        most[rows] = np.maximum.reduceat(reached, starts, axis=1).sum(axis=1)
    return least, most


def _reach_of_few(weights: sparse.csr_matrix, groups: DualGroups) -> tuple[FloatArray, FloatArray]:
    """Return the ends of rows about few masses each."""
    reached = weights.data * groups.records[groups.group][weights.indices]
    wide = np.bincount(groups.group, minlength=len(groups.records))
    row = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    key = row * len(groups.records) + groups.group[weights.indices]
    pairs, place, times = np.unique(key, return_inverse=True, return_counts=True)
    is_whole = times == wide[pairs % len(groups.records)]
    # A mass of the group that the row leaves out counts 0 there.
    least, most = np.where(is_whole, np.inf, 0.0), np.where(is_whole, -np.inf, 0.0)
    np.minimum.at(least, place, reached)
    np.maximum.at(most, place, reached)
    owner = pairs // len(groups.records)
    size = weights.shape[0]
    return (
        np.bincount(owner, weights=least, minlength=size).astype(np.float64),
        np.bincount(owner, weights=most, minlength=size).astype(np.float64),
    )


def _under_tangents(program: BlockProgram, groups: DualGroups) -> Solution | None:
    """Return the optimum under all rows, of convex split rows their tangents where they are broken (Kelley 1960).

    First from the multipliers that the program's start is likely to have, then from none.
    """
    rows = _across(program, groups)
    curvature = curvature_of(rows.weights, groups.group, groups.records)
    nothing = np.zeros(len(rows.low))
    begin = _at_start(program, groups, (rows, nothing), curvature)
    if begin[1].any():
        solution = _from_multipliers(program, groups, begin, curvature)
        if solution is not None:
            return solution
    return _from_multipliers(program, groups, (rows, nothing), curvature)


def _at_start(
    program: BlockProgram,
    groups: DualGroups,
    before: tuple[DualRows, FloatArray],
    curvature: DualCurvature,
) -> tuple[DualRows, FloatArray]:
    """Return the rows with tangents at the start of split rows that hold nearly or are broken, and multipliers."""
    y = np.maximum(program.start[: len(program.scale)], SMALLEST_MASS)
    z = np.concatenate([y, groups.sums @ y + groups.constant])
    excess = program.split_values(z)
    near = np.flatnonzero(excess > -NEAR_SHARE * program.splits.records)
    rows, _ = _with_tangents(program, groups, before, (z, excess, near)) if len(near) else before
    return rows, likely_multipliers(groups, rows, y, curvature)


def likely_multipliers(
    groups: DualGroups, rows: DualRows, y: FloatArray, of_first: DualCurvature
) -> FloatArray:
    """Return the multipliers (r,) that explain masses (n,) best: those of an optimum near them, 0 where none show.

    The masses of an optimum are ``scale * exp(-weights @ multipliers)`` within their groups, so that the multipliers
    follow from the masses by least squares. A multiplier whose row is at neither end has no part. ``of_first`` is the
    curvature of the first rows.
    """
    nothing = np.zeros(len(rows.low))
    total = np.bincount(groups.group, weights=y, minlength=len(groups.records))
    if not len(nothing) or y.min(initial=1.0) <= 0 or not total.all():
        return nothing
    y = y * (groups.records / total)[groups.group]
    level = np.log(y / groups.scale)
    mean = np.bincount(groups.group, weights=y * level) / groups.records
    apart = level - mean[groups.group]
    if np.abs(apart).max(initial=0.0) <= FLAT_LEVEL:
        return nothing
    value, near = rows.weights @ y, NEAR_END * groups.records.sum() ** 0.5
    is_high, is_low = value >= rows.high - near, value <= rows.low + near
    chosen = np.flatnonzero(is_high | is_low)
    curvature = curvature_of(rows.weights, groups.group, groups.records, of_first)
    pull = -(rows.weights @ (y * apart))[chosen]
    price = curvature.of_rows(y, chosen).solved(np.arange(len(chosen)), pull)
    if price is None or not np.isfinite(price).all():
        return nothing
    is_held = ((price > 0) & is_high[chosen]) | ((price < 0) & is_low[chosen])
    nothing[chosen] = np.where(is_held, price, 0.0)
    return nothing


def _from_multipliers(
    program: BlockProgram,
    groups: DualGroups,
    begin: tuple[DualRows, FloatArray],
    curvature: DualCurvature,
) -> Solution | None:
    rows, price = begin
    steps = 0
    for _ in range(MOST_ROUNDS):
        solved = find_multipliers(groups, rows, price, curvature)
        if solved is None:
            return None
        price, steps = solved[0], steps + solved[1]
        solution = _solution(program, groups, rows, price, steps)
        excess = program.split_values(solution.z)
        if (excess <= CLOSE_SHARE * program.splits.records).all() and _is_stationary(
            program, solution
        ):
            return solution
        broken = np.flatnonzero((excess > 0) | (solution.split > 0))
        rows, price = _with_tangents(program, groups, (rows, price), (solution.z, excess, broken))
    return None


def _is_stationary(program: BlockProgram, solution: Solution) -> bool:
    """Return whether the tangents stand where the optimum is, so that their slopes are those of the split rows."""
    multipliers = (solution.linear, solution.split, solution.bounds)
    return program.kkt_error(solution.z, *multipliers, 0.0) <= STATIONARY


def _with_tangents(
    program: BlockProgram,
    groups: DualGroups,
    before: tuple[DualRows, FloatArray],
    at: tuple[FloatArray, FloatArray, IndexArray],
) -> tuple[DualRows, FloatArray]:
    """Return the rows and multipliers with tangents of ``broken`` split rows, without those that do not bind."""
    rows, price = before
    z, excess, broken = at
    masses, own = len(program.scale), len(rows.low) - len(rows.of_split)
    # Near the optimum one tangent stands for those before it: their slopes are a little beside it.
    is_near = excess <= NEAR_SHARE * program.splits.records
    of_split, paid = rows.of_split, price[own:]
    kept = np.concatenate([np.arange(own), own + np.flatnonzero((paid > 0) & ~is_near[of_split])])
    whole = np.zeros(len(excess))
    np.add.at(whole, of_split, paid)
    slope = sparse.csr_matrix(program.split_jacobian(z)[broken])
    across = slope[:, :masses] + slope[:, masses:] @ groups.sums
    high = slope @ z - excess[broken] - slope[:, masses:] @ groups.constant
    more = np.where(is_near[broken], whole[broken], 0.0)
    return (
        DualRows(
            weights=sparse.csr_matrix(sparse.vstack([rows.weights[kept], across])),
            low=np.concatenate([rows.low[kept], np.full(len(broken), -np.inf)]),
            high=np.concatenate([rows.high[kept], high]),
            place=rows.place,
            is_bound=rows.is_bound,
            of_split=np.concatenate([rows.of_split[kept[own:] - own], broken]),
        ),
        np.concatenate([price[kept], more]),
    )


def _solution(
    program: BlockProgram, groups: DualGroups, rows: DualRows, price: FloatArray, steps: int
) -> Solution:
    """Return the point with the multipliers of all rows and bounds of the program."""
    masses = len(program.scale)
    y, level = groups.masses(-(rows.weights.T @ price))
    y = np.maximum(y, SMALLEST_MASS)
    z = np.concatenate([y, groups.sums @ y + groups.constant])
    linear, bounds = np.zeros(program.rows.shape[0]), np.zeros(program.size)
    own, tangents = np.split(price, [len(rows.place)])
    linear[rows.place[~rows.is_bound]] = own[~rows.is_bound]
    np.add.at(bounds, rows.place[rows.is_bound], own[rows.is_bound])
    split = np.zeros(len(program.splits))
    np.add.at(split, rows.of_split, tangents)
    split_pull = program.split_jacobian(z).T @ split
    # A total has no part in the objective, so the row that makes it passes on what the others ask of it.
    asked = (program.rows.T @ linear + bounds + split_pull)[masses:]
    factor = np.asarray(program.rows[groups.of_total][:, masses:].diagonal())
    linear[groups.of_total] = -asked / factor
    linear[groups.row] = level - 1.0
    residual = program.gradient(z, 0.0) + program.rows.T @ linear + bounds + split_pull
    is_least = y <= SMALLEST_MASS
    bounds[:masses][is_least] -= residual[:masses][is_least]
    return Solution(
        z=z, linear=linear, split=split, bounds=bounds, status=Status.SOLVED, iterations=steps
    )
