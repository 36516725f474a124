"""Sends records down a tree under the format's own rules: child order, missing values, no true child."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.column import (
    CategoricalColumn,
    Column,
    Columns,
    NumericColumn,
    treated,
)
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.plain_splits import Plain, plain_of
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    MissingTest,
    NumericTest,
    Predicate,
    answer,
    features_of,
    refusals,
    refused_by,
)
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Missing,
    Node,
    NoTrueChild,
    Tree,
)

# Sends records down a tree of plain two-way splits on numbers, all of them one level at a time.
#
# The general way (``routing``) asks each node's tests of the records there; with many small nodes that is slow. Most
# learners write two-way splits on numbers, and for records without missing values these leave nothing to decide but
# "at most the threshold, or more".

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

    def stops(self, numbers: NumericMatrix, rows: IndexArray | None = None) -> IndexArray:
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


class NumericMatrix:
    """The numeric ones of some columns as one table, (n, F), worked out once for many trees.

    ``places`` says where each column stands in ``table``.
    """

    def __init__(self, columns: Mapping[str, Column]) -> None:
        """Take columns; those of categories are left out."""
        numeric_columns = {
            name: column for name, column in columns.items() if isinstance(column, NumericColumn)
        }
        self.places = {name: place for place, name in enumerate(numeric_columns)}
        size = len(next(iter(columns.values()))) if columns else 0
        self.table = np.empty((size, len(numeric_columns)))
        for place, numeric_column in enumerate(numeric_columns.values()):
            self.table[:, place] = numeric_column.numbers
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


NOWHERE = -1
SEVERAL = -2

Invalid = Mapping[str, BoolArray]
"""By feature, the records that the model refuses where it looks at that value."""


def route(tree: Tree, columns: Columns) -> IndexArray:
    """Return, for each record, the index of the node where it stops.

    That is a leaf, or an inner node where a missing-value or no-true-child rule ends the path there; ``NOWHERE`` where
    the tree makes no prediction, ``SEVERAL`` where a record is spread over several leaves by weights.

    Raises:
        KeyError: an attribute that the tree tests is not among the columns.
    """
    return routed(tree, columns)[0]


def routed(tree: Tree, columns: Columns) -> tuple[IndexArray, BoolArray]:
    """Return where each record stops, and which ones the model refuses for a value that it calls invalid.

    Raises:
        KeyError: an attribute that the tree tests is not among the columns.
    """
    return Router(columns).routed(tree)


class Router:
    """Sends the same records down one tree after another.

    What tests see of the records is worked out once for trees in a row that have the same features.
    """

    def __init__(self, columns: Columns) -> None:
        """Take the records."""
        self._columns = columns
        self._features: tuple[Feature, ...] | None = None
        self._seen: tuple[dict[str, Column], dict[str, BoolArray]] = ({}, {})
        self._numbers = NumericMatrix({})

    def routed(self, tree: Tree) -> tuple[IndexArray, BoolArray]:
        """Return where each record stops, and which ones the model refuses for a value that it calls invalid.

        A value is looked at where a test on the way asks for it, as JPMML-Evaluator does; these records stop nowhere.

        Raises:
            KeyError: an attribute that the tree tests is not among the columns.
        """
        features = _looked_at(tree)
        is_treated = any(feature.treatments for feature in features)  # no part of their value
        if is_treated or features != self._features:
            self._seen = prepared(features, self._columns)
            self._numbers = NumericMatrix(self._seen[0])
            self._features = None if is_treated else features
        columns, invalid = self._seen
        size = len(next(iter(columns.values()))) if columns else 0
        return _routed(tree, columns, invalid, self._numbers, size)


def _routed(
    tree: Tree, columns: Columns, invalid: Invalid, numbers: NumericMatrix, size: int
) -> tuple[IndexArray, BoolArray]:
    stop = np.full(size, NOWHERE, dtype=np.intp)
    refused = np.zeros(size, dtype=bool)
    start = _branched(tree, numbers, invalid, stop)
    if not len(start):
        return stop, refused
    start = _accepted(tree.root.test, columns, invalid, start, refused)
    entered = answer(tree.root.test, columns, size).true
    pending = [(0, start[entered[start]])]
    while pending:
        index, rows = pending.pop()
        node = tree.nodes[index]
        if not len(rows):
            continue
        if node.is_leaf:
            stop[rows] = index
            continue
        rest, sent = _descend(
            tree, node, columns, invalid=invalid, rows=rows, stop=stop, refused=refused
        )
        pending.extend(sent)
        if tree.no_true_child is NoTrueChild.LAST_PREDICTION:
            stop[rest] = index
    return stop, refused


def _looked_at(tree: Tree) -> tuple[Feature, ...]:
    """Return the features without those whose treatment would be for nothing, as no test asks for them."""
    if not any(feature.treatments for feature in tree.features):
        return tree.features
    return tree.used_features()


def prepared(
    features: Sequence[Feature], columns: Columns
) -> tuple[dict[str, Column], dict[str, BoolArray]]:
    """Return the columns as a model's tests see them, and which records each makes it refuse (those of some only)."""
    known = {feature.name: feature for feature in features}
    seen: dict[str, Column] = {}
    invalid: dict[str, BoolArray] = {}
    for name, column in columns.items():
        feature = known.get(name)
        seen[name] = column if feature is None else _as_compared(feature, column)
        if feature is not None and feature.treatments:
            seen[name], bad = treated(seen[name], feature.treatments)
            if bad.any():
                invalid[name] = bad
    return seen, invalid


