"""Decides the cells that no witness moved: from the lowest node above a leaf upwards, by proof or by another world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from audit.worlds import cpsat
from audit.worlds.cells import Bounds, ContradictionError
from audit.worlds.check import first_broken, path_holds, scope_holds
from audit.worlds.clock import Clock
from audit.worlds.explain import joined
from audit.worlds.facts import Facts
from audit.worlds.needed import needed
from audit.worlds.pool import Pool
from audit.worlds.relax import NOTHING, Answer, Scope
from audit.worlds.search import branch_and_bound
from audit.worlds.swaps import swap_stuck

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Way = Callable[[Scope, "Question", "Effort"], Answer | None]
LARGEST_SCOPE_CELLS = 60_000
MOST_FIRST_BRANCHES = 10_000
WHOLE = 1e-6


@dataclass(frozen=True, slots=True)
class Question:
    """Is ``sign * cell`` at least ``target`` in every world? ``cell`` is a position and a class."""

    cell: tuple[int, int]
    sign: int
    target: int

    @property
    def parts(self) -> tuple[tuple[int, int], int, int]:
        """The three together."""
        return self.cell, self.sign, self.target


class State(Enum):
    """What came of a question below one node; where that node's rows allow another table, only those above can tell."""

    SETTLED = "settled"
    OPEN = "open"
    ALLOWED = "allowed"


@dataclass(frozen=True, slots=True)
class Effort:
    """How far one question is followed: nodes upwards, rounds of cuts, branches, and CP-SAT's deterministic seconds."""

    levels: int
    rounds: int
    branches: int
    units: float


EFFORTS = (Effort(2, 10, 30, 0.1), Effort(4, 30, 100, 0.5), Effort(10_000, 60, 400, 3.0))
"""The first passes are short, so that a hard question does not hold up easy ones."""


@dataclass(eq=False)
class Asker:
    """Puts questions to the solvers; what they prove goes into the bounds, the worlds they find into the pool.

    ``allowed`` are the nodes whose rows are known to allow what a question asks about: only those above can tell.
    """

    facts: Facts
    bounds: Bounds
    pool: Pool
    clock: Clock
    scopes: dict[int, Scope] = field(default_factory=dict)
    allowed: set[tuple[int, Question]] = field(default_factory=set)

    def settle(self, question: Question, effort: Effort) -> bool:
        """Prove the target at some node above the cell's profile, or find a world below it; False: neither."""
        levels = effort.levels
        place = int(self.facts.place_of()[question.cell[0]])
        for node in self.facts.path(place):
            span = self.facts.span(node)
            is_large = (span.stop - span.start) * self.facts.classes > LARGEST_SCOPE_CELLS
            if levels <= 0 or is_large or self.clock.is_over:
                return False
            if not self._has_rows(node):
                continue
            levels -= 1
            if (node, question) in self.allowed:
                continue
            if self._settle_below(self.scope(node), question, effort):
                return True
        return False

    def scope(self, node: int) -> Scope:
        """Return the linear rows below a node, as far as they are known."""
        if node not in self.scopes:
            self.scopes[node] = Scope(self.facts, self.bounds, node)
        return self.scopes[node]

    def _has_rows(self, node: int) -> bool:
        facts = self.facts
        return any(
            step.index in facts.splits or step.index in facts.lines
            for step in facts.tree.below(node)
        )

    def _settle_below(self, scope: Scope, question: Question, effort: Effort) -> bool:
        """Return whether the question was settled with the rows below one node."""
        for way in self._ways():
            if self.clock.is_over:
                return False
            state = self._take(scope, question, way(scope, question, effort))
            if state is State.ALLOWED:
                self.allowed.add((scope.node, question))
            if state is not State.OPEN:
                return state is State.SETTLED
        return False

    def _ways(self) -> tuple[Way, ...]:
        """Return the solvers to ask, the quickest first: with two classes rows are nearly linear."""
        if self.facts.classes > 2 and cpsat.IS_THERE:
            return (self._by_cpsat, self._by_lines)
        by_lines = (self._by_lines, self._by_integers, self._by_branches)
        return (*by_lines, self._by_cpsat) if cpsat.IS_THERE else by_lines

    def _by_lines(self, scope: Scope, question: Question, effort: Effort) -> Answer | None:
        return scope.least(*question.parts, self.clock, rounds=effort.rounds)

    def _by_integers(self, scope: Scope, question: Question, effort: Effort) -> Answer | None:
        point = scope.integer_point(*question.parts, self.clock, effort.branches)
        return None if point is None else Answer(NOTHING, point.astype(np.float64))

    def _by_branches(self, scope: Scope, question: Question, effort: Effort) -> Answer | None:
        return branch_and_bound(scope, *question.parts, self.clock, effort.branches)

    def _by_cpsat(self, scope: Scope, question: Question, effort: Effort) -> Answer | None:
        return cpsat.ask(scope, *question.parts, self.clock, effort.units)

    def _take(self, scope: Scope, question: Question, answer: Answer | None) -> State:
        """Note what an answer proves, or the world it found."""
        if answer is None:
            return State.OPEN
        if answer.bound is None:
            raise ContradictionError(*answer.says)
        if answer.bound > NOTHING:
            self._note(scope, question, answer)
        if answer.bound >= question.target:
            return State.SETTLED
        return State.OPEN if answer.point is None else self._try(scope, question, answer.point)

    def _try(self, scope: Scope, question: Question, point: FloatArray) -> State:
        """Put a scope's table into a world of the pool; add it if it is a world and answers the question."""
        facts, span = self.facts, self.facts.span(scope.node)
        whole = np.rint(point).astype(np.int64)
        if np.abs(point - whole).max(initial=0.0) > WHOLE:
            return State.OPEN
        position, klass = question.cell
        if question.sign * int(whole[position - span.start, klass]) >= question.target:
            return State.OPEN
        base = self.pool.tables[0].copy()
        base[span] = whole
        if not scope_holds(facts, scope.node, base):
            return State.OPEN
        if not path_holds(facts, scope.node, base):
            return State.ALLOWED
        self.pool.add(base[None])
        # A far world has neighbours that the worlds before it did not have.
        swap_stuck(facts, self.pool, self.bounds, self.clock, only=span)
        return State.SETTLED

    def _note(self, scope: Scope, question: Question, answer: Answer) -> None:
        """Draw in the ends by what was proved; where that forces a profile, say what it truly rests on."""
        assert answer.bound is not None
        (position, klass), bounds = question.cell, self.bounds
        count, bound = int(self.facts.counts[position]), answer.bound
        if question.sign > 0 and bound <= bounds.low[position, klass]:
            return
        if question.sign < 0 and -bound >= bounds.high[position, klass]:
            return
        says = answer.says
        if count in (bound, count + bound if self.facts.classes == 2 else -1):
            says = needed(scope, (*question.parts[:2], bound), says, self.clock)
        why = joined(self.facts, scope.node, says)
        if question.sign > 0:
            bounds.raise_low(position, klass, bound, why)
            for other in set(range(self.facts.classes)) - {klass}:
                bounds.cut_high(position, other, count - bound, why)
            return
        bounds.cut_high(position, klass, -bound, why)
        if self.facts.classes == 2:
            bounds.raise_low(position, 1 - klass, count + bound, why)


