"""Linear relaxations of the worlds below one node: rows that a point breaks are added until it breaks none."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from treewarden.audit.worlds.clock import FOREVER, Clock
from treewarden.audit.worlds.facts.facts import Facts
from treewarden.audit.worlds.proofs.bounds import Bounds
from treewarden.audit.worlds.proofs.learned import Learned, Ref, split_at
from treewarden.audit.worlds.proofs.linear import Program, Rows
from treewarden.audit.worlds.proofs.rows import CellRow, cuts, interval_row
from treewarden.ppdm_models.arrays import FloatArray, IntArray

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
    """The worlds below a node as far as linear rows tell; rows that a point breaks are added and kept.

    Whatever is asked of it raises ``OutOfTimeError`` where the budget is used up before it is half answered.

    It begins with the rows that were ``learned`` before. ``lines`` are the candidates with a row of their own among
    ``rows``; ``met`` those that tables of whole numbers broke: asked for at once next time.
    """

    facts: Facts
    bounds: Bounds
    node: int
    clock: Clock = FOREVER
    learned: Learned = field(default_factory=Learned)
    rows: Rows = field(init=False)
    lines: dict[Ref, None] = field(init=False)
    met: dict[Ref, None] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = self.learned.rows_of_facts(self.facts, self.node).copy()
        self.lines = dict.fromkeys(self.learned.lines.get(self.node, ()))
        self.met = dict.fromkeys(self.learned.met.get(self.node, ()))
        self.rows.add(interval_row(self.facts, *split_at(self.facts, each)) for each in self.lines)

    def least(
        self,
        cell: tuple[int, int],
        sign: int,
        target: int,
        clock: Clock,
        ends: tuple[IntArray, IntArray] | None = None,
        *,
        rounds: int = MOST_ROUNDS,
    ) -> Answer:
        """Bound ``sign * cell`` from below; stop as soon as ``target`` is proved. ``ends`` override the proved ones."""
        low, high = self._ends(ends)
        best, point = NOTHING, None
        says: tuple[str, ...] = ()
        for _ in range(rounds):
            if clock.is_over:
                break
            program = Program(self.rows, low, high)
            status, x, duals = program.solve(cell, sign, clock.left)
            if status == "infeasible":
                proof = program.farkas(clock.left)
                return Answer(None, None, proof) if proof is not None else Answer(best, None)
            if x is None:
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
        self, cell: tuple[int, int], sign: int, target: int, clock: Clock, branches: int
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
            x = Program(self.rows, low, high).integers(clock.left, branches)
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
            for number, split in enumerate(self.facts.splits.get(step.index, ())):
                self.clock.check()
                part = point[split.start - start : split.end - start]
                for row in cuts(self.facts, self.bounds, split, part, CUTS_PER_SPLIT):
                    found.append(row)
                    if row.candidate >= 0:
                        self.lines[step.index, number, row.candidate] = None
        return self.rows.add(found)
