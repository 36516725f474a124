"""Split rows as whole-number intervals: with two classes and known leaf counts a row bounds one count.

The impurity after a split in two is concave in the first class's count on the left, so the counts that a row allows are
an interval; its ends are found by bisection and proved exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.consistent_tables.facts.splits import AttributeSplits, n_log_n
from treewarden.audit.facts.impurity_rows import branch_impurity
from treewarden.audit.progress import FOREVER, Clock
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray, NumberArray
from treewarden.ppdm_models.tree.tree import Criterion

CANDIDATES_TOGETHER = 20_000
MOST_TIED = 8
"""Counts in a row that tie at an end of an interval, each of which is looked at."""


def with_intervals(facts: Facts, clock: Clock = FOREVER) -> Facts:
    """Return the facts with each row that is an interval written as one.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    splits = [split for found in facts.splits.values() for split in found]
    every = [split for split in splits if _is_interval(split)]
    ends: dict[int, tuple[IntArray, IntArray]] = {}
    for criterion in Criterion:
        some = [split for split in every if split.criterion is criterion]
        for few in _in_parts(some):
            clock.check()
            ends |= zip(map(id, few), _ends(criterion, few, clock), strict=True)
    for number, split in enumerate(splits):
        if id(split) in ends:
            splits[number] = replace(split, low=ends[id(split)][0], high=ends[id(split)][1])
    return facts.of_splits(splits)


def _in_parts(splits: list[AttributeSplits]) -> Iterator[list[AttributeSplits]]:
    """Yield the splits, so many at a time that their candidates stay near the processor."""
    few: list[AttributeSplits] = []
    size = 0
    for split in splits:
        few.append(split)
        size += split.size
        if size >= CANDIDATES_TOGETHER:
            yield few
            few, size = [], 0
    if few:
        yield few


def _is_interval(split: AttributeSplits) -> bool:
    return (
        split.low is None
        and split.chosen_table is not None
        and split.is_binary
        and split.chosen_table.shape[1] == 2
    )


@dataclass(frozen=True, slots=True, eq=False)
class _SplitCandidates:
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
        return np.asarray(n_log_n(records) - n_log_n(first) - n_log_n(rest))


def _candidates(criterion: Criterion, splits: list[AttributeSplits]) -> _SplitCandidates:
    tables = [split.chosen_table for split in splits if split.chosen_table is not None]
    totals = np.array([table.sum(axis=0) for table in tables])
    chosen = [branch_impurity(criterion, table.astype(np.float64)).sum() for table in tables]
    whole = branch_impurity(criterion, totals.astype(np.float64))
    of = np.repeat(np.arange(len(splits)), [split.size for split in splits])
    return _SplitCandidates(
        criterion=criterion,
        left=np.concatenate([split.left_records for split in splits]),
        records=np.array([split.records for split in splits])[of],
        first=totals[of, 0],
        ratio=np.concatenate([split.ratio for split in splits]),
        chosen=np.array(chosen)[of],
        whole=whole[of],
        limit=np.array([split.limit for split in splits])[of],
        doubt=np.concatenate([split.doubt for split in splits]),
    )


