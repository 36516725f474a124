"""Which leaves merging could make of a tree: any node with all below it, or some siblings that belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tables.taxonomy import Categories, IntervalHierarchy, Taxonomies
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest, Predicate
from treewarden.ppdm_models.tree.tree import Node, Tree

Key = tuple[int, object]

MOST_NEIGHBOURS = 20
"""A numeric split with more branches is merged as a whole or not at all, unless a hierarchy says what belongs together:
the runs of its branches grow with the square of their number."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Numeric branches in rising order; ``numbers`` are the candidates that merge those from i up to, not with, j."""

    children: tuple[int, ...]
    numbers: Mapping[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class BranchGroups:
    """Branches under a hierarchy. Group 0 holds all; ``parent`` gives for each later one the group around it.

    ``place`` is the group that a child is in itself; ``numbers`` are the candidates, -1 for group 0.
    """

    parent: tuple[int, ...]
    place: Mapping[int, int]
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MergedLeaves:
    """Every leaf that merging could make: number i < N is node i as a leaf, the later ones are groups of siblings.

    ``members`` are the nodes merged, in the order of their parent's children; ``tests`` those of the groups; ``ways``
    how the children of a node may be merged, other than all into one.
    """

    members: tuple[tuple[int, ...], ...]
    tests: tuple[Predicate, ...]
    ways: Mapping[int, Runs | BranchGroups]

    def totals(self, passing: FloatArray) -> FloatArray:
        """Return what each candidate would hold, shape (N + G, ...), given what each node does, shape (N, ...)."""
        groups = self.members[len(passing) :]
        if not groups:
            return passing
        starts = np.cumsum([0, *(len(group) for group in groups)])[:-1]
        flat = [member for group in groups for member in group]
        return np.concatenate([passing, np.add.reduceat(passing[flat], starts, axis=0)])


def candidates(tree: Tree, taxonomies: Taxonomies | None = None) -> MergedLeaves:
    """Return all that merging could make of a tree.

    Siblings belong together where they lie under one value of their attribute's hierarchy; without one, where they are
    neighbouring numeric intervals.

    Raises:
        TaxonomyError: a hierarchy lacks a value that the tree tests.
    """
    collected = _Collected([(node.index,) for node in tree.nodes], [], {})
    for node in tree.nodes:
        if len(node.children) > 2:
            collected.add(tree, node, taxonomies or {})
    return MergedLeaves(tuple(collected.members), tuple(collected.tests), collected.ways)


@dataclass(slots=True)
class _Collected:
    members: list[tuple[int, ...]]
    tests: list[Predicate]
    ways: dict[int, Runs | BranchGroups]

    def add(self, tree: Tree, node: Node, taxonomies: Taxonomies) -> None:
        tests = [tree.nodes[child].test for child in node.children]
        numeric = _neighbours(tests)
        if numeric is not None:
            taxonomy = taxonomies.get(numeric[0][1].feature)
            if isinstance(taxonomy, IntervalHierarchy):
                self._add_groups(node, [list(_intervals(taxonomy, test)) for test in tests], tests)
            elif len(tests) <= MOST_NEIGHBOURS:
                self._add_runs(node, numeric)
            return
        named = _disjoint(tests)
        taxonomy = taxonomies.get(named[0].feature) if named else None
        if named and isinstance(taxonomy, Categories):
            self._add_groups(node, [_labels(taxonomy, test) for test in named], tests)

    def _add_runs(self, node: Node, rising: Sequence[tuple[int, NumericTest]]) -> None:
        numbers = {}
        for i, j in combinations(range(len(rising) + 1), 2):
            if 1 < j - i < len(rising):
                run = rising[i:j]
                places = sorted(place for place, _ in run)
                numbers[i, j] = self._number(node, places, [test for _, test in run])
        children = tuple(node.children[place] for place, _ in rising)
        self.ways[node.index] = Runs(children, numbers)

    def _add_groups(
        self, node: Node, paths: Sequence[Sequence[Key]], tests: Sequence[Predicate]
    ) -> None:
        """Keep of the levels those groups that differ; ``paths`` are each child's groups, lowest first."""
        size = Counter(key for path in paths for key in path)
        kept = [list(_growing(path, size, len(paths))) for path in paths]
        chosen = sorted(
            {key for path in kept for key in path}, key=lambda key: (-size[key], str(key))
        )
        position = {key: number for number, key in enumerate(chosen, start=1)}
        parent = [0] * (len(chosen) + 1)
        inside: list[list[int]] = [[] for _ in parent]
        for child, path in enumerate(kept):
            for key, above in zip(path, [*path[1:], None], strict=False):
                parent[position[key]] = 0 if above is None else position[above]
                inside[position[key]].append(child)
        numbers = [self._number(node, group, [tests[i] for i in group]) for group in inside[1:]]
        place = {
            child: position[path[0]] if path else 0
            for child, path in zip(node.children, kept, strict=True)
        }
        if numbers:
            self.ways[node.index] = BranchGroups(tuple(parent), place, (-1, *numbers))

    def _number(self, node: Node, places: Sequence[int], tests: Sequence[Predicate]) -> int:
        self.members.append(tuple(node.children[place] for place in places))
        self.tests.append(_joined(tests))
        return len(self.members) - 1


def _neighbours(tests: Sequence[Predicate]) -> list[tuple[int, NumericTest]] | None:
    """Return the tests in rising order with their places, if they are intervals that touch and do not overlap."""
    numeric = [(place, test) for place, test in enumerate(tests) if isinstance(test, NumericTest)]
    if len(numeric) < len(tests) or len({test.feature for _, test in numeric}) > 1:
        return None
    numeric.sort(key=lambda group: (group[1].low, group[1].high))
    for (_, left), (_, right) in pairwise(numeric):
        if left.high != right.low or left.high_closed == right.low_closed:
            return None
    return numeric


def _disjoint(tests: Sequence[Predicate]) -> list[CategoryTest] | None:
    """Return the tests, if each names values of one attribute and no value is named twice."""
    named = [test for test in tests if isinstance(test, CategoryTest) and not test.negated]
    values = [value for test in named for value in test.values]
    if len(named) < len(tests) or len({test.feature for test in named}) > 1:
        return None
    return named if len(set(values)) == len(values) else None


def _labels(taxonomy: Categories, test: CategoryTest) -> list[Key]:
    """Return the labels that all values of a test share, lowest level first."""
    shared: list[Key] = []
    for level in range(taxonomy.height + 1):
        labels = {taxonomy.label(value, level) for value in test.values}
        if len(labels) == 1:
            shared.append((level, labels.pop()))
    return shared


def _intervals(taxonomy: IntervalHierarchy, test: Predicate) -> Iterator[Key]:
    assert isinstance(test, NumericTest)
    for level in range(1, taxonomy.height + 1):
        place = taxonomy.holds(test.low, test.high, level)
        if place is not None:
            yield level, place


def _growing(path: Sequence[Key], size: Mapping[Key, int], everyone: int) -> Iterator[Key]:
    """Yield the groups of a path that hold more children than the one before, more than one and not all."""
    held = 1
    for key in path:
        if held < size[key] < everyone:
            yield key
            held = size[key]


def _joined(tests: Sequence[Predicate]) -> Predicate:
    """Return the test that holds where one of these does: values of one attribute, or touching intervals in order."""
    numeric = sorted(
        (test for test in tests if isinstance(test, NumericTest)), key=lambda t: (t.low, t.high)
    )
    if numeric:
        first, last = numeric[0], numeric[-1]
        return NumericTest(first.feature, first.low, last.high, first.low_closed, last.high_closed)
    named = [test for test in tests if isinstance(test, CategoryTest)]
    return CategoryTest(named[0].feature, tuple(value for test in named for value in test.values))
