"""Sends records down a tree of plain two-way splits on numbers, all of them one level at a time.

The general way (``routing``) asks each node's tests of the records there; with many small nodes that is slow. Most
learners write two-way splits on numbers, and for records without missing values these leave nothing to decide but
"at most the threshold, or more".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_models.arrays import FloatArray, IndexArray
from ppdm_models.tree.predicate import AllOf, Always, AnyOf, MissingTest, NumericTest, Predicate
from ppdm_models.tree.tree import Tree

FEWEST_NODES = 16
"""Below, the general way is as fast."""


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

    def stops(self, columns: Sequence[FloatArray]) -> IndexArray:
        """Return the leaf of each record; ``columns`` hold the numbers of each feature, none of them missing."""
        values = np.stack(columns, axis=1)
        here = np.zeros(len(values), dtype=np.intp)
        each = np.arange(len(values))
        for _ in range(self.depth):
            below = values[each, self.feature[here]] <= self.threshold[here]
            here = np.where(below, self.low[here], self.high[here])
        return here


def branching(tree: Tree) -> Branching | None:
    """Return a tree as arrays, or None where it has other splits than plain two-way ones on numbers."""
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
