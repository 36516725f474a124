"""Where records stop, and one attribute's split rows at one node, ready to be tested on many tables, and exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.bounds import StoppingPlace
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
TIE_SHARE, DOUBT_PER_BIN = 2e-9, 1e-5
"""What the learner's floats may have missed, as a share of the node's records (``exact.SLACK_SHARE``), and ours too."""
ROUNDING = 1e-12
"""Floats decide a row only outside this share of the node's records, times 1 + the gain ratio's factor."""


@dataclass(frozen=True, slots=True, eq=False)
class TieRule:
    """What is asked of candidates that are as good as the chosen split, or nearer to it than floats can tell.

    With ``is_strict`` none is, as the learner would have taken it. Otherwise a proof takes any tie as possible, but a
    table shows what is possible only where the learner surely comes to the chosen split on it, or may: where it
    compared the same numbers in the ``truth`` (P, m), by position, or where both part the classes alike and the
    candidate surely ``loses`` (A,) then, or may lose. That is None for proofs.
    """

    is_strict: bool = False
    loses: BoolArray | None = None
    truth: IntArray | None = None

    def select(self, candidates: IndexArray) -> TieRule:
        """Return the rule of some of the candidates."""
        return self if self.loses is None else replace(self, loses=self.loses[candidates])


@dataclass(frozen=True, slots=True, eq=False)
class ComparedSplits:
    """By how much each candidate beats the chosen split in K tables, (K, A), and the masses that say so.

    ``branches`` (K, A, branches, m) are of the candidates, ``chosen`` (K, branches, m) or (branches, m) of the chosen.
    """

    excess: FloatArray
    branches: NumberArray
    chosen: NumberArray


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
    ties: TieRule
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
    def strict(self) -> bool:
        """Whether no candidate is as good as the chosen split."""
        return self.ties.is_strict

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
        return self._puts_left(self.family.admissible[these][:, None], bins)

    def _puts_left(self, codes: IndexArray, bins: IndexArray) -> BoolArray:
        """Return whether the candidate of each code puts the bin beside it on the left."""
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
        return self.compared(tables).excess

    def compared(self, tables: NumberArray) -> ComparedSplits:
        """Return the same with the masses that it follows from."""
        tables = self.weighed(tables)
        bins = self.bins.sums(tables).astype(np.float64)
        branches = self.branches(bins)
        after = self._after(branches)
        if self.chosen_table is None:
            chosen = self.chosen.sums(tables).astype(np.float64)
            best = branch_impurity(self.criterion, chosen).sum(axis=-1)[:, None]
        else:
            chosen = self.chosen_table.astype(np.float64)
            best = branch_impurity(self.criterion, chosen).sum()
        if self.criterion is not Criterion.GAIN_RATIO:
            return ComparedSplits(np.asarray(best - after), branches, chosen)
        whole = branch_impurity(self.criterion, bins.sum(axis=1))[:, None]
        excess = np.asarray(self.ratio * best - after + (1 - self.ratio) * whole)
        return ComparedSplits(excess, branches, chosen)

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
            return self._is_inside(self.lefts(self.bins.sums(tables[:, :, 0])))
        compared = self.compared(tables)
        good = self._is_worse(tables, compared.excess - self.limit)
        return good if self.ties.loses is None else self._without_ties(compared, good)

    def hold_and_show(
        self, showing: AttributeSplits, tables: IntArray
    ) -> tuple[BoolArray, BoolArray]:
        """Return whether each table (K, S, m) obeys the rows, and whether it also obeys those of ``showing``, as above.

        Those are the same candidates with the rule for tables that show what is possible.
        """
        if showing is self:
            good = self.holds(tables)
            return good, good
        if self.low is not None:
            count = self.lefts(self.bins.sums(tables[:, :, 0]))
            good = self._is_inside(count)
            shows = good.copy()
            shows[good] = showing._is_inside(count[good])
            return good, shows
        compared = self.compared(tables)
        good = self._is_worse(tables, compared.excess - self.limit)
        return good, showing._without_ties(compared, good)

    def _is_inside(self, count: NumberArray) -> BoolArray:
        """Return whether the first class's counts on the left (K, A) are within the intervals."""
        assert self.low is not None
        assert self.high is not None
        return np.asarray(((count >= self.low) & (count <= self.high)).all(axis=1))

    def _is_worse(self, tables: IntArray, over: FloatArray) -> BoolArray:
        """Return whether no candidate is better than the chosen split, given how far each (K, A) is over the limit."""
        near: BoolArray = np.asarray(np.abs(over) <= self.doubt)
        bad: BoolArray = np.asarray((over > 0) & ~near)
        for table, candidate in np.argwhere(near & ~np.asarray(bad.any(axis=1))[:, None]):
            bad[table, candidate] = self.is_beaten(tables[table], int(candidate))
        return np.asarray(~bad.any(axis=1))

    @property
    def tie_floor(self) -> FloatArray | float:
        """By how much a candidate beats the chosen split at least, in records, if it may tie in floats, (A,)."""
        share = TIE_SHARE * (1 + DOUBT_PER_BIN * self.bin_count)
        ratio = self.ratio if self.criterion is Criterion.GAIN_RATIO else 1.0
        return -share * self.records * ratio

    def _without_ties(self, compared: ComparedSplits, good: BoolArray) -> BoolArray:
        """Return those of good tables (K,) in which no candidate ties that the learner may then have taken."""
        at, candidates = np.nonzero(compared.excess >= self.tie_floor)
        if not len(at):
            return good
        at, candidates = at[good[at]], candidates[good[at]]
        shows = good.copy()
        shows[at[self._are_unsure(compared, at, candidates)]] = False
        return shows

    def _are_unsure(
        self, compared: ComparedSplits, at: IndexArray, candidates: IndexArray
    ) -> BoolArray:
        """Return which of T ties, by table and candidate, the learner may resolve otherwise."""
        chosen = compared.chosen
        shape = (len(at), *chosen.shape[-2:])
        chosen = np.broadcast_to(chosen, shape) if chosen.ndim == 2 else chosen[at]
        return ~self.lose_ties(candidates, compared.branches[at, candidates], chosen)

    def lose_ties(
        self, candidates: IndexArray, branches: NumberArray, chosen: NumberArray
    ) -> BoolArray:
        """Return which of T candidates that tie the learner surely left, or may have left, for the chosen split.

        ``branches`` (T, branches, m) are the masses of theirs, ``chosen`` (T, branches, m) those of the chosen split.
        """
        assert self.ties.loses is not None
        from treewarden.audit.consistent_tables.facts.exact import part_alike  # as above

        if self.weights is not None:  # sums of weights depend on their order
            return np.zeros(len(candidates), dtype=bool)
        lost = self.ties.loses[candidates] & part_alike(self.criterion, branches, chosen)
        if self.ties.truth is not None and not lost.all():
            here = self.ties.truth[None, self.start : self.end]
            true = self.branches(self.bins.sums(here))[0][candidates]
            # The learner compared these very numbers, and came to the chosen split.
            is_true = (branches == true).all(axis=(1, 2))
            lost |= is_true & (chosen == self.chosen.sums(here)).all(axis=(1, 2))
        return lost

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
        compared = self.compared(table[None])
        over = compared.excess[0] - self.limit
        sure = np.abs(over) > self.doubt
        unsure = np.zeros(self.size, dtype=bool)
        if self.ties.loses is not None:
            tied = np.flatnonzero(compared.excess[0] >= self.tie_floor)
            unsure[tied] = self._are_unsure(compared, np.zeros_like(tied), tied)
        return [
            a
            for a in range(self.size)
            if unsure[a] or (over[a] > 0 if sure[a] else self.is_beaten(table, a))
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

    def sides(self, candidates: IndexArray, bins: IndexArray) -> IndexArray:
        """Return the branch that a record of each bin (K,) takes under each candidate (K,), shape (K,)."""
        if not self.is_binary:
            return bins
        is_left = self._puts_left(self.family.admissible[candidates], bins)
        return np.asarray(~is_left, dtype=np.intp)

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
            ties=self.ties.select(kept),
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
        ties=TieRule(is_strict=strict),
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
