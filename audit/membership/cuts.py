"""Thresholds are records: what the cuts of a tree prove of who is a member, and who is not.

A learner cuts half way between the greatest value left and the least value right among the members of a node. Of all
pairs of values in the register that make a published threshold, each one further apart than another excludes more
candidates. Whoever lies inside the nearest pair that is possible is out, whichever pair it was; where only one pair is
possible, some member has each of its two values. What that excludes makes counts tighter, and further pairs impossible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from treewarden.audit.membership.candidates import Candidates
from treewarden.audit.membership.count_rows import MemberPlace
from treewarden.audit.membership.learners import LearnerCuts, surely_apart
from treewarden.audit.population.leaves import NodeGroups
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.predicate import NumericTest, Predicate
from treewarden.ppdm_models.tree.tree import Feature, Tree

SINGLE_SLACK = 2.0**-23
"""Some formats keep thresholds in 32 bits: then half of a last digit may be lost, relative to the threshold."""


@dataclass(frozen=True, slots=True, eq=False)
class MemberCut:
    """One numeric split: its node, the candidates on both sides, by group, and their values as the learner saw them.

    ``left`` and ``right`` are sorted by value, ``below`` and ``above`` are these values; who lacks one is in neither.
    ``feature`` is the column.
    """

    place: MemberPlace
    feature: str
    threshold: float
    left: IndexArray
    right: IndexArray
    below: FloatArray
    above: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class CutFact:
    """What one cut proves: nobody of ``out`` is a member, and of each of ``present`` somebody is; all are groups."""

    place: MemberPlace
    out: IndexArray
    present: tuple[IndexArray, ...] = ()


class ComparedNumbers:
    """The columns of candidates as a learner compares them; each is sorted once, when a tree is cut there."""

    def __init__(self, candidates: Candidates, learner: LearnerCuts) -> None:
        """Take the candidates."""
        self.candidates, self.learner = candidates, learner
        self._columns: dict[str, tuple[FloatArray, IndexArray, FloatArray]] = {}

    def values(self, feature: Feature) -> FloatArray | None:
        """Return the numbers of a column, (G,); None where it holds none."""
        found = self._column(feature)
        return None if found is None else found[0]

    def sides(self, feature: Feature, cut: PlainThreshold) -> _Sides:
        """Return all candidates on both sides of a cut."""
        found = self._column(feature)
        assert found is not None
        _, order, ordered = found
        last = int(np.searchsorted(ordered, cut.threshold, "right" if cut.is_closed else "left"))
        return _Sides(order[:last], order[last:], ordered[:last], ordered[last:])

    def sides_among(self, feature: Feature, first: IndexArray, second: IndexArray) -> _Sides:
        """Return the groups below a cut and those above it, sorted."""
        values = self.values(feature)
        assert values is not None
        left, right = _by_value(first, values), _by_value(second, values)
        return _Sides(left, right, values[left], values[right])

    def _column(self, feature: Feature) -> tuple[FloatArray, IndexArray, FloatArray] | None:
        if feature.name not in self._columns:
            column = self.candidates.columns.get(feature.name)
            if not isinstance(column, NumericColumn):
                return None
            values = self.learner.compared(feature, column.numbers)
            order = _by_value(np.arange(len(values)), values)
            self._columns[feature.name] = (values, order, values[order])
        return self._columns[feature.name]


@dataclass(frozen=True, slots=True, eq=False)
class _Sides:
    """Groups on both sides of a cut, sorted by value, and their values."""

    left: IndexArray
    right: IndexArray
    below: FloatArray
    above: FloatArray


def numeric_cuts(
    tree: Tree,
    number: int,
    groups: NodeGroups,
    numbers: ComparedNumbers,
    seen: set[tuple[str, float]] | None = None,
) -> Iterator[MemberCut]:
    """Yield the two-way splits of a tree on one number; of the whole table those that were not ``seen`` before."""
    learner, features = numbers.learner, {feature.name: feature for feature in tree.features}
    tests = [node.test for node in tree.nodes]
    for node, children in enumerate(groups.children):
        cut = plain_threshold([tests[child] for child in children])
        if cut is None or not learner.says(cut.threshold) or cut.feature not in features:
            continue
        feature = features[cut.feature]
        if numbers.values(feature) is None:
            continue
        if learner.is_of_table:
            key = (cut.feature, cut.threshold)
            if seen is not None and key in seen:
                continue
            if seen is not None:
                seen.add(key)
            sides = numbers.sides(feature, cut)
        else:
            first, second = (groups.at(child) for child in children)
            below, above = (first, second) if cut.is_first_below else (second, first)
            sides = numbers.sides_among(feature, below, above)
        if learner.is_value and not (len(sides.left) and len(sides.right)):
            continue  # beyond all candidates: it parts those who have a value from those who lack it
        yield MemberCut(
            place=MemberPlace(number, node),
            feature=cut.feature,
            threshold=cut.threshold,
            left=sides.left,
            right=sides.right,
            below=sides.below,
            above=sides.above,
        )


def _by_value(groups: IndexArray, values: FloatArray) -> IndexArray:
    groups = groups[~np.isnan(values[groups])]
    return groups[np.argsort(values[groups], kind="stable")]


@dataclass(frozen=True, slots=True)
class PlainThreshold:
    """A plain cut of a number: whether its first child is below, and whether the threshold itself is."""

    feature: str
    threshold: float
    is_first_below: bool
    is_closed: bool


def plain_threshold(tests: list[Predicate]) -> PlainThreshold | None:
    """Return the plain cut that two tests make; None if it is none."""
    if len(tests) != 2 or not all(isinstance(test, NumericTest) for test in tests):
        return None
    one, two = tests
    assert isinstance(one, NumericTest)
    assert isinstance(two, NumericTest)
    is_first_below = one.low == -np.inf
    below, above = (one, two) if is_first_below else (two, one)
    is_cut = below.low == -np.inf and above.high == np.inf and below.high == above.low
    if one.feature != two.feature or not is_cut or not np.isfinite(below.high):
        return None
    return PlainThreshold(one.feature, below.high, is_first_below, below.high_closed)


@dataclass(frozen=True, slots=True)
class CutRule:
    """How a learner makes thresholds, and how far the file's may be from them, relative to their size."""

    learner: LearnerCuts
    slack: float = 0.0

    def may_make(self, below: FloatArray, above: FloatArray, threshold: float) -> BoolArray:
        """Whether neighbouring values, (n,) each, may make a threshold, whichever way the learner rounded its sums.

        What is proved counts on a pair of values only where all other pairs surely make another threshold.
        """
        made = self.learner.threshold(below, above)
        size = np.maximum(np.maximum(np.abs(below), np.abs(above)), abs(threshold))
        return np.asarray(np.abs(made - threshold) <= SINGLE_SLACK * size)

    def may_be(self, values: FloatArray, threshold: float) -> BoolArray:
        """Whether a threshold may be one of these values, (n,), itself."""
        size = np.maximum(np.abs(values), abs(threshold))
        return np.asarray(np.abs(values - threshold) <= SINGLE_SLACK * size)

    def is_met(self, cut: MemberCut, members: IntArray) -> bool:
        """Whether the members, (G,) by group, make the threshold of a cut, as near as the file has it."""
        pair = neighbours(cut, members)
        if pair is None:
            return False
        room = self.slack * abs(cut.threshold)
        is_value = self.learner.may_be_value and pair[0] == cut.threshold
        return is_value or abs(self._made(pair) - cut.threshold) <= room

    def is_kept(self, cut: MemberCut, members: IntArray, true_members: IntArray) -> bool:
        """Whether other members surely make the threshold of a cut that the true ones make: to the last digit.

        The two values are the very same, or the learner surely tells them apart and the file rounds no threshold.
        """
        pair, true_pair = neighbours(cut, members), neighbours(cut, true_members)
        if pair is None or pair == true_pair:
            return pair is not None
        is_apart = bool(surely_apart(np.array(pair[:1]), np.array(pair[1:]))[0])
        return is_apart and self.slack == 0 and self._made(pair) == cut.threshold

    def _made(self, pair: tuple[float, float]) -> float:
        return float(self.learner.threshold(np.array(pair[:1]), np.array(pair[1:]))[0])


