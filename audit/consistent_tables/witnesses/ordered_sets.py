"""Sets of categories that a learner compares with two classes: cuts of the categories in the order of their shares.

rpart and Spark put the categories at a node in the order of the first class's share, and compare the cuts of that order
alone. The best set of all is among them (Breiman et al. 1984, theorem 4.5), but for a smallest leaf, which may leave
the best one out. So where a category has fewer records than that, a table in which the published set is no such cut
does not show anything: the learner never looks at it there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.facts.grower import grower
from treewarden.audit.facts.node_candidates import grouping_of_categories
from treewarden.audit.facts.rows import Grouping
from treewarden.ppdm_models.arrays import BoolArray, IntArray
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.predicate import CategoryTest


@dataclass(frozen=True, slots=True, eq=False)
class OrderedSets:
    """A node's published set: which position has which category (S, C), their records (C,), and which go left (C,)."""

    span: slice
    has: IntArray
    records: IntArray
    is_left: BoolArray

    def allows(self, tables: IntArray) -> BoolArray:
        """Return in which tables (K, P, 2) the set is a cut of the categories in the order of their shares."""
        first = tables[:, self.span, 0] @ self.has
        left, right = self.is_left, ~self.is_left
        # Shares a / n and b / m are compared as a m and b n, which are whole.
        ahead = first[:, left, None] * self.records[None, None, right]
        behind = first[:, None, right] * self.records[None, left, None]
        below, above = (ahead < behind).all(axis=(1, 2)), (ahead > behind).all(axis=(1, 2))
        return np.asarray(below | above)


def ordered_sets(facts: Facts) -> tuple[OrderedSets, ...]:
    """Return the sets of a tree of two classes that a learner may not have compared in another table."""
    case = facts.case
    tree = case.tree
    if grouping_of_categories(tree) is not Grouping.SUBSET:
        return ()
    smallest, found = grower(case).surely, list[OrderedSets]()
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
            found.append(OrderedSets(span, has, records, is_left))
    return tuple(found)
