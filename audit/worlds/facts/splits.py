"""One attribute's split rows at one node, ready to be tested on many tables at once, and exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import xlogy

from audit.facts.impurity import branch_impurity, split_information
from audit.facts.rows import Grouping, SplitFamily, branch_of_bins
from audit.worlds.facts.exact import SLACK_SHARE, is_beaten
from audit.worlds.facts.places import Place
from ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray, NumberArray
from ppdm_models.tree.tree import Criterion

MANY_CELLS = 20_000
MANY_POSITIONS = 100
"""From here on a sparse product is quicker than sums over slices, and worth its making."""
ROUNDING = 1e-12
"""Floats decide a row only outside this share of the node's records, times 1 + the gain ratio's factor."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """A partition of the node's positions: ``of`` (S,) numbers each one's group; the rest makes sums fast.

    ``order`` has groups one after the other, which begin at ``starts``; ``matrix`` (groups, S) of many positions holds
    ones.
    """

    of: IndexArray
    order: IndexArray
    starts: IndexArray
    matrix: csr_matrix | None

    def sums(self, tables: NumberArray) -> NumberArray:
        """Return the sums per group of tables (K, S, ...), shape (K, groups, ...).

        Quickest where the tables are a view of an array with the positions first.
        """
        first = tables.swapaxes(0, 1)
        if self.matrix is None or first.size < MANY_CELLS:
            found = np.add.reduceat(first.take(self.order, axis=0), self.starts, axis=0)
        else:
            found = self.matrix @ first.reshape(len(first), -1)
        return found.reshape(len(self.starts), *first.shape[1:]).swapaxes(0, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The candidates on one attribute at one node; the node's positions are [start, end).

    ``left`` (A, B) says, for candidates of two branches, which bins go left. ``ratio`` (A,) is SI(candidate) /
    SI(chosen), 1 unless the gain ratio decides. ``chosen_table`` (branches, m) holds the masses of the chosen branches
    where the leaves fix them. Then, with two classes and two branches, ``low`` and ``high`` (A,) are the whole numbers
    between which the first class's count on the left must lie. With ``weights`` (S,) sums are of what a record at each
    position weighs; only whole tables can then be tested.
    """

    family: SplitFamily
    start: int
    end: int
    records: int
    strict: bool
    bins: Groups
    chosen: Groups
    left: BoolArray | None
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

    def lefts(self, bins: NumberArray) -> NumberArray:
        """Return the sums on the left of each candidate, from those per bin (K, B, ...), shape (K, A, ...)."""
        assert self.left is not None
        if self.family.grouping is Grouping.THRESHOLD:
            return np.asarray(np.cumsum(bins, axis=1)[:, self.family.admissible])
        if self.family.grouping in (Grouping.ONE_AGAINST_REST, Grouping.MULTIWAY):
            return bins[:, self.family.admissible]
        return np.moveaxis(np.tensordot(self.left.astype(bins.dtype), bins, (1, 1)), 0, 1)

    def branches(self, bins: NumberArray) -> NumberArray:
        """Return the masses of each candidate's branches, shape (K, A, branches, m)."""
        if self.left is None:
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
        return np.asarray(xlogy(sizes, sizes).sum(axis=-1) - xlogy(mass, mass).sum(axis=(-1, -2)))

    @property
    def sizes(self) -> IntArray:
        """The records of each candidate's branches, shape (A, branches)."""
        if self.left is None:
            return self.bin_records[None]
        return np.stack([self.left_records, self.records - self.left_records], axis=1)

    @property
    def limit(self) -> float:
        """The excess that is still allowed, in records."""
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
        over = self.excess(table[None])[0] - self.limit
        sure = np.abs(over) > self.doubt
        return [
            a for a in range(self.size) if (over[a] > 0 if sure[a] else self.is_beaten(table, a))
        ]

    def is_beaten(self, table: IntArray, candidate: int) -> bool:
        """Return whether the candidate beats the chosen split in this table; exact."""
        side = self.side(candidate)
        table = table if self.weights is None else table * self.weights[:, None]
        return is_beaten(
            self.criterion,
            _totals(table, self.chosen.of),
            _totals(table, side[self.bins.of]),
            self.strict,
        )

    def side(self, candidate: int) -> IndexArray:
        """Return the branch that each bin takes under a candidate, shape (B,)."""
        code = int(self.family.admissible[candidate])
        return branch_of_bins(self.family.grouping, code, self.bin_count)

    def without(self, candidates: Sequence[int]) -> Split:
        """Return the split without some of its candidates."""
        kept = np.setdiff1d(np.arange(self.size), candidates)
        ends = self.low, self.high
        low, high = (None if end is None else end[kept] for end in ends)
        return replace(
            self,
            family=replace(self.family, admissible=self.family.admissible[kept]),
            left=None if self.left is None else self.left[kept],
            left_records=self.left_records[kept],
            ratio=self.ratio[kept],
            low=low,
            high=high,
        )


