"""Gives a program an interior: what its linear rows force is fixed, what they force tight becomes an equality.

Class totals and background facts can leave a class no room somewhere ("all flu cases are elsewhere"). IPOPT needs
points where every inequality is strict; where the rows leave none its multipliers grow without bound and it does not
converge. One linear program finds everything that is forced (Freund, Roundy & Todd 1985).
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace

import numpy as np
from scipy import sparse
from scipy.linalg import qr
from scipy.optimize import linprog

from treewarden.audit.ipopt.program import SMALLEST_MASS, BlockProgram, SplitRows
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.tree import Criterion

MOST_DENSE_ROWS = 2000
"""With more equalities than this that share all their variables with others, ones that others imply are left in."""
DEPENDENT_SHARE = 1e-9
CLEAR_SHARE = 1e-6
"""A weight that is smaller, relative to the largest, sets no row apart from the others."""
INSIDE_RECORDS = 1e-3
"""How far from every end a point shows that no end is forced, in records."""


@dataclass(frozen=True, slots=True)
class Interior:
    """A program over the variables that are not forced, and the way back.

    ``free`` (variables,) says which remain; ``values`` holds the others'; ``split_kept`` are the split rows left.
    """

    program: BlockProgram
    free: BoolArray
    values: FloatArray
    split_kept: IndexArray

    @property
    def is_bounding(self) -> bool:
        """Whether a bound on what remains is one on the whole, for all classes.

        A mass that is forced above nothing may be a pool's, and the pool's classes are free to differ.
        """
        return bool((self.values <= SMALLEST_MASS).all())

    def restored(self, z: FloatArray) -> FloatArray:
        """Return the whole program's variables."""
        whole = self.values.copy()
        whole[self.free] = z
        return whole

    def chains(self, whole: BlockProgram, chains: sparse.csr_matrix) -> sparse.csr_matrix:
        """Return chains (terms, masses) of `treewarden.audit.solver.canonical` for what remains of the program."""
        kept = chains[self.free[whole.splits.terms.variable]]
        return sparse.csr_matrix(kept[:, self.free[: len(whole.scale)]])

    def multipliers(self, split: FloatArray, count: int) -> FloatArray:
        """Return the multipliers of all ``count`` split rows; those of rows that are constant are 0."""
        whole = np.zeros(count)
        whole[self.split_kept] = split
        return whole


@dataclass(frozen=True, slots=True)
class _Tight:
    """Which lower and upper bounds of variables, and which low and high ends of rows, are tight everywhere."""

    lower: BoolArray
    upper: BoolArray
    low: BoolArray
    high: BoolArray


def is_inside(program: BlockProgram, z: FloatArray) -> bool:
    """Return whether a point satisfies the linear rows, the inequalities among them strictly: nothing is forced."""
    value, equal = program.rows @ z, program.low == program.high
    lower = np.where(program.lower > SMALLEST_MASS, program.lower, 0.0)
    slacks = [z - lower, program.upper - z]
    slacks += [(value - program.low)[~equal], (program.high - value)[~equal]]
    least = min(float(np.min(slack, initial=np.inf)) for slack in slacks)
    miss = float(np.max(np.abs(value - program.low)[equal], initial=0.0))
    return least > INSIDE_RECORDS and miss < INSIDE_RECORDS / 1e3


def interior(program: BlockProgram) -> Interior | None:
    """Return the program without what its linear rows force or say twice; None where that is nothing, or no point."""
    tight = _tight(program)
    if tight is None:
        return None
    bottom = np.where(program.lower > SMALLEST_MASS, program.lower, 0.0)
    values = np.where(tight.lower, bottom, np.where(tight.upper, program.upper, 0.0))
    free = ~(tight.lower | tight.upper)
    moved = program.rows[:, ~free] @ values[~free]
    low = np.where(tight.high, program.high, program.low) - moved
    high = np.where(tight.low, program.low, program.high) - moved
    rows = sparse.csr_matrix(program.rows[:, free])
    kept = _independent(rows, low == high)
    if len(kept) == len(low) and not any(flags.any() for flags in astuple(tight)):
        return None
    return _without(program, values, free, (rows[kept], low[kept], high[kept]))


