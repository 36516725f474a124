"""Class counts carried up a tree where its leaves publish only hits and misses (Sharkey et al. 2008, equation 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Node, Tree, completed, count_of


def counts_up(tree: Tree, members: Sequence[tuple[int, ...]]) -> FloatArray | None:
    """Return the estimated class counts of groups of nodes, shape (len(members), m); None where a leaf tells no hits.

    hit_c(v) = sum of hit over v's children of class c + sum of miss / (m - 1) over the others, level by level: of a
    child that is itself an estimate only its hits and misses go up. Where all class counts below are published, they
    are summed instead.
    """
    m = len(tree.classes)
    estimate = np.zeros((len(tree.nodes), m))
    goes_up = np.zeros((len(tree.nodes), m))
    exact = np.ones(len(tree.nodes), dtype=bool)
    for node in reversed(tree.nodes):
        if node.is_leaf:
            row = _leaf(tree, node)
            if row is None:
                return None
            estimate[node.index], exact[node.index] = row
            goes_up[node.index] = row[0]
            continue
        children = list(node.children)
        estimate[node.index] = goes_up[children].sum(axis=0)
        exact[node.index] = exact[children].all()
        goes_up[node.index] = (
            estimate[node.index] if exact[node.index] else _spread(estimate[node.index])
        )
    rows = [goes_up[list(group)].sum(axis=0) for group in members if len(group) > 1]
    single = [estimate[group[0]] for group in members if len(group) == 1]
    return np.array([*single, *rows]).reshape(-1, m)


def _leaf(tree: Tree, node: Node) -> tuple[FloatArray, bool] | None:
    """Return a leaf's class counts, what is not told spread evenly over those classes; and whether all were told."""
    records = count_of(node)
    counts = completed(node.class_counts or (), records)
    if records is None or not counts or all(count is None for count in counts):
        return None
    row = np.array(counts, dtype=np.float64)
    hidden = np.isnan(row)
    if hidden.any():
        row[hidden] = (records - row[~hidden].sum()) / hidden.sum()
    return row, not hidden.any()


def _spread(counts: FloatArray) -> FloatArray:
    """Return the hits of the largest class, and the misses spread evenly over the others."""
    top = int(counts.argmax())
    spread = np.full(len(counts), (counts.sum() - counts[top]) / max(len(counts) - 1, 1))
    spread[top] = counts[top]
    return spread
