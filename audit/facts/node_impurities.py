"""What a published impurity says of a node's class counts: the adversary knows how many records pass.

An impurity is a symmetric, concave function of the shares of the classes. Given one class's share it is least where the
others are as unequal, and greatest where they are as equal as can be, so that it bounds each class's count; with two
classes it fixes both, up to exchange.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.facts.class_facts import Masses, inner_facts, leaf_facts
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.levels import LeafLevel
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.nodes import FLOAT_SLACK, Criterion, Impurity
from treewarden.ppdm_models.tree.tree import Node, Quality, Tree

OF_PEOPLE = (Quality.EXACT, Quality.DERIVED, Quality.NORMALISED, Quality.ABSENT)
"""What impurities are read for; weights make others of them than counts do."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeImpurity:
    """One node with an impurity that its class numbers do not imply, its profiles and how many records they have.

    ``allowed`` (records + 1,) says which counts of one class some whole counts with this impurity have; ``as_label``
    the same of the class the node is labelled with, ``label`` (None: no label, and then nothing).
    """

    node: Node
    inside: IndexArray
    records: int
    label: int | None
    allowed: BoolArray
    as_label: BoolArray
    classes: int

    @property
    def is_exhausted(self) -> bool:
        """Whether the ends of what is allowed say all that the impurity says."""
        own, any_class = np.flatnonzero(self.as_label), np.flatnonzero(self.allowed)
        if not len(any_class):
            return True  # nothing has this impurity, and the rows say so
        if self.classes == 2:
            told = own if len(own) else any_class
            return int(told[-1] - told[0]) == len(told) - 1
        return any_class[0] == any_class[-1] or bool(len(own) and own[0] == self.records)


def uses_impurities(case: Case) -> bool:
    """Whether the adversary reads impurities, and they are of people."""
    is_read = case.knowledge.leaf is LeafLevel.AS_PUBLISHED
    return is_read and case.tree.quality in OF_PEOPLE and case.population.weight is None


def node_impurities(case: Case) -> Iterator[NodeImpurity]:
    """Yield the nodes whose impurity says something, those below first; none at other levels than as published."""
    if not uses_impurities(case) or all(node.impurity is None for node in case.tree.nodes):
        return
    known: dict[int, Masses] = {
        facts.node.index: facts.masses for facts in leaf_facts(case) if facts.node.is_leaf
    }
    known |= {facts.node.index: facts.masses for facts in inner_facts(case)}
    margin = 1 if case.knowledge.strict_labels else 0
    for node in reversed(case.tree.nodes):
        inside = case.members.profiles_at(node.index)
        records = float(case.population.counts[inside].sum())
        is_said = node.impurity is not None and len(inside) and records == round(records)
        if is_said and not _are_counts(known[node.index]):
            yield _read(case.tree, node, inside, int(records), margin)


def allowed_counts(records: int, classes: int, impurity: Impurity) -> BoolArray:
    """Return which counts of a class are not excluded by an impurity of so many records, shape (records + 1,)."""
    count = np.arange(records + 1.0)
    least = _value(impurity.criterion, records, [count, records - count])
    greatest = _evenly(impurity.criterion, records, classes, count)
    return (least <= impurity.high + FLOAT_SLACK) & (greatest >= impurity.low - FLOAT_SLACK)


def allowed_as_label(records: int, classes: int, impurity: Impurity, margin: int) -> BoolArray:
    """Return which counts are not excluded of a class that leads every other by ``margin``, shape (records + 1,)."""
    count = np.arange(records + 1.0)
    leads = classes * count >= records + (classes - 1) * margin
    blocks = np.where(count > 0, records // np.maximum(count, 1), 0)
    least = _value(impurity.criterion, records, [count, records - blocks * count], [blocks, 1])
    greatest = _evenly(impurity.criterion, records, classes, count)
    within = (least <= impurity.high + FLOAT_SLACK) & (greatest >= impurity.low - FLOAT_SLACK)
    return leads & within


def _read(tree: Tree, node: Node, inside: IndexArray, records: int, margin: int) -> NodeImpurity:
    m, impurity = len(tree.classes), node.impurity
    assert impurity is not None
    label = tree.classes.index(node.score) if node.score in tree.classes else None
    allowed = allowed_counts(records, m, impurity)
    as_label = np.zeros_like(allowed)
    if label is not None:
        as_label = allowed_as_label(records, m, impurity, margin)
    return NodeImpurity(
        node=node,
        inside=inside,
        records=records,
        label=label,
        allowed=allowed,
        as_label=as_label,
        classes=m,
    )


def _are_counts(masses: Masses) -> bool:
    return all(mass is not None and mass == round(mass) for mass in masses)


def _evenly(criterion: Criterion, records: int, classes: int, count: FloatArray) -> FloatArray:
    """Return the impurity where one class has ``count`` records and the others share the rest evenly."""
    if classes < 2:
        return _value(criterion, records, [count])
    rest = (records - count) / (classes - 1)
    return _value(criterion, records, [count, rest], [1, classes - 1])


def _value(
    criterion: Criterion,
    records: int,
    counts: list[FloatArray],
    times: list[int | FloatArray] | None = None,
) -> FloatArray:
    """Return the impurity of classes with these counts, each so many times (once)."""
    total = np.zeros(len(counts[0]))
    for count, often in zip(counts, times or [1] * len(counts), strict=True):
        share = count / max(records, 1)
        if criterion is Criterion.GINI:
            total += often * share**2
        else:
            total -= often * share * np.log(np.where(share > 0, share, 1.0))
    return 1.0 - total if criterion is Criterion.GINI else total


# What a file prints at its nodes and an audit does not use: a pass covers no adversary who uses it.


def unused_kinds(case: Case) -> tuple[str, ...]:
    """Return the kinds of published numbers that no row uses, in words; empty: none is left.

    They can exclude tables that the rows allow. What a level of knowledge leaves out is said by ``understated``.
    """
    found = list(case.tree.unused)
    if case.knowledge.leaf is LeafLevel.AS_PUBLISHED:
        printed = sum(node.impurity is not None for node in case.tree.nodes)
        if printed and not uses_impurities(case):
            found.append("the impurities of its nodes, which are of weights")
    return tuple(found)


def unused_warnings(case: Case) -> tuple[str, ...]:
    """Return what to say of them at levels below as published; there they are left out of what is proved, and said."""
    found = unused_kinds(case)
    if not found or case.knowledge.leaf is LeafLevel.AS_PUBLISHED:
        return ()
    source = case.tree.source
    return (
        (
            f"{source} also publishes {' and '.join(found)}. The audit does not use it, so a PASS "
            "holds only for an adversary who does not use it either"
        ),
    )
