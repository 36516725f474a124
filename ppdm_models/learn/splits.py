"""The best split of a node, by a rule that sees only counts, the order of attributes and the order of values.

Candidates are: for a number, every cut between two neighbours; for categories one against the rest (never the category
``*``), or, multiway, one branch each, or, by sets, every way to part them in two. Of equally good ones the first
attribute wins, and of its candidates the first. Ways to part values stand in the order of which values are beside the
first one, the second value counting most: merging values does not change the order of the ways that are left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.errors import LearnerError
from treewarden.ppdm_models.tree.column import Columns, NumericColumn
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest, Predicate
from treewarden.ppdm_models.tree.tree import Feature, Task

# The attributes as a learner sees them: codes in the order of the values, prepared once for all nodes.

ANY = "*"
"""The category that stands for several: a split never singles it out."""
MOST_SET_VALUES = 16
"""Categories beyond which an attribute is parted one against the rest: there are 32,767 ways to part so many in two."""


@dataclass(frozen=True, slots=True)
class LearnedAttribute:
    """One attribute: ``codes`` (N,) point into ``distinct`` numbers (ascending), or into ``categories`` (sorted)."""

    name: str
    codes: IndexArray
    distinct: FloatArray | None = None
    categories: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.categories) if self.distinct is None else len(self.distinct)

    @property
    def feature(self) -> Feature:
        """The attribute as a published tree declares it."""
        return Feature(self.name, numeric=self.distinct is not None, values=self.categories)


def attributes_of(columns: Columns) -> tuple[LearnedAttribute, ...]:
    """Return the attributes in the order of the columns, which is also their rank in a tie.

    Raises:
        LearnerError: a value is missing.
    """
    learned_attributes = []
    for name, column in columns.items():
        if column.missing.any():
            row = int(np.flatnonzero(column.missing)[0]) + 1
            raise LearnerError(
                f"column {name!r}, record {row}",
                "no value; leave such records out, or make missing a category of its own",
            )
        if isinstance(column, NumericColumn):
            distinct, codes = np.unique(column.numbers + 0.0, return_inverse=True)  # -0 becomes 0
            learned_attributes.append(LearnedAttribute(name, codes.reshape(-1), distinct))
        else:
            learned_attributes.append(
                LearnedAttribute(name, column.codes.astype(np.intp), categories=column.categories)
            )
    return tuple(learned_attributes)


def threshold(left: float, right: float) -> float:
    """Return the split value between two neighbours: the middle, or the lower where the middle rounds to the upper."""
    middle = 0.5 * left + 0.5 * right
    return middle if left <= middle < right else left


# What a tree predicts, in whole numbers, so that the sums of a node do not depend on the order of its records.

MOST_DECIMALS = 9
LARGEST_PRODUCT = 2.0**53
"""Whole numbers up to here are exact as floats: sums of the response, also times a number of records."""


@dataclass(frozen=True, slots=True)
class Response:
    """The predicted column of N records.

    ``values`` has shape (N,): codes into ``classes``, or (regression, no classes) whole numbers of steps,
    where one step is ``1 / per_unit``.
    """

    name: str
    values: IntArray
    classes: tuple[str, ...] = ()
    per_unit: int = 1

    @property
    def task(self) -> Task:
        """Whether classes or numbers are predicted."""
        return Task.CLASSIFICATION if self.classes else Task.REGRESSION

    def sums(self, rows: IndexArray, cells: IndexArray | IntArray, size: int) -> FloatArray:
        """Return what the records of each cell add up to: class counts, (size, m), or count and sum, (size, 2)."""
        here = self.values[rows]
        if self.classes:
            width = len(self.classes)
            flat = np.bincount(cells * width + here, minlength=size * width)
            return flat.reshape(size, width).astype(np.float64)
        counts = np.bincount(cells, minlength=size).astype(np.float64)
        return np.stack([counts, np.bincount(cells, weights=here, minlength=size)], axis=1)

    def score(self, total: FloatArray) -> str | float:
        """Return what a leaf with these sums predicts: the most frequent class, the first of several, or the mean."""
        if self.classes:
            return self.classes[int(np.argmax(total))]
        return float(Fraction(int(total[1]), int(total[0]) * self.per_unit))


def of_classes(name: str, codes: IntArray, classes: Sequence[str]) -> Response:
    """Return a response of class codes, shape (N,)."""
    return Response(name, codes.astype(np.int64), tuple(classes))


def of_numbers(name: str, values: FloatArray) -> Response:
    """Return a response of numbers, shape (N,), as whole numbers of the coarsest decimal step that holds them all.

    Raises:
        LearnerError: a number is missing or has too many digits for sums that are exact.
    """
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0]) + 1
        raise LearnerError(
            f"column {name!r}, record {row}",
            "the value is missing or not a finite number; remove such records",
        )
    for decimals in range(MOST_DECIMALS + 1):
        steps = np.round(values * 10.0**decimals)
        if np.abs(steps).sum() * len(steps) >= LARGEST_PRODUCT:
            break
        if (steps / 10.0**decimals == values).all():
            return Response(name, steps.astype(np.int64), per_unit=10**decimals)
    raise LearnerError(
        f"column {name!r}",
        "its numbers have more digits than can be added up exactly; round them",
    )


# How good a split is: a function of what its branches add up to, and of nothing else.
#
# Two splits that send the same records apart have the same worth to the last bit, whatever the values that are compared
# and whatever the order of the records. The impurity decrease is computed from whole numbers: by gini and variance with
# one rounding per operation, by entropy from a table of n log n in fixed point.

CRITERIA = ("gini", "entropy", "gain-ratio", "variance")
FIXED_POINT = 2.0**24
"""Steps per nat: n log n of a million records stays exact in a float."""


@dataclass(frozen=True, slots=True)
class Worth:
    """Compares candidates under one criterion; ``logs`` holds n log n for n up to the number of records (entropy)."""

    criterion: str
    logs: FloatArray

    def gains(self, total: FloatArray, branches: FloatArray) -> FloatArray:
        """Return the impurity decrease times records, shape (candidates,); ``branches`` is (candidates, b, m)."""
        if self.criterion == "variance":
            centre = np.array([0.0, np.round(total[1] / total[0])])
            total = total - centre * total[0]
            branches = branches - centre * branches[..., :1]
        gains: FloatArray = self._purity(branches).sum(axis=-1) - self._purity(total[None])[0]
        return gains

    def ranks(self, branches: FloatArray, gains: FloatArray) -> FloatArray:
        """Return what candidates of one node are compared by: the gain, or its ratio to the split's own information."""
        if self.criterion != "gain-ratio":
            return gains
        sizes = branches.sum(axis=-1).astype(np.intp)
        split = self.logs[sizes.sum(axis=-1)] - self.logs[sizes].sum(axis=-1)
        ranks: FloatArray = gains / np.maximum(split, 1.0)
        return ranks

    def _purity(self, sums: FloatArray) -> FloatArray:
        """Return records times purity, up to what is the same for every split of a node; 0 where there are none."""
        if self.criterion in ("entropy", "gain-ratio"):
            counts = sums.astype(np.intp)
            pure: FloatArray = self.logs[counts].sum(axis=-1) - self.logs[counts.sum(axis=-1)]
            return pure
        if self.criterion == "gini":
            size, square = sums.sum(axis=-1), (sums**2).sum(axis=-1)
        else:
            size, square = sums[..., 0], sums[..., 1] ** 2
        purity: FloatArray = np.divide(square, size, out=np.zeros_like(size), where=size > 0)
        return purity


