"""Attribute inference where the file does not say how many people are in each leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.entropy.posterior import Posterior
from treewarden.audit.partial.attributes.attribute_posterior import AttributeEstimator
from treewarden.audit.partial.attributes.secret_part import summed
from treewarden.audit.partial.compatible_values import CompatibleValues, values_of
from treewarden.audit.partial.partial_view import ReachablePath
from treewarden.audit.partial.reachability import Proofs
from treewarden.audit.partial.secret_column import Secret
from treewarden.audit.partial.target_inference import TargetInference
from treewarden.audit.partial.unknown_leaf_sizes import (
    SIZES_UNKNOWN,
    average_over_paths,
    between,
    can_hold,
    unsized_tables,
)
from treewarden.audit.partial.value_kinds import ValueKinds
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray

# Inference of a secret column where the sizes of leaves are unknown.
#
# Paths part the values and say nothing of how many people have which: who does not know the sizes goes on believing
# how common those values are that some leaf leaves which can hold such a person, and can exclude only the others.
# Whoever knows everybody's class weighs the leaves: by the share of hidden values that lead there, and then by how
# many of a leaf have that class, as the file says it of the leaf.

ALL_DECIDE = "every leaf that such a person can reach allows only this value"


@dataclass(frozen=True, slots=True)
class UnsizedAttribute:
    """Attribute inference where no sizes are known, over the ``arcs`` to where people can stop.

    ``profiles`` are those of the people of each class, where everybody's is known, or of all people.
    """

    estimator: AttributeEstimator
    arcs: CompatibleValues
    profiles: Sequence[IndexArray]

    def infer(self, sized: TargetInference) -> TargetInference:
        """Return what follows of the secret, given what would if the sizes were published."""
        is_left = self._left()
        posterior, prior = sized.posterior, sized.prior
        if isinstance(posterior, Posterior) and isinstance(prior, Posterior):
            share = _value_frequencies(prior.values, is_left)
            classes = self.estimator.classes
            if classes is None:
                posterior = between(share, share, share, posterior)
            else:
                posterior = self._weighed(share, classes, posterior)
        is_certain = is_left & (is_left.sum(axis=1) == 1)[:, None]
        proved = Proofs(is_certain, ~is_left, np.zeros_like(is_left))
        worlds = unsized_tables(sized.population, proved, sized.worlds, ALL_DECIDE)
        said = (*sized.said, SIZES_UNKNOWN)
        return replace(sized, posterior=posterior, worlds=worlds, said=said)

    def _left(self) -> BoolArray:
        """Return which values some leaf leaves that can hold such a person, (N, B)."""
        arcs, lumps = self.arcs, int(self.arcs.lump_of.max()) + 1
        left = arcs.allowed[arcs.kind].astype(np.float64)
        classes, leaves = self.estimator.classes, self.estimator.leaves
        holds = np.ones((len(self.estimator.context.tree.nodes), 1), dtype=bool)
        if classes is not None:
            holds = can_hold(len(holds), leaves)[:, classes]
        return np.concatenate(
            [
                summed(arcs.row, own[arcs.node].astype(np.float64), left, lumps)[arcs.lump_of[some]]
                > 0
                for own, some in zip(holds.T, self.profiles, strict=True)
            ]
        )

    def _weighed(
        self, share: FloatArray, classes: IndexArray, sized: Posterior
    ) -> Posterior | Undetermined:
        """Return the estimate where everybody's class is known; ``share`` (N, B) where no leaf has any of a class."""
        estimator, leaves = self.estimator, self.estimator.leaves
        of_leaves = leaves.estimate(estimator.options)
        if isinstance(of_leaves, Undetermined):
            return of_leaves
        view, secret = estimator.knowledge.views[0], estimator.secret
        of_node = np.zeros((len(view.tree.nodes), len(classes)))
        of_node[leaves.nodes] = of_leaves.values[:, classes]
        is_held = np.zeros(len(of_node))
        is_held[leaves.nodes] = 1.0
        size = len(secret.values)
        inside = _Inside(secret, view.hidden.get(secret.name), estimator.population)

        def weigh_path(place: ReachablePath) -> tuple[float, FloatArray]:
            rows = inside.value_shares(place)
            return is_held[place.node], np.outer(of_node[place.node], rows).ravel()

        width = 1 + 3 * size
        found = average_over_paths(view, weigh_path, len(classes) * width)
        found = found.reshape(len(found), len(classes), width)
        own_rows = np.concatenate([found[some, at] for at, some in enumerate(self.profiles)])
        total = own_rows[:, :1]
        values, low, high = (
            np.divide(own_rows[:, start : start + size], total, out=share.copy(), where=total > 0)
            for start in range(1, width, size)
        )
        return between(values, low, high if estimator.is_compared else values, sized)


@dataclass(frozen=True, slots=True)
class _Inside:
    """What a way to a leaf leaves of the secret."""

    secret: Secret
    domain: ValueKinds | None
    population: Population

    def value_shares(self, place: ReachablePath) -> FloatArray:
        """Return 1, how common each value is among those left, which is decided, and which are left, (1 + 3 B,)."""
        mask = place.masks.get(self.secret.name)
        key = {b"" if mask is None else mask.tobytes(): 0}
        allowed, inside = values_of(key, self.secret, self.domain, self.population)
        left = allowed[0].astype(np.float64)
        decided = left if left.sum() == 1 else np.zeros_like(left)
        return np.concatenate([[1.0], inside[0], decided, left])


def _value_frequencies(prior: FloatArray, is_left: BoolArray) -> FloatArray:
    """Return how common values are among those left, (N, B)."""
    kept = np.where(is_left, prior, 0.0)
    total = kept.sum(axis=1, keepdims=True)
    even = is_left / np.maximum(is_left.sum(axis=1, keepdims=True), 1)
    return np.asarray(np.divide(kept, total, out=even, where=total > 0))
