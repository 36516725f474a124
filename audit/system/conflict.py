"""Finds facts that contradict the tree or each other: a smallest set of linear rows that no estimate can satisfy.

Only needed where the truth is not known: rows that the true table satisfies cannot contradict each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from treewarden.audit.facts.rows import Linear, Origin, as_lines
from treewarden.audit.system.system import System
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, alike

SLACK_RECORDS = 1e-6
"""How far, in records, rows may be apart and still count as agreeing."""


@dataclass(frozen=True, slots=True)
class _MatrixRow:
    """One row as matrix rows over the lumps' masses: ``low <= matrix @ mass <= high``."""

    origin: Origin
    matrix: sparse.csr_matrix
    low: FloatArray
    high: FloatArray


def conflict(system: System) -> tuple[Origin, ...]:
    """Return a smallest set of rows that cannot hold together beside the profiles' own totals; empty where all can.

    No row can be taken out of the set without the rest being satisfiable; another such set may exist.
    """
    if not system.across:
        return ()
    lumps, first, weight = _lumps(system)
    said = zip(system.rows, system.contents, strict=True)
    found = ((row.origin, as_lines(system.case, row_content)) for row, row_content in said)
    m = len(system.case.tree.classes)
    parts = [_part(origin, lines, (lumps, first), m) for origin, lines in found if lines]
    if _can_hold(parts, weight, system):
        return ()
    matrix_rows = _suspects(parts, weight, system)
    for part in list(matrix_rows):
        without = [matrix_row for matrix_row in matrix_rows if matrix_row is not part]
        if not _can_hold(without, weight, system):
            matrix_rows = without
    return tuple(part.origin for part in matrix_rows)


def _lumps(system: System) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return each profile's lump, profiles alike in leaf and in every row; a profile of each lump, and its records."""
    counts, m = system.case.population.counts, len(system.case.tree.classes)
    signature = [system.case.population.leaf]
    for row in system.across:
        weights = np.zeros((len(counts), m))
        np.add.at(weights, (row.profiles, row.classes), row.weights)
        signature.append(np.unique(weights, axis=0, return_inverse=True)[1].reshape(-1))
    first, lumps = alike(signature)
    return lumps, first, np.bincount(lumps, weights=counts).astype(np.float64)


def _part(
    origin: Origin, lines: Sequence[Linear], lumped: tuple[IndexArray, IndexArray], m: int
) -> _MatrixRow:
    """Return a row's lines over lumps: profiles of a lump have the same weights in each, so its first tells them."""
    lumps, first = lumped
    is_first = np.zeros(len(lumps), dtype=bool)
    is_first[first] = True
    matrices, low, high = [], [], []
    for line in lines:
        unit = 1.0 if line.slack is None else float(np.abs(line.weights).max(initial=1.0))
        taken = is_first[line.profiles]
        columns = lumps[line.profiles[taken]] * m + line.classes[taken]
        cells = line.weights[taken] / unit, (np.zeros_like(columns), columns)
        matrices.append(sparse.csr_matrix(cells, shape=(1, len(first) * m)))
        low.append(line.low / unit)
        high.append(line.high / unit)
    return _MatrixRow(origin, sparse.vstack(matrices, format="csr"), np.array(low), np.array(high))


def _can_hold(parts: Sequence[_MatrixRow], weight: FloatArray, system: System) -> bool:
    return bool(_broken(parts, weight, system).max(initial=0.0) <= SLACK_RECORDS)


def _suspects(parts: Sequence[_MatrixRow], weight: FloatArray, system: System) -> list[_MatrixRow]:
    """Return rows that cannot hold together: those that break when the rest hold, forced to hold one after another."""
    forced: list[_MatrixRow] = []
    while _can_hold(forced, weight, system):
        broken = _broken(parts, weight, system, forced)
        worst = [
            part
            for part, miss in zip(parts, broken, strict=True)
            if miss > SLACK_RECORDS and part not in forced
        ]
        if not worst:
            return list(parts)
        forced += worst
    return forced


def _broken(
    parts: Sequence[_MatrixRow],
    weight: FloatArray,
    system: System,
    forced: Sequence[_MatrixRow] = (),
) -> FloatArray:
    """Return by how many records each row is missed at the point that misses least in all; forced ones do not give.

    Where the forced ones alone cannot hold, every row counts as missed.
    """
    if not parts:
        return np.zeros(0)
    m = len(system.case.tree.classes)
    size = len(weight) * m
    blocks, ends, slacks = [], [], 0
    owner: list[int] = []
    for number, part in enumerate(parts):
        is_forced = any(part is matrix_row for matrix_row in forced)
        for sign, limit in ((1.0, part.high), (-1.0, -part.low)):
            finite = np.flatnonzero(np.isfinite(limit))
            for k in finite:
                blocks.append((sign * part.matrix[[k]], None if is_forced else slacks))
                ends.append(float(limit[k]))
                if not is_forced:
                    owner.append(number)
                    slacks += 1
    matrix = sparse.vstack([block for block, _ in blocks])
    rows = [k for k, (_, slack) in enumerate(blocks) if slack is not None]
    give = sparse.csr_matrix((-np.ones(slacks), (rows, range(slacks))), shape=(len(blocks), slacks))
    totals = sparse.csr_matrix(
        (np.ones(size), (np.repeat(np.arange(len(weight)), m), np.arange(size))),
        shape=(len(weight), size + slacks),
    )
    found = linprog(
        np.concatenate([np.zeros(size), np.ones(slacks)]),
        A_ub=sparse.hstack([matrix, give], format="csr"),
        b_ub=np.array(ends),
        A_eq=totals,
        b_eq=weight,
        method="highs",
    )
    missed = np.full(len(parts), np.inf)
    if found.status == 0:
        missed[:] = 0.0
        np.maximum.at(missed, np.array(owner, dtype=np.intp), found.x[size:])
    return missed