def worth_of(criterion: str, response: Response) -> Worth:
    """Return the comparison of candidates for a response under a criterion."""
    logs = [0.0]
    if criterion in ("entropy", "gain-ratio"):
        logs += [
            float(round(n * math.log(n) * FIXED_POINT)) for n in range(1, len(response.values) + 1)
        ]
    return Worth(criterion, np.array(logs))


def informative(total: FloatArray, branches: FloatArray, by_class: bool) -> BoolArray:
    """Return whether any branch differs from the node in its class shares or mean: decided in whole numbers.

    All criteria are strictly concave, so exactly these candidates lower the impurity.
    """
    if not by_class:
        apart = branches[..., 1] * total[0] != branches[..., 0] * total[1]
        return np.asarray(apart.any(axis=-1))
    sizes = branches.sum(axis=-1, keepdims=True)
    return np.asarray((branches * total.sum() != sizes * total).any(axis=(-1, -2)))


CLOSE = 1e-9
"""Candidates whose worth differs by no more than this share count as a tie in reports; no choice depends on it."""


@dataclass(frozen=True, slots=True)
class LearnedSplit:
    """A chosen split: the tests of its branches, and each record's branch, shape (n,) for the node's n records.

    ``rank`` is what it was chosen by: the impurity decrease times records, or its ratio to the split's own information.
    ``rivals`` is how many other candidates were as good.
    """

    tests: tuple[Predicate, ...]
    branch: IndexArray
    rank: float
    rivals: int


@dataclass(frozen=True, slots=True)
class _AttributeCandidates:
    """The candidates of one attribute: their ranks, (candidates,), and what was counted on the way."""

    attribute: LearnedAttribute
    local: IndexArray
    present: IndexArray
    places: IndexArray
    ranks: FloatArray


@dataclass(frozen=True, slots=True)
class SplitRule:
    """What makes a split admissible and the best one; ``sets`` are the attributes whose values are parted by sets."""

    worth: Worth
    multiway: bool
    min_leaf: int
    sets: tuple[str, ...] = ()


