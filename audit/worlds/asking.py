"""Gives out questions in batches of portions, and takes in what comes of them, in their order.

All portions of a batch are put against what was known when it began. Which there are depends on what is known alone,
and not on who does them or how fast: so the same is proved and found by any number of processes, as long as the budget
lasts.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from treewarden.audit.solver.parcel import Common
from treewarden.audit.worlds.clock import Clock
from treewarden.audit.worlds.facts.facts import Facts, lowest_above
from treewarden.audit.worlds.found.check import path_holds, scope_holds
from treewarden.audit.worlds.found.pool import Pool
from treewarden.audit.worlds.found.swap_check import swaps_hold
from treewarden.audit.worlds.helpers import Answers, Helpers, done_here
from treewarden.audit.worlds.portions import Ask, Cell, News, Portion, World
from treewarden.audit.worlds.proofs.bounds import Bounds, ContradictionError, draw_in
from treewarden.audit.worlds.proofs.learned import Ref
from treewarden.audit.worlds.queries import Question
from treewarden.audit.worlds.snapshot import Start, start_of
from treewarden.ppdm_models.arrays import BoolArray, IntArray

Wanted = Callable[[Facts, Bounds, Pool], BoolArray]
MOST_TRAVELLING = 20_000_000
"""Positions in all splits together, of some eight bytes each, above which the facts stay in this process."""
MOST_SIDE_BY_SIDE = 32
"""Portions of a batch: few at first, then more, as what one of them finds out the others of its batch do without."""


def ask_on() -> bool:
    """Go on as long as there is time."""
    return False


@dataclass(eq=False)
class Asking:
    """What is proved (``bounds``) and found (``pool``), and who asks for more.

    ``stop`` says that no more need be asked. ``asked`` counts what the solvers were asked; ``lost`` are the cells of
    portions that ended their processes, of which nobody is asked again. ``lines``, ``met`` and ``allowed`` are what
    was learned: see ``Learned`` and ``Asker``.
    """

    facts: Facts
    bounds: Bounds
    pool: Pool
    clock: Clock
    stop: Callable[[], bool] = ask_on
    helpers: Helpers = field(default_factory=Helpers)
    asked: int = 0
    lost: set[Cell] = field(default_factory=set)
    lines: dict[int, dict[Ref, None]] = field(default_factory=dict)
    met: dict[int, dict[Ref, None]] = field(default_factory=dict)
    allowed: dict[Cell, set[tuple[int, Question]]] = field(default_factory=dict)
    start: Common[Start] | None = None

    def open(self, wanted: Wanted) -> BoolArray:
        """Return the cells that are asked about and not decided, shape (P, m)."""
        found = wanted(self.facts, self.bounds, self.pool)
        for cell in self.lost:
            found[cell] = False
        return found

    def is_over(self, end: int | None = None) -> bool:
        """Return whether no more is to be asked; ``end`` is how much is asked at most."""
        return self.clock.is_over or (end is not None and self.asked >= end) or self.stop()

    def put(
        self, asks: Iterable[Ask], wanted: Wanted, end: int | None = None, fewest: int = 1
    ) -> None:
        """Ask all of this that is not answered, in batches that grow from the ``fewest`` portions on.

        Raises:
            ContradictionError: no world obeys the facts.
            OutOfTimeError: the budget is used up.
        """
        left, size = deque(asks), fewest
        while left and not self.is_over(end):
            portions = self._batch(left, size, wanted, end)
            if not portions:
                return
            work = sum(each.ask.work for each in portions) + sum(each.work for each in left)
            is_there = self._may_travel and self.helpers.are_worth(portions, work)
            give = self.helpers.answers if is_there else done_here
            with closing(give(portions, self.clock)) as answers:
                self._take_in(portions, answers, is_there=is_there)
            size = min(2 * size, MOST_SIDE_BY_SIDE)

    @cached_property
    def _may_travel(self) -> bool:
        splits = (split for found in self.facts.splits.values() for split in found)
        return sum(split.end - split.start for split in splits) <= MOST_TRAVELLING

    def _batch(self, left: deque[Ask], size: int, wanted: Wanted, end: int | None) -> list[Portion]:
        """Take the next portions out of what is left: what is not answered, and never two of the same nodes."""
        if self.start is None:
            self.start = Common(start_of(self.facts, self.bounds, self.pool))
        since = Common(self.start.value.since(self.bounds, self.pool, self.lines, self.met))
        found: list[Portion] = []
        later: list[Ask] = []
        taken: set[int] = set()
        room = math.inf if end is None else end - self.asked
        while left and len(found) < size and room > 0:
            ask = left.popleft()
            if not taken.isdisjoint(ask.nodes):
                later.append(ask)
                continue
            if ask.is_left(self.bounds, self.pool):
                taken |= ask.nodes
                most = None if end is None else int(min(room, ask.most))
                room -= ask.most
                allowed = tuple(pair for cell in ask.cells for pair in self.allowed.get(cell, ()))
                found.append(Portion(ask, wanted, most, allowed, self.clock, self.start, since))
        left.extendleft(reversed(later))
        return found

    def _take_in(self, portions: Iterable[Portion], answers: Answers, *, is_there: bool) -> None:
        """Note what comes of portions; what the news of others answers meanwhile is done without."""
        for news_of, portion in zip(answers, portions, strict=False):
            if self.stop():
                return
            if not portion.ask.is_left(self.bounds, self.pool):
                continue
            news = news_of()
            if news is None:
                self.lost.update(portion.ask.cells)
                continue
            self.asked += news.asked
            self._note(news)
            for world in news.worlds:
                self._add(world, is_known=not is_there)

    def _note(self, news: News) -> None:
        """Note what was proved and learned.

        Raises:
            ContradictionError: no world obeys the facts.
        """
        for proof in news.proofs:
            draw_in(self.facts, self.bounds, proof)
        if news.conflict:
            raise ContradictionError(*news.conflict)
        for known, new in ((self.lines, news.lines), (self.met, news.met)):
            for node, refs in new.items():
                known.setdefault(node, {}).update(dict.fromkeys(refs))
        for pair in news.allowed:
            self.allowed.setdefault(pair[1].cell, set()).add(pair)

    def _add(self, world: World, *, is_known: bool) -> None:
        """Add a world and its neighbours to the pool; what another process found is checked here too.

        Raises:
            OutOfTimeError: the budget is used up.
        """
        table, number = world.over(self.pool.tables[0]), len(self.pool.tables)
        if not is_known and not self._holds(world, table):
            raise AssertionError("what another process found is no world")
        self.pool.add(table[None])
        for swap in world.swaps:
            if len(self.pool.tables) > number:
                self.pool.add_swap(number, swap)
            else:
                self.pool.add(swap.applied(table)[None])

    def _holds(self, world: World, table: IntArray) -> bool:
        """Return whether a table is a world, as the first one is, and its neighbours are too."""
        ends = np.array([world.start, world.start + max(len(world.table), 1) - 1])
        node = lowest_above(self.facts.case, ends)
        return (
            scope_holds(self.facts, node, table, self.clock)
            and path_holds(self.facts, node, table, self.clock)
            and swaps_hold(self.facts, table, world.swaps, self.clock)
        )
