"""Inner nodes are mixed: programs that stop at pure nodes split no node with one class.

So says the shape of the tree alone, whatever the adversary knows of classes and of how splits were chosen. Of whole
records only: one record of another class is enough, which the estimate cannot tell from none.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.class_facts import (
    InnerFacts,
    LeafFacts,
    inner_facts,
    leaf_facts,
    true_masses,
)
from treewarden.audit.facts.grower import (
    incomplete_records,
    may_be_weighed,
    stops_at_pure,
    sure_labels,
)
from treewarden.audit.facts.rows import Case, LeftOut, Linear, Origin, WholeRecords
from treewarden.audit.knowledge.levels import LeafLevel
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.tree.nodes import parents_of

WHY = "that nodes which were split are mixed, as it is not known whether their learner stops at pure ones"


class InnerMixed(Constraint):
    """Yields per inner node and class that some record has another one, unless what is known of the leaves implies it.

    Where it is not known that the learner stops at pure nodes, the same is left out, unless the true table shows a pure
    node that was split. Of a tree grown on noisy records nothing is yielded: the true records of a node may all have
    one class.
    """

    def rows(self, case: Case) -> Iterator[WholeRecords | LeftOut]:
        if case.tree.learner.saw_noise:
            return
        seen = _classes_seen(case)
        unsaid = [
            facts
            for facts in inner_facts(case)
            if len(facts.inside)
            and not _is_counted(case, facts)
            and seen[facts.node.index].sum() < 2
        ]
        if stops_at_pure(case):
            yield from (WholeRecords(row) for facts in unsaid for row in _rows(case, facts))
        elif unsaid and not _is_pure_split(case):
            for facts in unsaid:
                yield LeftOut(facts.node.index, "", WHY, lines=tuple(_rows(case, facts)))


def _is_counted(case: Case, facts: InnerFacts) -> bool:
    """Whether the adversary knows the number of each class at a node: numbers of its own count only as published."""
    as_published = case.knowledge.leaf is LeafLevel.AS_PUBLISHED
    return all(mass is not None for mass in (facts.masses if as_published else facts.below))


def _is_pure_split(case: Case) -> bool:
    """Whether the true table shows that the learner split a node whose records all have one class."""
    truth = case.population.truth
    if isinstance(truth, Undetermined):
        return False
    inner = (node for node in case.tree.nodes if not node.is_leaf)
    masses = (truth[case.members.profiles_at(node.index)].sum(axis=0) for node in inner)
    return any((mass > 0).sum() == 1 for mass in masses)


def _classes_seen(case: Case) -> BoolArray:
    """Return which classes surely occur among the records that pass each node, (N, m), by what leaves say."""
    seen = np.zeros((len(case.tree.nodes), len(case.tree.classes)), dtype=bool)
    leaf, size = case.population.leaf, len(case.tree.nodes)
    lacks = np.bincount(leaf, incomplete_records(case), size) > 0
    held = true_masses(case)
    for facts in leaf_facts(case):
        node = facts.node.index
        seen[node] = [mass is not None and mass > 0 for mass in facts.masses]
        true = None if held is None else held[node]
        if facts.label is not None and not lacks[node] and _is_label_sure(case, facts, true):
            seen[node, facts.label] = True
    for child, parent in reversed(list(enumerate(parents_of(case.tree.nodes).tolist()))):
        if parent >= 0:
            seen[parent] |= seen[child]
    return seen


def _is_label_sure(case: Case, facts: LeafFacts, true: FloatArray | None) -> bool:
    """Whether a label is known to be that of some record: rows of ``leaf_label`` say so, and the true table agrees.

    ``true`` (m,) is what a file counts of each class of the leaf in that table, None where it is not known. The learner
    left out no record of the leaf.
    """
    if not facts.node.is_leaf or case.tree.learner.weighs_classes:
        return False
    if may_be_weighed(case) and not sure_labels(case)[facts.node.index]:
        return False
    return true is None or bool(true[facts.label] >= true.max())


def _rows(case: Case, facts: InnerFacts) -> Iterator[Linear]:
    inside = facts.inside
    most = float(case.population.counts[inside].sum()) - 1.0
    said = f"{case.tree.where(facts.node)} was split, so that its records do not all have one class"
    origin = Origin("inner_mixed", said, facts.node.index)
    for klass in range(len(case.tree.classes)):
        classes = np.full(len(inside), klass, dtype=np.intp)
        yield Linear(inside, classes, np.ones(len(inside)), 0.0, most, origin)


CONSTRAINT = InnerMixed()