def best_split(
    attributes: tuple[LearnedAttribute, ...], response: Response, rows: IndexArray, rule: SplitRule
) -> LearnedSplit | None:
    """Return the best split of the records ``rows``, or None where none lowers the impurity."""
    total = response.sums(rows, np.zeros(len(rows), dtype=np.intp), 1)[0]
    if response.classes and (total > 0).sum() < 2:
        return None
    found = []
    for attribute in attributes:
        candidates = _candidates(attribute, response, rows, total, rule)
        if candidates is not None:
            found.append(candidates)
    if not found:
        return None
    tops = [float(attribute_candidates.ranks.max()) for attribute_candidates in found]
    best = tops.index(max(tops))
    slack = CLOSE * abs(tops[best])
    rivals = (
        sum(
            int((attribute_candidates.ranks >= tops[best] - slack).sum())
            for attribute_candidates in found
        )
        - 1
    )
    return _split(found[best], int(np.argmax(found[best].ranks)), rule, rivals)


def _candidates(
    attribute: LearnedAttribute,
    response: Response,
    rows: IndexArray,
    total: FloatArray,
    rule: SplitRule,
) -> _AttributeCandidates | None:
    """Return an attribute's admissible candidates; None where there is none."""
    local, size, kept = attribute.codes[rows], attribute.size, None
    if size > 4 * len(rows):  # a small node of an attribute with many values
        kept, local = np.unique(local, return_inverse=True)
        size = len(kept)
    counted = response.sums(rows, local, size)
    there = np.flatnonzero(np.bincount(local, minlength=size))
    if len(there) < 2:
        return None
    present = there if kept is None else kept[there]
    branches, places = _branches(attribute, present, counted[there], total, rule)
    sizes = branches.sum(axis=-1) if response.classes else branches[..., 0]
    fit = (sizes >= rule.min_leaf).all(axis=1)
    fit &= informative(total, branches, bool(response.classes))
    if not fit.any():
        return None
    ranks = rule.worth.ranks(branches[fit], rule.worth.gains(total, branches[fit]))
    return _AttributeCandidates(attribute, attribute.codes[rows], present, places[fit], ranks)


def _branches(
    attribute: LearnedAttribute,
    present: IndexArray,
    counted: FloatArray,
    total: FloatArray,
    rule: SplitRule,
) -> tuple[FloatArray, IndexArray]:
    """Return the sums of each candidate's branches, (candidates, b, m), and the value each candidate stands at."""
    if attribute.distinct is None and rule.multiway:
        return counted[None], np.zeros(1, dtype=np.intp)
    if attribute.name in rule.sets:
        places = np.arange(2 ** (len(present) - 1) - 1)
        left = _beside_first(places, len(present)).astype(np.float64) @ counted
        return np.stack([left, total - left], axis=1), places
    places = np.arange(len(present))
    if attribute.distinct is not None:
        left, places = np.cumsum(counted, axis=0)[:-1], places[:-1]
    else:
        named = np.array([attribute.categories[code] != ANY for code in present])
        if named.all() and len(named) == 2:
            named[1] = False  # it would part the same records as the first
        left, places = counted[named], places[named]
    return np.stack([left, total - left], axis=1), places


def _beside_first(places: IndexArray, size: int) -> BoolArray:
    """Return for each way to part ``size`` values which are on the first one's side, shape (ways, size)."""
    others = places[:, None] >> np.arange(size - 2, -1, -1) & 1
    return np.concatenate([np.ones((len(places), 1)), others], axis=1).astype(bool)


def _split(
    candidates: _AttributeCandidates, best: int, rule: SplitRule, rivals: int
) -> LearnedSplit:
    attribute, present, local = candidates.attribute, candidates.present, candidates.local
    place, rank, name = int(candidates.places[best]), float(candidates.ranks[best]), attribute.name
    tests: tuple[Predicate, ...]
    if attribute.distinct is not None:
        cut = threshold(
            float(attribute.distinct[present[place]]), float(attribute.distinct[present[place + 1]])
        )
        tests = (NumericTest(name, high=cut, high_closed=True), NumericTest(name, low=cut))
        return LearnedSplit(tests, (local > present[place]).astype(np.intp), rank, rivals)
    if rule.multiway:
        tests = tuple(CategoryTest(name, (attribute.categories[code],)) for code in present)
        return LearnedSplit(tests, np.searchsorted(present, local), rank, rivals)
    chosen = present[place : place + 1]
    if name in rule.sets:
        chosen = present[_beside_first(np.array([place]), len(present))[0]]
    values = tuple(attribute.categories[code] for code in chosen)
    tests = (CategoryTest(name, values), CategoryTest(name, values, negated=True))
    return LearnedSplit(tests, (~np.isin(local, chosen)).astype(np.intp), rank, rivals)
