"""Sends records down a tree of plain two-way splits on numbers, all of them one level at a time.

The general way (``routing``) asks each node's tests of the records there; with many small nodes that is slow. Most
learners write two-way splits on numbers, and for records without missing values these leave nothing to decide but
"at most the threshold, or more".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.column import Column, NumericColumn
from treewarden.ppdm_models.tree.node_table import NodeTable
from treewarden.ppdm_models.tree.plain import Plain, plain_of
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    MissingTest,
    NumericTest,
    Predicate,
)
from treewarden.ppdm_models.tree.tree import Tree

FEWEST_NODES = 16
"""Below, the general way is as fast, where nodes are there already."""
TOGETHER = 8192
"""Records that are sent down side by side: so many that what is known of them stays in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Branching:
    """A tree as arrays, one entry per node: which feature, up to which threshold a record goes down, and the children.

    At a leaf both children are the leaf itself, and the feature is 0. ``depth`` is how many steps reach every leaf.
    """

    features: tuple[str, ...]
    feature: IndexArray
    threshold: FloatArray
    low: IndexArray
    high: IndexArray
    depth: int

    def stops(self, numbers: Matrix, rows: IndexArray | None = None) -> IndexArray:
        """Return the leaf of each record, or of some ``rows``; none of them lacks a value."""
        table = numbers.table if rows is None else numbers.table[rows]
        columns = np.array([numbers.places[name] for name in self.features], dtype=np.intp)
        column = columns[self.feature] if len(columns) else self.feature
        children = np.stack((self.low, self.high), axis=1).reshape(-1)
        starts = np.arange(min(len(table), TOGETHER), dtype=np.intp) * table.shape[1]
        stops = np.empty(len(table), dtype=np.intp)
        for first in range(0, len(table), TOGETHER):
            some = table[first : first + TOGETHER]
            start, values = starts[: len(some)], some.reshape(-1)
            here = np.zeros(len(some), dtype=np.intp)
            for _ in range(self.depth):
                is_above = values.take(start + column.take(here)) > self.threshold.take(here)
                here = children.take(2 * here + is_above)
            stops[first : first + TOGETHER] = here
        return stops


class Matrix:
    """The numeric ones of some columns as one table, (n, F), worked out once for many trees.

    ``places`` says where each column stands in ``table``.
    """

    def __init__(self, columns: Mapping[str, Column]) -> None:
        """Take columns; those of categories are left out."""
        kept = {name: each for name, each in columns.items() if isinstance(each, NumericColumn)}
        self.places = {name: place for place, name in enumerate(kept)}
        size = len(next(iter(columns.values()))) if columns else 0
        self.table = np.empty((size, len(kept)))
        for place, each in enumerate(kept.values()):
            self.table[:, place] = each.numbers
        gaps = np.isnan(self.table)
        self._gaps = {name: gaps[:, at] for name, at in self.places.items() if gaps[:, at].any()}

    def has(self, names: Iterable[str]) -> bool:
        """Return whether all of these are columns of numbers."""
        return all(name in self.places for name in names)

    def lacks(self, names: Iterable[str]) -> BoolArray:
        """Return which records, (n,), lack a value in one of some columns."""
        found = np.zeros(len(self.table), dtype=bool)
        for name in names:
            if name in self._gaps:
                found |= self._gaps[name]
        return found


def branching(tree: Tree) -> Branching | None:
    """Return a tree as arrays, or None where it has other splits than plain two-way ones on numbers."""
    plain = plain_of(tree) if isinstance(tree.nodes, NodeTable) else None
    if plain is not None:
        return _of_columns(plain)
    size = len(tree.nodes)
    if size < FEWEST_NODES or not isinstance(tree.root.test, Always):
        return None
    position: dict[str, int] = {}
    feature = np.zeros(size, dtype=np.intp)
    threshold = np.zeros(size)
    low, high = np.arange(size), np.arange(size)
    for node in tree.nodes:
        if not node.children:
            continue
        if len(node.children) != 2:
            return None
        first, second = node.children
        one, other = _upto(tree.nodes[first].test), _upto(tree.nodes[second].test)
        if one is None or (other is None and not isinstance(tree.nodes[second].test, Always)):
            return None
        name, end, is_below = one
        if other is not None and other != (name, end, not is_below):
            return None
        feature[node.index] = position.setdefault(name, len(position))
        threshold[node.index] = end
        low[node.index], high[node.index] = (first, second) if is_below else (second, first)
    return Branching(tuple(position), feature, threshold, low, high, tree.depth)


def _of_columns(plain: Plain) -> Branching:
    """Return a tree of plain splits as arrays, from its columns."""
    parents, cuts = plain.parents, plain.cuts
    size = len(parents)
    used, place = np.unique(cuts.features[1:], return_inverse=True)
    feature = np.zeros(size, dtype=np.intp)
    threshold = np.zeros(size)
    children = np.arange(size), np.arange(size)
    above, below = parents[1:], np.arange(1, size)
    feature[above] = place.reshape(-1)
    # Both children compare with one end, which is below where it is closed.
    threshold[above] = np.where(
        cuts.closed[1:], cuts.ends[1:], np.nextafter(cuts.ends[1:], -np.inf)
    )
    for is_upper, child in enumerate(children):
        chosen = cuts.upper[1:] == bool(is_upper)
        child[above[chosen]] = below[chosen]
    return Branching(
        tuple(cuts.names[each] for each in used.tolist()),
        feature,
        threshold,
        *children,
        plain.depth,
    )


def _upto(test: Predicate) -> tuple[str, float, bool] | None:
    """Return the feature, the largest number that stays below the split, and whether the test takes those below.

    What a test says of missing values plays no part. None: no plain comparison with one number.
    """
    plain = _of_known_values(test)
    if plain is None:
        return None
    if plain.low == -math.inf and plain.high < math.inf:
        end = plain.high if plain.high_closed else math.nextafter(plain.high, -math.inf)
        return plain.feature, end, True
    if plain.high == math.inf and plain.low > -math.inf:
        end = math.nextafter(plain.low, -math.inf) if plain.low_closed else plain.low
        return plain.feature, end, False
    return None


def _of_known_values(test: Predicate) -> NumericTest | None:
    """Return the comparison that a test is for records without missing values, or None."""
    if isinstance(test, NumericTest):
        return test
    if not isinstance(test, AllOf | AnyOf):
        return None
    # Of a value that is there, "or missing" and "and present" say nothing.
    says_present = isinstance(test, AllOf)
    plain = [part for part in test.parts if isinstance(part, NumericTest)]
    rest = [part for part in test.parts if not isinstance(part, NumericTest)]
    is_idle = len(plain) == 1 and all(
        part == MissingTest(plain[0].feature, negated=says_present) for part in rest
    )
    return plain[0] if is_idle else None
