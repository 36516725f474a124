"""Proofs of what lumps of people can be, as ends of how many of them have each value."""

from __future__ import annotations

import numpy as np

from audit.partial.learned import Proofs
from audit.people.population import Population
from audit.reading import Undetermined
from audit.worlds.result import Consistency, Worlds
from ppdm_models.arrays import BoolArray

NOT_COUNTED = Undetermined("the tables that fit are not counted for who knows only some columns")


def bounded(people: Population, proved: Proofs, *, is_exact: bool) -> Worlds:
    """Return proofs as ends of how many people of each profile have each class.

    A table in which a value is possible has somebody with it; the others are as in truth, or anything.
    """
    counts = np.rint(people.counts).astype(np.int64)
    size = counts[:, None]
    low = np.where(proved.certain, size, 0)
    high = np.where(proved.excluded | _others(proved.certain), 0, size)
    if is_exact:
        other = _others(proved.possible)
        reached_high = np.where(proved.possible, 1, 0)
        reached_low = np.where(other, size - 1, size)
    else:
        reached_low = np.broadcast_to(size, low.shape).astype(np.int64)
        reached_high = np.zeros_like(low)
    if not isinstance(people.truth, Undetermined):
        true = np.rint(people.truth).astype(np.int64)
        reached_low, reached_high = np.minimum(reached_low, true), np.maximum(reached_high, true)
    return Worlds(
        counts=counts,
        low=low,
        high=high,
        reached_low=reached_low,
        reached_high=reached_high,
        consistency=Consistency.NOT_DECIDED
        if isinstance(people.truth, Undetermined)
        else Consistency.CONSISTENT,
        conflict=(),
        reasons={},
        witnesses=(),
        posterior=NOT_COUNTED,
        split_bits=NOT_COUNTED,
    )


def _others(classes: BoolArray) -> BoolArray:
    """Return of each class whether another one is marked, (P, m)."""
    return np.asarray(classes.sum(axis=1, keepdims=True) - classes > 0)
