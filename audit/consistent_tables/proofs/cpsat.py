"""Decides one question below a node by OR-Tools CP-SAT: exact on whole numbers.

Terms of split rows are looked up in tables of whole numbers rounded to one side, so that the solver's set only grows:
"infeasible" is a proof, and a table it finds is a proposal that is checked exactly, row by row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from treewarden.audit.consistent_tables.facts.facts import SPLIT, would_have_split
from treewarden.audit.consistent_tables.facts.splits import AttributeSplits
from treewarden.audit.consistent_tables.proofs import Untyped, limited_solver, solver_module
from treewarden.audit.consistent_tables.proofs.relax import (
    NOTHING,
    RelaxationBound,
    Scope,
    split_at,
)
from treewarden.audit.consistent_tables.proofs.rows import branch_ends, terms, value_of
from treewarden.audit.progress import Clock
from treewarden.ppdm_models.arrays import IntArray

LARGEST_TABLE = 20_000
MOST_SECANTS = 200
LARGEST_SUM = 2.0**50
MOST_ROUNDS = 25
MOST_NEW_ROWS = 3
MOST_EXPLAINED = 12
Question = tuple[tuple[int, int], int, int]
"""A cell (position, class), a sign and a target: is ``sign * cell >= target``?"""


def ask(
    scope: Scope, questions: Sequence[Question], clock: Clock, units: float
) -> RelaxationBound | None:
    """Prove ``sign * cell >= target`` of all questions below the scope's node, or return a table where one is not so.

    The bound of a proof is that of a single question; a table proves nothing. None: not decided. ``units`` limits each
    search in the solver's own deterministic seconds, so that runs agree.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    target = questions[0][2]
    model = _CpModel(scope, [split_at(scope.facts, ref) for ref in scope.met], questions)
    for _ in range(MOST_ROUNDS):
        if clock.is_over:
            return None
        status, found = _solved(model, clock, units)
        if status == solver_module().INFEASIBLE:
            return RelaxationBound(target, None, _says(scope, model, questions, clock, units))
        if status not in (solver_module().OPTIMAL, solver_module().FEASIBLE):
            return None
        table = model.table(found)
        is_broken, is_new = model.extend(table)
        if not is_broken:
            return RelaxationBound(NOTHING, table.astype(np.float64))
        if not is_new:
            return None
    return None


def _solved(model: _CpModel, clock: Clock, units: float) -> tuple[int, Untyped]:
    """Return the solver's status and the solver; an interrupt of the user's is left to Python."""
    solver = limited_solver(clock.left, units)
    # Models are small: most of the time would go into preparing them.
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.symmetry_level = 0
    solver.parameters.max_presolve_iterations = 1
    return int(solver.solve(model.model)), solver


def _says(
    scope: Scope, model: _CpModel, questions: Sequence[Question], clock: Clock, units: float
) -> tuple[str, ...]:
    """Return the rows that a proof needs, in words; where it forces a profile, none is named in vain."""
    (position, _), sign, target = questions[0]
    used = list(model.used)
    if sign > 0 and target == int(scope.facts.counts[position]) and len(used) <= MOST_EXPLAINED:
        for row in model.used:
            if clock.is_over:
                break
            fewer = [other for other in used if other is not row]
            status, _ = _solved(_CpModel(scope, fewer, questions), clock, units)
            used = fewer if status == solver_module().INFEASIBLE else used
    names = [would_have_split(scope.facts, split, candidate) for split, candidate in used]
    return (*names, *dict.fromkeys(model.says))


