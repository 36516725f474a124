"""Linear relaxations of the consistent tables below one node, with cutting planes.

Rows that a point violates are added until it violates none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from treewarden.audit.bounds import CellBounds
from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.consistent_tables.facts.splits import AttributeSplits
from treewarden.audit.consistent_tables.proofs.linear import IntegerProgram, IntegerRows
from treewarden.audit.consistent_tables.proofs.rows import (
    CellRow,
    cuts,
    fact_blocks,
    interval_row,
    line_rows,
)
from treewarden.audit.progress import FOREVER, Clock
from treewarden.ppdm_models.arrays import FloatArray, IntArray

# Learned cuts: candidates that tables violated before, by the node above them. Their rows are there the next time.
#
# Numbers name them, so that one process can use what another learned. Rows that only come near what a candidate
# says are good where they were met, and not kept.

Ref = tuple[int, int, int]
"""A candidate: the node whose split was chosen, the number of its rows' split there, its own number among them."""


@dataclass(frozen=True, slots=True, eq=False)
class LearnedCuts:
    """``lines`` are for linear programs, ``met`` for CP-SAT, by the node below which they were broken, in that order.

    ``plain`` holds the rows of the facts alone below a node, once they were asked for: the same whoever asks.
    """

    lines: Mapping[int, tuple[Ref, ...]] = field(default_factory=dict)
    met: Mapping[int, tuple[Ref, ...]] = field(default_factory=dict)
    plain: dict[int, IntegerRows] = field(default_factory=dict)

    def rows_of_facts(self, facts: Facts, node: int) -> IntegerRows:
        """Return the rows of the facts below a node, to be copied before any are added."""
        if node not in self.plain:
            span = facts.span(node)
            rows = IntegerRows(facts.classes, span.start, facts.counts[span])
            for block in fact_blocks(facts, node):
                rows.add_block(block)
            rows.add(line_rows(facts, node))
            self.plain[node] = rows
        return self.plain[node]


def split_at(facts: Facts, ref: Ref) -> tuple[AttributeSplits, int]:
    """Return a candidate's split and its number."""
    node, number, candidate = ref
    return facts.splits[node][number], candidate


MOST_ROUNDS = 60
CUTS_PER_SPLIT = 3
MOST_ENTRIES = 300_000
"""Entries of rows up to which a linear program over all people takes a second or less."""


@dataclass(frozen=True, slots=True, eq=False)
class RelaxationBound:
    """A proved lower bound of the objective (None: infeasible, proved), the point found, and the rows it rests on.

    ``point`` (S, m) is a table of the scope's positions, None where there is none.
    """

    bound: int | None
    point: FloatArray | None
    says: tuple[str, ...] = ()


NOTHING = -(2**62)


