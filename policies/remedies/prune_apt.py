"""Prune: merge siblings until every leaf meets the policy's clauses about leaves (Sharkey et al. 2008, algorithm APT).

The requirement is every error clause of the pack that is about the leaves alone, held against the owner's real counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from audit.leaves import described, real_classes
from audit.measures import LeafMeasure, measures
from audit.population import Population
from audit.posterior import FloatArray
from audit.reading import Undetermined, exactly
from policies.judge import call
from policies.pack import Clause, Pack
from policies.remedies import NoProposal, Proposal, Remedy
from policies.rules import rules
from policies.verdict import Verdict
from ppdm_models.apt import BoolArray, as_leaf, prune, summed
from ppdm_models.tree import Node, Task, Tree

NAME = ("prune_apt",)


class PruneApt(Remedy):
    """Proposes one tree: the pruned one; or says that no tree is left."""

    mends_leaves = True

    def propose(
        self, tree: Tree, population: Population, pack: Pack
    ) -> Iterator[Proposal | NoProposal]:
        size = len(tree.nodes)
        stopping = np.bincount(population.leaf, weights=population.counts, minlength=size).astype(
            np.float64
        )
        truth = real_classes(tree, population)
        classes: FloatArray | Undetermined = truth
        if not isinstance(truth, Undetermined):
            classes = np.zeros((size, truth.shape[1]))
            np.add.at(classes, population.leaf, truth)
        passing = classes if isinstance(classes, Undetermined) else summed(tree, classes)
        leaves = [
            as_leaf(tree, i, None if isinstance(passing, Undetermined) else passing[i])
            for i in range(size)
        ]
        stays = _satisfied(tree, tree.nodes, stopping, classes, pack)
        merges = _satisfied(tree, leaves, summed(tree, stopping), passing, pack)
        if isinstance(stays, NoProposal) or isinstance(merges, NoProposal):
            yield stays if isinstance(stays, NoProposal) else merges  # type: ignore[misc]  # one of the two is
        elif not stays.all():
            yield _proposal(tree, stays, merges, leaves)


def _proposal(
    tree: Tree, stays: BoolArray, merges: BoolArray, leaves: list[Node]
) -> Proposal | NoProposal:
    pruned = prune(tree, stays, merges, leaves)
    if pruned is None:
        return NoProposal(
            NAME,
            "pruning leaves no tree: to meet the clauses about leaves everything would have to be merged into one leaf",
        )
    if tree.task is Task.CLASSIFICATION and any(leaf.score is None for leaf in pruned.tree.leaves):
        return NoProposal(NAME, "pruning needs a label for each merged leaf, and none is known")
    lost = len(tree.leaves) - len(pruned.tree.leaves)
    merged = f"{len(pruned.merged)} {'node becomes a leaf' if len(pruned.merged) == 1 else 'nodes become leaves'}"
    return Proposal(
        NAME,
        f"prune: {merged}, {lost} of {len(tree.leaves)} leaves go",
        pruned.tree,
        (),
        pruned.node_map,
    )


def _satisfied(
    tree: Tree,
    nodes: tuple[Node, ...] | list[Node],
    records: FloatArray,
    classes: FloatArray | Undetermined,
    pack: Pack,
) -> BoolArray | NoProposal:
    """Return per node whether these records meet the clauses about leaves; nobody is harmed where there are none."""
    held = np.flatnonzero(records > 0)
    satisfied = np.ones(len(nodes), dtype=bool)
    leaves = described(
        tree,
        [nodes[index] for index in held],
        records[held],
        classes if isinstance(classes, Undetermined) else classes[held],
    )
    for clause, measure in _leaf_clauses(pack):
        values = measure.values(leaves, dict(call(clause).parameters))
        if isinstance(values, Undetermined):
            return NoProposal(NAME, f"pruning cannot meet clause {clause.id!r}: {values.reason}")
        rule = rules()[clause.rule]
        satisfied[held] &= [
            rule.judge(exactly(value), clause.limit) is Verdict.PASS for value in values
        ]
    return satisfied


def _leaf_clauses(pack: Pack) -> Iterator[tuple[Clause, LeafMeasure]]:
    known = measures()
    for clause in pack.clauses:
        measure = known[clause.measure]
        if clause.severity == "error" and isinstance(measure, LeafMeasure):
            yield clause, measure


REMEDY = PruneApt()
