"""Printed impurity of a node: possible counts of each class among the records that pass it.

With two classes the counts are known up to exchange; with the label known, and whole counts, mostly to the record. An
impurity of 0 and a label say that all have the label's class. With more classes the rows say less than the impurity.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.node_impurities import NodeImpurity, node_impurities
from treewarden.audit.facts.rows import Case, LeafMass, Linear, Origin, Row
from treewarden.ppdm_models.arrays import BoolArray


class NodeImpurityRows(Constraint):
    """Yields for each node the ends of every class's count, and those of the label's where that says more."""

    def rows(self, case: Case) -> Iterator[Row]:
        for node_impurity in node_impurities(case):
            ends = _ends(node_impurity.allowed)
            for klass in range(node_impurity.classes if node_impurity.classes > 2 else 1):
                if ends != (0, node_impurity.records):
                    yield _row(case, node_impurity, klass, ends, is_published=True)
            # Where only a tie has the impurity no class leads, and the label proves nothing.
            if node_impurity.label is not None and node_impurity.as_label.any():
                own = _ends(node_impurity.as_label)
                if (
                    own[0] > max(ends[0], -(-node_impurity.records // node_impurity.classes))
                    or own[1] < ends[1]
                ):
                    yield _row(case, node_impurity, node_impurity.label, own, is_published=False)


def _ends(allowed: BoolArray) -> tuple[int, int]:
    """Return the least and the greatest count that is allowed; beyond all records where none is."""
    found = np.flatnonzero(allowed)
    return (int(found[0]), int(found[-1])) if len(found) else (len(allowed), len(allowed))


def _row(
    case: Case, impurity: NodeImpurity, klass: int, ends: tuple[int, int], *, is_published: bool
) -> Row:
    node, (low, high) = impurity.node, ends
    assert node.impurity is not None
    of = f"{node.impurity.criterion} {node.impurity.low:.4g} to {node.impurity.high:.4g}"
    told = f"{low} to {high}" if low <= impurity.records else "no number"
    as_label = "" if is_published else "and its label "
    said = (
        f"{case.tree.where(node)}: its impurity ({of}) {as_label}let {told} of {impurity.records} records "
        f"have class {case.tree.classes[klass]!r}"
    )
    origin = Origin("node_impurity", said, node.index, is_published)
    if node.is_leaf:
        return LeafMass(node.index, klass, low, high, origin)
    inside = impurity.inside
    classes = np.full(len(inside), klass, dtype=np.intp)
    return Linear(inside, classes, np.ones(len(inside)), low, high, origin)


CONSTRAINT = NodeImpurityRows()
