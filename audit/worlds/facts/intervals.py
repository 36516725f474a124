"""Split rows as whole-number intervals: with two classes and known leaf counts a row bounds one count.

The impurity after a split in two is concave in the first class's count on the left, so the counts that a row allows are
an interval; its ends are found by bisection and proved exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import xlogy

from treewarden.audit.facts.impurity import branch_impurity
from treewarden.audit.worlds.clock import FOREVER, Clock
from treewarden.audit.worlds.facts.exact import is_beaten
from treewarden.audit.worlds.facts.facts import Facts
from treewarden.audit.worlds.facts.splits import Split
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray
from treewarden.ppdm_models.tree.tree import Criterion

CANDIDATES_TOGETHER = 20_000


def with_intervals(facts: Facts, clock: Clock = FOREVER) -> Facts:
    """Return the facts with each row that is an interval written as one.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    every = [split for found in facts.splits.values() for split in found if _is_interval(split)]
    ends: dict[int, tuple[IntArray, IntArray]] = {}
    for criterion in Criterion:
        some = [split for split in every if split.criterion is criterion]
        for few in _in_parts(some):
            clock.check()
            ends |= zip(map(id, few), _ends(criterion, few, clock), strict=True)
    splits = {
        node: tuple(
            replace(split, low=ends[id(split)][0], high=ends[id(split)][1])
            if id(split) in ends
            else split
            for split in found
        )
        for node, found in facts.splits.items()
    }
    return replace(facts, splits=splits)


def _in_parts(splits: list[Split]) -> Iterator[list[Split]]:
    """Yield the splits, so many at a time that their candidates stay near the processor."""
    few: list[Split] = []
    size = 0
    for split in splits:
        few.append(split)
        size += split.size
        if size >= CANDIDATES_TOGETHER:
            yield few
            few, size = [], 0
    if few:
        yield few


def _is_interval(split: Split) -> bool:
    return (
        split.low is None
        and split.chosen_table is not None
        and split.is_binary
        and split.chosen_table.shape[1] == 2
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """All candidates of some splits as arrays, shape (A,): records on the left and in all, of the first class in all.

    ``chosen`` and ``whole`` are the impurities of the chosen split and of the node, in records.
    """

    criterion: Criterion
    left: IntArray
    records: IntArray
    first: IntArray
    ratio: FloatArray
    chosen: FloatArray
    whole: FloatArray
    limit: FloatArray
    doubt: FloatArray

    def over(self, count: IntArray) -> FloatArray:
        """Return the excess beyond the limit of each candidate where the first class has this count on the left."""
        right, rest = self.records - self.left, self.first - count
        after = self._impurity(count, self.left) + self._impurity(rest, right)
        return np.asarray(
            self.ratio * self.chosen - after + (1 - self.ratio) * self.whole - self.limit
        )

    def _impurity(self, first: IntArray, records: IntArray) -> FloatArray:
        """Return that of a branch of each candidate by its first class's count, in records; see ``branch_impurity``."""
        if self.criterion is Criterion.GINI:
            products = first.astype(np.float64) * (records - first)
            return np.asarray(2.0 * products / np.maximum(records, 1))
        rest = records - first
        return np.asarray(xlogy(records, records) - xlogy(first, first) - xlogy(rest, rest))


def _candidates(criterion: Criterion, splits: list[Split]) -> _Candidates:
    tables = [split.chosen_table for split in splits if split.chosen_table is not None]
    totals = np.array([table.sum(axis=0) for table in tables])
    chosen = [branch_impurity(criterion, table.astype(np.float64)).sum() for table in tables]
    whole = branch_impurity(criterion, totals.astype(np.float64))
    of = np.repeat(np.arange(len(splits)), [split.size for split in splits])
    return _Candidates(
        criterion,
        np.concatenate([split.left_records for split in splits]),
        np.array([split.records for split in splits])[of],
        totals[of, 0],
        np.concatenate([split.ratio for split in splits]),
        np.array(chosen)[of],
        whole[of],
        np.array([split.limit for split in splits])[of],
        np.concatenate([split.doubt for split in splits]),
    )


def _ends(
    criterion: Criterion, splits: list[Split], clock: Clock = FOREVER
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield, per split, the least and greatest count that each candidate allows; low > high where it allows none."""
    every = _candidates(criterion, splits)
    bottom = np.maximum(0, every.first - (every.records - every.left))
    top = np.minimum(every.left, every.first)
    peak = np.rint(every.left * (every.first / every.records)).astype(np.int64)
    peak = np.clip(peak, bottom, top)
    low, high = _bisect(every, bottom, peak), _bisect(every, top, peak)
    sure = _is_sure(every, low, bottom, -1) & _is_sure(every, high, top, 1)
    begin = 0
    for split in splits:
        here = slice(begin, begin + split.size)
        begin += split.size
        ends = low[here].copy(), high[here].copy()
        for candidate in np.flatnonzero(~sure[here]).tolist():
            clock.check()
            first = int(every.first[here][candidate])
            ends[0][candidate], ends[1][candidate] = _exact_ends(split, first, candidate)
        yield ends


def _is_sure(every: _Candidates, end: IntArray, last: IntArray, step: int) -> BoolArray:
    """Return where floats prove that an end is allowed and that the next count beyond it is not, or cannot be."""
    here = -every.over(end) > every.doubt
    further = every.over(np.where(end == last, end, end + step))
    return np.asarray(here & ((end == last) | (further > every.doubt)))


def _bisect(every: _Candidates, outside: IntArray, inside: IntArray) -> IntArray:
    """Return, in floats, the count nearest to ``outside`` that is allowed, towards ``inside``."""
    good_outside = every.over(outside) <= 0
    bad, good = outside.copy(), inside.copy()
    while (np.abs(good - bad) > 1).any():
        middle = bad + (good - bad) // 2
        allowed = every.over(middle) <= 0
        good, bad = np.where(allowed, middle, good), np.where(allowed, bad, middle)
    return np.asarray(np.where(good_outside, outside, good))


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
