"""The question queue: which cells without a witness are put to the solvers, in which order, and below which nodes."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from treewarden.audit.bounds import CellBounds, ContradictionError
from treewarden.audit.consistent_tables.facts.facts import Facts, lowest_above
from treewarden.audit.consistent_tables.portions import (
    Answers,
    Ask,
    Cell,
    FixedState,
    Helpers,
    JoinedQuestions,
    News,
    OneByOne,
    Portion,
    World,
    done_here,
    start_of,
)
from treewarden.audit.consistent_tables.proofs import cpsat
from treewarden.audit.consistent_tables.proofs.bounds import draw_in
from treewarden.audit.consistent_tables.proofs.relax import Ref
from treewarden.audit.consistent_tables.queries import (
    Asker,
    CellQuestion,
    QuestionEffort,
    has_rows,
    is_large,
)
from treewarden.audit.consistent_tables.witnesses.one_swap_search import swaps_hold
from treewarden.audit.consistent_tables.witnesses.witness_pool import (
    WitnessPool,
    first_broken,
    may_be_certain,
    not_moved,
    path_holds,
    scope_holds,
)
from treewarden.audit.engine.time_budget import FIRST_PROGRAM_SHARE, FIRST_TABLE_SHARE
from treewarden.audit.progress import Clock
from treewarden.audit.workers.pool import Common
from treewarden.ppdm_models.arrays import BoolArray, IntArray

# The question queue: gives out questions in batches of portions, and takes in their answers in the same order.
#
# All portions of a batch are put against what was known when it began. Which portions there are depends
# on what is known alone, and not on who does them or how fast: so the same is proved and found by any number of
# processes, as long as the budget lasts.

Wanted = Callable[[Facts, CellBounds, WitnessPool], BoolArray]
MOST_TRAVELLING = 20_000_000
"""Positions in all splits together, of some eight bytes each, above which the facts stay in this process."""
MOST_SIDE_BY_SIDE = 32
"""Portions of a batch: few at first, then more, as what one of them finds out the others of its batch do without."""


def ask_on() -> bool:
    """Go on as long as there is time."""
    return False


@dataclass(eq=False)
class QuestionQueue:
    """What is proved (``bounds``) and found (``pool``), and who asks for more.

    ``stop`` says that no more need be asked. ``asked`` counts what the solvers were asked; ``lost`` are the cells of
    portions that ended their processes, of which nobody is asked again. ``lines``, ``met`` and ``allowed`` are what
    was learned: see ``LearnedCuts`` and ``Asker``.
    """

    facts: Facts
    bounds: CellBounds
    pool: WitnessPool
    clock: Clock
    stop: Callable[[], bool] = ask_on
    helpers: Helpers = field(default_factory=Helpers)
    asked: int = 0
    lost: set[Cell] = field(default_factory=set)
    lines: dict[int, dict[Ref, None]] = field(default_factory=dict)
    met: dict[int, dict[Ref, None]] = field(default_factory=dict)
    allowed: dict[Cell, set[tuple[int, CellQuestion]]] = field(default_factory=dict)
    start: Common[FixedState] | None = None

    def open(self, choose_cells: Wanted) -> BoolArray:
        """Return the cells that are asked about and not decided, shape (P, m)."""
        found = choose_cells(self.facts, self.bounds, self.pool)
        for cell in self.lost:
            found[cell] = False
        return found

    def is_over(self, end: int | None = None) -> bool:
        """Return whether no more is to be asked; ``end`` is how much is asked at most."""
        return self.clock.is_over or (end is not None and self.asked >= end) or self.stop()

    def put(
        self, asks: Iterable[Ask], choose_cells: Wanted, end: int | None = None, fewest: int = 1
    ) -> None:
        """Ask all of this that is not answered, in batches that grow from the ``fewest`` portions on.

        Raises:
            ContradictionError: no world obeys the facts.
            OutOfTimeError: the budget is used up.
        """
        left, size = deque(asks), fewest
        while left and not self.is_over(end):
            portions = self._batch(left, size, choose_cells, end)
            if not portions:
                return
            work = sum(portion.ask.work for portion in portions) + sum(ask.work for ask in left)
            is_there = self._may_travel and self.helpers.are_worth(portions, work)
            give = self.helpers.answers if is_there else done_here
            with closing(give(portions, self.clock)) as answers:
                self._take_in(portions, answers, is_there=is_there)
            size = min(2 * size, MOST_SIDE_BY_SIDE)

    @cached_property
    def _may_travel(self) -> bool:
        splits = (split for found in self.facts.splits.values() for split in found)
        return sum(split.end - split.start for split in splits) <= MOST_TRAVELLING

    def _batch(
        self, left: deque[Ask], size: int, choose_cells: Wanted, end: int | None
    ) -> list[Portion]:
        """Take the next portions out of what is left: what is not answered, and never two of the same nodes."""
        if self.start is None:
            self.start = Common(start_of(self.facts, self.bounds, self.pool))
        since = Common(self.start.value.since(self.bounds, self.pool, self.lines, self.met))
        portions: list[Portion] = []
        later: list[Ask] = []
        taken: set[int] = set()
        room = math.inf if end is None else end - self.asked
        while left and len(portions) < size and room > 0:
            ask = left.popleft()
            if not taken.isdisjoint(ask.nodes):
                later.append(ask)
                continue
            if ask.is_left(self.bounds, self.pool):
                taken |= ask.nodes
                most = None if end is None else int(min(room, ask.most))
                room -= ask.most
                allowed = tuple(pair for cell in ask.cells for pair in self.allowed.get(cell, ()))
                portions.append(
                    Portion(
                        ask=ask,
                        wanted=choose_cells,
                        most=most,
                        allowed=allowed,
                        clock=self.clock,
                        start=self.start,
                        since=since,
                    )
                )
        left.extendleft(reversed(later))
        return portions

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
            for cell in news.unsure:
                self.pool.unsure[cell] = True
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
        assert self.start is not None
        table, number = world.over(self.start.value.first), len(self.pool.tables)
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
        assert self.start is not None
        if not self.start.value.is_shown:
            is_world = first_broken(self.pool.facts, table, self.clock) is None
            return is_world and swaps_hold(self.pool.facts, table, world.swaps, self.clock)
        ends = np.array([world.start, world.start + max(len(world.table), 1) - 1])
        node = lowest_above(self.facts.case, ends)
        return (
            scope_holds(self.pool.facts, node, table, self.clock)
            and path_holds(self.pool.facts, node, table, self.clock)
            and swaps_hold(self.pool.facts, table, world.swaps, self.clock)
        )


# The nodes below which a cell is asked about: those with rows above it, as far as solvers take them, lowest first.


class QuestionNodes:
    """The nodes below which cells are asked about."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.of_place = facts, facts.place_of()
        self.known: dict[int, tuple[int, ...]] = {}
        self.sizes: dict[int, int] = {}

    def nodes(self, cell: Cell) -> tuple[int, ...]:
        """Return those of a cell, the lowest first."""
        place = int(self.of_place[cell[0]])
        if place not in self.known:
            path = (each for each in self.facts.path(place) if not is_large(self.facts, each))
            self.known[place] = tuple(each for each in path if has_rows(self.facts, each))
        return self.known[place]

    def lowest(self, cells: Iterable[Cell]) -> frozenset[int]:
        """Return the lowest one of each of some cells that have any."""
        return frozenset(nodes[0] for nodes in map(self.nodes, cells) if nodes)

    def size(self, cell: Cell, levels: int) -> int:
        """Return how many cells times candidates there are below the highest of so many."""
        nodes = self.nodes(cell)[:levels]
        return self._size(nodes[-1]) if nodes else 0

    def _size(self, node: int) -> int:
        if node not in self.sizes:
            facts, span = self.facts, self.facts.span(node)
            below = (facts.splits.get(step.index, ()) for step in facts.tree.below(node))
            candidates = sum(split.size for splits in below for split in splits)
            self.sizes[node] = int(span.stop - span.start) * facts.classes * candidates
        return self.sizes[node]


