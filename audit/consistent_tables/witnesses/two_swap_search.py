"""Worlds two swaps away: where one swap of two records breaks rows, another one in some leaf nearby may mend them.

For two classes with known leaf counts, where every split row is an interval of one count.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.consistent_tables.facts.splits import AttributeSplits
from treewarden.audit.consistent_tables.witnesses.one_swap_search import swaps_of, trades_of
from treewarden.audit.consistent_tables.witnesses.witness_pool import Swap, WitnessPool
from treewarden.audit.progress import Clock
from treewarden.ppdm_models.arrays import BoolArray, IntArray

BASES = 4
MOST_FIRST = 12
MOST_SECOND = 20_000
MOST_LEAVES = 8


def mend_stuck(facts: Facts, pool: WitnessPool, wanted: BoolArray, clock: Clock) -> None:
    """Try to move every wanted cell (P, m) that no world of the pool moves by two swaps, from a few worlds in turn.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    every = [split for found in facts.splits.values() for split in found]
    if any(split.low is None for split in every) or any(facts.lines.values()):
        return
    of_place = facts.place_of()
    for base in range(min(BASES, len(pool.tables))):
        mender = _Mender(facts, pool.tables[base], clock)
        for position, klass in np.argwhere(wanted & (pool.low == pool.high)).tolist():
            if pool.low[position, klass] == pool.high[position, klass]:
                found = mender.other(int(of_place[position]), position, klass)
                if found is not None:
                    pool.add(found[None])


class _Mender:
    """A world, with what is asked of it again and again: the counts that its rows bound, the swaps below a node."""

    def __init__(self, facts: Facts, table: IntArray, clock: Clock) -> None:
        self.facts, self.table, self.clock = facts, table, clock
        self.counts: dict[int, IntArray] = {}
        self.below: dict[int, tuple[IntArray, IntArray]] = {}
        self.draw = np.random.default_rng(0)

    def other(self, node: int, position: int, klass: int) -> IntArray | None:
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
