"""Sets of categories that a learner compares only as cuts of an order, which another table may change.

With two classes rpart puts the categories at a node in the order of the first class's share. The best set of all is
among the cuts of that order (Breiman et al. 1984, theorem 4.5), but for a smallest leaf, which may leave the best one
out. Spark's order is that of the second class's records, in which the best need not be a cut; with more classes it is
that of impurities. A table shows something only if the published set is a cut of its own order, and no cut is as good.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from treewarden.audit.facts.impurity_rows import branch_impurity
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.tree import Criterion

Moves = tuple[tuple[IntArray, IntArray], ...]
"""For each record of K changes, which positions (K,) get how many records of the first class (K,)."""
TIE_SHARE = 1e-9
"""Scores that differ by less, as a share of the records, are taken for equal."""


class CategoryOrder(Enum):
    """By what a learner puts categories in order."""

    SHARE = "the share of the first class"
    RECORDS = "the records of the second class"
    UNKNOWN = "something else"


@dataclass(frozen=True, slots=True, eq=False)
class OrderRule:
    """How a learner orders categories, and by which criteria its best cut may be chosen.

    A branch holds ``smallest`` records at least.
    """

    order: CategoryOrder
    criteria: tuple[Criterion, ...]
    smallest: float


@dataclass(frozen=True, slots=True, eq=False)
class OrderedSets:
    """The categories of a column at a node, whose cuts a learner compares with the split that it chose there.

    ``category`` (S,) is the number of each position's category, ``records`` (C,) how many each has, ``is_left`` (S,)
    which positions the chosen split sends left, and ``left_records`` how many records. ``own`` (C,) are the categories
    that go left, where the split is on this column.
    """

    span: slice
    category: IndexArray
    records: IntArray
    is_left: BoolArray
    left_records: int
    own: BoolArray | None
    rule: OrderRule

    def allows(self, tables: IntArray) -> BoolArray:
        """Return in which tables (K, P, m) the learner surely prefers the chosen split to the cuts of this column."""
        first = tables[:, self.span, 0]
        return self._prefers(self._by_category(first), first @ self.is_left)

    def allows_moves(self, table: IntArray, moves: Moves) -> BoolArray:
        """Return after which of K changes of a table (P, m), in which the learner does, it does too."""
        start, stop = self.span.start, self.span.stop
        # All records of a change are of one leaf.
        inside = np.flatnonzero((moves[0][0] >= start) & (moves[0][0] < stop))
        first, allowed = table[self.span, 0], np.ones(len(moves[0][0]), dtype=bool)
        if not len(inside):
            return allowed
        after = np.repeat(self._by_category(first[None]), len(inside), axis=0)
        rows, left = np.arange(len(inside)), np.full(len(inside), first @ self.is_left)
        for position, gets in (
            (position[inside] - start, gets[inside]) for position, gets in moves
        ):
            after[rows, self.category[position]] += gets
            left += self.is_left[position] * gets
        allowed[inside] = self._prefers(after, left)
        return allowed

    def _by_category(self, first: IntArray) -> IntArray:
        """Return counts by category (K, C), of those by position (K, S)."""
        shape = len(first), len(self.records)
        cells = np.arange(shape[0])[:, None] * shape[1] + self.category
        sums = np.bincount(cells.ravel(), first.ravel(), shape[0] * shape[1])
        return np.asarray(np.rint(sums).astype(np.int64)).reshape(shape)

    def _prefers(self, first: IntArray, left: IntArray) -> BoolArray:
        """Return it for counts of the first class by category (K, C), and on the left of the chosen split (K,)."""
        if self.rule.order is CategoryOrder.UNKNOWN:
            return np.zeros(len(first), dtype=bool)
        by_share = self.rule.order is CategoryOrder.SHARE
        # Equal fractions are equal numbers.
        rank = first / self.records if by_share else (self.records - first).astype(np.float64)
        prefers: BoolArray = np.ones(len(first), dtype=bool)
        is_other = np.ones((len(first), len(self.records) - 1), dtype=bool)
        if self.own is not None:
            below = rank[:, self.own].max(axis=1) < rank[:, ~self.own].min(axis=1)
            prefers &= below | (rank[:, self.own].min(axis=1) > rank[:, ~self.own].max(axis=1))
            # The chosen cut stands where its lower side ends.
            lower = np.where(below, self.own.sum(), (~self.own).sum())
            is_other = np.arange(1, len(self.records)) != lower[:, None]
        # Where categories tie, any may come first: sums lie between those of the largest first and the smallest first.
        ties = np.broadcast_to(self.records, first.shape)
        orders = [np.lexsort((sign * ties, rank), axis=1)[:, :-1] for sign in (-1, 1)]
        sizes = np.array([self.records[order].cumsum(axis=1) for order in orders])
        ones = np.array([np.take_along_axis(first, order, 1).cumsum(axis=1) for order in orders])
        every = int(self.records.sum())
        is_other &= (sizes[0] >= self.rule.smallest) & (every - sizes[1] >= self.rule.smallest)
        whole = first.sum(axis=1)
        for criterion in self.rule.criteria:
            chosen = self._impurity(criterion, np.array(self.left_records), left, whole)
            best = self._impurity(criterion, sizes, ones, whole[:, None]).min(axis=0)
            is_ahead = best <= chosen[:, None] + TIE_SHARE * every
            prefers &= ~(is_other & is_ahead).any(axis=1)
        return prefers

    def _impurity(
        self, criterion: Criterion, records: IntArray, first: IntArray, whole: IntArray
    ) -> FloatArray:
        """Return the impurity of splits with so many records on one side, of which ``first`` are of the first class."""
        others, rest = records - first, whole - first
        last = self.records.sum() - records - rest
        masses = np.stack(np.broadcast_arrays(first, others, rest, last), axis=-1).astype(float)
        sides = masses.reshape(*masses.shape[:-1], 2, 2)
        return np.asarray(branch_impurity(criterion, sides).sum(axis=-1))
