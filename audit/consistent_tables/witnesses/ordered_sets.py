"""The columns of a tree's nodes of which another table may have other sets of categories compared than the true one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.audit.consistent_tables.facts.category_orders import (
    CategoryOrder,
    OrderedSets,
    OrderRule,
)
from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.facts.grower import Grower, grower
from treewarden.audit.facts.node_candidates import grouping_of_categories
from treewarden.audit.facts.rows import Grouping
from treewarden.audit.facts.split_families import MOST_BINS_FOR_SUBSETS
from treewarden.audit.knowledge.knowledge import possible_criteria
from treewarden.ppdm_models.arrays import IntArray
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.predicate import features_of
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Node


def ordered_sets(facts: Facts) -> tuple[OrderedSets, ...]:
    """Return the columns of all nodes whose cuts whole tables are to be held against."""
    case = facts.case
    tree, by = case.tree, grower(case)
    if grouping_of_categories(tree) is not Grouping.SUBSET:
        return ()
    names: Sequence[str] = case.population.qi
    if by.tool is Tool.UNKNOWN:
        names = [feature.name for feature in tree.features if feature.name in names]
    # A program that is known may have compared columns that its file does not list, too.
    columns = {name: case.population.columns[name] for name in names}
    rule = _rule(facts)
    return tuple(
        sets
        for node in tree.nodes
        if len(node.children) == 2 and facts.counts[facts.span(node.index)].any()
        for name, column in columns.items()
        if isinstance(column, CategoricalColumn)
        for sets in [_at(facts, node, column.codes[facts.order], name, rule)]
        if sets is not None and _may_miss_the_best(sets, by)
    )


def _at(
    facts: Facts, node: Node, codes: IntArray, name: str, rule: OrderRule
) -> OrderedSets | None:
    """Return the categories (P,) of a column at a node; None where one is missing or there are fewer than three."""
    span, left = facts.span(node.index), facts.span(node.children[0])
    codes, counts = codes[span], facts.counts[span]
    present = np.unique(codes[counts > 0])
    if len(present) < 3 or present[0] < 0:
        return None
    # Whoever has another category is nobody.
    category = np.searchsorted(present, codes).clip(max=len(present) - 1)
    is_left = np.zeros(len(codes), dtype=bool)
    is_left[left.start - span.start : left.stop - span.start] = True
    sides = [is_left[codes == code] for code in present]
    is_own = name in features_of(facts.case.tree.nodes[node.children[0]].test)
    own = np.array([side.any() for side in sides])
    is_whole = all(side.all() or not side.any() for side in sides)
    if is_own and not (is_whole and own.any() and not own.all()):
        return None
    return OrderedSets(
        span=span,
        category=category,
        records=np.bincount(category, counts, len(present)).astype(np.int64),
        is_left=is_left,
        left_records=int(counts[is_left].sum()),
        own=own if is_own else None,
        rule=rule,
    )


def _may_miss_the_best(sets: OrderedSets, by: Grower) -> bool:
    """Return whether rows do not say all of the sets: the best may be no cut, or there are too many to list."""
    is_small = bool((sets.records < by.surely).any())
    return by.tool is Tool.SPARK or is_small or len(sets.records) > MOST_BINS_FOR_SUBSETS


def _rule(facts: Facts) -> OrderRule:
    """Return how the learner orders categories; not known where records weigh, or Spark had more classes."""
    case, by = facts.case, grower(facts.case)
    known = case.knowledge.split
    criteria = possible_criteria(case.knowledge, case.tree)
    if known.is_criterion:
        criteria = (Criterion(known.value),)
    order = CategoryOrder.RECORDS if by.tool is Tool.SPARK else CategoryOrder.SHARE
    if case.population.weight is not None or facts.classes != 2:
        order = CategoryOrder.UNKNOWN
    # No program puts categories in an order by gain ratios.
    usual = tuple(each for each in criteria if each is not Criterion.GAIN_RATIO)
    return OrderRule(order, usual, by.smallest)
