"""One-swap neighbours of a consistent table: two records of a leaf trade classes, and only the rows above can break."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.consistent_tables.facts.splits import AttributeSplits
from treewarden.audit.consistent_tables.witnesses.changes import TableChanges, moved_excess
from treewarden.audit.consistent_tables.witnesses.witness_pool import Swap, WitnessPool, path_holds
from treewarden.audit.facts.rows import Grouping
from treewarden.audit.progress import Clock, OutOfTimeError
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray

Known = dict[int, tuple[FloatArray, FloatArray]]
if TYPE_CHECKING:  # numpy.random is heavy, and most audits draw nothing
    Kept = tuple[np.random.Generator, Known, Clock]
    """What calls share: the draws, what a table has per split, and the budget."""
MOST_PARTNERS = 3000
FIRST_PARTNERS = 64
FEWEST_TOGETHER = 3
PARTNERS_TOGETHER = 4
BASES = 6
TOGETHER_CELLS = 500_000
"""Swaps times candidates that are held against each other between two looks at the clock."""


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
        before: Known = {}
        is_stuck = open_cells & (pool.low == pool.high)
        if only is not None:
            is_stuck[: only.start] = is_stuck[only.stop :] = False
        cells = np.argwhere(is_stuck)
        for node, some in groupby(cells.tolist(), key=lambda cell: int(of_place[cell[0]])):
            mine = list(some)
            _move_together(facts, pool, base, (node, mine), (draw, before, clock))
            for position, klass in mine:
                clock.check()
                if pool.low[position, klass] == pool.high[position, klass]:
                    _move(facts, pool, base, (node, position, klass), (draw, before, clock))


def swap_worst(facts: Facts, pool: WitnessPool, positions: Sequence[int], clock: Clock) -> None:
    """Look for a swap that takes each of these profiles away from the pool's first world, where none is known."""
    draw, before = np.random.default_rng(0), Known()
    of_place = facts.place_of()
    for position in positions:
        if clock.is_over:
            return
        if position in pool.swaps and pool.swaps[position][0] == 0:
            continue
        node, klass = int(of_place[position]), int(pool.tables[0][position].argmax())
        pool.swaps.pop(position, None)
        try:
            _move(facts, pool, 0, (node, position, klass), (draw, before, clock))
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
    draw, before, clock = kept_between
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
    for swap in swaps_of(facts, pool.tables[base], node, together[:, may_move], before, clock):
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
    draw, before, clock = kept_between
    node, table = cell[0], pool.tables[base]
    if not facts.places[node].is_fixed and _flip(facts, pool, base, cell, clock):
        return True
    trades = trades_of(facts, table, cell)
    number = trades.shape[1]
    if number > MOST_PARTNERS:
        trades = trades[:, draw.choice(number, MOST_PARTNERS, replace=False)]
    for some in (trades[:, :FIRST_PARTNERS], trades[:, FIRST_PARTNERS:]):
        for swap in swaps_of(facts, table, node, some, before, clock):
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


