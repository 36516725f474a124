"""Groups whose people have amounts: what follows for one person, and from who can have the ends of a range."""

from __future__ import annotations

import numpy as np

from treewarden.audit.clock import Clock
from treewarden.audit.engine.counts import Counts, Propagated, counts_of, look_once, propagate
from treewarden.audit.engine.problem import Amounts, Problem
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray


def amounts_in(counts: Counts) -> Amounts:
    """Return what is known of each person's amount, of a problem of amounts."""
    assert counts.amounts is not None
    return counts.amounts


def ends_of_one(
    sizes: IntArray, amounts: Amounts, low: IntArray, high: IntArray
) -> tuple[IntArray, IntArray]:
    """Return between which ends the amount of one person of each group lies (C,), from those of the group's sum.

    The others of the group have their least or their most at one end.
    """
    others = sizes - 1
    return (
        np.maximum(amounts.least, low - others * amounts.most),
        np.minimum(amounts.most, high - others * amounts.least),
    )


def ends_by_row(problem: Problem, rows: IndexArray) -> tuple[IntArray, IntArray]:
    """Return between which ends some rows, each by itself, leave the amount of one person of each group, (C,).

    Raises:
        ContradictionError: no table fits.
    """
    counts = counts_of(problem)
    low, high = look_once(counts, rows)
    return ends_of_one(counts.sizes, amounts_in(counts), low[:, 0], high[:, 0])


def hold_ranges(counts: Counts, boxes: Propagated, clock: Clock) -> Propagated:
    """Return boxes within the given ones that hold every table which these hold, which fits and has its ranges.

    Somebody has the greatest amount of a range, and somebody the least: where the people of one group alone can, one of
    them does.

    Raises:
        ContradictionError: no table fits.
    """
    amounts, sizes = amounts_in(counts), counts.sizes
    while True:
        low, high = boxes.low[:, 0].copy(), boxes.high[:, 0].copy()
        least, most = ends_of_one(sizes, amounts, low, high)
        for amount_range in amounts.ranges:
            top, bottom = amount_range.high - amounts.room, amount_range.low + amounts.room
            able = np.flatnonzero(amount_range.has & (most >= top))
            if len(able) == 1:
                others = (sizes[able] - 1) * amounts.least[able]
                low[able] = np.maximum(low[able], top + others)
            able = np.flatnonzero(amount_range.has & (least <= bottom))
            if len(able) == 1:
                others = (sizes[able] - 1) * amounts.most[able]
                high[able] = np.minimum(high[able], bottom + others)
        if (low == boxes.low[:, 0]).all() and (high == boxes.high[:, 0]).all():
            return boxes
        boxes = propagate(counts, Propagated(low[:, None], high[:, None], boxes.row), clock)


def able_groups(counts: Counts, x: IntArray) -> BoolArray:
    """Return which groups can have the greatest and the least amount of each range, by these sums, (2 * ranges, C)."""
    amounts, others, found = amounts_in(counts), counts.sizes - 1, list[BoolArray]()
    for amount_range in amounts.ranges:
        top, bottom = amount_range.high - amounts.room, amount_range.low + amounts.room
        greatest = (x >= top + others * amounts.least) & (amounts.most >= top)
        least = (x <= bottom + others * amounts.most) & (amounts.least <= bottom)
        found += [greatest & amount_range.has, least & amount_range.has]
    return np.array(found, dtype=bool).reshape(-1, len(x))


def fits_nearly(counts: Counts, x: IntArray) -> bool:
    """Whether sums (C,) fulfil all rows, each of which rounding may move by the margin."""
    amounts, total = amounts_in(counts), counts.matrix @ x
    room = counts.matrix @ np.full(len(x), amounts.margin)
    least, most = (end[:, 0] for end in counts.start())
    is_inside = (x >= least - amounts.margin) & (x <= most + amounts.margin)
    fits = (total >= counts.low - room) & (total <= counts.high + room)
    return bool(is_inside.all() and fits.all())
