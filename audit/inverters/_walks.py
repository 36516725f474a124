"""Leaf values that are several steps, each from where the last one ended: which whole numbers of labels lead there.

From d = 0, each step adds s * (S - sum p(F + d)) / (sum p (1 - p) + l2) to d, for gradient steps over the number of
people in place of sum p (1 - p). S is the number of labels in the leaf, F is everybody's score, and s is 1 unless the
library took a part of the step only, or, with 0, none of it. What cannot lead to the value of a leaf is shown to lead
elsewhere: whole ranges of S at once, by the mean value theorem over intervals, and then one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.inverters._bounds import TINY, NumberBounds, exactly, logistic, variance
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray

MOST_PAIRS = 2_000_000
"""So many scores times ranges are looked at together; where there are more, the ranges that are left stay."""
MOST_SCORE = 690.0
"""Beyond that a library that keeps exponentials of scores may have come to infinity, to 0, or to no number."""
PARTS = 4
"""Into so many ranges one is cut that may hold the number."""


@dataclass(frozen=True, slots=True, eq=False)
class LeafScores:
    """Leaves to be inverted: ``scores`` (G,) that ``weight`` people of the leaf ``of`` have, in order of leaves.

    ``values`` (L,) are the sums of the steps, ``people`` (L,) how many there are, and ``room`` is how far off the
    library's own probabilities may be.
    """

    scores: NumberBounds
    weight: FloatArray
    of: IndexArray
    values: NumberBounds
    people: FloatArray
    room: float


@dataclass(frozen=True, slots=True)
class StepRule:
    """How steps are made: l2 and whether they are Newton's, else gradient steps."""

    ridge: float
    is_newton: bool


def whole_sums(leaves: LeafScores, rule: StepRule, parts: NumberBounds) -> NumberBounds:
    """Return the least and the greatest number of labels that lead to each leaf's value, (L,); crossed where none does.

    ``parts`` (k,) are between which ends the part of each step lies that was taken.
    """
    size = len(leaves.people)
    where = np.arange(size)
    low, high = np.zeros(size), leaves.people.astype(np.float64)
    if parts.low[0] < parts.high[0]:  # what follows could lead anywhere
        return NumberBounds(low, high)
    least, most = np.full(size, np.inf), np.full(size, -np.inf)
    while len(where):
        tried = _pairs(leaves, where) <= MOST_PAIRS
        if tried:
            shape = (len(where), len(parts.low))
            number_bounds = NumberBounds(
                np.broadcast_to(parts.low, shape), np.broadcast_to(parts.high, shape)
            )
            kept = leads(leaves, rule, where, NumberBounds(low, high), number_bounds)
            where, low, high = where[kept], low[kept], high[kept]
        is_settled = (low == high) if tried else np.ones(len(where), dtype=bool)
        np.minimum.at(least, where[is_settled], low[is_settled])
        np.maximum.at(most, where[is_settled], high[is_settled])
        where, low, high = _cut(where[~is_settled], low[~is_settled], high[~is_settled])
    return NumberBounds(least, most)


def leads(
    leaves: LeafScores, rule: StepRule, where: IndexArray, sums: NumberBounds, parts: NumberBounds
) -> BoolArray:
    """Return whether some number of labels between whole ``sums`` (B,) may lead to the value of the leaf at ``where``.

    ``parts`` (B, k) are the parts taken of each step.
    """
    walk = _StepWalk(leaves, rule, where, sums)
    with np.errstate(all="ignore"):
        for step in range(parts.low.shape[1]):
            walk.go(NumberBounds(parts.low[:, step], parts.high[:, step]))
    there = leaves.values.at(where)
    # What overflowed is not known, and a comparison with NaN must not exclude it.
    return walk.is_lost | ~((walk.all.high < there.low) | (walk.all.low > there.high))


