"""One-swap neighbours of a consistent table: two records of a leaf trade classes, and only the rows above can break."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.consistent_tables.facts.splits import AttributeSplits
from treewarden.audit.consistent_tables.witnesses.change_checker import ChangeChecker
from treewarden.audit.consistent_tables.witnesses.witness_pool import (
    Swap,
    TableChanges,
    WitnessPool,
)
from treewarden.audit.progress import Clock, OutOfTimeError
from treewarden.ppdm_models.arrays import BoolArray, IntArray

if TYPE_CHECKING:  # numpy.random is heavy, and most audits draw nothing
    Kept = tuple[np.random.Generator, ChangeChecker, Clock]
    """What calls share: the draws, what is known of a table, and the budget."""
MOST_PARTNERS = 3000
FIRST_PARTNERS = 64
FEWEST_TOGETHER = 3
PARTNERS_TOGETHER = 4
BASES = 6
ALL_EXACT = 2**62
"""Of swaps all that floats cannot tell are counted exactly."""


def swap_stuck(
    facts: Facts, pool: WitnessPool, open_cells: BoolArray, clock: Clock, only: slice | None = None
) -> None:
    """Try to move every wanted cell (P, m) that no world of the pool moves by one swap, from a few worlds in turn.

    With ``only`` the newest world is tried, and the cells of those positions: elsewhere it is as the first.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    draw = np.random.default_rng(0)
    of_place = facts.place_of()
    newest = len(pool.tables) - 1
    for base in range(min(BASES, newest + 1)) if only is None else (newest,):
        checker = ChangeChecker(facts, pool.tables[base], ALL_EXACT)
        is_stuck = open_cells & (pool.low == pool.high)
        if only is not None:
            is_stuck[: only.start] = is_stuck[only.stop :] = False
        cells = np.argwhere(is_stuck)
        for node, some in groupby(cells.tolist(), key=lambda cell: int(of_place[cell[0]])):
            mine = list(some)
            _move_together(facts, pool, base, (node, mine), (draw, checker, clock))
            for position, klass in mine:
                clock.check()
                if pool.low[position, klass] == pool.high[position, klass]:
                    _move(facts, pool, base, (node, position, klass), (draw, checker, clock))


def swap_worst(facts: Facts, pool: WitnessPool, positions: Sequence[int], clock: Clock) -> None:
    """Look for a swap that takes each of these profiles away from the pool's first world, where none is known."""
    draw, of_place = np.random.default_rng(0), facts.place_of()
    checker = ChangeChecker(facts, pool.tables[0], ALL_EXACT)
    for position in positions:
        if clock.is_over:
            return
        if position in pool.swaps and pool.swaps[position][0] == 0:
            continue
        node, klass = int(of_place[position]), int(pool.tables[0][position].argmax())
        pool.swaps.pop(position, None)
        try:
            _move(facts, pool, 0, (node, position, klass), (draw, checker, clock))
        except OutOfTimeError:
            return


def _move_together(
    facts: Facts,
    pool: WitnessPool,
    base: int,
    cells: tuple[int, Sequence[Sequence[int]]],
    kept_between: Kept,
) -> None:
    """Try a few partners for each of many cells of a leaf at once: where rows are loose that moves nearly all."""
    node, mine = cells
    draw, checker, clock = kept_between
    if len(mine) < FEWEST_TOGETHER:
        return
    leaf, trades = _LeafTrades(facts, pool.tables[base], node), []
    for position, klass in mine:
        clock.check()
        number = leaf.count(position, klass)
        if number:
            chosen = draw.integers(number, size=PARTNERS_TOGETHER)
            trades.append(leaf.columns(position, klass, chosen))
    if not trades:
        return
    together = np.concatenate(trades, axis=1)
    first, own, second, other = together
    stuck = pool.low == pool.high
    may_move = stuck[first, own] | stuck[first, other] | stuck[second, own] | stuck[second, other]
    for swap in swaps_of(checker, node, together[:, may_move], clock):
        if pool.is_moved_by(swap):
            pool.add_swap(base, swap)


