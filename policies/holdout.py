"""Records that a tree was not grown on, and what its predictions for them are expected to lose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from audit.leaves import label_of
from audit.posterior import FloatArray
from audit.reading import Reading, Undetermined, exactly
from ppdm_models.errors import TableError
from ppdm_models.predicate import Column
from ppdm_models.routing import route
from ppdm_models.table import Table
from ppdm_models.tree import Feature, Node, Task, Tree


@dataclass(frozen=True, slots=True)
class Holdout:
    """N records: their attributes, and what a tree should have said of each.

    ``truth`` has shape (N,): codes into the tree's classes, -1 for a value it does not know; for regression the number.
    """

    columns: Mapping[str, Column]
    truth: FloatArray

    def loss(self, tree: Tree) -> Reading:
        """Return the expected loss of a tree over the same attributes.

        That is the share of records predicted wrong (0-1 loss); for regression the mean squared error.
        """
        stops = route(tree, self.columns)
        if (stops < 0).any():
            return Undetermined(f"{int((stops < 0).sum())} records of the holdout fall in no leaf")
        said = np.array([_said(tree, node) for node in tree.nodes])[stops]
        if tree.task is Task.CLASSIFICATION:
            return exactly(float(np.mean((said != self.truth) | (said < 0))))
        if np.isnan(said).any():
            return Undetermined("some leaf predicts nothing")
        return exactly(float(np.mean((said - self.truth) ** 2)))


def holdout_of(tree: Tree, table: Table) -> Holdout:
    """Return the records of a table as the tree sees them.

    Raises:
        TableError: the table is empty, lacks a column, or does not say what the tree predicts.
    """
    if not table.rows:
        raise TableError(table.source, "there are no records in it; give some that were held out")
    columns = {feature.name: table.column(feature) for feature in tree.used_features()}
    numeric = tree.task is Task.REGRESSION
    target = table.column(Feature(tree.target, numeric, () if numeric else tree.classes))
    if target.missing.any():
        row = int(np.flatnonzero(target.missing)[0]) + 1
        raise TableError(
            table.source, f"column {tree.target!r}, record {row}: no value; leave such records out"
        )
    if not columns:  # a tree of one node asks nothing
        columns = {tree.target: target}
    if target.numbers is not None:
        return Holdout(columns, target.numbers)
    if not set(target.categories) & set(tree.classes):
        have = ", ".join(map(repr, tree.classes[:12]))
        problem = f"column {tree.target!r} holds no class of the tree, as {have}"
        raise TableError(table.source, f"{problem}; give records that say what it predicts")
    code = {name: number for number, name in enumerate(tree.classes)}
    codes = np.array([code.get(name, -1) for name in target.categories], dtype=np.float64)
    return Holdout(columns, codes[target.codes])


def _said(tree: Tree, node: Node) -> float:
    """Return what a node predicts: the code of a class (-1: none), or a number (NaN: none)."""
    if tree.task is Task.CLASSIFICATION:
        label = label_of(tree, node)
        return -1.0 if label is None else float(label)
    return float("nan") if node.score is None else float(node.score)