def _ends(
    criterion: Criterion, splits: list[AttributeSplits], clock: Clock = FOREVER
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield, per split, the least and greatest count that each candidate allows; low > high where it allows none."""
    every = _candidates(criterion, splits)
    bottom = np.maximum(0, every.first - (every.records - every.left))
    top = np.minimum(every.left, every.first)
    peak = np.clip(_peak(every), bottom, top)

    def fits(count: IntArray) -> BoolArray:
        return np.asarray(every.over(count) <= 0)

    low, high = _last(fits, bottom, peak), _last(fits, top, peak)
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


def without_unsure_ties(split: AttributeSplits) -> AttributeSplits:
    """Return a split told by intervals whose ends are drawn in until the learner comes to the chosen split there.

    Only at its ends can a candidate be as good: the impurity is concave. ``split`` has the rule of tables that show.
    """
    assert split.low is not None
    assert split.high is not None
    assert split.chosen_table is not None
    every, chosen = _candidates(split.criterion, [split]), split.chosen_table
    ends, floor = (split.low.copy(), split.high.copy()), split.tie_floor

    def may_tie(count: IntArray) -> BoolArray:
        return np.asarray(every.over(count) + every.limit >= floor)

    for end, step in zip(ends, (1, -1), strict=True):
        moves = np.arange(split.size)
        for _ in range(MOST_TIED):
            moves = moves[(may_tie(end) & (ends[0] <= ends[1]))[moves]]
            count, size = end[moves], every.left[moves]
            left = np.stack([count, size - count], axis=-1)
            branches = np.stack([left, chosen.sum(axis=0) - left], axis=1)
            shape = (len(moves), *chosen.shape)
            moves = moves[~split.lose_ties(moves, branches, np.broadcast_to(chosen, shape))]
            end[moves] += step
            if not len(moves):
                break
        if len(moves):  # in large tables floats find many counts in a row equal
            peak = np.clip(_peak(every), *ends)
            inside = _last(lambda count: ~may_tie(count), end, peak)
            is_none = may_tie(peak)
            end[moves] = np.where(is_none, peak + step, inside)[moves]
    return replace(split, low=ends[0], high=ends[1])


def _peak(every: _SplitCandidates) -> IntArray:
    """Return the count where the impurity after each candidate is greatest, to the nearest whole number."""
    return np.rint(every.left * (every.first / every.records)).astype(np.int64)


def tied_splits(splits: list[AttributeSplits], clock: Clock = FOREVER) -> set[int]:
    """Return which splits told by intervals may tie at an end of some candidate, by id.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    found: set[int] = set()
    for criterion in Criterion:
        for few in _in_parts([split for split in splits if split.criterion is criterion]):
            clock.check()
            every = _candidates(criterion, few)
            low, high = (
                np.concatenate([getattr(split, name) for split in few]) for name in ("low", "high")
            )
            sizes = [split.size for split in few]
            least = np.concatenate([np.broadcast_to(s.tie_floor, s.size) for s in few])
            least -= every.limit
            may_tie = (every.over(low) >= least) | (every.over(high) >= least)
            of = np.repeat(np.arange(len(few)), sizes)
            found |= {id(few[number]) for number in np.unique(of[may_tie & (low <= high)])}
    return found


def _is_sure(every: _SplitCandidates, end: IntArray, last: IntArray, step: int) -> BoolArray:
    """Return where floats prove that an end is allowed and that the next count beyond it is not, or cannot be."""
    here = -every.over(end) > every.doubt
    further = every.over(np.where(end == last, end, end + step))
    return np.asarray(here & ((end == last) | (further > every.doubt)))


def _exact_ends(split: AttributeSplits, first: int, candidate: int) -> tuple[int, int]:
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


def _beaten(split: AttributeSplits, first: int, candidate: int, count: int) -> bool:
    assert split.chosen_table is not None
    left = int(split.left_records[candidate])
    right = split.records - left
    branches = [[count, left - count], [first - count, right - first + count]]
    from treewarden.audit.consistent_tables.facts.exact import is_beaten  # of splits only

    return is_beaten(split.criterion, split.chosen_table.tolist(), branches, split.strict)


# Split rows of three or more classes, where leaf counts are known: how far one count can go before the row breaks.
#
# After a split the impurity is minus a sum of convex terms, one per branch and class. With every other class at its
# least, what is left for one class bounds its count in a branch from both sides (convexity; the other branches as one).

STEPS = 60


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Parts of a node's bins against the rest, shape (A,): the records on the left, and each one's candidate."""

    records: IntArray
    candidate: IndexArray


def sides_of(split: AttributeSplits) -> Sides:
    """Return each candidate's left branch; of a candidate of many branches, each branch against the rest."""
    if split.is_binary:
        return Sides(split.left_records, np.arange(split.size))
    return Sides(split.bin_records, np.zeros(split.bin_count, dtype=np.intp))


def inside_of(split: AttributeSplits) -> BoolArray:
    """Return which bins are in each part, (A, B); see ``Sides``."""
    bins = np.arange(split.bin_count)
    return split.on_left(bins) if split.is_binary else np.eye(len(bins), dtype=bool)


def limits(
    split: AttributeSplits, sides: Sides, least: IntArray, most: IntArray
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


def _room(split: AttributeSplits) -> FloatArray:
    """Return the most that the convex terms of each candidate may sum to, with what floats may miss."""
    assert split.chosen_table is not None
    table = split.chosen_table.astype(np.float64)
    chosen = float(branch_impurity(split.criterion, table).sum())
    whole = float(branch_impurity(split.criterion, table.sum(axis=0)[None]).sum())
    top = split.records if split.criterion is Criterion.GINI else 0.0
    after = split.ratio * chosen + (1 - split.ratio) * whole
    return np.asarray(top - after + split.limit + 16 * split.doubt)


def _term(split: AttributeSplits, count: NumberArray, records: NumberArray) -> FloatArray:
    """Return u^2 / n, or u ln(u / n): minus the impurity's part, where branches' records are known."""
    u, n = np.broadcast_arrays(np.asarray(count, dtype=np.float64), np.maximum(records, 1.0))
    if split.criterion is Criterion.GINI:
        return np.asarray(u * u / n)
    return np.asarray(u * np.log(np.where(u > 0, u / n, 1.0)))


def _both(split: AttributeSplits, sides: Sides, totals: IntArray, count: NumberArray) -> FloatArray:
    """Return the terms of one class's count on the left and of the rest on the right, (A, m)."""
    left = sides.records[:, None]
    return _term(split, count, left) + _term(split, totals - count, split.records - left)


def _floors(
    split: AttributeSplits, sides: Sides, totals: IntArray, least: IntArray, most: IntArray
) -> FloatArray:
    """Return, per side and class, the least that the class's terms can sum to: (A, m)."""
    if split.is_binary:
        peak = np.clip(totals * (sides.records / split.records)[:, None], least, most)
        return _both(split, sides, totals, peak)
    return np.broadcast_to(_level(split, sides, totals, least, most), least.shape)


def _level(
    split: AttributeSplits, sides: Sides, totals: IntArray, least: IntArray, most: IntArray
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