def decide(asker: Asker) -> None:
    """Prove or move every cell that no world moves, profiles that may be forced first.

    Raises:
        ContradictionError: no world obeys the facts.
    """
    if asker.pool.is_empty and not asker.clock.is_over:
        _first_world(asker)
    if asker.pool.is_empty:
        return
    for effort in EFFORTS:
        for position in _by_risk(asker):
            for klass in range(asker.facts.classes):
                for sign in (1, -1):
                    if asker.clock.is_over:
                        return
                    question = _open_question(asker, position, klass, sign)
                    if question is not None:
                        asker.settle(question, effort)


def _by_risk(asker: Asker) -> list[int]:
    """Return the positions with stuck cells, those that may be forced first."""
    bounds, pool = asker.bounds, asker.pool
    stuck = (bounds.low < bounds.high) & (pool.low >= pool.high)
    may_be_forced = np.minimum(pool.low, bounds.high) == asker.facts.counts[:, None]
    first = may_be_forced.any(axis=1)
    rows = np.flatnonzero(stuck.any(axis=1))
    return sorted(rows.tolist(), key=lambda row: (not first[row], row))


def _open_question(asker: Asker, position: int, klass: int, sign: int) -> Question | None:
    """Return what is to be proved of ``sign * cell``: that it never falls below what all worlds so far have."""
    low, high = (int(end[position, klass]) for end in (asker.bounds.low, asker.bounds.high))
    least, most = (int(end[position, klass]) for end in (asker.pool.low, asker.pool.high))
    if low == high or least < most:
        return None
    if sign > 0:
        return Question((position, klass), 1, least) if least > low else None
    return Question((position, klass), -1, -most) if most < high else None


def _first_world(asker: Asker) -> None:
    """Look for any world, where there is no truth and the sampler gave up."""
    facts, bounds, clock = asker.facts, asker.bounds, asker.clock
    scope = asker.scope(0)
    free = np.argwhere(bounds.low < bounds.high)
    cell = (int(free[0][0]), int(free[0][1])) if len(free) else (0, 0)
    answer = scope.least(cell, 1, 2**60, clock.part(clock.left / 3))
    if answer.bound is None:
        raise ContradictionError(*answer.says)
    points = [] if answer.point is None else [np.rint(answer.point).astype(np.int64)]
    anything = int(bounds.high[cell]) + 1
    whole = scope.integer_point(cell, 1, anything, clock.part(clock.left / 2), MOST_FIRST_BRANCHES)
    points += [] if whole is None else [whole]
    for point in points:
        if (point >= 0).all() and first_broken(facts, point) is None:
            asker.pool.add(point[None])
            return