FIRST_UNITS = 5.0
PORTION_UNITS = 0.8
"""Deterministic seconds that a solver may search for the answers of a portion."""
LINEAR_SIZE, CURVED_SIZE = 5e6, 1e5
"""Cells times candidates below the nodes of a portion's questions, all together: about half a second's work. With two
classes rows are nearly linear."""
MOST_WORK = 4.0
"""Portions that a question counts as at most: how long a hard one takes is not known beforehand."""
TOGETHER_CELLS = 50
"""Cells that are asked about at once, both ways."""
EFFORTS = (
    QuestionEffort(2, 10, 0.1, 4),
    QuestionEffort(4, 30, 0.5, 4),
    QuestionEffort(10_000, 60, 3.0),
)
"""The first passes are short, so that a hard question does not hold up easy ones. In the last one all are about the
whole tree, and what the first finds out helps the others."""


def decide_certain(asking: QuestionQueue) -> None:
    """Ask of every profile that may be certain whether it is: prove it, or find a world where it is not.

    Raises:
        ContradictionError: no world obeys the facts.
        OutOfTimeError: the budget is used up.
    """
    if asking.pool.first is None:
        return
    for effort in EFFORTS:
        cells = _cells(asking.open(may_be_certain))
        asks = _one_by_one(asking.facts, cells, effort)
        asking.put(asks, may_be_certain, fewest=effort.fewest)