def _tight(program: BlockProgram) -> _Tight | None:
    """Return what is tight in every point that satisfies the linear rows, or None where there is no point.

    Over points scaled by s >= 1, as many slacks as possible are raised to 1; those that cannot be are always 0.
    """
    n, m = program.size, len(program.low)
    eye, rows = sparse.identity(n, format="csr"), program.rows
    lower = np.where(program.lower > SMALLEST_MASS, program.lower, 0.0)
    has_upper, has_low, has_high = (
        np.isfinite(program.upper),
        np.isfinite(program.low),
        np.isfinite(program.high),
    )
    equal = program.low == program.high
    sides = [
        (eye, lower, 1.0, np.ones(n, dtype=bool)),
        (eye, program.upper, -1.0, has_upper),
        (rows, program.low, 1.0, has_low & ~equal),
        (rows, program.high, -1.0, has_high & ~equal),
    ]
    # side * (A x - end * s) - t >= 0, one block of rows per kind of slack
    width = sum(int(there.sum()) for *_, there in sides)
    blocks, at = [], 0
    for matrix, end, side, there in sides:
        count = int(there.sum())
        taken = sparse.csr_matrix(matrix[np.flatnonzero(there)])
        pick = sparse.csr_matrix(
            (np.ones(count), (np.arange(count), np.arange(at, at + count))), shape=(count, width)
        )
        last = sparse.csr_matrix(-side * end[there].reshape(-1, 1))
        blocks.append(sparse.hstack([side * taken, last, -pick]))
        at += count
    equalities = sparse.hstack(
        [
            rows[np.flatnonzero(equal)],
            sparse.csr_matrix(-program.low[equal].reshape(-1, 1)),
            sparse.csr_matrix((int(equal.sum()), width)),
        ]
    )
    answer = linprog(
        np.concatenate([np.zeros(n + 1), -np.ones(width)]),
        A_ub=-sparse.vstack(blocks).tocsr(),
        b_ub=np.zeros(sum(block.shape[0] for block in blocks)),
        A_eq=equalities.tocsr(),
        b_eq=np.zeros(equalities.shape[0]),
        bounds=[(0, None)] * n + [(1, 1e7)] + [(0, 1)] * width,
        method="highs",
    )
    if answer.x is None:
        return None
    slack, at, flags = answer.x[n + 1 :], 0, []
    for (*_, there), length in zip(sides, (n, n, m, m), strict=True):
        flag = np.zeros(length, dtype=bool)
        flag[there] = slack[at : at + int(there.sum())] < 0.5
        flags.append(flag)
        at += int(there.sum())
    return _Tight(flags[0], flags[1] & ~flags[0], flags[2], flags[3])


def _independent(rows: sparse.csr_matrix, equal: BoolArray) -> IndexArray:
    """Return the rows that say something: not empty, and no equality that others imply."""
    filled = np.asarray(np.diff(rows.indptr) > 0)
    others, chosen = np.flatnonzero(filled & ~equal), np.flatnonzero(filled & equal)
    own = _with_own_variable(sparse.csr_matrix(rows[chosen]))
    alone, chosen = chosen[own], chosen[~own]
    if 0 < len(chosen) <= MOST_DENSE_ROWS:
        dense = sparse.csr_matrix(rows[chosen]).toarray()
        dense = dense[:, dense.any(axis=0)]
        upper, order = qr(dense.T, mode="r", pivoting=True)
        size = np.abs(np.diag(upper))
        chosen = chosen[order[: len(size)][size > DEPENDENT_SHARE * size.max(initial=0.0)]]
    return np.sort(np.concatenate([others, alone, chosen]))


def _with_own_variable(rows: sparse.csr_matrix) -> BoolArray:
    """Return which rows have a variable that no other row has, those set aside before not counted, shape (R,).

    No other rows imply such a row, and it implies none: in a sum of multiples of rows that is zero, its multiple is 0.
    What is left then is far smaller than the whole.
    """
    own = np.zeros(rows.shape[0], dtype=bool)
    number = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    clear = np.abs(rows.data) > CLEAR_SHARE * np.abs(rows.data).max(initial=0.0)
    while True:
        stays = ~own[number]
        seen = np.bincount(rows.indices[stays], minlength=rows.shape[1])
        new = number[stays & clear & (seen[rows.indices] == 1)]
        if not len(new):
            return own
        own[new] = True


def _without(
    program: BlockProgram,
    values: FloatArray,
    free: BoolArray,
    linear: tuple[sparse.csr_matrix, FloatArray, FloatArray],
) -> Interior:
    """Return the program over its free variables; what the others add to split rows becomes a constant."""
    place, splits, terms = np.cumsum(free) - 1, program.splits, program.splits.terms
    stays = free[terms.variable]
    constant = splits.constant + splits.linear[:, ~free] @ values[~free]
    gone = terms.only(~stays)
    bent = _phi(program.criterion, values[gone.variable], gone.scale)
    np.add.at(constant, gone.row, gone.coefficient * bent)
    across = sparse.csr_matrix(splits.linear[:, free])
    filled = np.diff(across.indptr) > 0
    filled[terms.row[stays]] = True
    kept = np.flatnonzero(filled)
    number = np.cumsum(filled) - 1
    left = terms.only(stays)
    smaller = replace(
        program,
        scale=program.scale[free[: len(program.scale)]],
        start=program.start[free],
        lower=program.lower[free],
        upper=program.upper[free],
        rows=linear[0],
        low=linear[1],
        high=linear[2],
        cost=program.cost[free],
        splits=SplitRows(
            replace(
                left,
                row=number[left.row].astype(np.intp),
                variable=place[left.variable].astype(np.intp),
            ),
            constant=constant[kept],
            limit=splits.limit[kept],
            records=splits.records[kept],
            linear=across[kept],
        ),
    )
    return Interior(smaller, free, np.maximum(values, SMALLEST_MASS), kept)


def _phi(criterion: Criterion, u: FloatArray, scale: FloatArray) -> FloatArray:
    if criterion is Criterion.GINI:
        return np.asarray(-(u**2) / scale)
    u = np.maximum(u, SMALLEST_MASS)
    return np.asarray(-u * np.log(u / scale))
