"""Label of a leaf: no other class is more frequent there (Zhu & Du 2010, label constraint)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.class_facts import are_unread_weights, label_in_doubt, leaf_facts
from treewarden.audit.facts.grower import (
    classes_before,
    incomplete_records,
    is_sorted,
    labels_left_out,
    may_be_weighed,
    sure_labels,
)
from treewarden.audit.facts.rows import (
    Case,
    LeftOut,
    Linear,
    Origin,
    Plurality,
    Row,
    WholeRecords,
    common_weight,
    lead_rows,
)
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import IndexArray
from treewarden.ppdm_models.tree.tool import Tool

TIES = "which class a label names of several that are as frequent, as the file does not say how they are ordered"


class LeafLabel(Constraint):
    """Yields one plurality per leaf whose distribution is not known in full; none of inner nodes where records stop.

    With ``strict_labels`` the label leads by one whole record, as it does where ties cannot have been. Records that the
    learner may have left out, as they lack values, may all have another class than the label; tables show what is
    possible only where the label leads whichever of these were left out. Under sampling weights
    that differ it leads by weight, and strictly only where they are whole numbers. Labels from noisy records say
    nothing for sure of the true ones; what is said of them is left out, unless a claim tells how they were drawn. Where
    classes or records may have been weighed, the lead of labels is left out, and some record has the label's class.
    """

    def words(self, knowledge: Knowledge, target: str) -> Iterator[str]:
        if knowledge.strict_labels:
            yield "That each leaf’s label is strictly its most common value, never a tie"

    def rows(self, case: Case) -> Iterator[Row | WholeRecords | LeftOut]:
        margin = 1.0 if case.knowledge.strict_labels else 0.0
        weight = case.population.weight
        passed_over = incomplete_records(case)
        if case.tree.learner.weighs_classes:
            yield LeftOut(0, "", "labels, as classes were weighed", is_open=True)
            return
        if case.tree.learner.has_known_noise:
            yield from _drawn_labels(case)
            return
        if case.tree.learner.saw_noise:
            private = case.tree.learner.claims_privacy
            why = (
                "they may have been drawn at random" if private else "the learner saw noisy records"
            )
            yield LeftOut(0, "", f"labels, as {why}", is_open=True)
            return
        if are_unread_weights(case):
            return  # a label leads by weights, which nobody named
        may_lag, left_out = may_be_weighed(case), list[Plurality | Linear]()
        for facts in leaf_facts(case):
            if facts.label is None or all(mass is not None for mass in facts.masses):
                continue
            if not facts.node.is_leaf:
                continue  # the label of an inner node where records stop is that of all who pass it
            said = f"{case.tree.where(facts.node)}: the label is {case.tree.classes[facts.label]!r}"
            origin = Origin("leaf_label", said, facts.node.index)
            here = case.members.stops(facts.node.index)
            first = () if margin else classes_before(case, facts.label)
            doubt = label_in_doubt(
                case,
                passed_over,
                facts.node.index,
                profiles=here,
                label=facts.label,
                margin=margin,
                before=first,
            )
            if doubt is not None:
                yield doubt
            if common_weight(case, here) is None:
                assert weight is not None
                lead = margin - float(passed_over[here] @ weight[here])
                rows: Sequence[Plurality | Linear] = lead_rows(
                    case, facts.node.index, facts.label, lead, origin
                )
            else:
                lead = margin - float(passed_over[here].sum())
                if may_lag and case.tree.learner.tool is Tool.SCIKIT_LEARN:
                    # The order of its classes decides ties, and need not be that of the file.
                    first = tuple(k for k in range(len(facts.masses)) if k != facts.label)
                rows = (Plurality(facts.node.index, facts.label, lead, origin, first),)
            if not may_lag:
                yield from rows
                yield from _ties_left_out(case, here, facts.label, origin)
                continue
            left_out += rows
            if sure_labels(case)[facts.node.index] and not passed_over.any():
                yield WholeRecords(_occurring(case, here, facts.label, facts.node.index))
        yield from labels_left_out(case, left_out)


def _drawn_labels(case: Case) -> Iterator[LeftOut]:
    """Yield the labels that are true of the table, as what may hold: they prove nothing, as all were drawn.

    What is possible has to be so under both readings: as noise, and as the commonest class of a learner that drew
    nothing. A label that the table contradicts is noise for sure.
    """
    truth = case.population.truth
    if isinstance(truth, Undetermined):
        return
    for facts in leaf_facts(case):
        here = case.members.stops(facts.node.index)
        if facts.label is None or not facts.node.is_leaf or not len(here):
            continue
        counts = truth[here].sum(axis=0)
        if counts[facts.label] >= counts.max():
            said = f"{case.tree.where(facts.node)}: the label is {case.tree.classes[facts.label]!r}"
            origin = Origin("leaf_label", said, facts.node.index)
            rivals = [place for place in range(len(counts)) if place != facts.label]
            lines = tuple(_leading(here, facts.label, rival, origin) for rival in rivals)
            yield LeftOut(facts.node.index, "", "labels, as they were drawn", lines=lines)


def _ties_left_out(case: Case, here: IndexArray, label: int, origin: Origin) -> Iterator[LeftOut]:
    """Yield that a label leads by a whole record, where the order of scikit-learn's classes, not known, decides ties.

    Nothing is left out of classes that are as frequent as the label in the true table.
    """
    is_weighed = case.population.weight is not None or case.knowledge.strict_labels
    is_ordered = case.tree.learner.tool is not Tool.SCIKIT_LEARN or is_sorted(case.tree.classes)
    if is_weighed or is_ordered or incomplete_records(case)[here].any():
        return
    truth, rivals = case.population.truth, [k for k in range(len(case.tree.classes)) if k != label]
    if not isinstance(truth, Undetermined):
        counts = truth[here].sum(axis=0)
        rivals = [klass for klass in rivals if counts[klass] < counts[label]]
    lines = tuple(
        replace(_leading(here, label, klass, origin), low=1.0) for klass in rivals if len(here)
    )
    if lines:
        yield LeftOut(origin.node or 0, "", TIES, lines=lines)


def _occurring(case: Case, here: IndexArray, label: int, node: int) -> Linear:
    """Return that some record at a node has a class."""
    said = f"{case.tree.where(case.tree.nodes[node])}: some record has its label"
    classes, most = np.full(len(here), label, dtype=np.intp), case.population.counts[here].sum()
    origin = Origin("leaf_label", f"{said} {case.tree.classes[label]!r}", node)
    return Linear(here, classes, np.ones(len(here)), 1.0, float(most), origin)


def _leading(here: IndexArray, label: int, rival: int, origin: Origin) -> Linear:
    """Return that no fewer people of some profiles have one class than another."""
    ones = np.ones(len(here))
    classes = np.repeat([label, rival], len(here))
    weights = np.concatenate([ones, -ones])
    return Linear(np.concatenate([here, here]), classes, weights, 0.0, np.inf, origin)


CONSTRAINT = LeafLabel()