def decide_rest(asking: QuestionQueue, most: int | None) -> bool:
    """Ask whether each value that no world has is ruled out, then how far the other cells that none moves can go.

    At most so many questions are put, with little effort (None: all of them); return whether some were not.

    Raises:
        ContradictionError: no world obeys the facts.
        OutOfTimeError: the budget is used up.
    """
    if asking.pool.first is None:
        return False
    facts, end = asking.facts, None if most is None else asking.asked + most
    for number, effort in enumerate(EFFORTS if most is None else EFFORTS[:1]):
        absent = asking.pool.high == 0
        if not number and facts.classes > 2:
            cells = _cells(asking.open(not_moved))
            asking.put(_together(facts, cells, effort), not_moved, end, effort.fewest)
        is_open = asking.open(not_moved)
        for some in (is_open & absent, is_open & ~absent):
            asks = _one_by_one(facts, _cells(some), effort)
            asking.put(asks, not_moved, end, effort.fewest)
    return most is not None and asking.asked >= (end or 0) and bool(asking.open(not_moved).any())


def _cells(mask: BoolArray) -> list[Cell]:
    return [(position, klass) for position, klass in np.argwhere(mask).tolist()]


def _one_by_one(facts: Facts, cells: list[Cell], effort: QuestionEffort) -> Iterator[OneByOne]:
    """Yield portions of neighbouring cells: one at first, as the first answer may be enough, then more.

    What is easy is mostly settled below the lowest node, for other cells there too: so one portion follows another
    there. Hard questions are put by themselves, and side by side wherever they are.
    """
    above = QuestionNodes(facts)
    some: list[Cell] = []
    work, full = 0.0, 0.0
    for cell in cells:
        some.append(cell)
        work += _work(above, cell, effort)
        if work >= full or cell == cells[-1]:
            is_hard = work >= len(some)
            nodes = frozenset[int]() if is_hard else above.lowest(some)
            yield OneByOne(tuple(some), effort, work, nodes)
            some, work, full = [], 0.0, min(1.0, 2 * full or 0.25)


def _together(facts: Facts, cells: list[Cell], effort: QuestionEffort) -> Iterator[JoinedQuestions]:
    """Yield portions of all these cells below each lowest node with rows."""
    above = QuestionNodes(facts)
    below: dict[int, list[Cell]] = {}
    for cell in cells:
        for node in above.nodes(cell)[:1]:
            below.setdefault(node, []).append(cell)
    for node, mine in below.items():
        for begin in range(0, len(mine), TOGETHER_CELLS):
            some = tuple(mine[begin : begin + TOGETHER_CELLS])
            yield JoinedQuestions(
                node, some, effort, _work(above, some[0], replace(effort, levels=1))
            )


def _work(above: QuestionNodes, cell: Cell, effort: QuestionEffort) -> float:
    """Return about how much work a question is, as part of a portion."""
    full = LINEAR_SIZE if above.facts.classes == 2 else CURVED_SIZE
    work = max(effort.units / PORTION_UNITS, above.size(cell, effort.levels) / full)
    return min(work, MOST_WORK)


def first_world(asker: Asker) -> None:
    """Look for any world, where there is no truth and the sampler gave up.

    Raises:
        ContradictionError: no world obeys the facts.
    """
    bounds, clock = asker.bounds, asker.clock
    scope = asker.scope(0)
    free = np.argwhere(bounds.low < bounds.high)
    cell = (int(free[0][0]), int(free[0][1])) if len(free) else (0, 0)
    answer = scope.least(cell, 1, 2**60, clock.share(FIRST_PROGRAM_SHARE))
    if answer.bound is None:
        raise ContradictionError(*answer.says)
    points = [] if answer.point is None else [answer.point]
    anything = int(bounds.high[cell]) + 1
    exact = cpsat.ask(scope, [(cell, 1, anything)], clock.share(FIRST_TABLE_SHARE), FIRST_UNITS)
    if exact is not None and exact.point is None:
        raise ContradictionError(*exact.says)
    points += [] if exact is None or exact.point is None else [exact.point]
    for point in (np.rint(each).astype(np.int64) for each in points):
        if (point < 0).any() or first_broken(asker.facts, point) is not None:
            continue
        shows = first_broken(asker.pool.facts, point) is None
        asker.pool.add_some(point[None], np.array([shows]))
        if shows:
            return
