"""Picks the places a measure was taken from, riskiest first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from treewarden.audit.reading import Spot
from treewarden.ppdm_models.arrays import FloatArray, IndexArray

MOST_SPOTS = 1000


def worst_spots(
    kind: Literal["leaf", "profile"],
    indices: IndexArray,
    ends: tuple[FloatArray, FloatArray],
    risk: Literal["low", "high"],
    note: Callable[[int], str],
    trees: IndexArray | None = None,
) -> tuple[Spot, ...]:
    """Return at most ``MOST_SPOTS`` places, riskiest first, ties in the order given.

    ``ends`` are the low and the high end per place; ``note`` gets a position in ``indices``; ``trees`` says which tree
    of an ensemble each place is in.
    """
    low, high = ends
    order = _first(low if risk == "low" else -high, MOST_SPOTS)
    return tuple(
        Spot(
            kind,
            int(indices[i]),
            float(low[i]),
            float(high[i]),
            note(int(i)),
            0 if trees is None else int(trees[i]),
        )
        for i in order
    )


def _first(keys: FloatArray, most: int) -> IndexArray:
    """Return the places of at most so many smallest keys, smallest first, ties in their order; none is NaN."""
    if len(keys) <= most:
        return np.argsort(keys, kind="stable")
    # Most of many need not be sorted.
    near = np.flatnonzero(keys <= np.partition(keys, most - 1)[most - 1])
    return np.asarray(near[np.argsort(keys[near], kind="stable")[:most]])


def people(records: float) -> str:
    """Return a number of records as people write it."""
    return f"{records:g} record{'' if records == 1 else 's'}"


# Of what or whom a statement is, in words; apart, as reports are written where nothing is computed.
