"""Linear relaxations of the worlds below one node, solved by HiGHS; what they prove is re-proved in whole numbers.

HiGHS answers in floating point. Its multipliers, rounded to whole numbers, give a bound by weak duality whatever they
are, so the bound is computed anew in exact arithmetic and only that counts as a proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse import csr_matrix
from scipy.sparse import hstack as sparse_hstack
from scipy.sparse import vstack as sparse_vstack

from audit.worlds.cells import Bounds
from audit.worlds.clock import Clock
from audit.worlds.facts import Facts
from audit.worlds.rows import CellRow, cuts, fact_rows

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
MULTIPLIER = 1 << 24
MOST_ROUNDS = 60
CUTS_PER_SPLIT = 3


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A proved lower bound of the objective (None: infeasible, proved), the point found, and the rows it rests on.

    ``point`` (S, m) is a table of the scope's positions, None where there is none.
    """

    bound: int | None
    point: FloatArray | None
    says: tuple[str, ...] = ()


NOTHING = -(2**62)


@dataclass(eq=False)
class Scope:
    """The worlds below a node as far as linear rows tell; rows that a point breaks are added and kept."""

    facts: Facts
    bounds: Bounds
    node: int
    rows: list[CellRow] = field(default_factory=list)
    base: int = field(init=False)

    def __post_init__(self) -> None:
        self.rows = list(fact_rows(self.facts, self.node))
        self.base = len(self.rows)

    def least(
        self,
        cell: tuple[int, int],
        sign: int,
        target: int,
        clock: Clock,
        ends: tuple[IntArray, IntArray] | None = None,
    ) -> Answer:
        """Bound ``sign * cell`` from below; stop as soon as ``target`` is proved. ``ends`` override the proved ones."""
        low, high = self._ends(ends)
        best, point, says = NOTHING, None, ()
        for _ in range(MOST_ROUNDS):
            if clock.is_over:
                break
            program = Program(self, low, high)
            status, x, duals = program.solve(cell, sign, clock.left)
            if status == "infeasible":
                proof = program.farkas(clock.left)
                return Answer(None, None, proof) if proof is not None else Answer(best, None)
            if x is None or duals is None:
                break
            bound = program.bound(cell, sign, duals)
            if bound > best:
                best, says = bound, program.named(duals)
            if best >= target:
                return Answer(best, x, says)
            point = x
            if not self.extend(x):
                return Answer(best, point, says)
        return Answer(best, None, says)

    def integer_point(
        self, cell: tuple[int, int], sign: int, target: int, clock: Clock
    ) -> IntArray | None:
        """Return a table (S, m) of whole numbers with ``sign * cell`` below target that breaks no row in reach."""
        low, high = self._ends(None)
        low, high = low.copy(), high.copy()
        position, klass = cell[0] - self.facts.span(self.node).start, cell[1]
        if sign > 0:
            high[position, klass] = min(high[position, klass], target - 1)
        else:
            low[position, klass] = max(low[position, klass], 1 - target)
        if low[position, klass] > high[position, klass]:
            return None
        for _ in range(MOST_ROUNDS):
            if clock.is_over:
                return None
            x = Program(self, low, high).integers(clock.left)
            if x is None:
                return None
            if not self.extend(x.astype(np.float64)):
                return x
        return None

    def _ends(self, ends: tuple[IntArray, IntArray] | None) -> tuple[IntArray, IntArray]:
        span = self.facts.span(self.node)
        return ends if ends is not None else (self.bounds.low[span], self.bounds.high[span])

    def extend(self, point: FloatArray) -> bool:
        """Add rows that a point breaks; return whether there were any."""
        start = self.facts.span(self.node).start
        found: list[CellRow] = []
        for step in self.facts.tree.below(self.node):
            for split in self.facts.splits.get(step.index, ()):
                part = point[split.start - start : split.end - start]
                found += cuts(self.facts, self.bounds, split, part, CUTS_PER_SPLIT)
        self.rows += found
        return bool(found)


