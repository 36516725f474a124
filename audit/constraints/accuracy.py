"""Known training accuracy: the share of all records whose leaf predicts their class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.class_facts import leaf_facts
from treewarden.audit.facts.rows import Case, Linear, Origin, Row, rounding
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.errors import KnowledgeError


class Accuracy(Constraint):
    """Yields one equality over all leaves' labels, unless the leaves' own numbers imply it.

    Under sampling weights an accuracy may be of people or of their weights, and both are taken to be known; the leaves'
    numbers imply the second.
    """

    def words(self, knowledge: Knowledge, target: str) -> Iterator[str]:
        if knowledge.accuracy:
            yield "How accurate the tree is on the table overall"

    def rows(self, case: Case) -> Iterator[Row]:
        if not case.knowledge.accuracy:
            return
        facts, people = leaf_facts(case), case.population
        implied = all(leaf.label is None or leaf.masses[leaf.label] is not None for leaf in facts)
        if implied and people.weight is None:
            return
        truth = people.truth
        if isinstance(truth, Undetermined):
            raise KnowledgeError(
                case.tree.source,
                (
                    f"--accuracy assumes that the training accuracy is known, but {truth.reason}; remove "
                    "--accuracy"
                ),
            )
        label = np.full(len(case.tree.nodes), -1, dtype=np.intp)
        for leaf in facts:
            label[leaf.node.index] = -1 if leaf.label is None else leaf.label
        classes = label[case.population.leaf]
        labelled = np.flatnonzero(classes >= 0).astype(np.intp)
        right = truth[labelled, classes[labelled]]
        hits = float(right.sum())
        origin = Origin("accuracy", f"the training accuracy is {hits / people.records:.4%}")
        ones = np.ones(len(labelled))
        yield Linear(labelled, classes[labelled], ones, hits, hits, origin)
        if people.weight is not None and not implied:
            weights = people.weight[labelled]
            hits = float((right * weights).sum())
            share, slack = hits / people.weighed_counts.sum(), rounding(case, labelled)
            origin = Origin("accuracy", f"the weighed training accuracy is {share:.4%}")
            yield Linear(
                profiles=labelled,
                classes=classes[labelled],
                weights=weights,
                low=hits,
                high=hits,
                origin=origin,
                slack=slack,
            )


CONSTRAINT = Accuracy()