def _move(
    facts: Facts,
    pool: WitnessPool,
    base: int,
    cell: tuple[int, int, int],
    kept_between: Kept,
) -> bool:
    """Note the first swap that takes a record of the class away from the profile, or gives it one."""
    draw, checker, clock = kept_between
    node, table = cell[0], pool.tables[base]
    if not facts.places[node].is_fixed and _flip(facts, pool, base, cell, kept_between):
        return True
    trades = trades_of(facts, table, cell)
    number = trades.shape[1]
    if number > MOST_PARTNERS:
        trades = trades[:, draw.choice(number, MOST_PARTNERS, replace=False)]
    for some in (trades[:, :FIRST_PARTNERS], trades[:, FIRST_PARTNERS:]):
        for swap in swaps_of(checker, node, some, clock):
            pool.add_swap(base, swap)
            return True
    return False


class _LeafTrades:
    """The swaps inside a leaf that change a cell, as columns: position, its class, partner, the partner's class.

    First stand those in which the cell's profile gives away the class, then for each class that it has those in which
    it gets the cell's one. They are counted, and made only when they are chosen.
    """

    def __init__(self, facts: Facts, table: IntArray, node: int) -> None:
        place = facts.places[node]
        self.start, self.here = place.start, table[place.start : place.end]
        self._others: dict[int, tuple[IntArray, IntArray]] = {}

    def list_others(self, klass: int) -> tuple[IntArray, IntArray]:
        """Return who has a record of another class, and of which, in order."""
        if klass not in self._others:
            is_other = np.arange(self.here.shape[1]) != klass
            seconds, classes = np.nonzero(self.here * is_other)
            self._others[klass] = seconds.astype(np.int64), classes.astype(np.int64)
        return self._others[klass]

    def list_other_classes(self, position: int, klass: int) -> IntArray:
        """Return which other classes a profile has."""
        held = np.flatnonzero(self.here[position - self.start])
        return np.asarray(held[held != klass])

    def count(self, position: int, klass: int) -> int:
        """Return how many there are of a cell."""
        has, at = self.here[:, klass], position - self.start
        held = self.list_other_classes(position, klass).size
        number = held * (int(np.count_nonzero(has)) - bool(has[at]))
        return number + (len(self.list_others(klass)[0]) - held if has[at] else 0)

    def columns(self, position: int, klass: int, chosen: IntArray) -> IntArray:
        """Return those of a cell with some numbers, (4, K)."""
        at = position - self.start
        seconds, classes = self.list_others(klass)
        before, after = np.searchsorted(seconds, [at, at + 1])
        giving = len(seconds) - int(after - before) if self.here[at, klass] else 0
        found = np.empty((4, len(chosen)), dtype=np.int64)
        found[0] = position
        is_given = chosen < giving
        given = chosen[is_given]
        given = given + (given >= before) * (after - before)
        found[1:, is_given] = np.full(len(given), klass), seconds[given], classes[given]
        taken = chosen[~is_given] - giving
        if len(taken):
            having = np.flatnonzero(self.here[:, klass])
            having = having[having != at]
            held = self.list_other_classes(position, klass)[taken // len(having)]
            partners = having[taken % len(having)]
            found[1:, ~is_given] = held, partners, np.full(len(taken), klass)
        found[2] += self.start
        return found


def trades_of(facts: Facts, table: IntArray, cell: tuple[int, int, int]) -> IntArray:
    """Return the swaps inside a leaf that change a cell as columns: position, its class, partner, the partner's."""
    node, position, klass = cell
    leaf = _LeafTrades(facts, table, node)
    return leaf.columns(position, klass, np.arange(leaf.count(position, klass)))


def swaps_of(checker: ChangeChecker, node: int, trades: IntArray, clock: Clock) -> Iterator[Swap]:
    """Yield those swaps inside a leaf that lead to a world.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    position, own, second, other = trades
    changes = TableChanges(position, own, second, other, to=other)
    for number in checker.allowed(changes, clock, node).tolist():
        yield Swap(*trades[:, number].tolist())


def _flip(
    facts: Facts, pool: WitnessPool, base: int, cell: tuple[int, int, int], kept_between: Kept
) -> bool:
    """Change one record's class alone, where the leaf's counts are not known."""
    node, position, klass = cell
    held, others = pool.tables[base][position], set(range(facts.classes)) - {klass}
    pairs = [(klass, other) for other in others if held[klass]]
    pairs += [(other, klass) for other in others if held[other]]
    own, to = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    at = np.full(len(own), position)
    _, checker, clock = kept_between
    for number in checker.allowed(TableChanges(at, own, at, own, to), clock, node)[:1].tolist():
        pool.add_swap(base, Swap(position, pairs[number][0], None, pairs[number][1]))
        return True
    return False


# Whether swaps that another search found lead from one consistent table to another.


def swaps_hold(facts: Facts, table: IntArray, swaps: Sequence[Swap], clock: Clock) -> bool:
    """Return whether each swap leads from a world (P, m) to another one; exact.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    of_place, checker = facts.place_of(), ChangeChecker(facts, table, ALL_EXACT)
    by_leaf: dict[int, list[tuple[int, ...]]] = {}
    for swap in swaps:
        alone = swap.first, swap.klass
        second = alone if swap.second is None else (swap.second, swap.other)
        node = int(of_place[swap.first])
        if (swap.applied(table) < 0).any() or of_place[second[0]] != node:
            return False
        by_leaf.setdefault(node, []).append((*alone, *second, swap.other))
    return all(
        len(checker.allowed(TableChanges(*np.array(some).T), clock, node)) == len(some)
        for node, some in by_leaf.items()
    )


BASES_OF_TWO = 4
MOST_FIRST = 12
MOST_SECOND = 20_000
MOST_LEAVES = 8


def mend_stuck(facts: Facts, pool: WitnessPool, open_cells: BoolArray, clock: Clock) -> None:
    """Try to move every wanted cell (P, m) that no world of the pool moves by two swaps, from a few worlds in turn.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    every = [split for found in facts.splits.values() for split in found]
    if any(split.low is None for split in every) or any(facts.lines.values()):
        return
    of_place = facts.place_of()
    for base in range(min(BASES_OF_TWO, len(pool.tables))):
        mender = _Mender(facts, pool.tables[base], clock)
        for position, klass in np.argwhere(open_cells & (pool.low == pool.high)).tolist():
            if pool.low[position, klass] == pool.high[position, klass]:
                found = mender.other_table(int(of_place[position]), position, klass)
                if found is not None:
                    pool.add(found[None])


class _Mender:
    """A world, with what is asked of it again and again: the counts that its rows bound, the swaps below a node."""

    def __init__(self, facts: Facts, table: IntArray, clock: Clock) -> None:
        self.facts, self.table, self.clock = facts, table, clock
        self.counts: dict[int, IntArray] = {}
        self.below: dict[int, tuple[IntArray, IntArray]] = {}
        self.draw = np.random.default_rng(0)

    def other_table(self, node: int, position: int, klass: int) -> IntArray | None:
        """Return a world in which a cell of a leaf differs, or None where two swaps lead to none."""
        trades = trades_of(self.facts, self.table, (node, position, klass))
        steps = [
            (above, split, *self._after(split, trades))
            for above in self.facts.path(node)
            for split in self.facts.splits.get(above, ())
        ]
        broken = sum((bad.sum(axis=0) for *_, bad in steps), np.zeros(trades.shape[1], np.int64))
        for number in np.argsort(broken, kind="stable")[:MOST_FIRST].tolist():
            rows = [
                (above, split, bad[:, number], after[bad[:, number], number])
                for above, split, after, bad in steps
                if bad[:, number].any()
            ]
            found = self._mended(Swap(*trades[:, number].tolist()), rows) if rows else None
            if found is not None:
                return found
        return None

    def _after(self, split: AttributeSplits, trades: IntArray) -> tuple[IntArray, BoolArray]:
        """Return each candidate's count after each swap, (A, K), and whether it is none that the row allows."""
        self.clock.check()
        if id(split) not in self.counts:
            here = self.table[None, split.start : split.end, 0]
            self.counts[id(split)] = np.asarray(split.lefts(split.bins.sums(here))[0])
        after = self.counts[id(split)][:, None] + _change(split, trades, slice(None))
        return after, _misses(split, slice(None), after)

    def _mended(
        self, first: Swap, rows: list[tuple[int, AttributeSplits, BoolArray, IntArray]]
    ) -> IntArray | None:
        """Return a world after a swap and another one, below the lowest node whose rows (A,) the first one breaks."""
        table = first.applied(self.table)
        trades, leaves = self._swaps_below(rows[0][0])
        own, other = table[trades[0], trades[1]], table[trades[2], trades[3]]
        fits = (own > 0) & (other > 0) & (trades[[0, 2]] != first.first).all(axis=0)
        for _, split, bad, after in rows:
            self.clock.check()
            fits[fits] = ~_misses(
                split, bad, after[:, None] + _change(split, trades[:, fits], bad)
            ).any(axis=0)
        trades, leaves = trades[:, fits], leaves[fits]
        checker = ChangeChecker(self.facts, table, ALL_EXACT)
        for leaf in np.unique(leaves)[:MOST_LEAVES].tolist():
            for second in swaps_of(checker, leaf, trades[:, leaves == leaf], self.clock):
                return second.applied(table)
        return None

    def _swaps_below(self, node: int) -> tuple[IntArray, IntArray]:
        """Return swaps inside the leaves below a node as columns (4, K), and each one's leaf."""
        if node not in self.below:
            found = list(self._of_leaves(node))
            trades = np.concatenate([trades for trades, _ in found], axis=1)
            leaves = np.concatenate([np.full(t.shape[1], leaf) for t, leaf in found])
            if len(leaves) > MOST_SECOND:
                kept = np.sort(self.draw.choice(len(leaves), MOST_SECOND, replace=False))
                trades, leaves = trades[:, kept], leaves[kept]
            self.below[node] = trades, leaves
        return self.below[node]

    def _of_leaves(self, node: int) -> Iterator[tuple[IntArray, int]]:
        span = self.facts.span(node)
        for leaf, place in self.facts.places.items():
            if span.start <= place.start < span.stop:
                here = self.table[place.start : place.end]
                first, second = (np.flatnonzero(here[:, klass]) + place.start for klass in (0, 1))
                pairs = np.stack(np.meshgrid(first, second, indexing="ij")).reshape(2, -1)
                pairs = pairs[:, pairs[0] != pairs[1]]
                zero = np.zeros(pairs.shape[1], dtype=np.int64)
                yield np.stack([pairs[0], zero, pairs[1], zero + 1]), leaf


def _change(split: AttributeSplits, trades: IntArray, rows: slice | BoolArray) -> IntArray:
    """Return by how much each swap changes the first class's count on the left of candidates, (A, K)."""
    bins = split.bins.of
    first, second = (
        split.on_left(bins[trades[k] - split.start], rows).astype(np.int8) for k in (0, 2)
    )
    return np.asarray(np.where(trades[1] == 0, second - first, first - second))


def _misses(split: AttributeSplits, rows: slice | BoolArray, count: IntArray) -> BoolArray:
    assert split.low is not None
    assert split.high is not None
    return np.asarray((count < split.low[rows][:, None]) | (count > split.high[rows][:, None]))
