"""Trees of plain two-way splits on numbers, as columns: most learners write no others, and forests hold millions.

What nodes publish is read from the columns as arrays, and no node is made for it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.nodes import Cuts, Flags, Node, NodeTable, Wholes, parents_of
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    Never,
    NumericTest,
    OneOf,
    Predicate,
    Refusal,
    Surrogate,
)
from treewarden.ppdm_models.tree.tree import Tree, count_of


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """The parent of each node, -1 at the root, and the cut that leads to it; all of shape (N,).

    Every inner node has two children: one for the numbers of a feature below an end, and one for the others. No test is
    at the root, and all ends are finite.
    """

    parents: Wholes
    cuts: Cuts

    @property
    def inner(self) -> Flags:
        """Whether each node has children."""
        found = np.zeros(len(self.parents), dtype=np.bool_)
        found[self.parents[1:]] = True
        return found

    @property
    def depth(self) -> int:
        """The number of tests on the longest path."""
        here, depth = np.flatnonzero(~self.inner), -1
        while len(here):
            above = self.parents[here]
            here, depth = np.unique(above[above >= 0]), depth + 1
        return depth


def plain_of(tree: Tree) -> Plain | None:
    """Return a tree as columns; None where it has other splits. No node is made where there are columns already."""
    nodes = tree.nodes
    if isinstance(nodes, NodeTable):
        parents, cuts = nodes.parents, nodes.tests
        if not isinstance(cuts, Cuts) or not _only_root_is_other(cuts):
            return None
    else:
        found = _cuts_of(nodes, tuple(feature.name for feature in tree.features))
        if found is None:
            return None
        parents, cuts = np.array([-1, *(node.parent for node in nodes[1:])]), found
    if not np.isfinite(cuts.ends[1:]).all() or not cuts.plainly_split(parents):
        return None
    return Plain(parents, cuts)


def _only_root_is_other(cuts: Cuts) -> bool:
    """Return whether every node but the root is led to by a cut, and the root by no test at all."""
    if cuts.others:
        return set(cuts.others) == {0} and isinstance(cuts.others[0], Always)
    return bool(cuts.features[0] < 0)


def _cuts_of(nodes: Sequence[Node], names: tuple[str, ...]) -> Cuts | None:
    """Return the tests of nodes as columns; None where one of them compares with another number than one."""
    if not isinstance(nodes[0].test, Always):
        return None
    place = {name: index for index, name in enumerate(names)}
    size = len(nodes)
    features, ends = [-1] * size, [0.0] * size
    upper, closed = [False] * size, [False] * size
    for index, node in enumerate(nodes):
        test = node.test
        if not index:
            continue
        if not isinstance(test, NumericTest) or test.feature not in place:
            return None
        is_above = test.low > -math.inf
        if is_above == (test.high < math.inf):
            return None
        features[index], upper[index] = place[test.feature], is_above
        ends[index] = test.low if is_above else test.high
        closed[index] = not test.low_closed if is_above else test.high_closed
    columns = (np.array(features), np.array(ends), np.array(upper), np.array(closed))
    return Cuts(names, *columns, {})


# Tests on 32-bit numbers, with ends that are 32-bit numbers themselves: the same records pass.

DOWN = np.float32(-np.inf)


def on_32_bits(tree: Tree) -> Tree:
    """Return the tree with the ends of tests on 32-bit features moved to 32-bit numbers.

    Formats that declare such a field round what it is compared with, so that an end between two of its numbers must not
    be left to them.
    """
    names = {feature.name for feature in tree.features if feature.single}
    if not names:
        return tree
    plain = plain_of(tree)
    ends = None if plain is None else single_ends(plain.cuts, names)
    if plain is not None and ends is not None:
        if (ends == plain.cuts.ends).all():
            return tree
        if isinstance(tree.nodes, NodeTable):
            return replace(tree, nodes=replace(tree.nodes, tests=replace(plain.cuts, ends=ends)))
    tests = [_moved(node.test, names) for node in tree.nodes]
    pairs = list(zip(tree.nodes, tests, strict=True))
    if all(node.test == test for node, test in pairs):
        return tree
    nodes = tuple(node if node.test == test else replace(node, test=test) for node, test in pairs)
    return replace(tree, nodes=nodes)


def single_ends(cuts: Cuts, names: Collection[str]) -> FloatArray | None:
    """Return the ends of cuts, those of these features moved to 32-bit numbers; None where one has none beside it."""
    is_single = np.array([name in names for name in cuts.names], dtype=np.bool_)
    if not is_single.any():
        return cuts.ends
    moved = np.where(cuts.closed, single_below(cuts.ends), single_above(cuts.ends))
    moved = np.where(is_single[cuts.features] & (cuts.features >= 0), moved, cuts.ends)
    return moved if np.isfinite(moved).all() else None


def single_below(values: FloatArray) -> FloatArray:
    """Return the largest 32-bit number that is not above each number; -inf where there is none."""
    with np.errstate(over="ignore"):
        near = values.astype(np.float32)
    above = near.astype(np.float64) > values
    return np.where(above, np.nextafter(near, DOWN), near).astype(np.float64)


def single_above(values: FloatArray) -> FloatArray:
    """Return the smallest 32-bit number that is not below each number; inf where there is none."""
    return -single_below(-values)


def _moved(test: Predicate, names: set[str]) -> Predicate:
    if isinstance(test, NumericTest) and test.feature in names:
        return _on_grid(test)
    if isinstance(test, AllOf | AnyOf | OneOf | Surrogate):
        return type(test)(tuple(_moved(part, names) for part in test.parts))
    if isinstance(test, Refusal):
        return Refusal(_moved(test.when, names))
    return test


def _on_grid(test: NumericTest) -> Predicate:
    low = _above(test.low) if test.low_closed else _below(test.low)
    high = _below(test.high) if test.high_closed else _above(test.high)
    is_point = low == high and test.low_closed and test.high_closed
    if low > high or (low == high and not is_point) or low == math.inf or high == -math.inf:
        return Never()
    return NumericTest(test.feature, low, high, test.low_closed, test.high_closed)


def _below(value: float) -> float:
    """Return the largest 32-bit number that is not above a number."""
    with np.errstate(over="ignore"):
        near = np.float32(value)
    return float(np.nextafter(near, DOWN) if float(near) > value else near)


def _above(value: float) -> float:
    return -_below(-value)


def is_inner(tree: Tree) -> BoolArray:
    """Return whether each node has children, (N,)."""
    found = np.zeros(len(tree.nodes), dtype=np.bool_)
    parents = parents_of(tree.nodes)
    found[parents[parents >= 0]] = True
    return found


def totals_of(tree: Tree) -> FloatArray:
    """Return how many records the file says each node holds, as ``count_of``; NaN where it says nothing, (N,)."""
    nodes = tree.nodes
    if not isinstance(nodes, NodeTable):
        found = (count_of(node) for node in nodes)
        return np.array([math.nan if total is None else total for total in found])
    totals = np.full(len(nodes), np.nan) if nodes.records is None else nodes.records.copy()
    if nodes.class_counts is not None:
        for place in np.flatnonzero(np.isnan(totals)).tolist():
            totals[place] = math.fsum(nodes.class_counts[place].tolist())
    return totals


def where_of(tree: Tree, place: int) -> str:
    """Return where a node stands, for messages, as ``Tree.where``."""
    nodes = tree.nodes
    if not isinstance(nodes, NodeTable):
        return tree.where(nodes[place])
    line = None if nodes.lines is None else nodes.lines[place]
    return f"{tree.source}{f':{line}' if line else ''}: node {nodes.names[place]!r}"


def class_counts_of(tree: Tree, chosen: IndexArray) -> FloatArray:
    """Return the class counts of some nodes, (L, m); NaN where one is not published."""
    nodes, width = tree.nodes, len(tree.classes)
    if isinstance(nodes, NodeTable):
        if nodes.class_counts is None:
            return np.full((len(chosen), width), np.nan)
        return nodes.class_counts[chosen]
    nothing = (None,) * width
    rows = [nodes[place].class_counts or nothing for place in chosen.tolist()]
    return np.array(
        [[math.nan if count is None else count for count in row] for row in rows], dtype=np.float64
    ).reshape(len(chosen), width)


def labels_of(tree: Tree, chosen: IndexArray) -> IndexArray | None:
    """Return the classes that some nodes name, as codes, (L,); None where one names none."""
    nodes = tree.nodes
    if isinstance(nodes, NodeTable):
        scores: Sequence[object] = [] if isinstance(nodes.scores, np.ndarray) else nodes.scores
        named = [scores[place] for place in chosen.tolist()] if len(scores) else []
    else:
        named = [nodes[place].score for place in chosen.tolist()]
    places: dict[object, int] = {}
    for code, name in enumerate(tree.classes):
        places.setdefault(name, code)
    codes = [places.get(name, -1) if isinstance(name, str) else -1 for name in named]
    if len(codes) < len(chosen) or -1 in codes:
        return None
    return np.array(codes, dtype=np.intp)


def class_numbers_of(tree: Tree) -> FloatArray:
    """Return the class counts of each node, or else its shares, (N, m); NaN where one is not published."""
    nodes, width = tree.nodes, len(tree.classes)
    if isinstance(nodes, NodeTable):
        found = np.full((len(nodes), width), np.nan)
        for numbers in (nodes.class_shares, nodes.class_counts):
            if numbers is not None:
                told = ~np.isnan(numbers.sum(axis=1))
                found[told] = numbers[told]
        return found
    nothing = (math.nan,) * width
    rows = [node.class_counts or node.class_shares or nothing for node in nodes]
    filled = [[math.nan if number is None else number for number in row] for row in rows]
    return np.array(filled, dtype=np.float64).reshape(len(nodes), width)


def codes_of(tree: Tree) -> IndexArray:
    """Return the class that each node names, as a code, (N,); -1 where it names none."""
    nodes = tree.nodes
    scores: Sequence[object]
    if isinstance(nodes, NodeTable):
        scores = [] if isinstance(nodes.scores, np.ndarray) else nodes.scores
    else:
        scores = [node.score for node in nodes]
    places: dict[object, int] = {}
    for code, name in enumerate(tree.classes):
        places.setdefault(name, code)
    found = np.full(len(nodes), -1, dtype=np.intp)
    for place, score in enumerate(scores):
        if isinstance(score, str):
            found[place] = places.get(score, -1)
    return found


def tells_classes(tree: Tree) -> BoolArray:
    """Return whether each node publishes anything about its classes, counts or shares, (N,)."""
    nodes: Sequence[Node] = tree.nodes
    if not isinstance(nodes, NodeTable):
        told = (node.class_counts is not None or node.class_shares is not None for node in nodes)
        return np.fromiter(told, np.bool_, len(nodes))
    found = np.zeros(len(nodes), dtype=np.bool_)
    for numbers in (nodes.class_counts, nodes.class_shares):
        if numbers is not None:
            found |= ~np.isnan(numbers).all(axis=1)
    return found
