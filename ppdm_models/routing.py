"""Sends records down a tree under the format's own rules: child order, missing values, no true child."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ppdm_models.branching import branching
from ppdm_models.predicate import Column, Columns, answer, features_of
from ppdm_models.tree import Missing, Node, NoTrueChild, Tree

NOWHERE = -1
SEVERAL = -2


def route(tree: Tree, columns: Columns) -> NDArray[np.intp]:
    """Return, for each record, the index of the node where it stops.

    That is a leaf, or an inner node where a missing-value or no-true-child rule ends the path there; ``NOWHERE`` where
    the tree makes no prediction, ``SEVERAL`` where a record is spread over several leaves by weights.

    Raises:
        KeyError: an attribute that the tree tests is not among the columns.
    """
    size = len(next(iter(columns.values()))) if columns else 0
    columns = {name: _as_compared(tree, name, column) for name, column in columns.items()}
    stop = np.full(size, NOWHERE, dtype=np.intp)
    start = _branched(tree, columns, stop)
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
        rest, sent = _descend(tree, node, columns, rows, stop)
        pending.extend(sent)
        if tree.no_true_child is NoTrueChild.LAST_PREDICTION:
            stop[rest] = index
    return stop


def _branched(tree: Tree, columns: Columns, stop: NDArray[np.intp]) -> NDArray[np.intp]:
    """Route the records that a tree of plain splits has a value for, and return the others."""
    rows = np.arange(len(stop), dtype=np.intp)
    plain = branching(tree) if len(rows) else None
    if plain is None:
        return rows
    numbers = [columns[name].numbers for name in plain.features]
    known = [values for values in numbers if values is not None]
    if len(known) < len(numbers):
        return rows
    lacks = np.any([np.isnan(values) for values in known], axis=0)
    stop[~lacks] = plain.stops([values[~lacks] for values in known])
    return rows[lacks]


def _descend(
    tree: Tree, node: Node, columns: Columns, rows: NDArray[np.intp], stop: NDArray[np.intp]
) -> tuple[NDArray[np.intp], list[tuple[int, NDArray[np.intp]]]]:
    """Give each record to the first child that takes it; return those that none takes, and those sent on."""
    sent: list[tuple[int, NDArray[np.intp]]] = []
    for child in node.children:
        if not len(rows):
            break
        test = tree.nodes[child].test
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
    rows: NDArray[np.intp],
    stop: NDArray[np.intp],
    sent: list[tuple[int, NDArray[np.intp]]],
) -> None:
    """Apply the tree's missing-value strategy to records whose tested value is unknown."""
    if tree.missing is Missing.LAST_PREDICTION:
        stop[rows] = node.index
    elif tree.missing is Missing.DEFAULT_CHILD:
        if node.default_child is not None:
            sent.append((node.default_child, rows))
    elif tree.missing is not Missing.NULL_PREDICTION:
        stop[rows] = SEVERAL


def _as_compared(tree: Tree, name: str, column: Column) -> Column:
    """Return the column as the learner saw it: 32-bit where it compared 32-bit numbers."""
    known = [feature for feature in tree.features if feature.name == name]
    if column.numbers is None or not known or not known[0].single:
        return column
    with np.errstate(over="ignore"):
        return Column(numbers=column.numbers.astype(np.float32).astype(np.float64))
