"""Puts questions about cells to the solvers, from the lowest node above a leaf upwards: a proof or another world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from treewarden.audit.bounds import CellBounds, ContradictionError
from treewarden.audit.consistent_tables.facts.facts import Facts, joined
from treewarden.audit.consistent_tables.proofs import cpsat
from treewarden.audit.consistent_tables.proofs.bounds import Proof, draw_in
from treewarden.audit.consistent_tables.proofs.relax import (
    NOTHING,
    LearnedCuts,
    RelaxationBound,
    Scope,
    needed,
)
from treewarden.audit.consistent_tables.witnesses.one_swap_search import swap_stuck
from treewarden.audit.consistent_tables.witnesses.witness_pool import (
    WitnessPool,
    first_broken,
    may_be_certain,
    path_holds,
    scope_holds,
)
from treewarden.audit.progress import Clock
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray

LARGEST_SCOPE_CELLS = 60_000
WHOLE = 1e-6
UNTIED_UNITS = 0.5
"""Deterministic seconds that CP-SAT may search for a table without ties, where one with ties was found."""
CHECKED_EVERY = 1000
"""After so many cells the clock is looked at."""
LINE_ROUNDS = 60
"""Rounds of cuts of a linear program over all rows."""


@dataclass(frozen=True, slots=True)
class CellQuestion:
    """Is ``sign * cell`` at least ``target`` in every world? ``cell`` is a position and a class."""

    cell: tuple[int, int]
    sign: int
    target: int

    @property
    def parts(self) -> tuple[tuple[int, int], int, int]:
        """The three together."""
        return self.cell, self.sign, self.target


class QuestionState(Enum):
    """What came of a question below one node; where that node's rows allow another table, only those above can tell."""

    SETTLED = "settled"
    OPEN = "open"
    ALLOWED = "allowed"


def is_open(bounds: CellBounds, pool: WitnessPool, question: CellQuestion) -> bool:
    """Return whether neither a proof nor a world answers a question."""
    (position, klass), sign, target = question.parts
    ends = (bounds.low, pool.low) if sign > 0 else (bounds.high, pool.high)
    proved, found = (sign * int(end[position, klass]) for end in ends)
    return proved < target <= found


def open_question(
    bounds: CellBounds, pool: WitnessPool, cell: tuple[int, int], sign: int
) -> CellQuestion | None:
    """Return what is to be proved of ``sign * cell``: that it never falls below what all worlds so far have."""
    low, high = (int(end[cell]) for end in (bounds.low, bounds.high))
    least, most = (int(end[cell]) for end in (pool.low, pool.high))
    if pool.is_empty and pool.first is not None:
        least = most = int(pool.first[cell])
    if low == high or least < most:
        return None
    if sign > 0:
        return CellQuestion(cell, 1, least) if least > low else None
    return CellQuestion(cell, -1, -most) if most < high else None


def _is_short(question: CellQuestion, point: FloatArray) -> bool:
    """Whether a point of the relaxation of all rows has one person less than is to be proved."""
    return bool(point[question.cell] <= question.target - 1 + WHOLE)


def has_rows(facts: Facts, node: int) -> bool:
    """Return whether there is any row at or below a node."""
    return any(
        step.index in facts.splits or step.index in facts.lines for step in facts.tree.below(node)
    )


def is_large(facts: Facts, node: int) -> bool:
    """Return whether a node has too many cells for a solver."""
    span = facts.span(node)
    return bool((span.stop - span.start) * facts.classes > LARGEST_SCOPE_CELLS)


@dataclass(frozen=True, slots=True)
class QuestionEffort:
    """How far one question is followed: nodes upwards, rounds of cuts, and CP-SAT's deterministic seconds.

    ``fewest`` portions of such questions are put side by side at first: see ``decide.QuestionQueue``.
    """

    levels: int
    rounds: int
    units: float
    fewest: int = 1


