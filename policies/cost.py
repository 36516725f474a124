"""What a change to a tree costs: leaves, predictions, training accuracy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from audit.leaves import IndexArray, label_of
from audit.population import Population
from audit.reading import Reading, Undetermined, exactly
from policies.remedies import Proposal
from ppdm_models.tree import Task, Tree


@dataclass(frozen=True, slots=True)
class Cost:
    """What a change costs. ``predictions_changed`` is the share of the table's records that get another prediction.

    The accuracies are shares of the table's records, so they are training accuracies.
    """

    leaves_before: int
    leaves_after: int
    predictions_changed: float
    accuracy_before: Reading
    accuracy_after: Reading
    withheld: tuple[str, ...]

    @property
    def leaves_lost(self) -> int:
        """How many leaves are gone."""
        return self.leaves_before - self.leaves_after

    @property
    def rank(self) -> tuple[int, float, int]:
        """The order of costs: lost leaves weigh more than changed predictions, and those more than withheld numbers."""
        return (self.leaves_lost, self.predictions_changed, len(self.withheld))


def cost_of(tree: Tree, people: Population, proposal: Proposal) -> Cost:
    """Return what a proposal costs the people's tree; ``people`` are those of the tree as it is."""
    before, said_before = _predictions(tree, people.leaf, people)
    after, said_after = _predictions(
        proposal.tree, np.array(proposal.node_map)[people.leaf], people
    )
    changed = np.array([old != new for old, new in zip(said_before, said_after, strict=True)])
    return Cost(
        len(tree.leaves),
        len(proposal.tree.leaves),
        float(people.counts[changed].sum() / people.records) if people.records else 0.0,
        before,
        after,
        proposal.withheld,
    )


def _predictions(
    tree: Tree, leaf: IndexArray, people: Population
) -> tuple[Reading, list[str | float | None]]:
    """Return the share of records predicted right, and what is predicted for each profile, shape (P,)."""
    if tree.task is Task.REGRESSION:
        said = [tree.nodes[index].score for index in leaf]
        return Undetermined("the tree predicts a number, not a class"), said
    labels = {int(index): label_of(tree, tree.nodes[index]) for index in np.unique(leaf)}
    codes = [labels[int(index)] for index in leaf]
    names = [None if code is None else tree.classes[code] for code in codes]
    if isinstance(people.truth, Undetermined):
        return people.truth, list(names)
    right = sum(people.truth[row, code] for row, code in enumerate(codes) if code is not None)
    return exactly(right / people.truth.sum()), list(names)
