"""Some questions as one job, put against what was known when it was given out, here or in another process.

What comes of it is news: proofs, which hold whatever else was proved meanwhile, and worlds, each of which is one by
itself. So the news of many portions can be taken in one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from treewarden.audit.solver.parcel import Common
from treewarden.audit.worlds.clock import Clock, OutOfTimeError
from treewarden.audit.worlds.facts.facts import Facts
from treewarden.audit.worlds.found.pool import Pool, Swap
from treewarden.audit.worlds.proofs.bounds import Bounds, ContradictionError, Proof
from treewarden.audit.worlds.proofs.learned import Ref
from treewarden.audit.worlds.queries import Asker, Effort, Question, open_question
from treewarden.audit.worlds.snapshot import Found, Since, Start
from treewarden.ppdm_models.arrays import BoolArray, IntArray

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

    def is_left(self, bounds: Bounds, pool: Pool) -> bool:
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
    effort: Effort
    work: float
    nodes: frozenset[int] = frozenset()

    @property
    def most(self) -> int:
        return 2 * len(self.cells)

    def is_left(self, bounds: Bounds, pool: Pool) -> bool:
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
class Together:
    """The same of some cells below a node at once, as far as CP-SAT can tell."""

    node: int
    cells: tuple[Cell, ...]
    effort: Effort
    work: float

    @property
    def nodes(self) -> frozenset[int]:
        return frozenset({self.node})

    @property
    def most(self) -> int:
        return 2 * len(self.cells)

    def is_left(self, bounds: Bounds, pool: Pool) -> bool:
        return _is_left(self.cells, bounds, pool)

    def put(self, asker: Asker) -> None:
        questions = list(_questions(self.cells, asker.bounds, asker.pool))
        asker.settle_together(self.node, questions, self.effort)


@dataclass(frozen=True, slots=True)
class Single:
    """One question."""

    question: Question
    effort: Effort

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

    def is_left(self, bounds: Bounds, pool: Pool) -> bool:
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
    """What came of a portion: see ``Asker`` and ``Learned``; ``conflict`` is why there is no world, if so."""

    asked: int = 0
    proofs: tuple[Proof, ...] = ()
    worlds: tuple[World, ...] = ()
    lines: Mapping[int, tuple[Ref, ...]] = field(default_factory=dict)
    met: Mapping[int, tuple[Ref, ...]] = field(default_factory=dict)
    allowed: tuple[tuple[int, Question], ...] = ()
    conflict: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """A job: what to ask, of whom else (``wanted``), no more than ``most`` questions, until when, and what is known."""

    ask: Ask
    wanted: Callable[[Facts, Bounds, Pool], BoolArray]
    most: int | None
    allowed: tuple[tuple[int, Question], ...]
    clock: Clock
    start: Common[Start]
    since: Common[Since]

    def __call__(self) -> News:
        """Return what is proved and found; where time runs out, what was by then."""
        start = self.start.value
        bounds, pool, learned = self.since.value.over(start)
        asker = Asker(start.facts, bounds, pool, self.clock, self.wanted, learned, self.most)
        asker.allowed = set(self.allowed)
        conflict: tuple[str, ...] = ()
        try:
            self.ask.put(asker)
        except OutOfTimeError:
            pass
        except ContradictionError as contradiction:
            conflict = contradiction.says
        return News(
            asker.asked,
            tuple(asker.proofs),
            tuple(_worlds(pool, start.first)),
            {
                node: _new(each.lines, learned.lines.get(node, ()))
                for node, each in asker.scopes.items()
            },
            {
                node: _new(each.met, learned.met.get(node, ()))
                for node, each in asker.scopes.items()
            },
            tuple(asker.allowed.difference(self.allowed)),
            conflict,
        )


def _new(refs: Iterable[Ref], known: Iterable[Ref]) -> tuple[Ref, ...]:
    """Return what was not known, in the order in which it was met."""
    before = set(known)
    return tuple(each for each in refs if each not in before)


def _worlds(pool: Found, first: IntArray) -> Iterator[World]:
    for table, swaps in pool.worlds:
        differs = np.flatnonzero((table != first).any(axis=1))
        start, end = (int(differs[0]), int(differs[-1]) + 1) if len(differs) else (0, 0)
        yield World(start, table[start:end], tuple(swaps))


def _questions(cells: Sequence[Cell], bounds: Bounds, pool: Pool) -> Iterator[Question]:
    for cell in cells:
        for sign in (1, -1):
            question = open_question(bounds, pool, cell, sign)
            if question is not None:
                yield question


def _is_left(cells: Sequence[Cell], bounds: Bounds, pool: Pool) -> bool:
    return next(_questions(cells, bounds, pool), None) is not None
