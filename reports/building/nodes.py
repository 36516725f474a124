"""The tree as a report draws it: real records at each node, its label, and the clauses that break there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.people.target import label_of
from treewarden.audit.reading import Undetermined
from treewarden.policies.judging.decision import Decision, Finding
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.column import brief
from treewarden.ppdm_models.tree.paths import path_text, rounded
from treewarden.ppdm_models.tree.predicate import text
from treewarden.ppdm_models.tree.tree import Node, Tree
from treewarden.reports.document.parts import Risk, TreeNode, number
from treewarden.reports.document.words import count, percent

_ORDER: Sequence[Risk] = ("fail", "undetermined", "warning")


def tree_nodes(evidence: Evidence, decision: Decision) -> tuple[TreeNode, ...]:
    """Return every node in document order; those at risk ranked, the worst 0."""
    forest, people = evidence.forest, evidence.population
    tree, stops = forest.drawn, forest.stops[forest.shown]
    truth = people.truth
    records = _upwards(tree, stops, people.counts[:, None])[:, 0]
    classes = None if isinstance(truth, Undetermined) else _upwards(tree, stops, truth)
    marks = _marks(decision, forest.shown)
    ranks = {index: rank for rank, index in enumerate(marks)}
    return tuple(
        TreeNode(
            index=node.index,
            name=node.name,
            parent=node.parent,
            test=text(node.test, rounded([node.test])),
            exact=text(node.test),
            path=path_text(tree, node.index),
            line=node.line,
            label=node_label(tree, node),
            records=number(float(records[node.index])),
            records_text="not known"
            if people.is_absent and not records[node.index]
            else count(float(records[node.index])),
            label_share_text=_share(evidence, node, classes),
            risk=marks[node.index][0] if node.index in marks else "none",
            rank=ranks.get(node.index),
            clauses=tuple(marks[node.index][1]) if node.index in marks else (),
        )
        for node in tree.nodes
    )


def _upwards(tree: Tree, leaf: np.ndarray, amounts: FloatArray) -> FloatArray:
    """Return the amounts of the records that pass each node, shape (N, K), from those per profile, shape (P, K)."""
    sums = np.zeros((len(tree.nodes), amounts.shape[1]))
    routed = leaf >= 0
    np.add.at(sums, leaf[routed], amounts[routed])
    for node in reversed(tree.nodes):
        if node.parent is not None:
            sums[node.parent] += sums[node.index]
    return sums


def _marks(decision: Decision, shown: int) -> dict[int, tuple[Risk, list[str]]]:
    """Return the nodes at risk, the worst first, each with its worst risk and the clauses that do not pass there.

    Of an ensemble only those of the tree that is drawn.
    """
    found: dict[int, tuple[Risk, list[str]]] = {}
    broken = [finding for finding in decision.own if finding.verdict is not Verdict.PASS]
    risks = {finding.clause: _risk(finding, decision) for finding in broken}
    for finding in sorted(broken, key=lambda finding: _ORDER.index(risks[finding.clause])):
        for place in finding.places:
            if place.kind not in ("leaf", "profile") or place.tree != shown:
                continue
            _, clauses = found.setdefault(place.node, (risks[finding.clause], []))
            if finding.clause not in clauses:
                clauses.append(finding.clause)
    return found


def _risk(finding: Finding, decision: Decision) -> Risk:
    if not decision.counts(finding):
        return "warning"
    return "fail" if finding.verdict is Verdict.FAIL else "undetermined"


def node_label(tree: Tree, node: Node) -> str:
    """Return what a node predicts, in words."""
    if isinstance(node.score, float):
        return brief(node.score)
    code = label_of(tree, node) if tree.classes else None
    return "(none)" if code is None else tree.classes[code]


def _share(evidence: Evidence, node: Node, classes: FloatArray | None) -> str:
    """Return of how many of a node's people its label is true, in words; "" where it holds a number, true of nobody."""
    tree = evidence.forest.drawn
    if not tree.classes:
        return ""
    code = label_of(tree, node) if tree.classes else None
    if classes is None or code is None or tree.classes[code] not in evidence.classes:
        return "not known"
    code = evidence.classes.index(tree.classes[code])
    total = float(classes[node.index].sum())
    return percent(float(classes[node.index, code]) / total) if total else "no records"
