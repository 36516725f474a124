"""Portions: some questions as one job, based on what was known when it was given out, for this process or another.

What is known travels in two parts: once what stays the same, then what moved since. What comes of a portion is news:
proofs, which hold whatever else was proved meanwhile, and witness tables, each of which stands by itself. So the news
of many portions can be taken in one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np

from treewarden.audit.bounds import CellBounds, ContradictionError
from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.consistent_tables.facts.splits import AttributeSplits
from treewarden.audit.consistent_tables.proofs.bounds import Proof
from treewarden.audit.consistent_tables.proofs.linear import IntegerRows
from treewarden.audit.consistent_tables.proofs.relax import LearnedCuts, Ref
from treewarden.audit.consistent_tables.queries import (
    Asker,
    CellQuestion,
    QuestionEffort,
    open_question,
)
from treewarden.audit.consistent_tables.witnesses.witness_pool import Swap, WitnessPool
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Clock, OutOfTimeError
from treewarden.audit.reading import Undetermined
from treewarden.audit.workers.pool import WORKERS, Common, Pool
from treewarden.audit.workers.processes import each_done
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray
from treewarden.ppdm_models.errors import TreewardenError

NOBODY = np.zeros(0, dtype=np.intp)
NO_BINS = np.zeros(0, dtype=np.int32)
NOT_SAID = Undetermined("the policy does not need it")
Ends = tuple[IntArray, IntArray, IntArray, IntArray]
"""The least and the greatest count of each cell that is proved, and the same that worlds reach, shape (P, m) each."""


@dataclass(frozen=True, slots=True, eq=False)
class FixedState:
    """What stays the same: the facts, the first world (P, m), and the ends of each cell when questions began.

    ``shown`` are the facts of tables that show what is possible, which the first one obeys where it ``is_shown``.
    ``plain`` is kept for those who ask here, and does not travel: see ``LearnedCuts``.
    """

    facts: Facts
    shown: Facts
    first: IntArray
    is_shown: bool
    ends: Ends
    plain: dict[int, IntegerRows] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Callable[..., FixedState], tuple[object, ...]]:
        """Return what travels."""
        return FixedState, (self.facts, self.shown, self.first, self.is_shown, self.ends)

    def since(
        self,
        bounds: CellBounds,
        pool: WitnessPool,
        lines: Mapping[int, Mapping[Ref, None]],
        met: Mapping[int, Mapping[Ref, None]],
    ) -> Since:
        """Return what has changed by now."""
        now = bounds.low, bounds.high, pool.low, pool.high
        places = [np.flatnonzero(a != b) for a, b in zip(self.ends, now, strict=True)]
        moved = tuple((at, end.ravel()[at]) for at, end in zip(places, now, strict=True))
        return Since(
            moved, *({node: tuple(refs) for node, refs in each.items()} for each in (lines, met))
        )


@dataclass(frozen=True, slots=True, eq=False)
class Since:
    """What has changed: each end's cells that moved (flat) and where they are now, and what was learned."""

    moved: tuple[tuple[IndexArray, IntArray], ...]
    lines: Mapping[int, tuple[Ref, ...]]
    met: Mapping[int, tuple[Ref, ...]]

    def over(self, start: FixedState) -> tuple[CellBounds, RecordedPool, LearnedCuts]:
        """Return all that is known now, to be changed by whoever asks."""
        low, high, least, most = (end.copy() for end in start.ends)
        for end, (at, values) in zip((low, high, least, most), self.moved, strict=True):
            end.ravel()[at] = values
        shown = [start.first] if start.is_shown else []
        pool = RecordedPool(start.shown, shown, size=len(shown), base=start.first)
        pool.low, pool.high, pool.unsure = least, most, np.zeros(low.shape, dtype=bool)
        return CellBounds(low, high), pool, LearnedCuts(self.lines, self.met, start.plain)