def neighbours(cut: MemberCut, members: IntArray) -> tuple[float, float] | None:
    """Return the greatest value left and the least value right that members, (G,) by group, have; None without any."""
    below, above = cut.below[members[cut.left] > 0], cut.above[members[cut.right] > 0]
    return (float(below[-1]), float(above[0])) if len(below) and len(above) else None


def find_rule(cuts: Sequence[MemberCut], members: IntArray, learner: LearnerCuts) -> CutRule | None:
    """Return how thresholds were made, if the true members, (G,), make them so; None where they do not.

    Nor is it known where there are so many members that the learner looked at a sample of them.
    """
    if learner.most_records is not None and members.sum() > learner.most_records:
        return None
    for slack in (0.0, SINGLE_SLACK):
        rule = CutRule(learner, slack)
        if all(rule.is_met(cut, members) for cut in cuts):
            return rule
    return None


@dataclass(frozen=True, slots=True, eq=False)
class MemberBounds:
    """How many of each group are members, by what is proved so far: (G,) each."""

    low: IntArray
    high: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """The leaf of each group in one tree, (G,), parted by class where it is known, and how many members each needs."""

    of: IndexArray
    needed: IntArray

    def room(self, bounds: MemberBounds) -> IntArray:
        """Return how many members each bucket could have beyond those it needs."""
        most = np.bincount(self.of, bounds.high, len(self.needed))
        return np.rint(most).astype(np.int64) - self.needed