class Program:
    """One linear program over the free cells of a scope; with two classes the second is the rest of the profile."""

    def __init__(self, scope: Scope, low: IntArray, high: IntArray) -> None:
        facts, span = scope.facts, scope.facts.span(scope.node)
        self.m, self.start = facts.classes, span.start
        self.counts = facts.counts[span]
        self.low, self.high = low, high
        free = low < high
        if self.m == 2:
            free[:, 1] = False
        self.free = np.flatnonzero(free.ravel())
        self.column = np.full(free.size, -1, dtype=np.intp)
        self.column[self.free] = np.arange(len(self.free))
        self.box = low.ravel()[self.free], high.ravel()[self.free]
        self.rows: list[tuple[IntArray, IntArray, int | None, int | None, str]] = []
        for row in scope.rows:
            self._add(row)

    def _add(self, row: CellRow) -> None:
        """Add a row over the free cells, what is fixed taken to its sides."""
        cells, weights = row.cells - self.start * self.m, row.weights
        fixed = 0
        if self.m == 2:
            second = cells % 2 == 1
            owners = cells // 2
            fixed += int((weights * second * self.counts[owners]).sum())
            weights = np.where(second, -weights, weights)
            cells = owners * 2
        columns = self.column[cells]
        known = columns < 0
        values = self.low.ravel()[cells[known]]
        fixed += sum(w * v for w, v in zip(weights[known].tolist(), values.tolist(), strict=True))
        columns, weights = columns[~known], weights[~known]
        if self.m == 2 and len(columns):
            columns, inverse = np.unique(columns, return_inverse=True)
            weights = np.bincount(inverse, weights=weights).astype(np.int64)
            columns, weights = columns[weights != 0], weights[weights != 0]
        low = None if row.low is None else row.low - fixed
        high = None if row.high is None else row.high - fixed
        if not len(columns) and (low is None or low <= 0) and (high is None or high >= 0):
            return
        self.rows.append((columns, weights, low, high, row.says))

    def _matrix(self) -> csr_matrix:
        columns = [row[0] for row in self.rows]
        weights = [row[1] for row in self.rows]
        starts = np.cumsum([0, *(len(part) for part in columns)])
        data = np.concatenate([*weights, np.zeros(0)]).astype(np.float64)
        indices = np.concatenate([*columns, np.zeros(0, dtype=np.intp)]).astype(np.intp)
        return csr_matrix((data, indices, starts), shape=(len(self.rows), len(self.free)))

    def _sides(self) -> tuple[FloatArray, FloatArray]:
        low = [-np.inf if row[2] is None else float(row[2]) for row in self.rows]
        high = [np.inf if row[3] is None else float(row[3]) for row in self.rows]
        return np.array(low), np.array(high)

    def objective(self, cell: tuple[int, int], sign: int) -> tuple[IntArray, int]:
        """Return weights of the free cells and a constant."""
        position, klass = cell[0] - self.start, cell[1]
        weights, constant = np.zeros(len(self.free), dtype=np.int64), 0
        if self.m == 2 and klass == 1:
            constant, sign, klass = sign * int(self.counts[position]), -sign, 0
        column = self.column[position * self.m + klass]
        if column < 0:
            return weights, constant + sign * int(self.low[position, klass])
        weights[column] = sign
        return weights, constant

    def solve(
        self, cell: tuple[int, int], sign: int, seconds: float
    ) -> tuple[str, FloatArray | None, FloatArray | None]:
        """Return the status, the table and one multiplier per row."""
        weights, _ = self.objective(cell, sign)
        if not len(self.free):
            return ("infeasible" if self.rows else "optimal"), self.table(np.zeros(0)), np.zeros(0)
        return self._linprog(self._matrix(), weights.astype(np.float64), seconds)

    def _linprog(
        self, matrix: csr_matrix, weights: FloatArray, seconds: float
    ) -> tuple[str, FloatArray | None, FloatArray | None]:
        low, high = self._sides()
        equal = low == high
        upper, lower = ~equal & np.isfinite(high), ~equal & np.isfinite(low)
        kinds = [matrix[upper], -matrix[lower]]
        above = np.concatenate([high[upper], -low[lower]])
        result = linprog(
            weights,
            A_ub=_stacked(kinds) if len(above) else None,
            b_ub=above if len(above) else None,
            A_eq=matrix[equal] if equal.any() else None,
            b_eq=low[equal] if equal.any() else None,
            bounds=np.stack(self.box, axis=1),
            method="highs",
            options={"time_limit": max(seconds, 0.01)},
        )
        if result.status == 2:
            return "infeasible", None, None
        if result.status != 0:
            return "stopped", None, None
        duals = np.zeros(len(self.rows))
        if equal.any():
            duals[equal] = result.eqlin.marginals
        if len(above):
            size = int(upper.sum())
            duals[upper] += result.ineqlin.marginals[:size]
            duals[lower] -= result.ineqlin.marginals[size:]
        return "optimal", self.table(result.x), duals

    def integers(self, seconds: float) -> IntArray | None:
        """Return some table of whole numbers that obeys the rows, or None."""
        if not len(self.free):
            return None if self.rows else self.table(np.zeros(0)).astype(np.int64)
        low, high = self._sides()
        rows = LinearConstraint(self._matrix(), low, high) if self.rows else ()
        result = milp(
            np.zeros(len(self.free)),
            constraints=rows,
            bounds=Box(*self.box),
            integrality=np.ones(len(self.free)),
            options={"time_limit": max(seconds, 0.01)},
        )
        return None if result.x is None else self.table(np.rint(result.x)).astype(np.int64)

    def table(self, x: FloatArray) -> FloatArray:
        """Return the table (S, m) of the free cells' values."""
        flat = self.low.ravel().astype(np.float64)
        flat[self.free] = x
        table = flat.reshape(-1, self.m)
        if self.m == 2:
            table[:, 1] = self.counts - table[:, 0]
        return table

    def bound(self, cell: tuple[int, int], sign: int, duals: FloatArray) -> int:
        """Return the bound that the multipliers prove, in whole numbers, rounded up."""
        weights, constant = self.objective(cell, sign)
        scaled = self._dual(weights, duals)
        return constant - (-scaled // MULTIPLIER)

    def _dual(self, weights: IntArray, duals: FloatArray) -> int:
        """Return MULTIPLIER times the bound on weights * x: sides times multipliers, the rest at the box's worst."""
        total = 0
        reduced: list[int] = (weights.astype(object) * MULTIPLIER).tolist()
        for number in np.flatnonzero(duals).tolist():
            times = round(float(duals[number]) * MULTIPLIER)
            columns, values, low, high, _ = self.rows[number]
            side = low if times > 0 else high
            if side is None or not times:
                continue
            total += times * side
            for column, value in zip(columns.tolist(), values.tolist(), strict=True):
                reduced[column] -= times * value
        for rest, low, high in zip(reduced, *(end.tolist() for end in self.box), strict=True):
            total += rest * (low if rest > 0 else high)
        return total

    def farkas(self, seconds: float) -> tuple[str, ...] | None:
        """Return the rows that an exact proof of infeasibility rests on; None where there is no such proof."""
        if not len(self.free):
            return tuple(row[4] for row in self.rows if row[4])
        low, high = self._sides()
        matrix = self._matrix()
        size = len(self.rows)
        upper, lower = np.isfinite(high), np.isfinite(low)
        stretch = csr_matrix(np.ones((size, 1)))
        left = _stacked([_beside(matrix, -stretch)[upper], _beside(-matrix, -stretch)[lower]])
        result = linprog(
            np.append(np.zeros(len(self.free)), 1.0),
            A_ub=left,
            b_ub=np.concatenate([high[upper], -low[lower]]),
            bounds=[*np.stack(self.box, axis=1), (0, None)],
            method="highs",
            options={"time_limit": max(seconds, 0.01)},
        )
        if result.status != 0:
            return None
        duals = np.zeros(size)
        duals[upper] += result.ineqlin.marginals[: int(upper.sum())]
        duals[lower] -= result.ineqlin.marginals[int(upper.sum()) :]
        if self._dual(np.zeros(len(self.free), dtype=np.int64), duals) <= 0:
            return None
        return self.named(duals)

    def named(self, duals: FloatArray) -> tuple[str, ...]:
        """Return the named rows with a multiplier, the heaviest first."""
        order = np.argsort(-np.abs(duals))
        said = [self.rows[i][4] for i in order if abs(duals[i]) > 1e-7 and self.rows[i][4]]
        return tuple(dict.fromkeys(said))


def _stacked(parts: list[csr_matrix]) -> csr_matrix:
    return csr_matrix(sparse_vstack(parts))


def _beside(a: csr_matrix, b: csr_matrix) -> csr_matrix:
    return csr_matrix(sparse_hstack([a, b]))