def swaps_of(
    facts: Facts, table: IntArray, node: int, trades: IntArray, before: Known, clock: Clock
) -> Iterator[Swap]:
    """Yield those swaps inside a leaf that lead to a world.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    for above in facts.path(node):
        for split in facts.splits.get(above, ()):
            if not trades.shape[1]:
                return
            step = max(1, TOGETHER_CELLS // split.size)
            good = []
            for begin in range(0, trades.shape[1], step):
                clock.check()
                good.append(_allowed(split, table, trades[:, begin : begin + step], before))
            trades = trades[:, np.concatenate(good)]
    lines = [line for above in facts.path(node) for line in facts.lines.get(above, ())]
    for position, own, second, other in trades.T.tolist():
        swap = Swap(position, own, second, other)
        if not lines or all(line.holds(after) for after in [swap.applied(table)] for line in lines):
            yield swap


def _flip(
    facts: Facts, pool: WitnessPool, base: int, cell: tuple[int, int, int], clock: Clock
) -> bool:
    """Change one record's class alone, where the leaf's counts are not known."""
    node, position, klass = cell
    table = pool.tables[base]
    pairs = [(klass, c) for c in range(facts.classes) if c != klass and table[position, klass]]
    pairs += [(c, klass) for c in range(facts.classes) if c != klass and table[position, c]]
    for own, other in pairs:
        swap = Swap(position, own, None, other)
        if is_other(facts, node, swap.applied(table), clock):
            pool.add_swap(base, swap)
            return True
    return False


def is_other(facts: Facts, node: int, table: IntArray, clock: Clock) -> bool:
    """Return whether a world is still one after a record of a leaf has changed alone."""
    place = facts.places[node]
    totals = table[place.start : place.end].sum(axis=0)
    return bool(place.holds(totals)) and path_holds(facts, node, table, clock)


def _allowed(
    split: AttributeSplits,
    table: IntArray,
    trades: IntArray,
    before: Known,
) -> BoolArray:
    """Return which trades (position, own class, second position, its class; shape (4, K)) obey the rows; exact.

    A trade inside one leaf changes no branch of the chosen split. ``before`` remembers what the table has per split.
    """
    position, own, second, other = trades
    bin_first, bin_second = (split.bins.of[at - split.start] for at in (position, second))
    here = table[split.start : split.end]
    if split.low is not None:
        if id(split) not in before:
            count = split.lefts(split.bins.sums(here[None, :, 0]))[0].astype(np.float64)
            before[id(split)] = (count, count)
        return _in_intervals(split, before[id(split)][0], (bin_first, bin_second), own)
    if id(split) not in before:
        mass = split.branches(split.bins.sums(split.weighed(here[None])))[0].astype(np.float64)
        before[id(split)] = (split.excess(here[None])[0][:, None], mass)
    steps = np.ones(len(own), dtype=np.int64)
    if split.weights is not None:
        steps = split.weights[position - split.start]
    excess, mass = before[id(split)]
    changes = TableChanges(position, own, second, other, to=other)
    over = excess + moved_excess(split, mass, (bin_first, bin_second), changes, steps) - split.limit
    near = np.abs(over) <= 2 * split.doubt[:, None]
    bad: BoolArray = np.asarray(((over > 0) & ~near).any(axis=0))
    for number in np.flatnonzero(near.any(axis=0) & ~bad).tolist():
        after = Swap(*trades[:, number].tolist()).applied(table)[split.start : split.end]
        bad[number] = any(split.is_beaten(after, int(a)) for a in np.flatnonzero(near[:, number]))
    if split.weights is not None:
        # Records of other weights would change the branches of the chosen split too.
        bad |= split.weights[second - split.start] != steps
    return np.asarray(~bad)


def _in_intervals(
    split: AttributeSplits, count: FloatArray, bins: tuple[IntArray, IntArray], own_class: IntArray
) -> BoolArray:
    assert split.low is not None
    assert split.high is not None
    gain = np.where(own_class == 0, -1, 1)
    if split.family.grouping is not Grouping.THRESHOLD:
        first, second = (split.on_left(each).astype(np.int8) for each in bins)
        after = count[:, None] + gain * (first - second)
        inside = (after >= split.low[:, None]) & (after <= split.high[:, None])
        return np.asarray(inside.all(axis=0))
    # Only the cuts between the two records' bins see the swap, by one record.
    low, high = np.minimum(*bins), np.maximum(*bins)
    ends = np.searchsorted(split.family.admissible, np.stack([low, high]))
    step = np.where(bins[0] < bins[1], gain, -gain)
    bad = {
        moved: np.concatenate(
            [[0], np.cumsum((count + moved < split.low) | (count + moved > split.high))]
        )
        for moved in (-1, 0, 1)
    }
    between = {moved: sums[ends[1]] - sums[ends[0]] for moved, sums in bad.items()}
    moved_well = np.where(step > 0, between[1], between[-1]) == 0
    return np.asarray(moved_well & (bad[0][-1] == between[0]))


# Whether swaps that another search found lead from one consistent table to another.


def swaps_hold(facts: Facts, table: IntArray, swaps: Sequence[Swap], clock: Clock) -> bool:
    """Return whether each swap leads from a world (P, m) to another one; exact.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    of_place, before = facts.place_of(), dict[int, tuple[FloatArray, FloatArray]]()
    by_leaf: dict[int, list[tuple[int, int, int, int]]] = {}
    for swap in swaps:
        node = int(of_place[swap.first])
        if (swap.applied(table) < 0).any():
            return False
        if swap.second is None:
            if not is_other(facts, node, swap.applied(table), clock):
                return False
        elif of_place[swap.second] != node:
            return False
        else:
            by_leaf.setdefault(node, []).append((swap.first, swap.klass, swap.second, swap.other))
    return all(
        sum(1 for _ in swaps_of(facts, table, node, np.array(some).T, before, clock)) == len(some)
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
        for leaf in np.unique(leaves)[:MOST_LEAVES].tolist():
            for second in swaps_of(
                self.facts, table, leaf, trades[:, leaves == leaf], {}, self.clock
            ):
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
