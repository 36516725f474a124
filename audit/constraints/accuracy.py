"""Known training accuracy: the share of all records whose leaf carries their class, as published beside a model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from audit.constraints import Case, Constraint
from audit.leaf_facts import LeafFacts, leaf_facts
from audit.reading import Undetermined
from audit.rows import Linear, Origin, Row
from ppdm_models.errors import KnowledgeError


class Accuracy(Constraint):
    """Yields one equality over all leaves' labels, unless the leaves' own numbers imply it."""

    def rows(self, case: Case) -> Iterator[Row]:
        if not case.knowledge.accuracy:
            return
        facts = list(leaf_facts(case))
        if all(leaf.label is None or leaf.masses[leaf.label] is not None for leaf in facts):
            return
        hits = _hits(case, facts)
        label = np.full(len(case.tree.nodes), -1, dtype=np.intp)
        for leaf in facts:
            label[leaf.node.index] = -1 if leaf.label is None else leaf.label
        classes = label[case.population.leaf]
        labelled = np.flatnonzero(classes >= 0)
        share = hits / case.population.records
        yield Linear(
            labelled.astype(np.intp),
            classes[labelled],
            np.ones(len(labelled)),
            hits,
            hits,
            Origin("accuracy", f"the training accuracy is {share:.4%}"),
        )


def _hits(case: Case, facts: list[LeafFacts]) -> float:
    truth = case.population.truth
    if not isinstance(truth, Undetermined):
        label = {leaf.node.index: leaf.label for leaf in facts}
        by_profile = [label[int(stop)] for stop in case.population.leaf]
        return float(
            sum(truth[q, klass] for q, klass in enumerate(by_profile) if klass is not None)
        )
    raise KnowledgeError(
        case.tree.source,
        f"the training accuracy is said to be known, but {truth.reason}; leave out --accuracy",
    )


CONSTRAINT = Accuracy()
