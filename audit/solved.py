"""A block with its answer: what the search keeps and the certificate looks at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from audit.block_solver import Answer
from audit.posterior import FloatArray
from audit.reduce import Reduced


@dataclass(frozen=True, slots=True)
class Solved:
    """A block as it was reduced, and the answer.

    ``is_symmetric`` where the pooled form was solved; ``is_saddle`` where the second-order test says that letting
    pooled classes differ would help, but no better point was found. ``bound`` is the most entropy that the block can
    have, in nats times records; infinite where nothing is proved.
    """

    reduced: Reduced
    answer: Answer
    is_symmetric: bool
    is_saddle: bool = False
    bound: float = np.inf

    def values(self) -> FloatArray:
        """Return the estimate of the block's profiles, shape (K, m)."""
        return shares(self.reduced, self.answer.z)

    def entropy(self, counts: FloatArray) -> float:
        """Return the entropy of the block in nats times records; ``counts`` (P,) are everybody's."""
        return float(entropies(self.values(), counts[self.reduced.profiles]).sum())


def proved_bound(reduced: Reduced, answer: Answer, counts: FloatArray) -> float:
    """Return the bound on a block's entropy that an answer proves; ``counts`` (P,) are everybody's."""
    start, inside = reduced.program.start, counts[reduced.profiles]
    if not len(start):
        return np.inf
    fixed = float(entropies(shares(reduced, start), inside).sum()) + reduced.program.objective(
        start
    )
    return fixed - answer.floor


def shares(reduced: Reduced, z: FloatArray) -> FloatArray:
    """Return the estimate of a block's profiles from its variables, shape (K, m)."""
    masses = reduced.masses(z)
    return np.asarray(masses / masses.sum(axis=1, keepdims=True))


def entropies(values: FloatArray, counts: FloatArray) -> FloatArray:
    """Return each profile's entropy times its records, in nats, shape (K,)."""
    logs = np.log(values, out=np.zeros_like(values), where=values > 0)
    return np.asarray(-counts * (values * logs).sum(axis=1))