@dataclass(eq=False)
class Scope:
    """The worlds below a node as far as linear rows tell; rows that a point breaks are added and kept.

    Whatever is asked of it raises ``OutOfTimeError`` where the budget is used up before it is half answered.

    It begins with the rows that were ``learned`` before. ``lines`` are the candidates with a row of their own among
    ``rows``; ``met`` those that tables of whole numbers broke: asked for at once next time.
    """

    facts: Facts
    bounds: CellBounds
    node: int
    clock: Clock = FOREVER
    learned: LearnedCuts = field(default_factory=LearnedCuts)
    rows: IntegerRows = field(init=False)
    lines: dict[Ref, None] = field(init=False)
    met: dict[Ref, None] = field(init=False)

    def __post_init__(self) -> None:
        plain = self.learned.rows_of_facts(self.facts, self.node)
        self.rows = plain.select(range(len(plain.low)))
        self.lines = dict.fromkeys(self.learned.lines.get(self.node, ()))
        self.met = dict.fromkeys(self.learned.met.get(self.node, ()))
        self.rows.add(interval_row(self.facts, *split_at(self.facts, each)) for each in self.lines)

    def least(
        self,
        cell: tuple[int, int],
        sign: int,
        target: int,
        clock: Clock,
        *,
        rounds: int = MOST_ROUNDS,
    ) -> RelaxationBound:
        """Bound ``sign * cell`` from below; stop as soon as ``target`` is proved."""
        low, high = self._ends()
        best, point = NOTHING, None
        says: tuple[str, ...] = ()
        for _ in range(rounds):
            if clock.is_over:
                break
            program = IntegerProgram(self.rows, low, high)
            status, x, duals = program.solve(cell, sign, clock.left)
            if status == "infeasible":
                proof = program.farkas(clock.left)
                return (
                    RelaxationBound(None, None, proof)
                    if proof is not None
                    else RelaxationBound(best, None)
                )
            if x is None:
                break
            bound = program.bound(cell, sign, duals)
            if bound > best:
                best, says = bound, program.named(duals)
            if best >= target:
                return RelaxationBound(best, x, says)
            point = x
            if not self.extend(x):
                return RelaxationBound(best, point, says)
        return RelaxationBound(best, None, says)

    def lowest(self, cells: Sequence[tuple[int, int]], clock: Clock) -> FloatArray | None:
        """Return a point (S, m) of the relaxation in which many cells are as small as they can be together.

        None where it was not found in time, or has more entries than ``MOST_ENTRIES``.
        """
        low, high = self._ends()
        for _ in range(MOST_ROUNDS):
            if clock.is_over:
                break
            program = IntegerProgram(self.rows, low, high)
            if program.matrix.nnz > MOST_ENTRIES:
                break
            weights = sum(program.objective(cell, 1)[0] for cell in cells)
            _, point, _ = program.minimise(np.asarray(weights), clock.left)
            if point is None or not self.extend(point, MOST_ENTRIES - program.matrix.nnz):
                return point
        return None

    def _ends(self) -> tuple[IntArray, IntArray]:
        span = self.facts.span(self.node)
        return self.bounds.low[span], self.bounds.high[span]

    def extend(self, point: FloatArray, room: float = np.inf) -> bool:
        """Add rows that a point breaks; return whether there were any.

        Once they have more than ``room`` entries, no more are made.
        """
        low, high = (ends.ravel() for ends in self._ends())
        before = len(self.rows.columns)
        for row in self._broken(point):
            if self.rows.add([row]):
                room -= self.rows.entries_of_last(low, high)
            if room < 0:
                break
        return len(self.rows.columns) > before

    def _broken(self, point: FloatArray) -> Iterator[CellRow]:
        """Yield rows that a point breaks, those of nodes above first."""
        start = self.facts.span(self.node).start
        for step in self.facts.tree.below(self.node):
            for number, split in enumerate(self.facts.splits.get(step.index, ())):
                self.clock.check()
                part = point[split.start - start : split.end - start]
                for row in cuts(self.facts, self.bounds, split, part, CUTS_PER_SPLIT):
                    if row.candidate >= 0:
                        self.lines[step.index, number, row.candidate] = None
                    yield row


# The rows that a proof rests on: those without which it fails, found by leaving out one after the other.

MOST_TRIED = 24
"""Rows that are tried at most, so that a proof is not much dearer for being explained."""
Proof = tuple[tuple[int, int], int, int]
"""A cell (position, class), a sign and the target: ``sign * cell >= target``."""


def needed(scope: Scope, proof: Proof, says: Sequence[str], clock: Clock) -> tuple[str, ...]:
    """Return those of the rows (in words, the strongest first) that the linear proof below a node needs.

    Where the rows prove it only together with whole-number reasoning, all of them are returned.
    """
    kept = list(says)
    if len(kept) < 2 or len(kept) > MOST_TRIED or not _proves(scope, proof, kept, clock):
        return tuple(says)
    for say in reversed(says):
        if clock.is_over:
            break
        fewer = [other for other in kept if other != say]
        if _proves(scope, proof, fewer, clock):
            kept = fewer
    return tuple(kept)


def _proves(scope: Scope, proof: Proof, says: Sequence[str], clock: Clock) -> bool:
    """Return whether the rows of these names, with those that have none, prove it; in exact arithmetic."""
    cell, sign, target = proof
    span = scope.facts.span(scope.node)
    rows = _only(scope.rows, set(says))
    program = IntegerProgram(rows, scope.bounds.low[span], scope.bounds.high[span])
    status, _, duals = program.solve(cell, sign, clock.left)
    if status == "infeasible":
        return program.farkas(clock.left) is not None
    return status == "optimal" and program.bound(cell, sign, duals) >= target


def _only(rows: IntegerRows, says: set[str]) -> IntegerRows:
    """Return the rows of these names, and those that have none."""
    return rows.select([k for k, said in enumerate(rows.says) if not said or said in says])
