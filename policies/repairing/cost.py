"""What a change to a model costs: leaves, predictions, training accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.people.forest import accuracy_of, said_by
from treewarden.audit.people.population import Population
from treewarden.audit.people.target import label_of
from treewarden.audit.reading import Reading, Undetermined, exactly
from treewarden.policies.remedies import Proposal
from treewarden.policies.repairing.holdout import Holdout
from treewarden.ppdm_models.arrays import IndexArray
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, trees_of
from treewarden.ppdm_models.tree.tree import Node, Task, Tree, completed, count_of

Said = list[str | float | None]
ROUNDED = 12
"""Decimals by which costs are told apart: sums of the same weights in another order are the same cost."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a change costs. ``predictions_changed`` is the share of the table's records that get another prediction.

    Of several trees that is the one they make together, and so it is for the accuracies and losses.

    The accuracies are shares of the table's records, so they are training accuracies. ``numbers_withheld`` is the share
    of the class numbers that an average leaf no longer gives; a number given as a band counts half. ``sizes_withheld``
    is the share of the record counts that are gone. The losses are those expected on records held out (see
    ``Holdout``), None where there are none.
    """

    leaves_before: int
    leaves_after: int
    predictions_changed: float | Undetermined
    accuracy_before: Reading
    accuracy_after: Reading
    withheld: tuple[str, ...]
    numbers_withheld: float
    sizes_withheld: float
    loss_before: Reading | None = None
    loss_after: Reading | None = None

    @property
    def accuracy_lost(self) -> float:
        """The share of the records that are no longer predicted right; 0 where that is not known, or none is lost."""
        before, after = self.accuracy_before, self.accuracy_after
        if isinstance(before, Undetermined) or isinstance(after, Undetermined):
            return 0.0
        return max(0.0, round(before.low - after.low, ROUNDED))

    @property
    def leaves_lost(self) -> int:
        """How many leaves are gone."""
        return self.leaves_before - self.leaves_after

    @property
    def rank(self) -> tuple[float, float, int, float, float]:
        """The order of costs: accuracy weighs more than other predictions, then lost leaves, then withheld numbers.

        Class numbers come before record counts, so that what withholds these as well always costs more. Where it
        cannot be told which predictions change, all may.
        """
        told = self.predictions_changed
        changed = 1.0 if isinstance(told, Undetermined) else round(told, ROUNDED)
        withheld = round(self.numbers_withheld, ROUNDED)
        sizes = round(self.sizes_withheld, ROUNDED)
        return (self.accuracy_lost, changed, self.leaves_lost, withheld, sizes)


def cost_of(
    model: Model, people: Population, proposal: Proposal, holdout: Holdout | None = None
) -> Cost:
    """Return what a proposal costs the people's model; ``people`` are those of the model as it is."""
    old, new = model, proposal.model
    before, said_before = _predictions(old, people.leaf, people)
    moved = np.array(proposal.node_map)[people.leaf] if isinstance(new, Tree) else people.leaf
    after, said_after = _predictions(new, moved, people)
    leaves_before, leaves_after = _leaves(old), _leaves(new)
    return Cost(
        len(leaves_before),
        len(leaves_after),
        _changed(said_before, said_after, people),
        before,
        after,
        proposal.withheld,
        _withheld(_told(leaves_before), _told(leaves_after)),
        _withheld(_sized(leaves_before), _sized(leaves_after)),
        None if holdout is None else holdout.loss(old),
        None if holdout is None else holdout.loss(new),
    )


def _leaves(model: Model) -> list[Node]:
    return [leaf for tree in trees_of(model) for leaf in tree.leaves]


def _changed(
    before: Said | Undetermined, after: Said | Undetermined, people: Population
) -> float | Undetermined:
    if isinstance(before, Undetermined):
        return before
    if isinstance(after, Undetermined):
        return after
    changed = np.array([old != new for old, new in zip(before, after, strict=True)])
    return float(people.counts[changed].sum() / people.records) if people.records else 0.0


def _withheld(before: float, after: float) -> float:
    return 1 - min(after / before, 1.0) if before else 0.0


def _told(leaves: Sequence[Node]) -> float:
    """Return how many class numbers an average leaf gives, those that simple subtraction reveals among them."""
    counts = [completed(leaf.class_counts or (), count_of(leaf)) for leaf in leaves]
    exact = sum(number is not None for numbers in counts for number in numbers)
    shares = sum(len(leaf.class_shares or ()) for leaf in leaves if not leaf.class_counts)
    bands = sum(band is not None for leaf in leaves for band in leaf.bands or ())
    return (exact + shares + bands / 2) / len(leaves)


def _sized(leaves: Sequence[Node]) -> float:
    """Return the share of the leaves that say how many records they hold."""
    return sum(count_of(leaf) is not None for leaf in leaves) / len(leaves)


def _predictions(
    tree: Model, leaf: IndexArray, people: Population
) -> tuple[Reading, Said | Undetermined]:
    """Return the share of records predicted right, and what is predicted for each profile, shape (P,)."""
    if isinstance(tree, Ensemble):
        all_say = said_by(tree, people.columns)
        return accuracy_of(tree, people, all_say), all_say
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
