"""The part of the data space that each leaf covers, attribute by attribute, as arrays to draw records from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.errors import SynthesisError
from treewarden.ppdm_models.tree.paths import apart, both
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    CategoryTest,
    NumericTest,
    Predicate,
    atoms,
)
from treewarden.ppdm_models.tree.tree import Feature, Node, Tree


@dataclass(frozen=True, slots=True)
class NumericRange:
    """The values of a numeric attribute, both ends included."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            raise ValueError(f"not a range: {self.low} to {self.high}")


Domain = NumericRange | tuple[str, ...]
Domains = Mapping[str, Domain]


@dataclass(frozen=True, slots=True)
class LeafIntervals:
    """A numeric attribute in each of L leaves: what is drawn lies in [low, high], both ends included; shapes (L,).

    ``is_tested`` says whether the leaf's path tests the attribute.
    """

    low: FloatArray
    high: FloatArray
    is_tested: BoolArray


@dataclass(frozen=True, slots=True)
class Choices:
    """A categorical attribute in each of L leaves: leaf l draws from ``flat[start[l] : start[l] + size[l]]``.

    ``flat`` holds codes into ``values``.
    """

    values: tuple[str, ...]
    flat: IndexArray
    start: IndexArray
    size: IndexArray


Attribute = LeafIntervals | Choices


def leaf_regions(
    trees: Sequence[Tree], domains: Domains
) -> tuple[tuple[Node, ...], dict[str, Attribute]]:
    """Return the leaves of all trees, and for each attribute of any tree what it can be in each leaf.

    Raises:
        SynthesisError: a leaf's path is no combination of intervals and sets, or no record of the domain reaches it.
    """
    features = {feature.name: feature for tree in trees for feature in tree.features}
    owners = [(tree, leaf) for tree in trees for leaf in tree.leaves]
    tests = [_merged(tree, leaf) for tree, leaf in owners]
    attributes: dict[str, Attribute] = {}
    for name, feature in features.items():
        column = [here.get(name) for here in tests]
        places = [tree.where(leaf) for tree, leaf in owners]
        domain = domains[name]
        if isinstance(domain, NumericRange):
            attributes[name] = _intervals(feature, domain, column, places)
        else:
            attributes[name] = _choices(feature, domain, column, places)
    return tuple(leaf for _, leaf in owners), attributes


def domains_of(trees: Sequence[Tree], domains: Domains) -> dict[str, Domain]:
    """Return each attribute's domain: as given, as declared, or as far as the tests of the trees tell.

    A numeric attribute reaches half the span of its thresholds beyond them (1 where there is one, 0 to 1 where there is
    none); a categorical one has the values that are named.

    Raises:
        SynthesisError: a given domain is of no attribute, or of the wrong kind; an attribute has no known values.
    """
    features = {feature.name: feature for tree in trees for feature in tree.features}
    for name in domains:
        if name not in features:
            raise SynthesisError(name, f"no such attribute; use {', '.join(features)}")
    named: dict[str, list[NumericTest | CategoryTest]] = {name: [] for name in features}
    for tree in trees:
        for node in tree.nodes:
            for part in atoms(node.test):
                if isinstance(part, NumericTest | CategoryTest):
                    named[part.feature].append(part)
    return {
        name: _domain(feature, named[name], domains.get(name)) for name, feature in features.items()
    }


def _domain(
    feature: Feature, tests: Sequence[NumericTest | CategoryTest], domain: Domain | None
) -> Domain:
    if domain is not None:
        if isinstance(domain, NumericRange) != feature.numeric:
            wanted = "LOW:HIGH" if feature.numeric else "VALUE,VALUE,..."
            raise SynthesisError(feature.name, f"its domain is to be given as {wanted}")
        return domain
    if feature.numeric:
        ends = [e for t in tests if isinstance(t, NumericTest) for e in (t.low, t.high)]
        return _around([end for end in ends if math.isfinite(end)])
    values = dict.fromkeys(feature.values)
    values.update(dict.fromkeys(v for t in tests if isinstance(t, CategoryTest) for v in t.values))
    if not values:
        raise SynthesisError(
            feature.name, "the file names none of its values; give them as NAME=VALUE,VALUE,..."
        )
    return tuple(values)


def _around(thresholds: Sequence[float]) -> NumericRange:
    if not thresholds:
        return NumericRange(0.0, 1.0)
    low, high = min(thresholds), max(thresholds)
    beyond = (high - low) / 2 or 1.0
    return NumericRange(low - beyond, high + beyond)


