"""Proofs by one row at a time: what a leaf's sum leaves of each of its cells, again until nothing moves."""

from __future__ import annotations

import numpy as np

from treewarden.audit.values.rows import ROUNDING, ValueRows
from treewarden.ppdm_models.arrays import FloatArray

MOST_ROUNDS = 200
MOVED = 1e-6
"""Moves of less than that share of the range are not followed up, where numbers are not whole."""


def start(rows: ValueRows) -> tuple[FloatArray, FloatArray]:
    """Return the boxes (C,) of cells that hold whatever the leaves' sums are."""
    return rows.sizes * rows.least, rows.sizes * rows.most


def propagated(
    rows: ValueRows, low: FloatArray, high: FloatArray, most_rounds: int = MOST_ROUNDS
) -> tuple[FloatArray, FloatArray]:
    """Return boxes (C,) within the given ones that hold every table which these hold and which fits.

    Of a row with ``low <= sum x <= high`` a cell has at most what ``high`` leaves above the least of all others, and
    likewise from below. Ends may be crossed by rounding only where nothing else is left than one number.
    """
    moved = 0.5 if rows.scale.is_whole else MOVED * rows.scale.most
    for _ in range(most_rounds):
        before = low, high
        least, most = rows.sums(low), rows.sums(high)
        room = 0.0 if rows.scale.is_whole else ROUNDING * (np.abs(rows.high) + most)
        above, below = rows.high - least + room, rows.low - most - room
        for place in rows.place:
            there = place >= 0
            high = np.where(there, np.minimum(high, before[0] + above[place]), high)
            low = np.where(there, np.maximum(low, before[1] + below[place]), low)
        if max((low - before[0]).max(initial=0.0), (before[1] - high).max(initial=0.0)) < moved:
            break
    return low, high


def held_ends(rows: ValueRows, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return boxes (C,) within the given ones that hold every table which these hold, which fits and has its range.

    Somebody has the greatest number of a table, and somebody the least: where the people of one cell alone can, one of
    them does.
    """
    while True:
        before = low, high
        least, most = of_one(rows, low, high)
        low, high = low.copy(), high.copy()
        for each in rows.ranges:
            able = np.flatnonzero(each.has & (most >= each.high - rows.room))
            if len(able) == 1:
                others = (rows.sizes[able] - 1) * rows.least[able]
                low[able] = np.maximum(low[able], each.high - rows.room + others)
            able = np.flatnonzero(each.has & (least <= each.low + rows.room))
            if len(able) == 1:
                others = (rows.sizes[able] - 1) * rows.most[able]
                high[able] = np.minimum(high[able], each.low + rows.room + others)
        if (low == before[0]).all() and (high == before[1]).all():
            return before
        low, high = propagated(rows, low, high)


def of_one(rows: ValueRows, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return between which ends the number of one person of each cell lies (C,), from those of the cell's sum.

    The others of the cell have their least or their most at one end.
    """
    others = rows.sizes - 1
    return (
        np.maximum(rows.least, low - others * rows.most),
        np.minimum(rows.most, high - others * rows.least),
    )
