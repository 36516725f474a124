"""Anonymity-based pruning: siblings are merged, bottom-up, until every leaf satisfies a requirement.

Algorithm APT of Sharkey, Tian, Zhang & Xu (2008), section 3.2, in the form that merges all siblings. Counts go up
first; here they are the real class counts where the owner has them, which the paper allows in place of its estimate
from hits and misses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ppdm_models.tree import Node, Task, Tree, completed, count_of, rebuilt

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

FEWEST_LEAVES = 2


@dataclass(frozen=True, slots=True)
class Pruned:
    """What is left of a tree. ``merged`` are the old indices of the nodes that became leaves.

    ``node_map`` gives the new index for each old one; the nodes that were merged away map to the leaf they are in now.
    """

    tree: Tree
    merged: tuple[int, ...]
    node_map: tuple[int, ...]


def summed(tree: Tree, stopping: FloatArray) -> FloatArray:
    """Return what each node would hold as a leaf, given what stops at each node: shape (N, ...) in and out."""
    sums = np.array(stopping, dtype=np.float64)
    for node in reversed(tree.nodes):
        if node.parent is not None:
            sums[node.parent] += sums[node.index]
    return sums


def prune(tree: Tree, stays: BoolArray, merges: BoolArray, leaves: Sequence[Node]) -> Pruned | None:
    """Return the tree in which every leaf satisfies the requirement, or None where that is the empty tree.

    ``stays`` says per node whether the records that stop there satisfy it (so does a node where none stops), ``merges``
    whether all that pass it would, shape (N,) each; ``leaves`` are the nodes as they would be published as leaves. The
    tree is empty where fewer than two leaves are left.
    """
    kept = np.array(stays)
    merged = np.zeros(len(tree.nodes), dtype=bool)
    for node in reversed(tree.nodes):
        if not node.is_leaf and not (kept[list(node.children)].all() and stays[node.index]):
            merged[node.index] = True
            kept[node.index] = merges[node.index]
    return _cut(tree, merged, leaves)


def _cut(tree: Tree, merged: BoolArray, leaves: Sequence[Node]) -> Pruned | None:
    """Cut the tree at the merged nodes; those under another merged one go with it."""
    stands_for = list(range(len(tree.nodes)))
    for node in tree.nodes[1:]:
        assert node.parent is not None
        above = stands_for[node.parent]
        if merged[above]:
            stands_for[node.index] = above
    order = [node.index for node in tree.below(0) if stands_for[node.index] == node.index]
    nodes = [leaves[index] if merged[index] else tree.nodes[index] for index in order]
    if sum(node.is_leaf for node in nodes) < FEWEST_LEAVES:
        return None
    number = {old: new for new, old in enumerate(order)}
    return Pruned(
        rebuilt(tree, nodes),
        tuple(index for index in order if merged[index]),
        tuple(number[index] for index in stands_for),
    )


def as_leaf(tree: Tree, index: int, classes: FloatArray | None) -> Node:
    """Return a node as it would be published if it were a leaf: the kinds of numbers that its leaves publish, summed.

    ``classes`` are the real class counts of all that pass the node, shape (m,), where they are known: its label is then
    their plurality (its old score where that ties), else that of what is published, else its old score.
    """
    node = tree.nodes[index]
    if node.is_leaf:
        return node
    leaves = [below for below in tree.below(index) if below.is_leaf]
    records = (
        node.records if node.records is not None else _total([leaf.records for leaf in leaves])
    )
    shares = node.class_shares or _mean_shares(leaves, classes)
    counts = node.class_counts or _sum_counts(leaves)
    score = _score(tree, node, leaves, classes, counts or shares)
    if counts is None and classes is not None and tree.has_people and score in tree.classes:
        label = tree.classes.index(str(score))
        if all(leaf.class_counts is not None for leaf in leaves):
            counts = tuple(float(c) if k == label else None for k, c in enumerate(classes))
    return replace(
        node,
        children=(),
        default_child=None,
        score=score,
        records=records,
        class_counts=counts,
        class_shares=shares,
    )


def _total(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return math.fsum(known) if len(known) == len(numbers) else None


def _sum_counts(leaves: Sequence[Node]) -> tuple[float | None, ...] | None:
    """Return the class counts of all leaves together; None where one of them is not published in full."""
    rows = [completed(leaf.class_counts, count_of(leaf)) for leaf in leaves if leaf.class_counts]
    if len(rows) < len(leaves) or any(count is None for row in rows for count in row):
        return None
    return tuple(_total(column) for column in zip(*rows, strict=True))


def _mean_shares(leaves: Sequence[Node], classes: FloatArray | None) -> tuple[float, ...] | None:
    """Return the shares of all leaves together, by their published records or else by the real class counts."""
    if any(leaf.class_shares is None for leaf in leaves):
        return None
    total = _total([leaf.records for leaf in leaves])
    if total:
        mass = np.sum([np.array(x.class_shares) * (x.records or 0.0) for x in leaves], axis=0)
        return tuple(float(share) for share in mass / total)
    if classes is None or not classes.sum():
        return None
    return tuple(float(share) for share in classes / classes.sum())


def _score(
    tree: Tree,
    node: Node,
    leaves: Sequence[Node],
    classes: FloatArray | None,
    published: Sequence[float | None] | None,
) -> str | float | None:
    if tree.task is Task.REGRESSION:
        return _mean_score(leaves) if node.score is None else node.score
    numbers = list(classes) if classes is not None else list(published or ())
    if not numbers or any(number is None for number in numbers):
        return node.score
    most = max(number for number in numbers if number is not None)
    best = [tree.classes[code] for code, number in enumerate(numbers) if number == most]
    return node.score if node.score in best else best[0]


def _mean_score(leaves: Sequence[Node]) -> float | None:
    """Return the mean of the leaves' numbers, weighted by their records; None where either is not published."""
    total = _total([leaf.records for leaf in leaves])
    if not total or not all(isinstance(leaf.score, float | int) for leaf in leaves):
        return None
    return math.fsum(float(leaf.score or 0.0) * (leaf.records or 0.0) for leaf in leaves) / total