def _merged(tree: Tree, leaf: Node) -> dict[str, NumericTest | CategoryTest]:
    """Return the one test of each attribute that a path comes to."""
    merged: dict[str, NumericTest | CategoryTest] = {}
    for part in _parts(tree, leaf):
        if part.feature not in merged:
            merged[part.feature] = part
            continue
        joint = both(merged[part.feature], part)
        if joint is None:
            raise SynthesisError(
                tree.where(leaf), "no record can reach it, so none can be drawn; check the model"
            )
        merged[part.feature] = joint
    return merged


def _parts(tree: Tree, leaf: Node) -> Iterator[NumericTest | CategoryTest]:
    """Yield what must hold on a path; children are tried in order, so what an earlier sibling takes is excluded."""
    for node in tree.path(leaf.index):
        wanted: list[Predicate | None] = [node.test]
        if node.parent is not None:
            siblings = tree.nodes[node.parent].children
            earlier = (tree.nodes[index].test for index in siblings[: siblings.index(node.index)])
            wanted += [_opposite(test) for test in earlier if not apart(test, node.test)]
        while wanted:
            part = wanted.pop(0)
            if isinstance(part, AllOf):
                wanted[:0] = part.parts
            elif isinstance(part, NumericTest | CategoryTest):
                yield part
            elif not isinstance(part, Always):
                problem = "its path is no plain combination of intervals and sets, so nothing can be drawn from it"
                raise SynthesisError(tree.where(leaf), problem)


def _opposite(test: Predicate) -> Predicate | None:
    """Return the test that a record passes where it fails this one; None where that is no interval or set."""
    if isinstance(test, CategoryTest):
        return CategoryTest(test.feature, test.values, not test.negated)
    if isinstance(test, NumericTest) and test.low == -math.inf:
        return NumericTest(test.feature, low=test.high, low_closed=not test.high_closed)
    if isinstance(test, NumericTest) and test.high == math.inf:
        return NumericTest(test.feature, high=test.low, high_closed=not test.low_closed)
    return None


def _intervals(
    feature: Feature,
    domain: NumericRange,
    tests: Sequence[NumericTest | CategoryTest | None],
    places: Sequence[str],
) -> LeafIntervals:
    low, high = np.full(len(tests), float(domain.low)), np.full(len(tests), float(domain.high))
    for position, test in enumerate(tests):
        if test is None:
            continue
        assert isinstance(test, NumericTest)
        low[position], high[position] = _ends(feature, domain, test)
        if low[position] > high[position]:
            problem = (
                f"{feature.name!r} holds no value there within {domain.low:g} to {domain.high:g}"
            )
            raise SynthesisError(places[position], f"{problem}; give a wider domain")
    return LeafIntervals(low, high, np.array([test is not None for test in tests]))


def _ends(feature: Feature, domain: NumericRange, test: NumericTest) -> tuple[float, float]:
    """Return the smallest and the largest number of an interval, in the precision that the tree compares."""
    kind = np.float32 if feature.single else np.float64
    low, high = kind(max(domain.low, test.low)), kind(min(domain.high, test.high))
    if low < test.low or (low == test.low and not test.low_closed):
        low = np.nextafter(low, kind(np.inf))
    if high > test.high or (high == test.high and not test.high_closed):
        high = np.nextafter(high, kind(-np.inf))
    return float(low), float(high)


def _choices(
    feature: Feature,
    domain: tuple[str, ...],
    tests: Sequence[NumericTest | CategoryTest | None],
    places: Sequence[str],
) -> Choices:
    code = {value: number for number, value in enumerate(domain)}
    flat: list[int] = []
    start: list[int] = []
    known: dict[CategoryTest | None, tuple[int, int]] = {}
    size: list[int] = []
    for position, test in enumerate(tests):
        assert not isinstance(test, NumericTest)
        if test not in known:
            allowed = [
                code[value]
                for value in domain
                if test is None or (value in test.values) != test.negated
            ]
            if not allowed:
                raise SynthesisError(
                    places[position], f"no value of {feature.name!r} is there; give a wider domain"
                )
            known[test] = len(flat), len(allowed)
            flat.extend(allowed)
        start.append(known[test][0])
        size.append(known[test][1])
    return Choices(domain, *(np.array(part, dtype=np.intp) for part in (flat, start, size)))
