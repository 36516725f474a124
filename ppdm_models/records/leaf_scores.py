"""What each node of a tree would say of a record that stops there, as a table of scores."""

from __future__ import annotations

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tree.node_table import NodeTable
from treewarden.ppdm_models.tree.tree import Node, Task, Tree


def leaf_scores(tree: Tree, *, as_votes: bool) -> FloatArray:
    """Return the scores of each node, (N + 1, outputs), NaN where it says nothing; the last row is that of no node.

    With ``as_votes`` a class is said and no shares. Where the tree has columns, no node is made.
    """
    rows = _of_columns(tree, as_votes=as_votes)
    if rows is None:
        rows = _of_nodes(tree, as_votes=as_votes)
    return np.vstack([rows, np.full((1, rows.shape[1]), np.nan)])


def _of_nodes(tree: Tree, *, as_votes: bool) -> FloatArray:
    rows = [_row(tree, node, as_votes) for node in tree.nodes]
    width = max((len(row) for row in rows), default=1)
    nothing = np.full(width, np.nan)
    return np.array([row if len(row) == width else nothing for row in rows])


def _row(tree: Tree, node: Node, as_votes: bool) -> FloatArray:
    if node.outputs is not None and not as_votes:
        return np.array(node.outputs)
    if tree.task is Task.REGRESSION:
        return np.array([np.nan if node.score is None else float(node.score)])
    label = tree.classes.index(str(node.score)) if node.score is not None else None
    shares = node.class_shares
    if shares is None and node.class_counts and None not in node.class_counts:
        shares = tuple(count or 0.0 for count in node.class_counts)
    if shares is not None and sum(shares) > 0 and not as_votes:
        row = np.array(shares) / sum(shares)
        if label is None or row[label] == row.max():
            return row
    if label is None:
        return np.full(len(tree.classes), np.nan)
    return np.asarray(np.eye(len(tree.classes))[label])


def _of_columns(tree: Tree, *, as_votes: bool) -> FloatArray | None:
    """Return the same from the columns of a tree; None where it has none, or others than most trees have."""
    nodes = tree.nodes
    if not isinstance(nodes, NodeTable) or nodes.outputs is not None:
        return None
    scores = nodes.scores
    if tree.task is Task.REGRESSION:
        return scores[:, None].copy() if isinstance(scores, np.ndarray) else None
    if isinstance(scores, np.ndarray) or nodes.class_shares is not None or not tree.classes:
        return None
    places: dict[str | float | None, int] = {None: -1}
    for code, name in enumerate(tree.classes):
        places.setdefault(name, code)
    try:
        labels = np.array([places[score] for score in scores], dtype=np.intp)
    except KeyError:
        return None
    rows = np.full((len(nodes), len(tree.classes)), np.nan)
    told = np.flatnonzero(labels >= 0)
    rows[told, :] = 0.0
    rows[told, labels[told]] = 1.0
    if nodes.class_counts is not None and not as_votes:
        _put_shares(rows, nodes.class_counts, labels)
    return rows


def _put_shares(rows: FloatArray, counts: FloatArray, labels: IndexArray) -> None:
    """Put the shares of classes where all are counted, unless the class that is said is not the commonest."""
    total = np.zeros(len(counts))
    for column in counts.T:
        total = total + column
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = counts / total[:, None]
        kept = total > 0
        best = shares.max(axis=1)
    said = np.where(labels >= 0, shares[np.arange(len(labels)), labels], best)
    kept &= said == best
    rows[kept] = shares[kept]