@dataclass(eq=False)
class Asker:
    """Puts questions to the solvers; what they prove goes into the bounds, the worlds they find into the pool.

    ``wanted`` says which cells are asked about: those that a new world's neighbours are tried for too. ``allowed`` are
    the nodes whose rows are known to allow what a question asks about: only those above can tell. ``learned`` is what
    scopes begin with. ``asked`` counts what the solvers were asked, which is to be no more than ``most`` (None: any
    number); ``proofs`` are what they proved, in that order.
    """

    facts: Facts
    bounds: CellBounds
    pool: WitnessPool
    clock: Clock
    wanted: Callable[[Facts, CellBounds, WitnessPool], BoolArray] = may_be_certain
    learned: LearnedCuts = field(default_factory=LearnedCuts)
    most: int | None = None
    asked: int = 0
    scopes: dict[int, Scope] = field(default_factory=dict)
    allowed: set[tuple[int, CellQuestion]] = field(default_factory=set)
    proofs: list[Proof] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be asked."""
        return self.clock.is_over or (self.most is not None and self.asked >= self.most)

    def open(self) -> BoolArray:
        """Return the cells that are asked about and not decided, shape (P, m)."""
        return self.wanted(self.facts, self.bounds, self.pool)

    def settle(self, question: CellQuestion, effort: QuestionEffort) -> bool:
        """Prove the target at some node above the cell's profile, or find a world below it; False: neither.

        Raises:
            OutOfTimeError: the budget is used up.
        """
        self.asked += 1
        levels = effort.levels
        place = int(self.facts.place_of()[question.cell[0]])
        for node in self.facts.path(place):
            if levels <= 0 or is_large(self.facts, node) or self.clock.is_over:
                return False
            if not has_rows(self.facts, node):
                continue
            levels -= 1
            if (node, question) in self.allowed:
                continue
            if self._settle_below(self.scope(node), question, effort):
                return True
        return False

    def settle_together(
        self, node: int, questions: list[CellQuestion], effort: QuestionEffort
    ) -> None:
        """Put questions below a node to CP-SAT as one, as most are proofs; what it cannot tell is left as it is.

        Raises:
            OutOfTimeError: the budget is used up.
        """
        scope = self.scope(node)
        while len(questions) > 1 and not self.is_over:
            self.asked += 1
            parts = [question.parts for question in questions]
            answer = cpsat.ask(scope, parts, self.clock, effort.units)
            if answer is None:
                return
            if answer.point is None:
                for question in questions:
                    self._note(scope, question, RelaxationBound(question.target, None, answer.says))
                return
            no = [
                cell_question
                for cell_question in questions
                if self._is_no(scope, cell_question, answer.point)
            ]
            state = self._try(scope, no[0], answer.point)
            if state is QuestionState.OPEN:
                return
            if state is QuestionState.ALLOWED:
                self.allowed |= {(node, cell_question) for cell_question in no}
            questions = [
                cell_question
                for cell_question in questions
                if cell_question not in no and is_open(self.bounds, self.pool, cell_question)
            ]

    def prove_by_lines(self) -> None:
        """Prove who is certain by linear programs over all rows, where rows reach across leaves.

        A point of the relaxation in which a person has another value shows that no linear program proves theirs: one
        point shows it of many, so that few are asked about one by one.

        Raises:
            ContradictionError: no world obeys the facts.
            OutOfTimeError: the budget is used up.
        """
        left = []
        for number, (position, klass) in enumerate(np.argwhere(self.open()).tolist()):
            if number % CHECKED_EVERY == 0:
                self.clock.check()
            question = open_question(self.bounds, self.pool, (position, klass), 1)
            if question is not None:
                left.append(question)
        if not left:
            return
        scope = self.scope(0)
        while left:
            cells = [question.cell for question in left]
            point = scope.lowest(cells, self.clock)
            if point is None:
                return
            before = len(left)
            left = [question for question in left if not _is_short(question, point)]
            if len(left) == before:
                break
        effort = QuestionEffort(1, LINE_ROUNDS, 0.0)
        while left and not self.clock.is_over:
            question = left.pop(0)
            answer = self._by_lines(scope, question, effort)
            if answer is not None and answer.point is not None:
                left = [each for each in left if not _is_short(each, answer.point)]
            self._take(scope, question, answer)

    def _is_no(self, scope: Scope, question: CellQuestion, point: FloatArray) -> bool:
        """Return whether a scope's table answers a question with no."""
        (position, klass), sign, target = question.parts
        start = self.facts.span(scope.node).start
        return sign * int(np.rint(point[position - start, klass])) < target

    def scope(self, node: int) -> Scope:
        """Return the linear rows below a node, as far as they are known."""
        if node not in self.scopes:
            self.scopes[node] = Scope(self.facts, self.bounds, node, self.clock, self.learned)
        return self.scopes[node]

    def _settle_below(self, scope: Scope, question: CellQuestion, effort: QuestionEffort) -> bool:
        """Return whether the question was settled with the rows below one node."""
        for answer in self._answers(scope, question, effort):
            state = self._take(scope, question, answer)
            if state is QuestionState.ALLOWED:
                self.allowed.add((scope.node, question))
            if state is not QuestionState.OPEN:
                return state is QuestionState.SETTLED
        return False

    def _answers(
        self, scope: Scope, question: CellQuestion, effort: QuestionEffort
    ) -> Iterator[RelaxationBound | None]:
        """Yield what both solvers answer. With two classes rows are nearly linear: then an exact proof comes first."""
        found = cpsat.ask(scope, [question.parts], self.clock, effort.units)
        is_exact_first = self.facts.classes == 2 and (found is None or found.point is None)
        if not is_exact_first:
            yield found
        if not self.clock.is_over:
            yield self._by_lines(scope, question, effort)
        if is_exact_first:
            yield found

    def _by_lines(
        self, scope: Scope, question: CellQuestion, effort: QuestionEffort
    ) -> RelaxationBound | None:
        return scope.least(*question.parts, self.clock, rounds=effort.rounds)

    def _take(
        self, scope: Scope, question: CellQuestion, answer: RelaxationBound | None
    ) -> QuestionState:
        """Note what an answer proves, or the world it found."""
        if answer is None:
            return QuestionState.OPEN
        if answer.bound is None:
            raise ContradictionError(*answer.says)
        if answer.bound > NOTHING:
            self._note(scope, question, answer)
        if answer.bound >= question.target:
            return QuestionState.SETTLED
        return (
            QuestionState.OPEN if answer.point is None else self._try(scope, question, answer.point)
        )

    def _try(self, scope: Scope, question: CellQuestion, point: FloatArray) -> QuestionState:
        """Put a scope's table into a world of the pool; add it if it is a world and answers the question."""
        facts, span = self.facts, self.facts.span(scope.node)
        whole = np.rint(point).astype(np.int64)
        if np.abs(point - whole).max(initial=0.0) > WHOLE:
            return QuestionState.OPEN
        if not self._is_no(scope, question, point):
            return QuestionState.OPEN
        assert self.pool.first is not None
        base = self.pool.first.copy()
        base[span] = whole
        if not scope_holds(facts, scope.node, base, self.clock):
            return QuestionState.OPEN
        if not path_holds(facts, scope.node, base, self.clock):
            return QuestionState.ALLOWED
        if not self._shows(scope.node, base) and not self._find_untied(scope, question, base):
            self.pool.unsure[question.cell] = True
            # It is a world, so that no rows prove otherwise: not those below this node, nor those below another.
            place = int(facts.place_of()[question.cell[0]])
            self.allowed |= {(node, question) for node in facts.path(place)}
            return QuestionState.ALLOWED
        self.pool.add(base[None])
        # A far world has neighbours that the worlds before it did not have.
        swap_stuck(self.pool.facts, self.pool, self.open(), self.clock, only=span)
        return QuestionState.SETTLED

    def _shows(self, node: int, table: IntArray) -> bool:
        """Return whether a world (P, m), found below a node, shows what is possible: it rests on no tie."""
        shown = self.pool.facts
        if not self.pool.has_compared(table[None]).all():
            return False
        if self.pool.is_empty:
            return first_broken(shown, table, self.clock) is None
        return shown is self.facts or (
            scope_holds(shown, node, table, self.clock)
            and path_holds(shown, node, table, self.clock)
        )

    def _find_untied(self, scope: Scope, question: CellQuestion, table: IntArray) -> bool:
        """Write a table without ties that answers a question with no into a world; False: none was found."""
        if self.clock.is_over:
            return False
        learned = LearnedCuts(plain=self.learned.plain)
        narrow = Scope(self.pool.facts, self.bounds, scope.node, self.clock, learned)
        found = cpsat.ask(narrow, [question.parts], self.clock, UNTIED_UNITS)
        if found is None or found.point is None:
            return False
        table[self.facts.span(scope.node)] = np.rint(found.point).astype(np.int64)
        return self._is_no(scope, question, found.point) and self._shows(scope.node, table)

    def _note(self, scope: Scope, question: CellQuestion, answer: RelaxationBound) -> None:
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
        self.proofs.append(Proof(question.cell, question.sign, bound, why))
        draw_in(self.facts, bounds, self.proofs[-1])