def read_cut(
    cut: MemberCut, bounds: MemberBounds, buckets: Buckets, room: IntArray, rule: CutRule
) -> CutFact | None:
    """Return what a cut proves beyond ``bounds``; None where it proves nothing more.

    Pairs of values are tried from the nearest to the furthest, until two are possible, or one excludes too many: as
    those further apart exclude more, none of them is possible either.
    """
    if rule.learner.is_value or rule.learner.may_be_value:
        sides = ((cut.left, cut.below), (cut.right, cut.above))
        has_it = np.concatenate([_near(who, values, cut, rule) for who, values in sides])
        has_it = has_it[bounds.high[has_it] > 0]
        if rule.learner.is_value:
            is_told = not len(has_it) or bool(bounds.low[has_it].any())
            return None if is_told else CutFact(cut.place, has_it[:0], (has_it,))
        if len(has_it):
            return None
    pairs = _pairs(cut, bounds, rule)
    if not _are_nested(pairs):
        return (
            None  # values a last digit apart, where thresholds were rounded: no pair is the nearest
        )
    possible: list[_Pair] = []
    for pair in pairs:
        if len(possible) == 2 or not _is_possible(pair.inside(cut), bounds, buckets, room):
            break
        possible.append(pair)
    if not possible:
        return None
    inside = possible[0].inside(cut)
    out = inside[bounds.high[inside] > 0]
    present: tuple[IndexArray, ...] = ()
    if len(possible) == 1:
        ends = possible[0].ends(cut)
        present = tuple(group for group in ends if not bounds.low[group].any())
    return CutFact(cut.place, out, present) if len(out) or present else None


def _near(groups: IndexArray, values: FloatArray, cut: MemberCut, rule: CutRule) -> IndexArray:
    """Return the groups whose value, sorted, may be the threshold itself."""
    room = 4 * SINGLE_SLACK * abs(cut.threshold)
    first = int(np.searchsorted(values, cut.threshold - room, "left"))
    last = int(np.searchsorted(values, cut.threshold + room, "right"))
    return groups[first:last][rule.may_be(values[first:last], cut.threshold)]


@dataclass(frozen=True, slots=True)
class _Pair:
    """A value below a threshold and one above it, as slices of the candidates on both sides of a cut."""

    below: slice
    above: slice

    def inside(self, cut: MemberCut) -> IndexArray:
        """Return the groups strictly between."""
        return np.concatenate([cut.left[self.below.stop :], cut.right[: self.above.start]])

    def ends(self, cut: MemberCut) -> tuple[IndexArray, IndexArray]:
        """Return the groups that have the one value, and those that have the other."""
        return cut.left[self.below], cut.right[self.above]


def _pairs(cut: MemberCut, bounds: MemberBounds, rule: CutRule) -> list[_Pair]:
    """Return the pairs of values that make the threshold and that somebody who may be a member has, nearest first."""
    below, above = _values(cut.below), _values(cut.above)
    numbers = np.array([value for value, _ in above])
    pairs = []
    for value, at in reversed(below):
        if not bounds.high[cut.left[at]].any():
            continue
        # Where the other value of a pair may be: what ``may_make`` allows is less than this on both sides.
        opposite = 2.0 * cut.threshold - value
        room = 8 * SINGLE_SLACK * (abs(cut.threshold) + abs(value))
        first, last = np.searchsorted(numbers, [opposite - room, opposite + room])
        first, last = max(0, int(first) - 1), int(last) + 1
        others = numbers[first:last]
        is_made = rule.may_make(np.full(len(others), value), others, cut.threshold)
        for (_, there), may_be in zip(above[first:last], is_made.tolist(), strict=True):
            if may_be and bounds.high[cut.right[there]].any():
                pairs.append(_Pair(at, there))
    return pairs


def _values(numbers: FloatArray) -> list[tuple[float, slice]]:
    """Return the different ones of sorted numbers, each with where it stands."""
    values, first = np.unique(numbers, return_index=True)
    ends = [*first[1:].tolist(), len(numbers)]
    return [
        (value, slice(start, end))
        for value, start, end in zip(values.tolist(), first.tolist(), ends, strict=True)
    ]


def _are_nested(pairs: Sequence[_Pair]) -> bool:
    """Whether each pair lies within the next one."""
    return all(
        further.below.start <= nearer.below.start and further.above.start >= nearer.above.start
        for nearer, further in pairwise(pairs)
    )


def _is_possible(
    inside: IndexArray, bounds: MemberBounds, buckets: Buckets, room: IntArray
) -> bool:
    """Whether nobody inside need be a member: all counts can be filled without them."""
    if bounds.low[inside].any():
        return False
    lost = np.bincount(buckets.of[inside], bounds.high[inside], len(room))
    return bool((lost <= room).all())