class _StepWalk:
    """Where the steps have come to: ``all`` numbers of a range, and its ``middle`` one.

    ``is_lost`` (B,) says of which ranges some scores became too large for anything to be known of what follows.
    """

    def __init__(
        self, leaves: LeafScores, rule: StepRule, where: IndexArray, sums: NumberBounds
    ) -> None:
        first = np.searchsorted(leaves.of, where)
        each = np.searchsorted(leaves.of, where, side="right") - first
        before = np.cumsum(each) - each
        self.box, self.first = np.repeat(np.arange(len(where)), each), before
        self.rounded = TINY * np.maximum(1.0, each / 16)
        at = np.arange(int(each.sum())) + np.repeat(first - before, each)
        self.scores, self.weight = leaves.scores.at(at), leaves.weight[at]
        self.room, self.rule = leaves.room, rule
        self.people = exactly(leaves.people[where].astype(np.float64))
        self.sums = sums
        centre = np.floor((sums.low + sums.high) / 2)
        self.centre = exactly(centre)
        self.aside = NumberBounds(sums.low - centre, sums.high - centre)
        zero = np.zeros(len(where))
        self.middle = self.all = self.slope = exactly(zero)
        self.is_lost = np.zeros(len(where), dtype=bool)

    def go(self, part: NumberBounds) -> None:
        """Take one step."""
        number_bounds = exactly(np.ones_like(part.low))
        near, far = self._at(self.middle), self._at(self.all)
        middle = self.middle + part * (self.centre - near.shares).over(near.divisor)
        missing = self.sums - far.shares
        naive = self.all + part * missing.over(far.divisor)
        turn = number_bounds - part * far.hessians.over(far.divisor)
        if self.rule.is_newton:
            turn = turn - part * (missing * far.bends).over(far.divisor * far.divisor)
        self.slope = self.slope * turn + part.over(far.divisor)
        around = middle + self.slope * self.aside
        # The library rounds at every number, not at the middle one only.
        around = around.wider(2.0**-30 * (1 + np.abs(around.high)) * (self.aside.high > 0))
        self.middle, self.all = middle, naive.both(around)

    def _at(self, moved: NumberBounds) -> _LeafSums:
        scores = self.scores + moved.at(self.box)
        size = np.maximum.reduceat(np.maximum(np.abs(scores.low), np.abs(scores.high)), self.first)
        self.is_lost |= ~(size <= MOST_SCORE)
        shares = logistic(scores, self.room)
        spread = variance(shares)
        hessians = self._summed(spread)
        hessians = NumberBounds(np.maximum(hessians.low, 0.0), hessians.high)
        slant = NumberBounds(1 - 2 * shares.high, 1 - 2 * shares.low)
        divisor = (hessians if self.rule.is_newton else self.people).plus(self.rule.ridge)
        divisor = NumberBounds(np.maximum(divisor.low, self.rule.ridge / 2), divisor.high)
        return _LeafSums(self._summed(shares), hessians, self._summed(spread * slant), divisor)

    def _summed(self, numbers: NumberBounds) -> NumberBounds:
        low = np.add.reduceat(numbers.low * self.weight, self.first)
        high = np.add.reduceat(numbers.high * self.weight, self.first)
        most = np.add.reduceat(
            np.maximum(np.abs(numbers.low), np.abs(numbers.high)) * self.weight, self.first
        )
        return NumberBounds(low - self.rounded * most, high + self.rounded * most)


@dataclass(frozen=True, slots=True, eq=False)
class _LeafSums:
    """Over the people of a leaf: p, p (1 - p), its derivative, and what a step is divided by."""

    shares: NumberBounds
    hessians: NumberBounds
    bends: NumberBounds
    divisor: NumberBounds


def _pairs(leaves: LeafScores, where: IndexArray) -> int:
    return int(np.bincount(leaves.of, minlength=len(leaves.people))[where].sum())


def _cut(
    where: IndexArray, low: FloatArray, high: FloatArray
) -> tuple[IndexArray, FloatArray, FloatArray]:
    """Return ranges of whole numbers cut into parts, each of which has a number at least."""
    size = np.minimum(high - low + 1, PARTS).astype(np.intp)
    again = np.repeat(np.arange(len(where)), size)
    place = np.arange(len(again)) - np.repeat(np.cumsum(size) - size, size)
    width, count = (high - low + 1)[again], size[again]
    start = low[again] + np.floor(width * place / count)
    end = low[again] + np.floor(width * (place + 1) / count) - 1
    return where[again], start, end


def backtracked(steps: int) -> FloatArray:
    """Return all ways, (N, k), that steps can be halved in which are tried until the loss falls: each part taken.

    A step that does not make it fall is not taken (0), and the next of the k tries takes half of its part.
    """
    ways: list[tuple[tuple[float, ...], float]] = [((), 1.0)]
    for _ in range(steps):
        ways = [
            each
            for taken, part in ways
            for each in (((*taken, part), 1.0), ((*taken, 0.0), part / 2))
        ]
    return np.unique(np.array([taken for taken, _ in ways]), axis=0)


def fitting(leaves: LeafScores, rule: StepRule, ways: FloatArray) -> FloatArray:
    """Return those of the ways (N, k) by which leaves can have come to their values, as far as that is soon told."""
    scores = np.bincount(leaves.of, minlength=len(leaves.people))
    cost = scores * PARTS * np.ceil(np.log2(leaves.people + 1))
    spent = 0.0
    for leaf in np.argsort(cost, kind="stable").tolist():
        spent += cost[leaf] * len(ways)
        if len(ways) <= 1 or spent > MOST_PAIRS:
            break
        ways = ways[_may_lead(leaves, rule, leaf, ways)]
    return ways


def _may_lead(leaves: LeafScores, rule: StepRule, leaf: int, ways: FloatArray) -> BoolArray:
    """Return by which of the ways (N, k) some number of labels may lead to the value of a leaf, (N,)."""
    way = np.arange(len(ways))
    low, high = np.zeros(len(ways)), np.full(len(ways), float(leaves.people[leaf]))
    may = np.zeros(len(ways), dtype=bool)
    while len(way):
        where = np.full(len(way), leaf, dtype=np.intp)
        if _pairs(leaves, where) > MOST_PAIRS:
            may[way] = True
            break
        kept = leads(leaves, rule, where, NumberBounds(low, high), exactly(ways[way]))
        may[way[kept & (low == high)]] = True
        kept &= ~may[way]
        way, low, high = _cut(way[kept], low[kept], high[kept])
    return may
