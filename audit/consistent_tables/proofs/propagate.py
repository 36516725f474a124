"""Row by row, how far each count can move before a candidate split wins: repeated until nothing more follows.

For one row and one profile, with every other profile of each leaf free within its ends, the count that the row bounds
runs over an interval; the values of the profile for which it misses the row's interval are ruled out.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from treewarden.audit.bounds import CellBounds, ContradictionError, ProvedEnds
from treewarden.audit.consistent_tables.facts.facts import Facts, facts_of, would_have_split
from treewarden.audit.consistent_tables.facts.intervals import (
    Sides,
    inside_of,
    limits,
    sides_of,
    with_intervals,
)
from treewarden.audit.consistent_tables.facts.splits import AttributeSplits
from treewarden.audit.consistent_tables.proofs.bounds import closed_form, spread
from treewarden.audit.facts.rows import Grouping
from treewarden.audit.progress import Clock, OutOfTimeError, clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System
from treewarden.ppdm_models.arrays import IndexArray, IntArray

MOST_ROUNDS = 50
FAR = np.int64(2**60)
"""Further than any cell is wide."""


def propagate(facts: Facts, bounds: CellBounds, clock: Clock, *, alone: bool = False) -> None:
    """Draw in the ends of cells until no row moves any; what was proved before time is over stands.

    With ``alone`` each row is taken by itself, once: what it proves then needs no other row as a reason.

    Raises:
        ContradictionError: no world obeys the rows.
        OutOfTimeError: the budget is used up.
    """
    ends = (bounds.low.copy(), bounds.high.copy()) if alone else (bounds.low, bounds.high)
    began = bounds.moves
    for _ in range(1 if alone else MOST_ROUNDS):
        moved = not alone and spread(facts, bounds)
        for found in facts.splits.values():
            for split in found:
                clock.check()
                here = slice(split.start, split.end)
                if split.chosen_table is None or (ends[0][here] == ends[1][here]).all():
                    continue
                if split.low is None and not alone:
                    # Dear, and what it adds to a first pass the solver finds too.
                    continue
                if not bounds.is_new(split):
                    continue
                bounds.looked[split] = began if alone else bounds.moves
                moved |= _apply(facts, bounds, split, _reach(facts, split, ends))
        if not moved:
            return


@dataclass(frozen=True, slots=True, eq=False)
class _SideBounds:
    """What the ends of cells leave of each class per side and leaf, (A, L, m): floors and caps of both sides, and of u.

    ``group`` (S,) numbers each position's bin and leaf, bin * L + leaf; leaves begin at ``starts`` (L,), one after the
    other, and ``totals`` (L, m) are their counts; ``ends`` (S, m) are those of the cells. Of a split whose row bounds
    the first class alone m is 1.
    """

    sides: Sides
    group: IndexArray
    starts: IndexArray
    totals: IntArray
    ends: tuple[IntArray, IntArray]
    left: tuple[IntArray, IntArray]
    right: tuple[IntArray, IntArray]
    least: IntArray
    most: IntArray


def _reach(facts: Facts, split: AttributeSplits, ends: tuple[IntArray, IntArray]) -> _SideBounds:
    sides, here = sides_of(split), slice(split.start, split.end)
    first = int(facts.leaf_numbers[split.start])
    leaf = facts.leaf_numbers[here] - first
    number = int(leaf[-1]) + 1
    those, classes = slice(first, first + number), slice(None if split.low is None else 1)
    starts, totals = facts.starts[those] - split.start, facts.ends[0][those, classes]
    mine = ends[0][here, classes].copy(), ends[1][here, classes].copy()
    group = split.bins.of.astype(np.intp) * number + leaf
    lows, highs = (_sums(group, end, split.bin_count * number) for end in mine)
    shape = (split.bin_count, number, totals.shape[1])
    lows, highs = lows.reshape(shape), highs.reshape(shape)
    left = _lefts(split, lows), _lefts(split, highs)
    right = lows.sum(axis=0) - left[0], highs.sum(axis=0) - left[1]
    least, most = np.maximum(left[0], totals - right[1]), np.minimum(left[1], totals - right[0])
    return _SideBounds(
        sides=sides,
        group=group,
        starts=starts,
        totals=totals,
        ends=mine,
        left=left,
        right=right,
        least=least,
        most=most,
    )


def _sums(groups: IndexArray, ends: IntArray, size: int) -> IntArray:
    """Return the sums of ends (S, m) by group, (size, m): below 2^53 they are exact as floats too."""
    found = np.empty((size, ends.shape[1]), dtype=np.int64)
    for klass, column in enumerate(ends.T):
        found[:, klass] = np.bincount(groups, column, size)
    return found


def _apply(facts: Facts, bounds: CellBounds, split: AttributeSplits, reach: _SideBounds) -> bool:
    """Apply the rows of one attribute at one node, class by class."""
    if split.low is not None and split.high is not None:
        return _tighten(facts, bounds, split, reach, (0, split.low, split.high))
    least, most = reach.least.sum(axis=1), reach.most.sum(axis=1)
    if (least > most).any():
        return False
    low, high = limits(split, reach.sides, least, most)
    moved = False
    for klass in np.flatnonzero(((low > least) | (high < most)).any(axis=0)).tolist():
        limit = klass, low[:, klass], high[:, klass]
        moved |= _tighten(facts, bounds, split, reach, limit)
    return moved


def _lefts(split: AttributeSplits, bins: IntArray) -> IntArray:
    return bins if not split.is_binary else np.asarray(split.lefts(bins[None])[0])


def _tighten(
    facts: Facts,
    bounds: CellBounds,
    split: AttributeSplits,
    reach: _SideBounds,
    limit: tuple[int, IntArray, IntArray],
) -> bool:
    """Apply rows "the count of a class on each side lies between two numbers (A,)": ``limit`` is class, least, most."""
    klass, sides, group = limit[0], reach.sides, reach.group
    low, high = reach.ends[0][:, klass], reach.ends[1][:, klass]
    least, most, totals = reach.least[..., klass], reach.most[..., klass], reach.totals[:, klass]
    all_least, all_most = least.sum(axis=1, keepdims=True), most.sum(axis=1, keepdims=True)
    bad = (all_least[:, 0] > limit[2]) | (all_most[:, 0] < limit[1])
    if bad.any():
        by = int(sides.candidate[np.flatnonzero(bad)[0]])
        raise ContradictionError(would_have_split(facts, split, by))
    # How far a leaf's count on the left may exceed its floor, or fall short of its ceiling, the other leaves helping.
    spare_up = limit[2][:, None] - (all_least - least)
    spare_down = limit[1][:, None] - (all_most - most)
    # Nothing moves where no ceiling lies below the widest cell of its leaf.
    width = high - low
    widest = np.maximum.reduceat(width, reach.starts)
    moved = False
    for on_left in (True, False):
        part_low, part_high = (end[..., klass] for end in (reach.left if on_left else reach.right))
        rises = (spare_up if on_left else totals - spare_down) - part_low
        drops = (spare_down if on_left else totals - spare_up) - part_high
        if (rises < widest).any():
            top, top_by = _best(split, sides, rises, on_left, FAR)
            rise = top.take(group)
            for s in np.flatnonzero(rise < width).tolist():
                candidate = int(sides.candidate[top_by.take(group[s])])
                why = would_have_split(facts, split, candidate)
                moved |= bounds.cut_high(split.start + s, klass, int(low[s] + rise[s]), why)
        if (drops > -widest).any():
            bottom, bottom_by = _best(split, sides, drops, on_left, -FAR)
            drop = bottom.take(group)
            for s in np.flatnonzero(drop > -width).tolist():
                candidate = int(sides.candidate[bottom_by.take(group[s])])
                why = would_have_split(facts, split, candidate)
                moved |= bounds.raise_low(split.start + s, klass, int(high[s] + drop[s]), why)
    return moved


def _best(
    split: AttributeSplits, sides: Sides, values: IntArray, on_left: bool, nothing: np.int64
) -> tuple[IntArray, IntArray]:
    """Return, per bin and leaf, the tightest value among the sides that hold the bin (or do not), and which."""
    if split.family.grouping is Grouping.THRESHOLD:
        return _best_threshold(split, values, on_left, nothing)
    if split.family.grouping is not Grouping.SUBSET:
        return _best_single(split, values, on_left, nothing)
    left = inside_of(split)
    inside = left if on_left else ~left
    spread_out = np.where(inside[:, :, None], values[:, None, :], nothing)
    by = spread_out.argmin(axis=0) if nothing > 0 else spread_out.argmax(axis=0)
    return np.take_along_axis(spread_out, by[None], axis=0)[0], by


def _best_threshold(
    split: AttributeSplits, values: IntArray, on_left: bool, nothing: np.int64
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


def _best_single(
    split: AttributeSplits, values: IntArray, on_left: bool, nothing: np.int64
) -> tuple[IntArray, IntArray]:
    """Each part is one bin: what holds a bin is its own, and what does not the best of all others."""
    bins = split.family.admissible if split.is_binary else np.arange(split.bin_count)
    shape = split.bin_count, values.shape[1]
    if on_left:
        best, by = np.full(shape, nothing), np.zeros(shape, dtype=np.intp)
        best[bins], by[bins] = values, np.arange(len(bins))[:, None]
        return best, by
    every = np.arange(shape[1])
    find = np.ndarray.argmin if nothing > 0 else np.ndarray.argmax
    first = find(values, axis=0)
    others = values.copy()
    others[first, every] = nothing
    second = find(others, axis=0)
    best, by = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.intp)
    best[:], by[:] = values[first, every], first
    best[bins[first], every], by[bins[first], every] = others[second, every], second
    return best, by


# What proofs over whole records give the maximum-entropy model: fixed cells, and split rows as integer intervals.


@dataclass(frozen=True, slots=True, eq=False)
class FixedCells(ProvedEnds[IntArray]):
    """Proved ends of each cell, shape (P, m), by profile; a cell is fixed where they agree.

    ``intervals`` holds, per number of a split family in the system, the least and the greatest count (A,) of the first
    class on the left of each admissible candidate (the first branch of ``branch_of_bins``): with two classes and
    known leaf counts that is all the row says. Families it cannot be said of are left out.
    """

    intervals: Mapping[int, tuple[IntArray, IntArray]]


def fixed_cells(system: System, *, seconds: float = 5.0) -> FixedCells | Undetermined:
    """Return what propagation over whole records proves, without any solver.

    Raises:
        ContradictionError: no world obeys the rows.
    """
    facts = facts_of(system)
    if isinstance(facts, Undetermined):
        return facts
    facts = with_intervals(facts)
    bounds = closed_form(facts)
    spread(facts, bounds)
    with suppress(OutOfTimeError):
        propagate(facts, bounds, clock(seconds))
    index = {id(family): number for number, family in enumerate(system.families)}
    intervals = {
        index[id(split.family)]: (split.low, split.high)
        for found in facts.splits.values()
        for split in found
        if split.low is not None and split.high is not None
    }
    return FixedCells(
        np.asarray(facts.profiles(bounds.low)), np.asarray(facts.profiles(bounds.high)), intervals
    )
