"""Proofs of what lumps of people can be, as ends of how many of them have each value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.partial.flows import Ends
from treewarden.audit.partial.learned import Proofs
from treewarden.audit.people.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.audit.worlds.result import Consistency, Worlds
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray

NOT_COUNTED = Undetermined("the tables that fit are not counted for who knows only some columns")


@dataclass(frozen=True, slots=True)
class Ranges:
    """How many people of each profile have each value, (P, m) each: ``low`` to ``high`` is proved of every table.

    Tables that fit have as few as ``reached_low`` and as many as ``reached_high``.
    """

    low: IntArray
    high: IntArray
    reached_low: IntArray
    reached_high: IntArray


def ranges(
    counts: IntArray, lump_of: IndexArray, supply: IntArray, outer: Ends, inner: Ends
) -> Ranges:
    """Return what ends of lumps of so many people, (S,), say of profiles of so many, (P,).

    ``outer`` is proved, ``inner`` is what tables have. People of a lump can stand for each other: as many of a
    profile have a value at most as of its lump, and at least as many as the others of the lump leave.
    """
    size = counts[:, None]
    rest = (supply[:, None] - outer.least)[lump_of], (supply[:, None] - inner.least)[lump_of]
    is_reached = inner.asked[lump_of][:, None]
    return Ranges(
        np.maximum(size - rest[0], 0),
        np.minimum(size, outer.most[lump_of]),
        np.where(is_reached, np.maximum(size - rest[1], 0), size),
        np.where(is_reached, np.minimum(size, inner.most[lump_of]), 0),
    )


def bounded(
    people: Population, proved: Proofs, *, is_exact: bool, more: Ranges | None = None
) -> Worlds:
    """Return proofs as ends of how many people of each profile have each class, with what flows say ``more``.

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
    if more is not None:
        low, high = np.maximum(low, more.low), np.minimum(high, more.high)
        if is_exact:
            reached_low = np.minimum(reached_low, more.reached_low)
            reached_high = np.maximum(reached_high, more.reached_high)
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
