"""Row by row, how far each count can move before a candidate split wins: repeated until nothing more follows.

For one row and one profile, with every other profile of each leaf free within its ends, the count that the row bounds
runs over an interval; the values of the profile for which it misses the row's interval are ruled out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from audit.rows import Grouping
from audit.worlds.cells import Bounds, ContradictionError, spread
from audit.worlds.clock import Clock
from audit.worlds.explain import would_have_split
from audit.worlds.facts import Facts
from audit.worlds.places import Place
from audit.worlds.splits import Split

IntArray = NDArray[np.int64]
MOST_ROUNDS = 50
FAR = np.int64(2**60)


def propagate(facts: Facts, bounds: Bounds, clock: Clock) -> None:
    """Draw in the ends of cells until no row moves any, or time is over (what was proved stands).

    Raises:
        ContradictionError: no world obeys the rows.
    """
    for _ in range(MOST_ROUNDS):
        moved = spread(facts, bounds)
        for found in facts.splits.values():
            for split in found:
                if clock.is_over:
                    return
                if split.low is not None:
                    moved |= _tighten(facts, bounds, split)
        if not moved:
            return


def _tighten(facts: Facts, bounds: Bounds, split: Split) -> bool:
    """Apply the interval rows of one attribute at one node."""
    assert split.left is not None
    assert split.low is not None
    assert split.high is not None
    here = slice(split.start, split.end)
    low, high = bounds.low[here, 0].copy(), bounds.high[here, 0].copy()
    if (low == high).all():
        return False
    leaf, totals = _leaves(facts, split)
    number = len(totals)
    cell = split.bins.of * number + leaf
    shape = (split.bin_count, number)
    lows = np.bincount(cell, weights=low, minlength=shape[0] * shape[1]).reshape(shape)
    highs = np.bincount(cell, weights=high, minlength=shape[0] * shape[1]).reshape(shape)
    lows, highs = lows.astype(np.int64), highs.astype(np.int64)
    left_low, left_high = split.lefts(lows[None])[0], split.lefts(highs[None])[0]
    right_low, right_high = lows.sum(axis=0) - left_low, highs.sum(axis=0) - left_high
    least = np.maximum(left_low, totals - right_high)
    most = np.minimum(left_high, totals - right_low)
    all_least, all_most = least.sum(axis=1, keepdims=True), most.sum(axis=1, keepdims=True)
    bad = (all_least[:, 0] > split.high) | (all_most[:, 0] < split.low)
    if bad.any():
        raise ContradictionError(would_have_split(facts, split, int(np.flatnonzero(bad)[0])))
    # How far a leaf's count on the left may exceed its floor, or fall short of its ceiling, the other leaves helping.
    spare_up = split.high[:, None] - (all_least - least)
    spare_down = split.low[:, None] - (all_most - most)
    moved = False
    for on_left in (True, False):
        part_low, part_high = (left_low, left_high) if on_left else (right_low, right_high)
        ceiling = spare_up if on_left else totals - spare_down
        floor = spare_down if on_left else totals - spare_up
        top, top_by = _best(split, ceiling - part_low, on_left, np.argmin, FAR)
        bottom, bottom_by = _best(split, floor - part_high, on_left, np.argmax, -FAR)
        rise, drop = top[split.bins.of, leaf], bottom[split.bins.of, leaf]
        for s in np.flatnonzero((rise < FAR) & (low + rise < high)).tolist():
            by = int(top_by[split.bins.of[s], leaf[s]])
            value = int(low[s] + rise[s])
            moved |= bounds.cut_high(split.start + s, 0, value, would_have_split(facts, split, by))
        for s in np.flatnonzero((drop > -FAR) & (high + drop > low)).tolist():
            by = int(bottom_by[split.bins.of[s], leaf[s]])
            value = int(high[s] + drop[s])
            moved |= bounds.raise_low(split.start + s, 0, value, would_have_split(facts, split, by))
    return moved


def _leaves(facts: Facts, split: Split) -> tuple[NDArray[np.intp], IntArray]:
    """Return the number of each position's place below the node, and the first class's count in each place."""
    places: list[Place] = sorted(
        (p for p in facts.places.values() if split.start <= p.start < split.end),
        key=lambda p: p.start,
    )
    leaf = np.repeat(np.arange(len(places)), [p.end - p.start for p in places])
    return leaf, np.array([p.low[0] for p in places], dtype=np.int64)


def _best(
    split: Split, values: IntArray, on_left: bool, pick: object, nothing: np.int64
) -> tuple[IntArray, IntArray]:
    """Return, per bin and leaf, the tightest value among the candidates that put the bin on this side, and which."""
    assert split.left is not None
    assert callable(pick)
    if split.family.grouping is Grouping.THRESHOLD:
        return _best_threshold(split, values, on_left, nothing)
    side = split.left if on_left else ~split.left
    spread_out = np.where(side[:, :, None], values[:, None, :], nothing)
    by = pick(spread_out, axis=0)
    return np.take_along_axis(spread_out, by[None], axis=0)[0], by


def _best_threshold(
    split: Split, values: IntArray, on_left: bool, nothing: np.int64
) -> tuple[IntArray, IntArray]:
    """The candidates that put a bin on the left are those at or after it: running extremes suffice."""
    sign = 1 if nothing > 0 else -1
    ordered = values * sign
    if on_left:
        ordered = ordered[::-1]
    running = np.minimum.accumulate(ordered, axis=0)
    is_new = np.ones_like(running, dtype=bool)
    is_new[1:] = running[1:] < running[:-1]
    steps = np.arange(len(running))[:, None]
    by = np.maximum.accumulate(np.where(is_new, steps, 0), axis=0)
    if on_left:
        running, by = running[::-1], (len(running) - 1) - by[::-1]
    bins = np.arange(split.bin_count)
    codes = split.family.admissible
    at = np.searchsorted(codes, bins, side="left") if on_left else np.searchsorted(codes, bins) - 1
    inside = (at < len(codes)) & (at >= 0)
    kept = np.clip(at, 0, len(codes) - 1)
    best = np.where(inside[:, None], running[kept] * sign, nothing)
    return best, by[kept]
