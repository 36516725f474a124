"""One linear program in whole numbers, solved by HiGHS in floating point, and its bounds re-proved exactly.

The solver's multipliers, rounded to whole numbers, give a bound by weak duality whatever they are, so the bound is
computed anew in exact arithmetic and only that counts as a proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, hstack, vstack

from treewarden.audit.consistent_tables.proofs.rows import CellRow, RowBlock
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray

MULTIPLIER = 1 << 24
LARGEST = 2.0**60
"""Whole-number sums beyond this are left out or computed without machine integers."""
NO_LIMIT = 1 << 61


@dataclass(eq=False)
class IntegerRows:
    """Rows over the cells (S, m) of some positions; with two classes the second is the rest of the profile's records.

    ``low`` and ``high`` stand beside the rows of the matrix, NO_LIMIT (negative or not) where a side is missing.
    """

    m: int
    start: int
    counts: IntArray
    says: list[str] = field(default_factory=list)
    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    columns: list[IndexArray] = field(default_factory=list)
    weights: list[IntArray] = field(default_factory=list)
    built: csr_matrix | None = None

    def select(self, numbers: Sequence[int]) -> IntegerRows:
        """Return some of the rows, to add others to."""
        parts: dict[str, Any] = {}
        for name in ("says", "low", "high", "columns", "weights"):
            column = getattr(self, name)
            parts[name] = [column[k] for k in numbers]
        return replace(self, **parts, built=None)

    def add(self, rows: Iterable[CellRow]) -> bool:
        """Add rows; return whether there were any new ones that say anything."""
        before = len(self.low)
        people = float(self.counts.sum())
        weights, is_small = None, False
        for row in rows:
            if row.weights is not weights:  # rows side by side often share theirs
                weights = row.weights
                is_small = float(np.abs(weights).max(initial=0)) * people < LARGEST
            if len(row.cells) and is_small:
                self._add(row)
        return len(self.low) > before

    def add_block(self, block: RowBlock) -> None:
        """Add the rows of a block, which say something; with two classes each is worked out by itself."""
        is_small = float(np.abs(block.weights).max(initial=0)) * float(self.counts.sum()) < LARGEST
        if self.m == 2 or not is_small or not block.cells.size:
            self.add(block.rows())
            return
        size = len(block.cells)
        self.columns.extend(block.cells - self.start * self.m)
        self.weights.extend([block.weights] * size)
        self.low.extend(block.low)
        self.high.extend([NO_LIMIT] * size if block.high is None else block.high)
        self.says.extend([""] * size)

    def _add(self, row: CellRow) -> None:
        cells, weights, fixed = row.cells - self.start * self.m, row.weights, 0
        if self.m == 2:
            second = cells % 2 == 1
            owners = cells // 2
            fixed = int((weights * second * self.counts[owners]).sum())
            owners, inverse = np.unique(owners, return_inverse=True)
            summed = np.zeros(len(owners), dtype=np.int64)
            np.add.at(summed, inverse.reshape(-1), np.where(second, -weights, weights))
            cells, weights = owners[summed != 0] * 2, summed[summed != 0]
            if not len(cells) and (row.low or 0) <= fixed <= (
                fixed if row.high is None else row.high
            ):
                return
        self.columns.append(cells)
        self.weights.append(weights)
        self.low.append(-NO_LIMIT if row.low is None else row.low - fixed)
        self.high.append(NO_LIMIT if row.high is None else row.high - fixed)
        self.says.append(row.says)

    def entries_of_last(self, low: IntArray, high: IntArray) -> int:
        """Return how many entries the last row has in a program with these ends (S * m,); 0 if they imply it."""
        cells, weights = self.columns[-1], self.weights[-1]
        ends = weights * low[cells], weights * high[cells]
        least, most = np.minimum(*ends).sum(), np.maximum(*ends).sum()
        is_implied = self.low[-1] <= least and most <= self.high[-1]
        return 0 if is_implied else int((low[cells] < high[cells]).sum())

    @property
    def matrix(self) -> csr_matrix:
        """The rows as a matrix over all cells, whole numbers; of those that it had before nothing is made anew."""
        before = 0 if self.built is None else self.built.shape[0]
        if self.built is None or before < len(self.low):
            columns, weights = self.columns[before:], self.weights[before:]
            starts = np.cumsum([0, *(len(part) for part in columns)])
            data = np.concatenate([*weights, np.zeros(0, dtype=np.int64)])
            indices = np.concatenate([*columns, np.zeros(0, dtype=np.intp)])
            shape = (len(columns), len(self.counts) * self.m)
            new = csr_matrix((data, indices, starts), shape=shape)
            self.built = new if self.built is None else vstack([self.built, new], format="csr")
        return self.built


class IntegerProgram:
    """The rows over the cells that are not fixed, within their ends ``low`` and ``high`` (S, m)."""

    def __init__(self, rows: IntegerRows, low: IntArray, high: IntArray) -> None:
        self.all, self.floor = rows, low
        free = low < high
        if rows.m == 2:
            free[:, 1] = False
        self.free = np.flatnonzero(free.ravel())
        self.column = np.full(free.size, -1, dtype=np.intp)
        self.column[self.free] = np.arange(len(self.free))
        self.box = low.ravel()[self.free], high.ravel()[self.free]
        known = rows.matrix @ np.where(free.ravel(), 0, low.ravel())
        least = np.array(rows.low, dtype=np.int64)
        most = np.array(rows.high, dtype=np.int64)
        self.low = np.where(least == -NO_LIMIT, least, least - known)
        self.high = np.where(most == NO_LIMIT, most, most - known)
        matrix = rows.matrix[:, self.free]
        # A row that the ends of its cells imply constrains nothing.
        up, down = matrix.maximum(0), matrix.minimum(0)
        top = up @ self.box[1] + down @ self.box[0]
        bottom = up @ self.box[0] + down @ self.box[1]
        self.kept = np.flatnonzero((bottom < self.low) | (top > self.high))
        self.low, self.high = self.low[self.kept], self.high[self.kept]
        self.whole = csr_matrix(matrix[self.kept])
        self.matrix = self.whole.astype(np.float64)

    @property
    def _sides(self) -> tuple[FloatArray, FloatArray]:
        low = np.where(self.low == -NO_LIMIT, -np.inf, self.low.astype(np.float64))
        high = np.where(self.high == NO_LIMIT, np.inf, self.high.astype(np.float64))
        return low, high

    def objective(self, cell: tuple[int, int], sign: int) -> tuple[IntArray, int]:
        """Return weights of the free cells and a constant."""
        position, klass = cell[0] - self.all.start, cell[1]
        weights, constant = np.zeros(len(self.free), dtype=np.int64), 0
        if self.all.m == 2 and klass == 1:
            constant, sign, klass = sign * int(self.all.counts[position]), -sign, 0
        column = self.column[position * self.all.m + klass]
        if column < 0:
            return weights, constant + sign * int(self.floor[position, klass])
        weights[column] = sign
        return weights, constant

    def solve(
        self, cell: tuple[int, int], sign: int, seconds: float
    ) -> tuple[str, FloatArray | None, FloatArray]:
        """Return the status, the table (S, m) that is best for ``sign * cell``, and one multiplier per row."""
        return self.minimise(self.objective(cell, sign)[0], seconds)

    def minimise(
        self, weights: IntArray, seconds: float
    ) -> tuple[str, FloatArray | None, FloatArray]:
        """Return the status, the table (S, m) of least ``weights`` times the free cells, and one multiplier per row."""
        duals = np.zeros(len(self.kept))
        if not len(self.free):
            return ("infeasible" if len(self.kept) else "optimal"), self.table(np.zeros(0)), duals
        low, high = self._sides
        equal = low == high
        upper, lower = ~equal & np.isfinite(high), ~equal & np.isfinite(low)
        above = np.concatenate([high[upper], -low[lower]])
        result = linprog(
            weights.astype(np.float64),
            A_ub=vstack([self.matrix[upper], -self.matrix[lower]]) if len(above) else None,
            b_ub=above if len(above) else None,
            A_eq=self.matrix[equal] if equal.any() else None,
            b_eq=low[equal] if equal.any() else None,
            bounds=np.stack(self.box, axis=1),
            method="highs",
            options={"time_limit": max(seconds, 0.01)},
        )
        if result.status == 2:
            return "infeasible", None, duals
        if result.status != 0:
            return "stopped", None, duals
        if equal.any():
            duals[equal] = result.eqlin.marginals
        if len(above):
            size = int(upper.sum())
            duals[upper] += result.ineqlin.marginals[:size]
            duals[lower] -= result.ineqlin.marginals[size:]
        return "optimal", self.table(result.x), duals

    def table(self, x: FloatArray) -> FloatArray:
        """Return the table (S, m) of the free cells' values."""
        flat = self.floor.ravel().astype(np.float64)
        flat[self.free] = x
        table = flat.reshape(-1, self.all.m)
        if self.all.m == 2:
            table[:, 1] = self.all.counts - table[:, 0]
        return table

    def bound(self, cell: tuple[int, int], sign: int, duals: FloatArray) -> int:
        """Return the bound on ``sign * cell`` that the multipliers prove, in whole numbers, rounded up."""
        weights, constant = self.objective(cell, sign)
        return constant - (-self._dual(weights, duals) // MULTIPLIER)

    def _dual(self, weights: IntArray, duals: FloatArray) -> int:
        """Return MULTIPLIER times the bound on weights * x: sides times multipliers, the rest at the box's worst."""
        times = np.rint(np.clip(duals, -(2.0**30), 2.0**30) * MULTIPLIER).astype(np.int64)
        side = np.where(times > 0, self.low, self.high)
        times = np.where(np.abs(side) > NO_LIMIT // 2, 0, times)
        used = np.flatnonzero(times)
        whole, times, side = self.whole[used], times[used], side[used]
        most = float((abs(whole).astype(np.float64).T @ np.abs(times.astype(np.float64))).sum())
        kind: type = (
            np.int64
            if (most + MULTIPLIER) * float(max(self.all.counts.sum(), 1)) < LARGEST
            else object
        )
        reduced: NDArray[Any] = weights.astype(kind) * MULTIPLIER
        if kind is np.int64:
            reduced = reduced - whole.T @ times
        else:
            owner = np.repeat(np.arange(len(used)), np.diff(whole.indptr))
            values = whole.data.astype(object) * times.astype(object)[owner]
            np.subtract.at(reduced, whole.indices, values)
        low: NDArray[Any] = self.box[0].astype(kind)
        high: NDArray[Any] = self.box[1].astype(kind)
        total = sum(t * s for t, s in zip(times.tolist(), side.tolist(), strict=True))
        return int(total) + int(np.where(reduced > 0, reduced * low, reduced * high).sum())

    def farkas(self, seconds: float) -> tuple[str, ...] | None:
        """Return the rows that an exact proof of infeasibility rests on; None where there is no such proof."""
        if not len(self.free):
            return self.named(np.ones(len(self.kept)))
        low, high = self._sides
        upper, lower = np.isfinite(high), np.isfinite(low)
        stretch = csr_matrix(-np.ones((len(self.kept), 1)))
        result = linprog(
            np.append(np.zeros(len(self.free)), 1.0),
            A_ub=vstack(
                [
                    hstack([self.matrix, stretch], format="csr")[upper],
                    hstack([-self.matrix, stretch], format="csr")[lower],
                ]
            ),
            b_ub=np.concatenate([high[upper], -low[lower]]),
            bounds=[*np.stack(self.box, axis=1), (0, None)],
            method="highs",
            options={"time_limit": max(seconds, 0.01)},
        )
        if result.status != 0:
            return None
        duals = np.zeros(len(self.kept))
        duals[upper] += result.ineqlin.marginals[: int(upper.sum())]
        duals[lower] -= result.ineqlin.marginals[int(upper.sum()) :]
        if self._dual(np.zeros(len(self.free), dtype=np.int64), duals) <= 0:
            return None
        return self.named(duals)

    def named(self, duals: FloatArray) -> tuple[str, ...]:
        """Return the named rows with a multiplier, the heaviest first."""
        order = np.argsort(-np.abs(duals), kind="stable")
        said = [self.all.says[self.kept[i]] for i in order if abs(duals[i]) > 1e-7]
        return tuple(dict.fromkeys(text for text in said if text))
