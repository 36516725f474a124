"""Split rows of three classes and more, where leaf counts are known: how far one count can go before the row breaks.

After a split the impurity is minus a sum of convex terms, one per branch and class. With every other class at its
least, what is left for one class bounds its count in a branch from both sides (convexity; the other branches as one).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from treewarden.audit.facts.impurity import branch_impurity
from treewarden.audit.worlds.facts.splits import Split
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray, NumberArray
from treewarden.ppdm_models.tree.tree import Criterion

STEPS = 60


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Parts of a node's bins against the rest, shape (A,): the records on the left, and each one's candidate."""

    records: IntArray
    candidate: IndexArray


def sides_of(split: Split) -> Sides:
    """Return each candidate's left branch; of a candidate of many branches, each branch against the rest."""
    if split.is_binary:
        return Sides(split.left_records, np.arange(split.size))
    return Sides(split.bin_records, np.zeros(split.bin_count, dtype=np.intp))


def inside_of(split: Split) -> BoolArray:
    """Return which bins are in each part, (A, B); see ``Sides``."""
    bins = np.arange(split.bin_count)
    return split.on_left(bins) if split.is_binary else np.eye(len(bins), dtype=bool)


def limits(
    split: Split, sides: Sides, least: IntArray, most: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the least and greatest count of each class on each side, (A, m) each, that the row leaves.

    ``least`` and ``most`` (A, m) are those that the leaves leave. Real numbers only widen; floats get their doubt.
    """
    assert split.chosen_table is not None
    totals = split.chosen_table.sum(axis=0)
    floors = _floors(split, sides, totals, least, most)
    room = _room(split)[sides.candidate][:, None] - (floors.sum(axis=1, keepdims=True) - floors)
    peak = np.rint(totals * (sides.records / split.records)[:, None]).astype(np.int64)
    peak = np.clip(peak, least, most)

    def fits(count: IntArray) -> BoolArray:
        return np.asarray(_both(split, sides, totals, count) <= room)

    low, high = _last(fits, least, peak), _last(fits, most, peak)
    return np.where(fits(peak), low, least), np.where(fits(peak), high, most)


def _room(split: Split) -> FloatArray:
    """Return the most that the convex terms of each candidate may sum to, with what floats may miss."""
    assert split.chosen_table is not None
    table = split.chosen_table.astype(np.float64)
    chosen = float(branch_impurity(split.criterion, table).sum())
    whole = float(branch_impurity(split.criterion, table.sum(axis=0)[None]).sum())
    top = split.records if split.criterion is Criterion.GINI else 0.0
    after = split.ratio * chosen + (1 - split.ratio) * whole
    return np.asarray(top - after + split.limit + 16 * split.doubt)


def _term(split: Split, count: NumberArray, records: NumberArray) -> FloatArray:
    """Return u^2 / n, or u ln(u / n): minus the impurity's part, where branches' records are known."""
    u, n = np.broadcast_arrays(np.asarray(count, dtype=np.float64), np.maximum(records, 1.0))
    if split.criterion is Criterion.GINI:
        return np.asarray(u * u / n)
    return np.asarray(u * np.log(np.where(u > 0, u / n, 1.0)))


def _both(split: Split, sides: Sides, totals: IntArray, count: NumberArray) -> FloatArray:
    """Return the terms of one class's count on the left and of the rest on the right, (A, m)."""
    left = sides.records[:, None]
    return _term(split, count, left) + _term(split, totals - count, split.records - left)


def _floors(
    split: Split, sides: Sides, totals: IntArray, least: IntArray, most: IntArray
) -> FloatArray:
    """Return, per side and class, the least that the class's terms can sum to: (A, m)."""
    if split.is_binary:
        peak = np.clip(totals * (sides.records / split.records)[:, None], least, most)
        return _both(split, sides, totals, peak)
    return np.broadcast_to(_level(split, sides, totals, least, most), least.shape)


def _level(
    split: Split, sides: Sides, totals: IntArray, least: IntArray, most: IntArray
) -> FloatArray:
    """Return the least sum over many branches, (m,): as even as the ends allow, bounded by Lagrange's multiplier."""
    records = sides.records[:, None].astype(np.float64)
    low, high = np.zeros(len(totals)), np.ones(len(totals))
    for _ in range(STEPS):
        middle = (low + high) / 2
        short = np.clip(middle * records, least, most).sum(axis=0) < totals
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    share = np.maximum((low + high) / 2, 1e-12)
    count = np.clip(share * records, least, most)
    slope = 2 * share if split.criterion is Criterion.GINI else np.log(share) + 1
    return np.asarray(
        _term(split, count, records).sum(axis=0) - slope * (count.sum(axis=0) - totals)
    )


def _last(fits: Callable[[IntArray], BoolArray], outside: IntArray, inside: IntArray) -> IntArray:
    """Return the count nearest to ``outside`` that fits, given that ``inside`` does and that those form an interval."""
    fits_outside = fits(outside)
    bad, good = outside.copy(), inside.copy()
    while (np.abs(good - bad) > 1).any():
        middle = bad + (good - bad) // 2
        is_good = fits(middle)
        good, bad = np.where(is_good, middle, good), np.where(is_good, bad, middle)
    return np.asarray(np.where(fits_outside, outside, good))
