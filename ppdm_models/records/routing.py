"""Sends records down a tree under the format's own rules: child order, missing values, no true child."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, IndexArray
from treewarden.ppdm_models.records.branching import Matrix, branching
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, Columns, NumericColumn
from treewarden.ppdm_models.tree.predicate import (
    Predicate,
    answer,
    features_of,
    refusals,
    refused_by,
)
from treewarden.ppdm_models.tree.treatment import treated
from treewarden.ppdm_models.tree.tree import Feature, Missing, Node, NoTrueChild, Tree

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
        self._numbers = Matrix({})

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
            self._numbers = Matrix(self._seen[0])
            self._features = None if is_treated else features
        columns, invalid = self._seen
        size = len(next(iter(columns.values()))) if columns else 0
        return _routed(tree, columns, invalid, self._numbers, size)


def _routed(
    tree: Tree, columns: Columns, invalid: Invalid, numbers: Matrix, size: int
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
        rest, sent = _descend(tree, node, columns, invalid, rows, stop, refused)
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


def _branched(tree: Tree, numbers: Matrix, invalid: Invalid, stop: IndexArray) -> IndexArray:
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
        said = answer(
            test, {name: columns[name].take(rows) for name in set(features_of(test))}, len(rows)
        )
        open_rows = ~said.true
        if tree.missing is not Missing.NONE:
            _without_value(tree, node, rows[said.unknown], stop, sent)
            open_rows &= ~said.unknown
        sent.append((child, rows[said.true]))
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
