"""Where records stop, and one attribute's split rows at one node, ready to be tested on many tables, and exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.facts.impurity_rows import branch_impurity, split_information
from treewarden.audit.facts.rows import Grouping, SplitFamily, branch_of_bins
from treewarden.ppdm_models.arrays import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    NumberArray,
    ShortArray,
)
from treewarden.ppdm_models.tree.tree import Criterion

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


@dataclass(frozen=True, slots=True)
class StoppingPlace:
    """A node where records stop, its positions [start, end), its records, and what is known of its class counts.

    ``label`` leads every other class by ``leads`` (m,) records; -1 where no class is known to lead.
    """

    node: int
    start: int
    end: int
    records: int
    low: Sequence[int]
    high: Sequence[int]
    label: int = -1
    leads: Sequence[int] = ()

    @property
    def is_fixed(self) -> bool:
        """Whether every class count is known."""
        return tuple(self.low) == tuple(self.high)

    @property
    def is_possible(self) -> bool:
        """Whether any class counts are left."""
        return all(a <= b for a, b in zip(self.low, self.high, strict=True)) and sum(
            self.low
        ) <= self.records <= sum(self.high)

    def holds(self, totals: IntArray) -> BoolArray:
        """Return whether class totals, shape (..., m), are among those that the place allows."""
        inside = (totals >= np.array(self.low)) & (totals <= np.array(self.high))
        if self.label >= 0 and not self.is_fixed:
            lead = totals[..., [self.label]] - totals - np.array(self.leads)
            lead[..., self.label] = 0
            inside &= lead >= 0
        return np.asarray(inside.all(axis=-1))


def tightened(place: StoppingPlace) -> StoppingPlace:
    """Return the place with each class's ends drawn in by the others' and by the label's lead."""
    low, high = list(place.low), list(place.high)
    size = len(low)
    while True:
        before = (*low, *high)
        if place.label >= 0:
            label = place.label
            leads = sum(place.leads) - place.leads[label]
            low[label] = max(low[label], -(-(place.records + leads) // size))
            for klass in range(size):
                if klass != label:
                    margin = place.leads[klass]
                    half = (place.records - margin) // 2
                    high[klass] = min(high[klass], high[label] - margin, half)
                    low[label] = max(low[label], low[klass] + margin)
        lows, highs = sum(low), sum(high)
        for klass in range(size):
            low[klass] = max(low[klass], place.records - (highs - high[klass]))
            high[klass] = min(high[klass], place.records - (lows - low[klass]))
            lows, highs = sum(low), sum(high)
        if (*low, *high) == before or any(a > b for a, b in zip(low, high, strict=True)):
            return replace(place, low=tuple(low), high=tuple(high))


# A partition of positions, stored so that sums over its groups are quick.

MANY_CELLS = 20_000
MANY_POSITIONS = 100
"""From here on a sparse product is quicker than sums over slices, and worth its making."""


@dataclass(frozen=True, eq=False)
class PositionPartition:
    """A partition of the node's positions: ``of`` (S,) numbers each one's group; the rest makes sums fast.

    Groups begin at ``starts`` in ``order``, which has one after the other. There are as many of these as nodes times
    attributes, so that their numbers are short, and nothing of large ones is kept but ``of``.
    """

    of: ShortArray
    starts: IndexArray

    def sums(self, tables: NumberArray) -> NumberArray:
        """Return the sums per group of tables (K, S, ...), shape (K, groups, ...).

        Quickest where the tables are a view of an array with the positions first.
        """
        first = tables.swapaxes(0, 1)
        if len(self.of) < MANY_POSITIONS or first.size < MANY_CELLS:
            found = np.add.reduceat(first.take(self.order, axis=0), self.starts, axis=0)
        else:
            found = self._matrix @ first.reshape(len(first), -1)
        return found.reshape(len(self.starts), *first.shape[1:]).swapaxes(0, 1)

    @cached_property
    def order(self) -> ShortArray:
        """The positions, those of one group after those of the other."""
        # Sorting is far quicker over few bits.
        labels = self.of.astype(np.uint16) if len(self.starts) <= 2**16 else self.of
        return np.argsort(labels, kind="stable").astype(np.int32)

    @cached_property
    def _matrix(self) -> csc_matrix:
        """Ones where a position (a column) is in a group (a row)."""
        from scipy.sparse import csc_matrix  # heavy: for large nodes only

        size = len(self.of)
        entries = _shared(np.ones, size), self.of, _shared(np.arange, size + 1)
        return csc_matrix(entries, shape=(len(self.starts), size))


def _shared(make: Callable[..., ShortArray], size: int) -> ShortArray:
    """Return the first so many of ones, or of numbers from 0 on, which all partitions share."""
    return _made(make, 1 << (size - 1).bit_length())[:size]


@cache
def _made(make: Callable[..., ShortArray], size: int) -> ShortArray:
    return make(size, dtype=np.int32)


def n_log_n(counts: NumberArray) -> FloatArray:
    """Return n ln(n) of each count, 0 where there is none."""
    from scipy.special import xlogy  # heavy: for splits chosen by entropies only

    return np.asarray(xlogy(counts, counts))


def groups(labels: IndexArray | ShortArray) -> PositionPartition:
    """Return a partition from each member's label; labels that nobody has are left out."""
    sizes = np.bincount(labels)
    used = sizes > 0
    compact = labels if used.all() else (np.cumsum(used) - 1)[labels]
    starts = (np.cumsum(sizes) - sizes)[used]
    return PositionPartition(compact.astype(np.int32, copy=False), starts)


EVERY = slice(None)
ROUNDING = 1e-12
"""Floats decide a row only outside this share of the node's records, times 1 + the gain ratio's factor."""


@dataclass(frozen=True, slots=True, eq=False)
class AttributeSplits:
    """The candidates on one attribute at one node; the node's positions are [start, end).

    ``is_binary`` says that candidates have two branches each. ``ratio`` (A,) is SI(candidate) / SI(chosen), 1 unless
    the gain ratio decides. ``chosen_table`` (branches, m) holds the masses of the chosen branches
    where the leaves fix them. Then, with two classes and two branches, ``low`` and ``high`` (A,) are the whole numbers
    between which the first class's count on the left must lie. With ``weights`` (S,) sums are of what a record at each
    position weighs; only whole tables can then be tested.
    """

    family: SplitFamily
    start: int
    end: int
    records: int
    strict: bool
    bins: PositionPartition
    chosen: PositionPartition
    is_binary: bool
    left_records: IntArray
    bin_records: IntArray
    ratio: FloatArray
    chosen_table: IntArray | None = None
    low: IntArray | None = None
    high: IntArray | None = None
    weights: IntArray | None = None

    @property
    def node(self) -> int:
        """The node whose split was chosen."""
        return self.family.node

    @property
    def criterion(self) -> Criterion:
        """What the learner compared."""
        return self.family.criterion

    @property
    def size(self) -> int:
        """The number of candidates."""
        return len(self.family.admissible)

    @property
    def bin_count(self) -> int:
        """The number of bins of the attribute here."""
        return len(self.bins.starts)

    def on_left(self, bins: IndexArray, these: slice | BoolArray = EVERY) -> BoolArray:
        """Return whether each of these candidates puts each of some bins (K,) on the left, shape (A, K)."""
        codes = self.family.admissible[these][:, None]
        if self.family.grouping is Grouping.THRESHOLD:
            return np.asarray(bins <= codes)
        if self.family.grouping is Grouping.SUBSET:
            return np.asarray((codes >> bins) & 1 == 1)
        return np.asarray(bins == codes)

    def members_on_left(self, candidate: int) -> IndexArray:
        """Return the positions that a candidate puts on the left."""
        return np.flatnonzero(self.side(candidate)[self.bins.of] == 0) + self.start

    def lefts(self, bins: NumberArray) -> NumberArray:
        """Return the sums on the left of each candidate, from those per bin (K, B, ...), shape (K, A, ...)."""
        assert self.is_binary
        if self.family.grouping is Grouping.THRESHOLD:
            return np.asarray(np.cumsum(bins, axis=1)[:, self.family.admissible])
        if self.family.grouping in (Grouping.ONE_AGAINST_REST, Grouping.MULTIWAY):
            return bins[:, self.family.admissible]
        inside = self.on_left(np.arange(bins.shape[1])).astype(bins.dtype)
        return np.moveaxis(np.tensordot(inside, bins, (1, 1)), 0, 1)

    def branches(self, bins: NumberArray) -> NumberArray:
        """Return the masses of each candidate's branches, shape (K, A, branches, m)."""
        if not self.is_binary:
            return bins[:, None]
        left = self.lefts(bins)
        return np.stack([left, bins.sum(axis=1)[:, None] - left], axis=2)

    def excess(self, tables: NumberArray) -> FloatArray:
        """Return by how much each candidate beats the chosen split, in records, shape (K, A), in floating point."""
        tables = self.weighed(tables)
        bins = self.bins.sums(tables).astype(np.float64)
        after = self._after(self.branches(bins))
        if self.chosen_table is None:
            chosen = self.chosen.sums(tables).astype(np.float64)
            best = branch_impurity(self.criterion, chosen).sum(axis=-1)[:, None]
        else:
            best = branch_impurity(self.criterion, self.chosen_table.astype(np.float64)).sum()
        if self.criterion is not Criterion.GAIN_RATIO:
            return np.asarray(best - after)
        whole = branch_impurity(self.criterion, bins.sum(axis=1))[:, None]
        return np.asarray(self.ratio * best - after + (1 - self.ratio) * whole)

    def weighed(self, tables: NumberArray) -> NumberArray:
        """Return tables (K, S, m) of people as the learner summed them."""
        return tables if self.weights is None else np.asarray(tables * self.weights[:, None])

    def _after(self, branches: NumberArray) -> FloatArray:
        """Return the impurity after each candidate, in records, (K, A), from masses (K, A, branches, m)."""
        sizes = np.maximum(self.sizes, 1).astype(np.float64)
        if self.criterion is Criterion.GINI:
            return np.asarray(self.records - (branches**2 / sizes[..., None]).sum(axis=(-1, -2)))
        mass = np.maximum(branches, 0.0)  # a solver's table may miss zero by a little
        return np.asarray(n_log_n(sizes).sum(axis=-1) - n_log_n(mass).sum(axis=(-1, -2)))

    @property
    def sizes(self) -> IntArray:
        """The records of each candidate's branches, shape (A, branches)."""
        if not self.is_binary:
            return self.bin_records[None]
        return np.stack([self.left_records, self.records - self.left_records], axis=1)

    @property
    def limit(self) -> float:
        """The excess that is still allowed, in records."""
        from treewarden.audit.consistent_tables.facts.exact import SLACK_SHARE  # of splits only

        return 0.0 if self.strict else float(SLACK_SHARE) * self.records

    @property
    def doubt(self) -> FloatArray:
        """How near the limit, in records, floats cannot tell, shape (A,)."""
        terms = 1e-15 * self.bin_count * 8
        return np.asarray((ROUNDING + terms) * self.records * (1 + self.ratio))

    def holds(self, tables: IntArray) -> BoolArray:
        """Return whether each table (K, S, m) of the node's positions obeys every candidate's row; exact."""
        if self.low is not None:
            assert self.high is not None
            count = self.lefts(self.bins.sums(tables[:, :, 0]))
            return np.asarray(((count >= self.low) & (count <= self.high)).all(axis=1))
        over = self.excess(tables) - self.limit
        near: BoolArray = np.asarray(np.abs(over) <= self.doubt)
        bad: BoolArray = np.asarray((over > 0) & ~near)
        for table, candidate in np.argwhere(near & ~np.asarray(bad.any(axis=1))[:, None]):
            bad[table, candidate] = self.is_beaten(tables[table], int(candidate))
        return np.asarray(~bad.any(axis=1))

    def surely_broken(self, tables: IntArray) -> BoolArray:
        """Return which candidates' rows each table (K, S, m) breaks beyond doubt, shape (K, A)."""
        if self.low is not None:
            assert self.high is not None
            count = self.lefts(self.bins.sums(tables[:, :, 0]))
            return np.asarray((count < self.low) | (count > self.high))
        return np.asarray(self.excess(tables) - self.limit > self.doubt)

    def broken(self, table: IntArray) -> list[int]:
        """Return the candidates whose row a table (S, m) of the node's positions breaks; exact."""
        if self.low is not None:
            return np.flatnonzero(self.surely_broken(table[None])[0]).tolist()
        over = self.excess(table[None])[0] - self.limit
        sure = np.abs(over) > self.doubt
        return [
            a for a in range(self.size) if (over[a] > 0 if sure[a] else self.is_beaten(table, a))
        ]

    def is_beaten(self, table: IntArray, candidate: int) -> bool:
        """Return whether the candidate beats the chosen split in this table; exact."""
        from treewarden.audit.consistent_tables.facts.exact import is_beaten  # as above

        side = self.side(candidate)
        table = table if self.weights is None else table * self.weights[:, None]
        return is_beaten(
            self.criterion,
            _totals(table, self.chosen.of.astype(np.intp)),
            _totals(table, side[self.bins.of]),
            self.strict,
        )

    def side(self, candidate: int) -> IndexArray:
        """Return the branch that each bin takes under a candidate, shape (B,)."""
        code = int(self.family.admissible[candidate])
        return branch_of_bins(self.family.grouping, code, self.bin_count)

    def without(self, candidates: Sequence[int]) -> AttributeSplits:
        """Return the split without some of its candidates."""
        kept = np.setdiff1d(np.arange(self.size), candidates)
        ends = self.low, self.high
        low, high = (None if end is None else end[kept] for end in ends)
        return replace(
            self,
            family=replace(self.family, admissible=self.family.admissible[kept]),
            left_records=self.left_records[kept],
            ratio=self.ratio[kept],
            low=low,
            high=high,
        )


@dataclass(frozen=True, slots=True, eq=False)
class ChosenSplit:
    """What all candidates at a node are held against: how the chosen split parts the node's positions.

    ``order`` sorts a family's profiles by position, which are [start, end); ``table`` (branches, m) are the masses of
    the branches, where leaves fix them.
    """

    start: int
    end: int
    order: IndexArray | slice
    groups: PositionPartition
    table: IntArray | None


def chosen_of(
    family: SplitFamily, position: IndexArray, below: Sequence[StoppingPlace]
) -> ChosenSplit:
    """Return the split that was chosen where a family was not; ``below`` are the places that it parts."""
    at = position[family.profiles]
    # Arrays of profiles that are sorted already are taken as they are, not copied.
    order = EVERY if (at[1:] > at[:-1]).all() else np.argsort(at, kind="stable")
    start, end, chosen = int(at.min()), int(at.min()) + len(at), groups(family.chosen[order])
    if family.weights is not None or not all(place.is_fixed for place in below):
        return ChosenSplit(start, end, order, chosen, None)
    table = np.zeros((len(chosen.starts), len(below[0].low)), dtype=np.int64)
    for place in below:
        table[chosen.of[place.start - start]] += np.array(place.low, dtype=np.int64)
    return ChosenSplit(start, end, order, chosen, table)


def split_of(
    family: SplitFamily, chosen: ChosenSplit, counts: IntArray, strict: bool
) -> AttributeSplits:
    """Return a family ready for testing; ``counts`` are all profiles' records, by position."""
    start, end = chosen.start, chosen.end
    bins = groups(family.bins[chosen.order])
    weights = None if family.weights is None else family.weights[chosen.order]
    here = counts[start:end] if weights is None else counts[start:end] * weights
    by_bin = bins.sums(here[None])[0]
    split = AttributeSplits(
        family=family,
        start=start,
        end=end,
        records=int(here.sum()),
        strict=strict,
        bins=bins,
        chosen=chosen.groups,
        is_binary=family.grouping is not Grouping.MULTIWAY or len(by_bin) == 2,
        left_records=np.zeros(len(family.admissible), np.int64),
        bin_records=np.asarray(by_bin, dtype=np.int64),
        ratio=np.ones(len(family.admissible)),
        chosen_table=chosen.table,
        weights=weights,
    )
    if split.is_binary:
        split = replace(split, left_records=split.lefts(split.bin_records[None])[0])
    if split.criterion is not Criterion.GAIN_RATIO:
        return split
    known = split_information(chosen.groups.sums(here[None])[0].astype(np.float64))
    return replace(split, ratio=split_information(split.sizes.astype(np.float64)) / known)


def _totals(table: IntArray, group: IndexArray) -> list[list[int]]:
    sums = np.zeros((int(group.max()) + 1, table.shape[1]), dtype=np.int64)
    np.add.at(sums, group, table)
    return [[int(count) for count in row] for row in sums.tolist()]
