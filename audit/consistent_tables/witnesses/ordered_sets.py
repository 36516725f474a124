"""Sets of categories that a learner compares only as cuts of an order, which another table may change.

With two classes rpart puts the categories at a node in the order of the first class's share. The best set of all is
among the cuts of that order (Breiman et al. 1984, theorem 4.5), but for a smallest leaf, which may leave the best one
out. Spark's order is that of the second class's records, in which the best need not be a cut; with more classes it is
that of impurities. A table in which the published set is no such cut does not show anything: the learner never looks at
it there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.facts.grower import grower
from treewarden.audit.facts.node_candidates import grouping_of_categories
from treewarden.audit.facts.rows import Grouping
from treewarden.ppdm_models.arrays import BoolArray, IntArray
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tool import Tool


class CategoryOrder(Enum):
    """By what a learner puts categories in order."""

    SHARE = "the share of the first class"
    RECORDS = "the records of the second class"
    UNKNOWN = "something else"


@dataclass(frozen=True, slots=True, eq=False)
class OrderedSets:
    """A node's published set: which position has which category (S, C), their records (C,), and which go left (C,)."""

    span: slice
    has: IntArray
    records: IntArray
    is_left: BoolArray
    order: CategoryOrder = CategoryOrder.SHARE

    def allows(self, tables: IntArray) -> BoolArray:
        """Return in which tables (K, P, m) the set is a cut of the categories in their order."""
        return self._are_cuts(tables[:, self.span, 0] @ self.has)

    def allows_moves(
        self, table: IntArray, moves: tuple[tuple[IntArray, IntArray], ...]
    ) -> BoolArray:
        """Return after which of K changes of a table (P, m) the set is such a cut.

        Each of ``moves`` is which position (K,) gets how many records of the first class (K,).
        """
        first = table[self.span, 0] @ self.has
        number = len(moves[0][0])
        if number == 0:
            return np.ones(0, dtype=bool)
        after = np.repeat(first[None], number, axis=0)
        for position, gets in moves:
            inside = (position >= self.span.start) & (position < self.span.stop)
            after[inside] += self.has[position[inside] - self.span.start] * gets[inside, None]
        return self._are_cuts(after)

    def _are_cuts(self, first: IntArray) -> BoolArray:
        """Return for counts of the first class (K, C) whether the set is a cut."""
        if self.order is CategoryOrder.UNKNOWN:
            return np.zeros(len(first), dtype=bool)
        rank, size = first, self.records
        if self.order is CategoryOrder.RECORDS:
            rank, size = self.records - first, np.ones_like(self.records)
        left, right = self.is_left, ~self.is_left
        # Shares a / n and b / m are compared as a m and b n, which are whole.
        ahead = rank[:, left, None] * size[None, None, right]
        behind = rank[:, None, right] * size[None, left, None]
        below, above = (ahead < behind).all(axis=(1, 2)), (ahead > behind).all(axis=(1, 2))
        return np.asarray(below | above)


def ordered_sets(facts: Facts) -> tuple[OrderedSets, ...]:
    """Return the published sets that the learner may not have compared in another table."""
    case = facts.case
    tree = case.tree
    if grouping_of_categories(tree) is not Grouping.SUBSET:
        return ()
    order, ordered = _order(facts), list[OrderedSets]()
    smallest = np.inf if grower(case).tool is Tool.SPARK else grower(case).surely
    for inner in tree.nodes:
        node, children = inner.index, inner.children
        test = tree.nodes[children[0]].test if len(children) == 2 else None
        if not isinstance(test, CategoryTest):
            continue
        column = case.population.columns[test.feature]
        assert isinstance(column, CategoricalColumn)
        span, left = facts.span(node), facts.span(children[0])
        codes, counts = column.codes[facts.order][span], facts.counts[span]
        there = np.unique(codes[codes >= 0])
        has = (codes[:, None] == there[None]).astype(np.int64)
        records = counts @ has
        goes = np.zeros(len(codes), dtype=bool)
        goes[left.start - span.start : left.stop - span.start] = True
        is_left = np.array([goes[codes == code].any() for code in there])
        if len(there) > 2 and (records < smallest).any() and is_left.any() and not is_left.all():
            ordered.append(OrderedSets(span, has, records, is_left, order))
    return tuple(ordered)


def _order(facts: Facts) -> CategoryOrder:
    """Return by what the learner orders categories; not known where records weigh, or Spark had more classes."""
    if facts.case.population.weight is not None:
        return CategoryOrder.UNKNOWN
    if grower(facts.case).tool is not Tool.SPARK:
        return CategoryOrder.SHARE
    return CategoryOrder.RECORDS if facts.classes == 2 else CategoryOrder.UNKNOWN
