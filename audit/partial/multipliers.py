"""The multipliers of rows that hold as inequalities, over tables of known margins: Newton's method on the dual.

Of the greatest entropy under the rows sum z S_c >= b_c the dual in one multiplier a column and one a row is convex,
the multipliers of the table's own rows being eliminated: F(v, x) = sum_r n_r ln sum_j exp(v_j + sum_c x_c S_c[r, j])
- c v - x b, over x >= 0. Its value bounds that entropy from above whatever v and x are, so that nothing here has to be
exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from audit.partial.allowance import Allowance
from ppdm_models.arrays import BoolArray, FloatArray, IndexArray

STEPS = 200
CLOSE = 1e-11
"""A step is the last one where what is broken is less than this for each record."""
SHORTEST = 1e-10
NEAR = 1e-3
"""Multipliers below this that ought to shrink are let go of, so that a step is not stopped by them."""
SMALL = 1e-10
"""Added to what Newton's matrix has on its diagonal, in shares of the greatest: columns that move together are many."""
MOST_AT_ONCE = 20_000_000
TABLES = 50.0
"""Operations that a step takes for each cell of its table and each row."""


@dataclass(frozen=True, slots=True)
class Slope:
    """A row over a table of (R, J): what is at (r, j) counts ``value[branch[r], j]``, and ``least`` is asked for."""

    branch: IndexArray
    value: FloatArray
    least: float


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
    rows: list[Slope],
    start: FloatArray,
    allowance: Allowance,
) -> FloatArray | None:
    """Return the multipliers of the columns and then of the rows, (J + C,), nearly optimal; None where all is spent.

    ``can`` (R, J) says where the ``supply`` (R,) can be; all columns' ``demand`` (J,) is positive. ``start`` are
    multipliers of the columns and the first rows.
    """
    x = np.zeros(len(demand) + len(rows))
    x[: len(start)] = start
    at = _dual(x, can, supply, demand, rows)
    bounded = np.arange(len(x)) >= len(demand)
    for _ in range(STEPS):
        if not allowance.spend(_cost(can.shape, len(rows))):
            return None
        near = min(NEAR, float(np.abs(x - np.maximum(x - at.slope, 0.0))[bounded].max(initial=0.0)))
        is_fixed = bounded & (x <= near) & (at.slope > 0)
        if np.abs(np.where(is_fixed, 0.0, at.slope)).max() <= CLOSE * supply.sum():
            break
        free = np.flatnonzero(~is_fixed)
        matrix = _curvature(at.table, supply, rows, len(demand))[np.ix_(free, free)]
        matrix[np.diag_indices_from(matrix)] += SMALL * max(matrix.diagonal().max(), 1.0)
        step = np.zeros(len(x))
        step[free] = -np.linalg.solve(matrix, at.slope[free])
        step[is_fixed] = -x[is_fixed]
        found = _along(x, step, bounded, at, can, supply, demand, rows)
        if found is None:
            break
        x, at = found
    return x


def _cost(shape: tuple[int, int], rows: int) -> float:
    """Return how many operations a step takes: a matrix of all multipliers, its factors, and some tables."""
    records, columns = shape
    size = columns + rows
    return float(records * size**2 + size**3 + TABLES * records * columns * (1 + rows))


def _along(
    x: FloatArray,
    step: FloatArray,
    bounded: BoolArray,
    at: _At,
    can: BoolArray,
    supply: FloatArray,
    demand: FloatArray,
    rows: list[Slope],
) -> tuple[FloatArray, _At] | None:
    """Return the first point of a shrinking step that makes the dual less, multipliers kept at 0 or more."""
    length = 1.0
    while length > SHORTEST:
        there = x + length * step
        there = np.where(bounded, np.maximum(there, 0.0), there)
        found = _dual(there, can, supply, demand, rows)
        if found.value <= at.value + 1e-4 * float(at.slope @ (there - x)):
            return (there, found) if found.value < at.value else None
        length /= 2
    return None


def _dual(
    x: FloatArray, can: BoolArray, supply: FloatArray, demand: FloatArray, rows: list[Slope]
) -> _At:
    own, more = x[: len(demand)], x[len(demand) :]
    power = np.broadcast_to(own, can.shape).copy()
    for row, multiplier in zip(rows, more.tolist(), strict=True):
        if multiplier:
            power += multiplier * row.value[row.branch]
    power[~can] = -np.inf
    top = power.max(axis=1, keepdims=True)
    table = np.exp(power - top)
    total = table.sum(axis=1, keepdims=True)
    value = float(supply @ (np.log(total) + top)[:, 0] - demand @ own)
    table *= supply[:, None] / total
    by_row = np.array([_over(table, row) - row.least for row in rows])
    value -= float(sum(each.least * one for each, one in zip(rows, more.tolist(), strict=True)))
    return _At(value, np.concatenate([table.sum(axis=0) - demand, by_row]), table)


def _over(table: FloatArray, row: Slope) -> float:
    by_branch = np.zeros_like(row.value)
    np.add.at(by_branch, row.branch, table)
    return float((by_branch * row.value).sum())


def _curvature(
    table: FloatArray, supply: FloatArray, rows: list[Slope], columns: int
) -> FloatArray:
    """Return the dual's second derivatives, by columns and then by rows."""
    size = columns + len(rows)
    found = np.zeros((size, size))
    for some in _pieces(len(table), size * columns):
        own, people = table[some], supply[some]
        slopes = np.stack([row.value[row.branch[some]] for row in rows])
        weighed = slopes * own
        sums = np.concatenate([own, weighed.sum(axis=2).T], axis=1) / np.sqrt(people)[:, None]
        found -= sums.T @ sums
        found[:columns, :columns] += np.diag(own.sum(axis=0))
        cross = weighed.sum(axis=1)
        found[columns:, :columns] += cross
        found[:columns, columns:] += cross.T
        flat = len(rows), -1
        found[columns:, columns:] += weighed.reshape(flat) @ slopes.reshape(flat).T
    return found


def _pieces(size: int, each: int) -> Iterator[slice]:
    step = max(1, MOST_AT_ONCE // max(each, 1))
    yield from (slice(start, start + step) for start in range(0, size, step))
