"""Withhold numbers: first the class counts, then the error rates too. Labels and records stay, so no accuracy is lost.

It lowers what an adversary can be sure of, never what he guesses right: whoever believes the labels is right as often
as before. So it is no remedy for clauses about the leaves themselves. Numbers go at every node, inner ones too: a
parent's count less those of the other children is what a leaf withheld.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from audit.leaves import label_of
from audit.measures import measures
from audit.population import Population
from policies.pack import Pack
from policies.remedies import Proposal, Remedy
from ppdm_models.tree import Node, Tree, completed, count_of

CLASS_COUNTS = "class counts"
ERROR_RATES = "error rates"


class Redact(Remedy):
    """Publishes less at each node, in two steps; a step that takes nothing away is left out."""

    mends_leaves = False

    def propose(self, tree: Tree, population: Population, pack: Pack) -> Iterator[Proposal]:
        if not _has_other_clauses(pack):
            return
        same = tuple(range(len(tree.nodes)))
        rates = replace(tree, nodes=tuple(_rate_only(tree, node) for node in tree.nodes))
        labels = replace(tree, nodes=tuple(_label_only(tree, node) for node in tree.nodes))
        if _told(rates.leaves) not in (_told(tree.leaves), _told(labels.leaves)):
            yield Proposal(
                ("redact",),
                "withhold the class counts; labels, record counts and error rates stay",
                rates,
                (CLASS_COUNTS,),
                same,
            )
        if _told(labels.nodes) != _told(tree.nodes):
            yield Proposal(
                ("redact",),
                "withhold the class counts and the error rates; labels and record counts stay",
                labels,
                (CLASS_COUNTS, ERROR_RATES),
                same,
            )


def _has_other_clauses(pack: Pack) -> bool:
    known = measures()
    return any(
        clause.severity == "error" and not known[clause.measure].about_leaves
        for clause in pack.clauses
    )


def _rate_only(tree: Tree, node: Node) -> Node:
    """Keep of a leaf's classes the count of its label; of an inner node's none, as they would give away the others."""
    label = label_of(tree, node)
    bare = _label_only(tree, node)
    if not node.is_leaf or node.class_counts is None or label is None:
        return bare
    counts = completed(node.class_counts, count_of(node))
    kept = tuple(count if code == label else None for code, count in enumerate(counts))
    return bare if counts[label] is None else replace(bare, class_counts=kept)


def _label_only(tree: Tree, node: Node) -> Node:
    """Keep what the node predicts and how many records it has, said outright where it followed from its counts."""
    label = label_of(tree, node)
    score = tree.classes[label] if node.score is None and label is not None else node.score
    return replace(node, score=score, records=count_of(node), class_counts=None, class_shares=None)


def _told(nodes: tuple[Node, ...]) -> list[tuple[object, object]]:
    """Return what nodes tell of classes, with what simple subtraction reveals."""
    return [
        (node.class_counts and completed(node.class_counts, count_of(node)), node.class_shares)
        for node in nodes
    ]


REMEDY = Redact()
