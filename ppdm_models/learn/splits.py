"""The best split of a node, by a rule that sees only counts, the order of attributes and the order of values.

Candidates are: for a number, every cut between two neighbours; for categories one against the rest (never the category
``*``), or, multiway, one branch each, or, by sets, every way to part them in two. Of equally good ones the first
attribute wins, and of its candidates the first. Ways to part values stand in the order of which values are beside the
first one, the second value counting most: merging values does not change the order of the ways that are left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.learn.attributes import ANY, Attribute, threshold
from treewarden.ppdm_models.learn.response import Response
from treewarden.ppdm_models.learn.worth import Worth, informative
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest, Predicate

CLOSE = 1e-9
"""Candidates whose worth differs by no more than this share count as a tie in reports; no choice depends on it."""


@dataclass(frozen=True, slots=True)
class Split:
    """A chosen split: the tests of its branches, and each record's branch, shape (n,) for the node's n records.

    ``rank`` is what it was chosen by: the impurity decrease times records, or its ratio to the split's own information.
    ``rivals`` is how many other candidates were as good.
    """

    tests: tuple[Predicate, ...]
    branch: IndexArray
    rank: float
    rivals: int


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The candidates of one attribute: their ranks, (candidates,), and what was counted on the way."""

    attribute: Attribute
    local: IndexArray
    present: IndexArray
    places: IndexArray
    ranks: FloatArray


@dataclass(frozen=True, slots=True)
class Rule:
    """What makes a split admissible and the best one; ``sets`` are the attributes whose values are parted by sets."""

    worth: Worth
    multiway: bool
    min_leaf: int
    sets: tuple[str, ...] = ()


def best_split(
    attributes: tuple[Attribute, ...], response: Response, rows: IndexArray, rule: Rule
) -> Split | None:
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
    tops = [float(each.ranks.max()) for each in found]
    best = tops.index(max(tops))
    slack = CLOSE * abs(tops[best])
    rivals = sum(int((each.ranks >= tops[best] - slack).sum()) for each in found) - 1
    return _split(found[best], int(np.argmax(found[best].ranks)), rule, rivals)


def _candidates(
    attribute: Attribute, response: Response, rows: IndexArray, total: FloatArray, rule: Rule
) -> _Candidates | None:
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
    return _Candidates(attribute, attribute.codes[rows], present, places[fit], ranks)


def _branches(
    attribute: Attribute,
    present: IndexArray,
    counted: FloatArray,
    total: FloatArray,
    rule: Rule,
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


def _split(found: _Candidates, best: int, rule: Rule, rivals: int) -> Split:
    attribute, present, local = found.attribute, found.present, found.local
    place, rank, name = int(found.places[best]), float(found.ranks[best]), attribute.name
    tests: tuple[Predicate, ...]
    if attribute.distinct is not None:
        cut = threshold(
            float(attribute.distinct[present[place]]), float(attribute.distinct[present[place + 1]])
        )
        tests = (NumericTest(name, high=cut, high_closed=True), NumericTest(name, low=cut))
        return Split(tests, (local > present[place]).astype(np.intp), rank, rivals)
    if rule.multiway:
        tests = tuple(CategoryTest(name, (attribute.categories[code],)) for code in present)
        return Split(tests, np.searchsorted(present, local), rank, rivals)
    chosen = present[place : place + 1]
    if name in rule.sets:
        chosen = present[_beside_first(np.array([place]), len(present))[0]]
    values = tuple(attribute.categories[code] for code in chosen)
    tests = (CategoryTest(name, values), CategoryTest(name, values, negated=True))
    return Split(tests, (~np.isin(local, chosen)).astype(np.intp), rank, rivals)
