"""What somebody makes of a secret column where nobody says how many people are in each leaf.

Paths part the values and say nothing of how many people have which: who does not know the sizes goes on believing how
common those values are that some leaf leaves which can hold such a person, and can exclude only the others. Whoever
knows everybody's class weighs the leaves: by the share of hidden values that lead there, and then by how many of a leaf
have that class, as the file says it of the leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.estimate.posterior import Posterior
from treewarden.audit.options import AuditOptions
from treewarden.audit.partial.domains import Domain
from treewarden.audit.partial.leaf_table import LeafTable
from treewarden.audit.partial.learned import Proofs
from treewarden.audit.partial.open_values import Arcs, values_of
from treewarden.audit.partial.secret import Secret
from treewarden.audit.partial.secret_part import summed
from treewarden.audit.partial.seen import Seen
from treewarden.audit.partial.unsized import (
    SIZES_UNKNOWN,
    averaged,
    between,
    can_hold,
    unsized_worlds,
)
from treewarden.audit.partial.walk import Knower, Place
from treewarden.audit.people.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray

ALL_DECIDE = "every leaf that can hold such a person leaves this value alone"


@dataclass(frozen=True, slots=True)
class Unsized:
    """Somebody who knows no sizes, the ``arcs`` to where people can stop, and the leaves.

    ``profiles`` are those of the people of each class in ``classes``, (C,), or of all people where nobody's is known.
    ``is_compared`` says that splits on the secret may say more of who has what inside a leaf.
    """

    who: Knower
    arcs: Arcs
    leaves: LeafTable
    population: Population
    secret: Secret
    profiles: Sequence[IndexArray]
    classes: IndexArray | None
    is_compared: bool

    def seen(self, sized: Seen, options: AuditOptions) -> Seen:
        """Return what is made of the secret, given what would be if the sizes were published."""
        is_left = self._left()
        posterior, prior = sized.posterior, sized.prior
        if isinstance(posterior, Posterior) and isinstance(prior, Posterior):
            share = _kept(prior.values, is_left)
            if self.classes is None:
                posterior = between(share, share, share, posterior)
            else:
                posterior = self._weighed(share, posterior, options)
        is_certain = is_left & (is_left.sum(axis=1) == 1)[:, None]
        proved = Proofs(is_certain, ~is_left, np.zeros_like(is_left))
        worlds = unsized_worlds(sized.population, proved, sized.worlds, ALL_DECIDE)
        said = (*sized.said, SIZES_UNKNOWN)
        return replace(sized, posterior=posterior, worlds=worlds, said=said)

    def _left(self) -> BoolArray:
        """Return which values some leaf leaves that can hold such a person, (N, B)."""
        arcs, lumps = self.arcs, int(self.arcs.lump_of.max()) + 1
        left = arcs.allowed[arcs.kind].astype(np.float64)
        holds = np.ones((len(self.who.tree.nodes), 1), dtype=bool)
        if self.classes is not None:
            holds = can_hold(len(holds), self.leaves)[:, self.classes]
        return np.concatenate(
            [
                summed(arcs.row, own[arcs.node].astype(np.float64), left, lumps)[arcs.lump_of[some]]
                > 0
                for own, some in zip(holds.T, self.profiles, strict=True)
            ]
        )

    def _weighed(
        self, share: FloatArray, sized: Posterior, options: AuditOptions
    ) -> Posterior | Undetermined:
        """Return the estimate of who knows everybody's class; ``share`` (N, B) where no leaf has any of that class."""
        assert self.classes is not None
        own = self.leaves.estimate(options)
        if isinstance(own, Undetermined):
            return own
        of_node = np.zeros((len(self.who.tree.nodes), len(self.classes)))
        of_node[self.leaves.nodes] = own.values[:, self.classes]
        is_held = np.zeros(len(of_node))
        is_held[self.leaves.nodes] = 1.0
        size = len(self.secret.values)
        inside = _Inside(self.secret, self.who.hidden.get(self.secret.name), self.population)

        def told(place: Place) -> tuple[float, FloatArray]:
            rows = inside.told(place)
            return is_held[place.node], np.outer(of_node[place.node], rows).ravel()

        width = 1 + 3 * size
        found = averaged(self.who, told, len(self.classes) * width)
        found = found.reshape(len(found), len(self.classes), width)
        own_rows = np.concatenate([found[some, at] for at, some in enumerate(self.profiles)])
        total = own_rows[:, :1]
        values, low, high = (
            np.divide(own_rows[:, start : start + size], total, out=share.copy(), where=total > 0)
            for start in range(1, width, size)
        )
        return between(values, low, high if self.is_compared else values, sized)


@dataclass(frozen=True, slots=True)
class _Inside:
    """What a way to a leaf leaves of the secret."""

    secret: Secret
    domain: Domain | None
    population: Population

    def told(self, place: Place) -> FloatArray:
        """Return 1, how common each value is among those left, which is decided, and which are left, (1 + 3 B,)."""
        mask = place.masks.get(self.secret.name)
        key = {b"" if mask is None else mask.tobytes(): 0}
        allowed, inside = values_of(key, self.secret, self.domain, self.population)
        left = allowed[0].astype(np.float64)
        decided = left if left.sum() == 1 else np.zeros_like(left)
        return np.concatenate([[1.0], inside[0], decided, left])


def _kept(prior: FloatArray, is_left: BoolArray) -> FloatArray:
    """Return how common values are among those left, (N, B)."""
    kept = np.where(is_left, prior, 0.0)
    total = kept.sum(axis=1, keepdims=True)
    even = is_left / np.maximum(is_left.sum(axis=1, keepdims=True), 1)
    return np.asarray(np.divide(kept, total, out=even, where=total > 0))