def split_of(
    family: SplitFamily,
    position: IndexArray,
    counts: IntArray,
    below: Sequence[Place],
    strict: bool,
) -> Split:
    """Return a family ready for testing; ``below`` are the places that it parts, ``counts`` all profiles' records."""
    order = np.argsort(position[family.profiles])
    start = int(position[family.profiles].min())
    end = start + len(order)
    bins, chosen = groups(family.bins[order]), groups(family.chosen[order])
    weights = None if family.weights is None else family.weights[order]
    here = counts[start:end] if weights is None else counts[start:end] * weights
    by_bin, by_child = bins.sums(here[None])[0], chosen.sums(here[None])[0]
    left, left_records, ratio = None, np.zeros(len(family.admissible), np.int64), 1.0
    sizes = by_bin[None, :]
    if family.grouping is not Grouping.MULTIWAY or len(by_bin) == 2:
        codes = [int(code) for code in family.admissible]
        left = np.array([branch_of_bins(family.grouping, c, len(by_bin)) == 0 for c in codes])
        left_records = np.array([int(by_bin[row].sum()) for row in left], dtype=np.int64)
        sizes = np.stack([left_records, int(here.sum()) - left_records], axis=1)
    factors = np.full(len(family.admissible), ratio)
    if family.criterion is Criterion.GAIN_RATIO:
        known = split_information(by_child.astype(np.float64))
        factors = split_information(sizes.astype(np.float64)) / known
    table = None
    if weights is None and all(place.is_fixed for place in below):
        table = np.zeros((len(by_child), len(below[0].low)), dtype=np.int64)
        for place in below:
            table[chosen.of[place.start - start]] += np.array(place.low, dtype=np.int64)
    return Split(
        family,
        start,
        end,
        int(here.sum()),
        strict,
        bins,
        chosen,
        left,
        left_records,
        np.asarray(by_bin, dtype=np.int64),
        factors,
        table,
        weights=weights,
    )


def groups(of: IndexArray) -> Groups:
    """Return a partition from each member's label; labels that nobody has are left out."""
    found, compact = np.unique(of, return_inverse=True)
    compact = compact.reshape(-1)
    order = np.argsort(compact, kind="stable")
    starts = np.searchsorted(compact[order], np.arange(len(found)))
    matrix = None
    if len(compact) >= MANY_POSITIONS:
        ones, ends = np.ones(len(compact), dtype=np.int32), np.append(starts, len(order))
        matrix = csr_matrix((ones, order, ends), shape=(len(found), len(compact)))
    return Groups(compact, order, starts, matrix)


def _totals(table: IntArray, group: IndexArray) -> list[list[int]]:
    sums = np.zeros((int(group.max()) + 1, table.shape[1]), dtype=np.int64)
    np.add.at(sums, group, table)
    return [[int(count) for count in row] for row in sums.tolist()]
