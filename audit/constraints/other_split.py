"""Printed improvement of a split that was not chosen: possible counts of a class on its left side (rpart).

With two classes, and the node's own class counts known, the improvement by gini tells how far the count on the left is
from what chance would give, and not on which side of it: two whole counts at most, often one, and what lies between.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.class_facts import InnerFacts, inner_facts
from treewarden.audit.facts.rows import Case, Linear, Origin, Row
from treewarden.audit.knowledge.levels import LeafLevel
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.nodes import OtherSplit
from treewarden.ppdm_models.tree.predicate import answer, features_of


class OtherSplitRows(Constraint):
    """Yields one row per split whose sides the adversary knows, where every record of the node has a value for it."""

    def rows(self, case: Case) -> Iterator[Row]:
        as_published = case.knowledge.leaf is LeafLevel.AS_PUBLISHED
        if not as_published or len(case.tree.classes) != 2 or not case.tree.has_people:
            return
        if not any(node.figures.other_splits for node in case.tree.nodes):
            return
        for facts in inner_facts(case):
            for other_split in facts.node.figures.other_splits:
                row = _row(case, facts, other_split)
                if row is not None:
                    yield row


def _row(case: Case, facts: InnerFacts, split: OtherSplit) -> Linear | None:
    left = _left(case, facts.inside, split)
    total = facts.masses[0]
    if left is None or total is None or total != round(total) or not left.any():
        return None
    inside = facts.inside[left]
    records = float(case.population.counts[inside].sum())
    rest = facts.records - records
    if records != round(records) or not rest:
        return None
    count = np.arange(max(0.0, total - rest), min(records, total) + 1)
    gain = _gini(total, facts.records) - _gini(count, records) - _gini(total - count, rest)
    found = count[(split.low <= gain) & (gain <= split.high)]
    if not len(found):
        return (
            None  # a threshold is printed rounded: then the sides are not those that were compared
        )
    klass = case.tree.classes[0]
    said = (
        f"{case.tree.where(facts.node)}: the improvement of a split on {_name(split)} lets {found[0]:g} to "
        f"{found[-1]:g} of the {records:g} records on its left have class {klass!r}"
    )
    return Linear(
        inside,
        np.zeros(len(inside), dtype=np.intp),
        np.ones(len(inside)),
        float(found[0]),
        float(found[-1]),
        Origin("other_split", said, facts.node.index),
    )


def _left(case: Case, inside: IndexArray, other_split: OtherSplit) -> BoolArray | None:
    """Return which profiles go left; None where the adversary does not know it of all."""
    columns, size = case.population.columns, len(case.population.counts)
    asked = set(features_of(other_split.left)) | set(features_of(other_split.right))
    if not asked <= set(case.population.qi):
        return None
    left, right = (
        answer(test, columns, size).true[inside] for test in (other_split.left, other_split.right)
    )
    return left if (left ^ right).all() else None


def _gini(count: FloatArray | float, records: float) -> FloatArray | float:
    """Return the gini of two classes times the records."""
    return 2 * count * (records - count) / records


def _name(other_split: OtherSplit) -> str:
    return ", ".join(repr(name) for name in sorted(set(features_of(other_split.left))))


CONSTRAINT = OtherSplitRows()