@dataclass(eq=False)
class RecordedPool(WitnessPool):
    """A pool that begins with the first world alone, and notes what is added: each world with its neighbours."""

    worlds: list[tuple[IntArray, list[Swap]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Leave the ends to whoever knows them."""

    def add(self, tables: IntArray) -> None:
        """Add worlds, shape (K, P, m), that were checked."""
        super().add(tables)
        self.worlds += [(table, []) for table in tables]

    def add_swap(self, base: int, swap: Swap) -> None:
        """Note a checked neighbour of the newest world."""
        super().add_swap(base, swap)
        self.worlds[-1][1].append(swap)


def start_of(facts: Facts, bounds: CellBounds, pool: WitnessPool) -> FixedState:
    """Return what is known when questions begin, once there is a world."""
    ends = bounds.low.copy(), bounds.high.copy(), pool.low.copy(), pool.high.copy()
    lean = _without_people(facts)
    shown = lean if pool.facts is facts else _without_people(pool.facts)
    assert pool.first is not None
    return FixedState(
        facts=lean, shown=shown, first=pool.first, is_shown=not pool.is_empty, ends=ends
    )


def _without_people(facts: Facts) -> Facts:
    """Return the facts without what no question needs: the columns of people, and arrays that splits were made of."""
    case = facts.case
    people = Population((), {}, case.population.counts, case.population.leaf, NOT_SAID)
    lean = facts.of_splits(_lean(split) for found in facts.splits.values() for split in found)
    return replace(lean, case=Case(case.tree, people, case.members, Knowledge()))


def _lean(split: AttributeSplits) -> AttributeSplits:
    family = replace(split.family, profiles=NOBODY, chosen=NOBODY, bins=NO_BINS, weights=None)
    return replace(split, family=family)


Cell = tuple[int, int]
"""A position and a class."""


class Ask(Protocol):
    """What is asked in one portion."""

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that it is about."""

    @property
    def nodes(self) -> frozenset[int]:
        """Nodes of whose tables no other portion of the same batch is to ask."""

    @property
    def most(self) -> int:
        """How many questions it is at most."""

    @property
    def work(self) -> float:
        """How much of it there is, as far as counts tell: 1 is what a portion is to be."""

    def is_left(self, bounds: CellBounds, pool: WitnessPool) -> bool:
        """Return whether anything of it is not answered."""

    def put(self, asker: Asker) -> None:
        """Ask what is not answered by now.

        Raises:
            ContradictionError: no world obeys the facts.
            OutOfTimeError: the budget is used up.
        """


@dataclass(frozen=True, slots=True)
class OneByOne:
    """How far each of some cells goes that no world moved, one question after the other."""

    cells: tuple[Cell, ...]
    effort: QuestionEffort
    work: float
    nodes: frozenset[int] = frozenset()

    @property
    def most(self) -> int:
        return 2 * len(self.cells)

    def is_left(self, bounds: CellBounds, pool: WitnessPool) -> bool:
        return _is_left(self.cells, bounds, pool)

    def put(self, asker: Asker) -> None:
        for cell in self.cells:
            for sign in (1, -1):
                if asker.is_over:
                    return
                question = open_question(asker.bounds, asker.pool, cell, sign)
                if question is not None:
                    asker.settle(question, self.effort)


@dataclass(frozen=True, slots=True)
class JoinedQuestions:
    """The same of some cells below a node at once, as far as CP-SAT can tell."""

    node: int
    cells: tuple[Cell, ...]
    effort: QuestionEffort
    work: float

    @property
    def nodes(self) -> frozenset[int]:
        return frozenset({self.node})

    @property
    def most(self) -> int:
        return 2 * len(self.cells)

    def is_left(self, bounds: CellBounds, pool: WitnessPool) -> bool:
        return _is_left(self.cells, bounds, pool)

    def put(self, asker: Asker) -> None:
        questions = list(_questions(self.cells, asker.bounds, asker.pool))
        asker.settle_together(self.node, questions, self.effort)


@dataclass(frozen=True, slots=True)
class Single:
    """One question."""

    question: CellQuestion
    effort: QuestionEffort

    @property
    def cells(self) -> tuple[Cell, ...]:
        return (self.question.cell,)

    @property
    def nodes(self) -> frozenset[int]:
        return frozenset()

    @property
    def most(self) -> int:
        return 1

    @property
    def work(self) -> float:
        return 1.0

    def is_left(self, bounds: CellBounds, pool: WitnessPool) -> bool:
        return True

    def put(self, asker: Asker) -> None:
        asker.settle(self.question, self.effort)


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """A world that was found: its table (S, m) from a position on, else it is as the first one; and its neighbours."""

    start: int
    table: IntArray
    swaps: tuple[Swap, ...]

    def over(self, first: IntArray) -> IntArray:
        """Return the whole table (P, m)."""
        table = first.copy()
        table[self.start : self.start + len(self.table)] = self.table
        return table


@dataclass(frozen=True, slots=True, eq=False)
class News:
    """What came of a portion: see ``Asker`` and ``LearnedCuts``; ``conflict`` is why there is no world, if so."""

    asked: int = 0
    unsure: tuple[Cell, ...] = ()
    proofs: tuple[Proof, ...] = ()
    worlds: tuple[World, ...] = ()
    lines: Mapping[int, tuple[Ref, ...]] = field(default_factory=dict)
    met: Mapping[int, tuple[Ref, ...]] = field(default_factory=dict)
    allowed: tuple[tuple[int, CellQuestion], ...] = ()
    conflict: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """A job: what to ask, of whom else (``wanted``), no more than ``most`` questions, until when, and what is known."""

    ask: Ask
    wanted: Callable[[Facts, CellBounds, WitnessPool], BoolArray]
    most: int | None
    allowed: tuple[tuple[int, CellQuestion], ...]
    clock: Clock
    start: Common[FixedState]
    since: Common[Since]

    def __call__(self) -> News:
        """Return what is proved and found; where time runs out, what was by then."""
        start = self.start.value
        bounds, pool, learned = self.since.value.over(start)
        asker = Asker(
            facts=start.facts,
            bounds=bounds,
            pool=pool,
            clock=self.clock,
            wanted=self.wanted,
            learned=learned,
            most=self.most,
        )
        asker.allowed = set(self.allowed)
        conflict: tuple[str, ...] = ()
        try:
            self.ask.put(asker)
        except OutOfTimeError:
            pass
        except ContradictionError as contradiction:
            conflict = contradiction.says
        return News(
            asked=asker.asked,
            unsure=tuple((int(row), int(klass)) for row, klass in np.argwhere(pool.unsure)),
            proofs=tuple(asker.proofs),
            worlds=tuple(_worlds(pool, start.first)),
            lines={
                node: _new(scope.lines, learned.lines.get(node, ()))
                for node, scope in asker.scopes.items()
            },
            met={
                node: _new(scope.met, learned.met.get(node, ()))
                for node, scope in asker.scopes.items()
            },
            allowed=tuple(asker.allowed.difference(self.allowed)),
            conflict=conflict,
        )


def _new(refs: Iterable[Ref], known_refs: Iterable[Ref]) -> tuple[Ref, ...]:
    """Return what was not known, in the order in which it was met."""
    before = set(known_refs)
    return tuple(ref for ref in refs if ref not in before)


def _worlds(pool: RecordedPool, first: IntArray) -> Iterator[World]:
    for table, swaps in pool.worlds:
        differs = np.flatnonzero((table != first).any(axis=1))
        start, end = (int(differs[0]), int(differs[-1]) + 1) if len(differs) else (0, 0)
        yield World(start, table[start:end], tuple(swaps))


def _questions(
    cells: Sequence[Cell], bounds: CellBounds, pool: WitnessPool
) -> Iterator[CellQuestion]:
    for cell in cells:
        for sign in (1, -1):
            question = open_question(bounds, pool, cell, sign)
            if question is not None:
                yield question


def _is_left(cells: Sequence[Cell], bounds: CellBounds, pool: WitnessPool) -> bool:
    return next(_questions(cells, bounds, pool), None) is not None


# Where portions are done: in this process, or over several where there are enough questions to be worth it.
#
# Answers are taken in the order of the portions, not of their arrival, and the portions are the same wherever they are
# done: so it makes no difference to what is proved and found.

Answers = Generator[Callable[[], News | None], None, None]
"""For each portion in turn what returns its news when called: None where three processes died over it."""
WORTH_STARTING = 12.0
"""Work that is left of a pass (1 is a full portion) from which on others are started: it takes them about a second."""
WORTH_GIVING = 1.0
"""The same of one batch, from which on they are asked once they are there."""
GRACE_SECONDS = 0.5
"""How long answers are waited for once time is up: who is asked ends by the same clock, and says what it has."""


@dataclass(frozen=True, slots=True)
class Helpers:
    """Other processes that may be asked: ``jobs`` of them side by side (None: as many as there is room for)."""

    jobs: int | None = 1
    pool: Pool = WORKERS

    @property
    def number(self) -> int:
        """How many are asked side by side."""
        return self.pool.size() if self.jobs is None else self.jobs

    def are_worth(self, portions: Sequence[Portion], left: float) -> bool:
        """Return whether a batch is given to them; ``left`` is all work of its pass from here on.

        They are started where there is much left. Nobody waits for them: until they are ready the answer is no.
        """
        is_alone = self.jobs == 1 and not self.pool.is_elsewhere
        if is_alone or len(portions) < 2:
            return False
        if self.pool.is_elsewhere:
            return left >= WORTH_STARTING
        if left >= WORTH_STARTING and self.number > 1:
            self.pool.start_ahead(self.number)
        work = sum(portion.ask.work for portion in portions)
        return work >= WORTH_GIVING and self.pool.is_ready

    def answers(self, portions: Sequence[Portion], clock: Clock) -> Answers:
        """Do portions over other processes. Those whose news nobody asked for are waited for in the end.

        Raises:
            TreewardenError: there is nobody any more who could do them.
        """
        late = replace(clock, end=clock.end + GRACE_SECONDS)
        found: dict[int, News | TreewardenError | None] = {}
        with closing(each_done(portions, self.number, lambda: late.left, self.pool)) as coming:

            def news(number: int) -> News | None:
                while number not in found:
                    arrived = next(coming, None)
                    if arrived is None:  # time is up
                        return News()
                    found[arrived[0]] = arrived[1]
                answer = found.pop(number)
                if isinstance(answer, TreewardenError):
                    raise answer
                return answer

            for number in range(len(portions)):
                yield partial(news, number)
            for _ in coming:
                pass


def done_here(portions: Sequence[Portion], clock: Clock) -> Answers:
    """Do portions in this process, each when its news is asked for, as long as there is time."""
    for portion in portions:
        if clock.is_over:
            return
        yield portion
