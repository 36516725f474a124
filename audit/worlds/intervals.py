"""Split rows as whole-number intervals: with two classes and known leaf counts a row bounds one count.

The impurity after a split in two is concave in the first class's count on the left, so the counts that a row allows are
an interval; its ends are found by bisection and proved exactly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from audit.impurity import branch_impurity
from audit.worlds.exact import is_beaten
from audit.worlds.facts import Facts
from audit.worlds.splits import Split
from ppdm_models.tree import Criterion

IntArray = NDArray[np.int64]


def with_intervals(facts: Facts) -> Facts:
    """Return the facts with each row that is an interval written as one."""
    splits = {node: tuple(_ended(s) for s in found) for node, found in facts.splits.items()}
    return replace(facts, splits=splits)


def _ended(split: Split) -> Split:
    if split.chosen_table is None or split.left is None or split.chosen_table.shape[1] != 2:
        return split
    low, high = _ends(split)
    return replace(split, low=low, high=high)


def _ends(split: Split) -> tuple[IntArray, IntArray]:
    """Return the least and greatest count that each candidate allows; low > high where it allows none."""
    assert split.chosen_table is not None
    first = int(split.chosen_table[:, 0].sum())
    left, right = split.left_records, split.records - split.left_records
    bottom, top = np.maximum(0, first - right), np.minimum(left, first)
    share = first / split.records
    peak = np.clip(np.rint(left * share).astype(np.int64), bottom, top)
    low = _bisect(split, first, bottom, peak)
    high = _bisect(split, first, top, peak)
    sure = _is_sure(split, first, low, (bottom, -1)) & _is_sure(split, first, high, (top, 1))
    low, high = low.copy(), high.copy()
    for candidate in np.flatnonzero(~sure).tolist():
        low[candidate], high[candidate] = _exact_ends(split, first, candidate)
    return low, high


def _is_sure(
    split: Split, first: int, end: IntArray, beyond: tuple[IntArray, int]
) -> NDArray[np.bool_]:
    """Return where floats prove that an end is allowed and that the next count beyond it is not, or cannot be."""
    last, step = beyond
    here = split.limit - _over(split, first, end) > split.doubt
    further = _over(split, first, np.where(end == last, end, end + step)) - split.limit
    return np.asarray(here & ((end == last) | (further > split.doubt)))


def _bisect(split: Split, first: int, outside: IntArray, inside: IntArray) -> IntArray:
    """Return, in floats, the count nearest to ``outside`` that is allowed, towards ``inside``."""
    good_outside = _over(split, first, outside) <= split.limit
    bad, good = outside.copy(), inside.copy()
    while (np.abs(good - bad) > 1).any():
        middle = bad + (good - bad) // 2
        allowed = _over(split, first, middle) <= split.limit
        good, bad = np.where(allowed, middle, good), np.where(allowed, bad, middle)
    return np.asarray(np.where(good_outside, outside, good))


def _over(split: Split, first: int, count: IntArray) -> NDArray[np.float64]:
    """Return the excess of each candidate where the first class has this count on the left."""
    assert split.chosen_table is not None
    left, right = split.left_records, split.records - split.left_records
    second = split.records - first
    rest = first - count
    table = np.stack(
        [np.stack([count, left - count], axis=-1), np.stack([rest, right - rest], axis=-1)], axis=-2
    ).astype(np.float64)
    after = branch_impurity(split.criterion, table).sum(axis=-1)
    chosen = branch_impurity(split.criterion, split.chosen_table.astype(np.float64)).sum()
    if split.criterion is not Criterion.GAIN_RATIO:
        return np.asarray(chosen - after)
    whole = branch_impurity(split.criterion, np.array([float(first), float(second)]))
    return np.asarray(split.ratio * chosen - after + (1 - split.ratio) * whole)


def _exact_ends(split: Split, first: int, candidate: int) -> tuple[int, int]:
    """Return the ends by exact bisection from the count where the impurity is greatest."""
    left = int(split.left_records[candidate])
    bottom, top = max(0, first - (split.records - left)), min(left, first)
    peak = first * left // split.records
    inside = [k for k in (peak, peak + 1) if bottom <= k <= top]
    inside = [k for k in inside if not _beaten(split, first, candidate, k)]
    if not inside:
        return 1, 0
    ends = []
    for good, bad in ((inside[0], bottom - 1), (inside[-1], top + 1)):
        while abs(good - bad) > 1:
            middle = (good + bad) // 2
            beaten = _beaten(split, first, candidate, middle)
            good, bad = (good, middle) if beaten else (middle, bad)
        ends.append(good)
    return ends[0], ends[1]


def _beaten(split: Split, first: int, candidate: int, count: int) -> bool:
    assert split.chosen_table is not None
    left = int(split.left_records[candidate])
    right = split.records - left
    branches = [[count, left - count], [first - count, right - first + count]]
    return is_beaten(split.criterion, split.chosen_table.tolist(), branches, split.strict)