class _CpModel:
    """The cells below a node as whole numbers, the scope's own rows, split rows, and questions of which one is no."""

    def __init__(
        self, scope: Scope, rows: list[tuple[AttributeSplits, int]], questions: Sequence[Question]
    ) -> None:
        self.scope, self.model = scope, solver_module().CpModel()
        self.span = scope.facts.span(scope.node)
        self.m = scope.facts.classes
        self.low = scope.bounds.low[self.span]
        self.high = scope.bounds.high[self.span]
        self.cells: list[list[Untyped]] = [
            [
                a if a == b else self.model.new_int_var(a, b, "")
                for a, b in zip(lows, highs, strict=True)
            ]
            for lows, highs in zip(self.low.tolist(), self.high.tolist(), strict=True)
        ]
        self.says: list[str] = []
        self.used: list[tuple[AttributeSplits, int]] = []
        counts = scope.facts.counts[self.span].tolist()
        is_free = (self.low < self.high).any(axis=1)
        for s in np.flatnonzero(is_free).tolist():
            self.model.add(sum(self.cells[s]) == counts[s])
        integer_rows = scope.rows
        for number in range(len(integer_rows.low)):
            scope.clock.check()
            weight = float(np.abs(integer_rows.weights[number]).max(initial=0))
            # With more classes cuts only come near the split rows, which follow themselves.
            is_cut = self.m > 2 and SPLIT in integer_rows.says[number]
            if weight * float(integer_rows.counts.sum()) < LARGEST_SUM and not is_cut:
                self._linear(number)
        for split, candidate in rows:
            scope.clock.check()
            self._split(split, candidate)
        self._deny(questions)

    def _deny(self, questions: Sequence[Question]) -> None:
        """Say that one of the answers at least is no."""
        totals = [
            sign * self.cells[position - self.span.start][klass]
            for (position, klass), sign, _ in questions
        ]
        if len(questions) == 1:
            self._add(totals[0], -(2**60), questions[0][2] - 1)
            return
        denied = []
        for total, (_, _, target) in zip(totals, questions, strict=True):
            is_no = self.model.new_bool_var("")
            self.model.add(total <= target - 1).only_enforce_if(is_no)
            denied.append(is_no)
        self.model.add_bool_or(denied)

    def _add(self, total: Untyped, low: int, high: int) -> None:
        """Add low <= total <= high, where total may be a mere number."""
        if isinstance(total, int):
            if not low <= total <= high:
                self.model.add_bool_or([])
            return
        self.model.add_linear_constraint(total, low, high)

    def _linear(self, number: int) -> None:
        rows = self.scope.rows
        found = [
            weight * self.cells[cell // self.m][cell % self.m]
            for cell, weight in zip(
                rows.columns[number].tolist(), rows.weights[number].tolist(), strict=True
            )
        ]
        low, high = max(rows.low[number], -(2**60)), min(rows.high[number], 2**60)
        self._add(sum(found), low, high)
        if rows.says[number]:
            self.says.append(rows.says[number])

    def table(self, solver: Untyped) -> IntArray:
        """Return the table (S, m) that was found."""
        return np.array(
            [[x if isinstance(x, int) else solver.value(x) for x in row] for row in self.cells],
            dtype=np.int64,
        )

    def extend(self, table: IntArray) -> tuple[bool, bool]:
        """Add the split rows that a table breaks; return whether it broke any, and whether any was new."""
        facts = self.scope.facts
        is_broken = is_new = False
        for step in facts.tree.below(self.scope.node):
            for number, split in enumerate(facts.splits.get(step.index, ())):
                self.scope.clock.check()
                here = table[split.start - self.span.start : split.end - self.span.start]
                if split.holds(here[None])[0]:
                    continue
                is_broken = True
                for candidate in split.broken(here)[:MOST_NEW_ROWS]:
                    if (step.index, number, candidate) not in self.scope.met:
                        self.scope.met[step.index, number, candidate] = None
                        self._split(split, candidate)
                        is_new = True
        return is_broken, is_new

    def _split(self, split: AttributeSplits, candidate: int) -> None:
        facts, start = self.scope.facts, split.start - self.span.start
        if split.low is not None:
            self._interval(split, candidate)
            return
        here = slice(start, start + split.end - split.start)
        parts, known = terms(facts, split, candidate)
        most = max(
            sum(abs(f) * value_of(split.criterion, n, n) for f, _, n in parts), abs(known), 1.0
        )
        scale = 2 ** int(min(22, math.floor(math.log2(LARGEST_SUM / most / 4))))
        if scale < 1:
            return
        total: list[Untyped] = []
        for factor, rows, records in parts:
            ends = branch_ends(facts, split, rows, self.low[here], self.high[here])
            counts: list[Untyped] = []
            for klass in range(self.m):
                low, high = int(ends[0][klass]), int(ends[1][klass])
                values = _table(split, factor, records, (low, high), scale)
                if values is None:
                    return
                if low >= high:
                    counts.append(low)
                    total.append(values[0])
                    continue
                count = self.model.new_int_var(low, high, "")
                members = np.flatnonzero(rows) + start
                self.model.add(count == sum(self.cells[s][klass] for s in members.tolist()))
                counts.append(count)
                total.append(self._value(count, low, values, is_convex=factor > 0))
            # Follows from the cells, but the solver does not see it as early.
            self._add(sum(counts), records, records)
        self.used.append((split, candidate))
        # Where no tie may be, the terms' rounding must not let one through.
        give = 2 if split.ties.loses is None else -3 * len(total)
        self._add(sum(total), -(2**62), math.floor(known * scale) + give)

    def _value(self, count: Untyped, low: int, values: list[int], *, is_convex: bool) -> Untyped:
        """Return a variable that is at least ``values[count - low]``, or very nearly so."""
        value = self.model.new_int_var(min(values), max(values), "")
        if not is_convex or len(values) > MOST_SECANTS:
            self.model.add_element(count - low, values, value)
            return value
        # Lines through neighbouring values, lowered to stay below all of them, as rounding may bend the curve.
        steps, at = np.arange(len(values)), np.array(values, dtype=np.int64)
        for slope in dict.fromkeys(np.diff(at).tolist()):
            least = int((at - slope * steps).min())
            self.model.add(value - slope * (count - low) >= least)
        return value

    def _interval(self, split: AttributeSplits, candidate: int) -> None:
        assert split.low is not None
        assert split.high is not None
        inside = split.members_on_left(candidate).tolist()
        cells = [self.cells[s - self.span.start][0] for s in inside]
        self.used.append((split, candidate))
        self._add(sum(cells), int(split.low[candidate]), int(split.high[candidate]))


def _table(
    split: AttributeSplits, factor: float, records: int, ends: tuple[int, int], scale: int
) -> list[int] | None:
    """Return factor * f(u) times the scale for each u between the ends, rounded down and one less."""
    low, high = ends
    if high - low > LARGEST_TABLE:
        return None
    return [
        math.floor(factor * value_of(split.criterion, u, records) * scale) - 1
        for u in range(low, max(low, high) + 1)
    ]
