"""Labels that the true table contradicts: another class is more frequent there, whatever could make it so.

Whoever believes a label that is wrong of the people at its node guesses less than the file could tell, and none of
what labels imply can be used. So a file whose labels are not those of its table is another table's, or was changed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.facts.impurity_rows import grouped
from treewarden.audit.facts.rows import DroppedRow
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.node_columns import codes_of, is_inner, where_of
from treewarden.ppdm_models.tree.nodes import parents_of
from treewarden.ppdm_models.tree.tree import Quality, Task, Tree

PROBLEM = "another class is more frequent there in this table, and the file names no weights or costs of classes"
TOLERANCE_SHARE = 1e-9


def label_contradictions(evidence: Evidence) -> Iterator[DroppedRow]:
    """Yield the labels of nodes that the true table contradicts; none where a label need not be the majority.

    Of an ensemble the labels of each tree are held against all people, where none was trained on a sample of them.
    """
    model, people = evidence.model, evidence.population
    is_other = evidence.secret is not None or people.is_absent
    if is_other or not _saw_everybody(model) or isinstance(people.truth, Undetermined):
        return
    for tree, stops in zip(evidence.trees, evidence.stops, strict=True):
        if tree.classes == model.classes and why_not_judged(tree, people) is None:
            yield from _of_tree(tree, stops, people)


def why_not_judged(tree: Tree, people: Population) -> str | None:
    """Return why the labels of a tree need not be the most frequent classes; None where they have to be."""
    if tree.label_reason:
        return tree.label_reason
    if tree.learner.weighs_classes:
        return "the learner weighed classes"
    if tree.learner.saw_noise:
        return "the learner saw noisy records"
    if tree.quality is Quality.WEIGHTED and people.weight is None:
        return "the learner weighed records"
    return None


def _saw_everybody(model: Model) -> bool:
    if model.task is not Task.CLASSIFICATION:
        return False
    return not isinstance(model, Ensemble) or model.sampling.resampled is False


def _of_tree(tree: Tree, stops: IndexArray, people: Population) -> Iterator[DroppedRow]:
    """Yield the contradictions of one tree, whose people stop at these nodes (negative: nowhere)."""
    labels = codes_of(tree)
    wrong = _is_beaten(tree, labels, stops, people, np.ones(len(people.counts)))
    if wrong.any() and people.weight is not None:
        wrong &= _is_beaten(tree, labels, stops, people, people.weight)
    inner = is_inner(tree)
    for node in np.flatnonzero(wrong).tolist():
        said = f"{where_of(tree, node)}: the label is {tree.classes[labels[node]]!r}"
        yield DroppedRow("inner_label" if inner[node] else "leaf_label", said, PROBLEM, True)


def _is_beaten(
    tree: Tree, labels: IndexArray, stops: IndexArray, people: Population, weight: FloatArray
) -> BoolArray:
    """Return whether another class than its label leads at each node, (N,), whoever of the incomplete was left out.

    Records that lack values may have been left out, or counted elsewhere in parts: those of the label may all have been
    at the node, and those of the other classes elsewhere.
    """
    truth = np.asarray(people.truth) * weight[:, None]
    lacking = truth * _incomplete(tree, people)[:, None]
    inside = stops >= 0
    here = _passing(tree, grouped(stops[inside], truth[inside], len(tree.nodes)))
    open_here = _passing(tree, grouped(stops[inside], lacking[inside], len(tree.nodes)))
    most = here + (lacking.sum(axis=0) - open_here)
    nodes = np.flatnonzero((labels >= 0) & (here.sum(axis=1) > 0))
    lead = most[nodes, labels[nodes]]
    rivals = (here - open_here)[nodes]
    rivals[np.arange(len(nodes)), labels[nodes]] = 0.0
    found = np.zeros(len(tree.nodes), dtype=np.bool_)
    slack = TOLERANCE_SHARE * here[nodes].sum(axis=1)
    found[nodes] = rivals.max(axis=1, initial=0.0) > lead + slack
    return found


def _passing(tree: Tree, stopping: FloatArray) -> FloatArray:
    """Return what passes each node, (N, m), of what stops at each."""
    passing = stopping.copy()
    parents = parents_of(tree.nodes).tolist()
    for node in range(len(parents) - 1, 0, -1):
        passing[parents[node]] += passing[node]
    return passing


def _incomplete(tree: Tree, people: Population) -> FloatArray:
    """Return 1 for the profiles that lack a value of some feature, (P,), else 0."""
    lacks = np.zeros(len(people.counts), dtype=np.bool_)
    for feature in tree.features:
        if feature.name in people.columns:
            lacks |= people.columns[feature.name].missing
    return lacks.astype(np.float64)