def _accepted(
    test: Predicate, columns: Columns, invalid: Invalid, rows: IndexArray, refused: BoolArray
) -> IndexArray:
    """Return the records whose values a test may look at, and note the others."""
    asked = set(features_of(test)) & invalid.keys() if invalid else ()
    for name in asked:
        bad = invalid[name][rows]
        refused[rows[bad]] = True
        rows = rows[~bad]
    if any(refusals(test)):
        known = {name: columns[name].take(rows) for name in set(features_of(test))}
        bad = refused_by(test, known, len(rows))
        refused[rows[bad]] = True
        rows = rows[~bad]
    return rows


def _branched(tree: Tree, numbers: NumericMatrix, invalid: Invalid, stop: IndexArray) -> IndexArray:
    """Route the records that a tree of plain splits has a value for, and return the others."""
    rows = np.arange(len(stop), dtype=np.intp)
    plain = branching(tree) if len(rows) else None
    if plain is None or not numbers.has(plain.features):
        return rows
    lacks = numbers.lacks(plain.features)
    for name in set(plain.features) & invalid.keys():
        lacks = lacks | invalid[name]
    if not lacks.any():
        stop[:] = plain.stops(numbers)
        return rows[:0]
    stop[~lacks] = plain.stops(numbers, rows[~lacks])
    return rows[lacks]


def _descend(
    tree: Tree,
    node: Node,
    columns: Columns,
    invalid: Invalid,
    rows: IndexArray,
    stop: IndexArray,
    refused: BoolArray,
) -> tuple[IndexArray, list[tuple[int, IndexArray]]]:
    """Give each record to the first child that takes it; return those that none takes, and those sent on."""
    sent: list[tuple[int, IndexArray]] = []
    for child in node.children:
        test = tree.nodes[child].test
        rows = _accepted(test, columns, invalid, rows, refused)
        if not len(rows):
            break
        test_answer = answer(
            test, {name: columns[name].take(rows) for name in set(features_of(test))}, len(rows)
        )
        open_rows = ~test_answer.true
        if tree.missing is not Missing.NONE:
            _without_value(tree, node, rows[test_answer.unknown], stop, sent)
            open_rows &= ~test_answer.unknown
        sent.append((child, rows[test_answer.true]))
        rows = rows[open_rows]
    return rows, sent


def _without_value(
    tree: Tree,
    node: Node,
    rows: IndexArray,
    stop: IndexArray,
    sent: list[tuple[int, IndexArray]],
) -> None:
    """Apply the tree's missing-value strategy to records whose tested value is unknown."""
    if tree.missing is Missing.LAST_PREDICTION:
        stop[rows] = node.index
    elif tree.missing is Missing.DEFAULT_CHILD:
        if node.default_child is not None:
            sent.append((node.default_child, rows))
    elif tree.missing is not Missing.NULL_PREDICTION:
        stop[rows] = SEVERAL


def _as_compared(feature: Feature, column: Column) -> Column:
    """Return the column as the learner saw it: 32-bit where it compared 32-bit numbers."""
    if isinstance(column, CategoricalColumn) or not feature.single:
        return column
    with np.errstate(over="ignore"):
        return NumericColumn(column.numbers.astype(np.float32).astype(np.float64))
