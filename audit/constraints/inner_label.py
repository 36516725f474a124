"""Label of an inner node: no other class is more frequent among all records that pass it (after Zhu & Du 2010).

Learners label every node as they would if it were a leaf. Where they weigh classes by costs or priors, a label may be
no plurality: the true table then breaks the row, and it is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.class_facts import (
    InnerFacts,
    Masses,
    are_classes_counted,
    are_unread_weights,
    inner_facts,
    label_in_doubt,
    leaf_facts,
)
from treewarden.audit.facts.grower import (
    classes_before,
    incomplete_records,
    labels_left_out,
    may_be_weighed,
)
from treewarden.audit.facts.rows import Case, LeftOut, Linear, Origin, Row, WholeRecords, rounding
from treewarden.audit.knowledge.levels import LeafLevel
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray


class InnerLabel(Constraint):
    """Yields one row per labelled inner node and other class, unless what is below the node implies it.

    With ``strict_labels`` the label leads by one whole record, as it does where ties cannot have been. Records that the
    learner may have left out, as they lack values, may all have another class; sampling weights count as weights. Where
    classes or records may have been weighed, all this is left out.
    """

    def rows(self, case: Case) -> Iterator[Row | WholeRecords | LeftOut]:
        if not may_be_weighed(case):
            yield from self._rows(case)
            return
        lines: list[Linear] = []
        for fact in self._rows(case):
            if isinstance(fact, LeftOut):
                yield fact
            else:
                lines.append(fact.row if isinstance(fact, WholeRecords) else fact)
        yield from labels_left_out(case, lines)

    def _rows(self, case: Case) -> Iterator[Linear | WholeRecords | LeftOut]:
        learner = case.tree.learner
        if case.knowledge.leaf is not LeafLevel.AS_PUBLISHED or are_classes_counted(case):
            return
        if learner.weighs_classes or learner.saw_noise or are_unread_weights(case):
            return
        weight = np.ones(1) if case.population.weight is None else case.population.weight
        passed_over = incomplete_records(case)
        # Sums of weights may lead by as little as one likes.
        margin = 1.0 if case.knowledge.strict_labels and case.population.weight is None else 0.0
        codes = {label: code for code, label in enumerate(case.tree.classes)}
        parts: dict[int, _RecordsPart] = {}
        stopping = {leaf.node.index: leaf for leaf in leaf_facts(case)}
        for leaf in stopping.values():
            stops = case.members.stops(leaf.node.index)
            label = leaf.label if leaf.node.is_leaf else None
            parts[leaf.node.index] = _part(case, label, leaf.masses, stops, margin)
        for facts in inner_facts(case):
            index, score = facts.node.index, facts.node.score
            below = [parts[child] for child in facts.node.children if child in parts]
            below += [parts[index]] if index in stopping else []
            label = codes.get(score) if isinstance(score, str) else None
            parts[index] = _part(case, label, facts.masses, facts.inside, margin)
            if label is None or parts[index].masses is not None or not len(facts.inside):
                continue
            first = () if margin else classes_before(case, label)
            doubt = label_in_doubt(
                case,
                passed_over,
                index,
                profiles=facts.inside,
                label=label,
                margin=margin,
                before=first,
            )
            if doubt is not None:
                yield doubt
            if not _is_implied(below, label, margin):
                fewer = float((passed_over * weight)[facts.inside].sum())
                yield from _rows(case, facts, label, margin - fewer)
            if case.population.weight is None and not margin:
                fewer = float(passed_over[facts.inside].sum())
                for row in _rows(case, facts, label, 1.0 - fewer, first):
                    yield WholeRecords(row)


@dataclass(frozen=True, slots=True)
class _RecordsPart:
    """What is known of some of a node's records: the mass of every class, or else the class that leads among them."""

    label: int | None
    masses: FloatArray | None


def _part(
    case: Case, label: int | None, masses: Masses, profiles: IndexArray, margin: float
) -> _RecordsPart:
    """Return what is known of some profiles; a label that the true table breaks implies nothing further up."""
    known = np.array(masses, dtype=float)
    if not np.isnan(known).any():
        return _RecordsPart(None, known)
    truth = case.population.weighed_truth
    if label is not None and not isinstance(truth, Undetermined):
        real = truth.take(profiles, axis=0).sum(axis=0)
        if (np.delete(real, label) + margin > real[label]).any():
            label = None
    return _RecordsPart(label, None)


def _is_implied(parts: Sequence[_RecordsPart], label: int, margin: float) -> bool:
    """Whether what is known of the parts lets no other class be more frequent in all."""
    lead = 0.0
    for part in parts:
        if part.masses is not None:
            lead = lead + part.masses[label] - np.delete(part.masses, label)
        elif part.label == label:
            lead = lead + margin
        else:
            return False
    return bool(np.all(np.asarray(lead) >= margin))


def _rows(
    case: Case, facts: InnerFacts, label: int, margin: float, over: Sequence[int] | None = None
) -> Iterator[Linear]:
    """Yield that a label leads other classes (None: all of them) by a margin."""
    node, inside = facts.node, facts.inside
    said = f"{case.tree.where(node)}: the label is {case.tree.classes[label]!r}"
    weight, slack = np.ones(len(inside)), None
    if case.population.weight is not None:
        weight, slack = case.population.weight[inside], rounding(case, inside)
    for klass in range(len(case.tree.classes)) if over is None else over:
        if klass != label:
            yield Linear(
                profiles=np.concatenate([inside, inside]),
                classes=np.repeat(np.array([label, klass], dtype=np.intp), len(inside)),
                weights=np.concatenate([weight, -weight]),
                low=margin,
                high=np.inf if slack is None else facts.records,
                origin=Origin("inner_label", said, node.index),
                slack=slack,
            )


CONSTRAINT = InnerLabel()
