"""Decides one question below a node by OR-Tools CP-SAT, where it is installed: exact on whole numbers.

Terms of split rows are looked up in tables of whole numbers rounded to one side, so that the solver's set only grows:
"infeasible" is a proof, and a table it finds is a proposal that is checked exactly, row by row.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.worlds.clock import Clock
from audit.worlds.explain import candidate_text
from audit.worlds.relax import Answer, Scope
from audit.worlds.rows import branch_ends, terms, value_of
from audit.worlds.splits import Split

try:
    from ortools.sat.python import cp_model
except ImportError:  # an optional extra
    cp_model = None

IntArray = NDArray[np.int64]
IS_THERE = cp_model is not None
LARGEST_TABLE = 20_000
LARGEST_SUM = 2.0**50
MOST_ROUNDS = 25
MOST_NEW_ROWS = 3


def ask(scope: Scope, cell: tuple[int, int], sign: int, target: int, clock: Clock) -> Answer | None:
    """Prove ``sign * cell >= target`` below the scope's node, or return a table where it is not; None: not decided."""
    model = _Model(scope)
    model.ask(cell, sign, target)
    for _ in range(MOST_ROUNDS):
        if clock.is_over:
            return None
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = max(clock.left, 0.01)
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        status = solver.solve(model.model)
        if status == cp_model.INFEASIBLE:
            return Answer(target, None, tuple(model.says))
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        table = model.table(solver)
        if not model.extend(table):
            return Answer(target - 1, table.astype(np.float64))
    return None


class _Model:
    """The cells below a node as whole-number variables, the scope's rows, and split rows that a table broke."""

    def __init__(self, scope: Scope) -> None:
        self.scope, self.model = scope, cp_model.CpModel()
        self.span = scope.facts.span(scope.node)
        self.m = scope.facts.classes
        self.low = scope.bounds.low[self.span]
        self.high = scope.bounds.high[self.span]
        self.cells: list[list[Any]] = [
            [self.model.new_int_var(a, b, "") for a, b in zip(lows, highs, strict=True)]
            for lows, highs in zip(self.low.tolist(), self.high.tolist(), strict=True)
        ]
        self.says: dict[str, None] = {}
        self.had: set[tuple[int, int]] = set()
        for row, count in zip(self.cells, scope.facts.counts[self.span].tolist(), strict=True):
            self.model.add(sum(row) == count)
        rows = scope.rows
        for number in range(len(rows.low)):
            if (
                float(np.abs(rows.weights[number]).max(initial=0)) * float(rows.counts.sum())
                < LARGEST_SUM
            ):
                self._linear(number)

    def _linear(self, number: int) -> None:
        rows = self.scope.rows
        found = [
            weight * self.cells[cell // self.m][cell % self.m]
            for cell, weight in zip(
                rows.columns[number].tolist(), rows.weights[number].tolist(), strict=True
            )
        ]
        bottom, top = -(2**60), 2**60
        self.model.add_linear_constraint(
            sum(found), max(rows.low[number], bottom), min(rows.high[number], top)
        )
        if rows.says[number]:
            self.says.setdefault(rows.says[number])

    def ask(self, cell: tuple[int, int], sign: int, target: int) -> None:
        """Ask for a table with ``sign * cell`` below target."""
        self.model.add(sign * self.cells[cell[0] - self.span.start][cell[1]] <= target - 1)

    def table(self, solver: Any) -> IntArray:  # noqa: ANN401 - the solver has no stable type
        """Return the table (S, m) that was found."""
        return np.array([[solver.value(x) for x in row] for row in self.cells], dtype=np.int64)

    def extend(self, table: IntArray) -> bool:
        """Add the split rows that a table breaks; return whether it broke any."""
        facts = self.scope.facts
        is_broken = False
        for step in facts.tree.below(self.scope.node):
            for split in facts.splits.get(step.index, ()):
                here = table[split.start - self.span.start : split.end - self.span.start]
                if split.holds(here[None])[0]:
                    continue
                is_broken = True
                for candidate in split.broken(here)[:MOST_NEW_ROWS]:
                    self._split(split, candidate)
        return is_broken

    def _split(self, split: Split, candidate: int) -> None:
        if (id(split), candidate) in self.had:
            return
        self.had.add((id(split), candidate))
        self.says.setdefault(candidate_text(split, candidate))
        facts, start = self.scope.facts, split.start - self.span.start
        here = slice(start, start + split.end - split.start)
        parts, known = terms(facts, split, candidate)
        most = max(
            sum(abs(f) * value_of(split.criterion, n, n) for f, _, n in parts), abs(known), 1.0
        )
        scale = 2 ** int(min(22, math.floor(math.log2(LARGEST_SUM / most / 4))))
        if scale < 1:
            return
        total: list[Any] = []
        constant = 0
        for factor, rows, records in parts:
            ends = branch_ends(facts, split, rows, self.low[here], self.high[here])
            for klass in range(self.m):
                low, high = int(ends[0][klass]), int(ends[1][klass])
                values = _table(split, factor, records, (low, high), scale)
                if values is None:
                    return
                if low >= high:
                    constant += values[0]
                    continue
                count = self.model.new_int_var(low, high, "")
                members = np.flatnonzero(rows) + start
                self.model.add(count == sum(self.cells[s][klass] for s in members.tolist()))
                value = self.model.new_int_var(min(values), max(values), "")
                self.model.add_element(count - low, values, value)
                total.append(value)
        self.model.add(sum(total) + constant <= math.floor(known * scale) + 2)


def _table(
    split: Split, factor: float, records: int, ends: tuple[int, int], scale: int
) -> list[int] | None:
    """Return factor * f(u) times the scale for each u between the ends, rounded down and one less."""
    low, high = ends
    if high - low > LARGEST_TABLE:
        return None
    return [
        math.floor(factor * value_of(split.criterion, u, records) * scale) - 1
        for u in range(low, max(low, high) + 1)
    ]
