"""Trees of plain two-way splits on numbers, as columns: most learners write no others, and forests hold millions."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.nodes import Cuts, Flags, Node, NodeTable, Wholes
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
from treewarden.ppdm_models.tree.tree import Tree


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
