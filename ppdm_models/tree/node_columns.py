"""What some nodes of a tree publish, as arrays: where a tree keeps its nodes as columns, no node is made for it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.nodes import Node, NodeTable, parents_of
from treewarden.ppdm_models.tree.tree import Tree, count_of


def is_inner(tree: Tree) -> BoolArray:
    """Return whether each node has children, (N,)."""
    found = np.zeros(len(tree.nodes), dtype=np.bool_)
    parents = parents_of(tree.nodes)
    found[parents[parents >= 0]] = True
    return found


def totals_of(tree: Tree) -> FloatArray:
    """Return how many records the file says each node holds, as ``count_of``; NaN where it says nothing, (N,)."""
    nodes = tree.nodes
    if not isinstance(nodes, NodeTable):
        found = (count_of(node) for node in nodes)
        return np.array([math.nan if total is None else total for total in found])
    totals = np.full(len(nodes), np.nan) if nodes.records is None else nodes.records.copy()
    if nodes.class_counts is not None:
        for place in np.flatnonzero(np.isnan(totals)).tolist():
            totals[place] = math.fsum(nodes.class_counts[place].tolist())
    return totals


def where_of(tree: Tree, place: int) -> str:
    """Return where a node stands, for messages, as ``Tree.where``."""
    nodes = tree.nodes
    if not isinstance(nodes, NodeTable):
        return tree.where(nodes[place])
    line = None if nodes.lines is None else nodes.lines[place]
    return f"{tree.source}{f':{line}' if line else ''}: node {nodes.names[place]!r}"


def class_counts_of(tree: Tree, chosen: IndexArray) -> FloatArray:
    """Return the class counts of some nodes, (L, m); NaN where one is not published."""
    nodes, width = tree.nodes, len(tree.classes)
    if isinstance(nodes, NodeTable):
        if nodes.class_counts is None:
            return np.full((len(chosen), width), np.nan)
        return nodes.class_counts[chosen]
    nothing = (None,) * width
    rows = [nodes[place].class_counts or nothing for place in chosen.tolist()]
    return np.array(
        [[math.nan if count is None else count for count in row] for row in rows], dtype=np.float64
    ).reshape(len(chosen), width)


def labels_of(tree: Tree, chosen: IndexArray) -> IndexArray | None:
    """Return the classes that some nodes name, as codes, (L,); None where one names none."""
    nodes = tree.nodes
    if isinstance(nodes, NodeTable):
        scores: Sequence[object] = [] if isinstance(nodes.scores, np.ndarray) else nodes.scores
        named = [scores[place] for place in chosen.tolist()] if len(scores) else []
    else:
        named = [nodes[place].score for place in chosen.tolist()]
    places: dict[object, int] = {}
    for code, name in enumerate(tree.classes):
        places.setdefault(name, code)
    codes = [places.get(name, -1) if isinstance(name, str) else -1 for name in named]
    if len(codes) < len(chosen) or -1 in codes:
        return None
    return np.array(codes, dtype=np.intp)


def class_numbers_of(tree: Tree) -> FloatArray:
    """Return the class counts of each node, or else its shares, (N, m); NaN where one is not published."""
    nodes, width = tree.nodes, len(tree.classes)
    if isinstance(nodes, NodeTable):
        found = np.full((len(nodes), width), np.nan)
        for numbers in (nodes.class_shares, nodes.class_counts):
            if numbers is not None:
                told = ~np.isnan(numbers.sum(axis=1))
                found[told] = numbers[told]
        return found
    nothing = (math.nan,) * width
    rows = [node.class_counts or node.class_shares or nothing for node in nodes]
    filled = [[math.nan if number is None else number for number in row] for row in rows]
    return np.array(filled, dtype=np.float64).reshape(len(nodes), width)


def codes_of(tree: Tree) -> IndexArray:
    """Return the class that each node names, as a code, (N,); -1 where it names none."""
    nodes = tree.nodes
    scores: Sequence[object]
    if isinstance(nodes, NodeTable):
        scores = [] if isinstance(nodes.scores, np.ndarray) else nodes.scores
    else:
        scores = [node.score for node in nodes]
    places: dict[object, int] = {}
    for code, name in enumerate(tree.classes):
        places.setdefault(name, code)
    found = np.full(len(nodes), -1, dtype=np.intp)
    for place, score in enumerate(scores):
        if isinstance(score, str):
            found[place] = places.get(score, -1)
    return found


def tells_classes(tree: Tree) -> BoolArray:
    """Return whether each node publishes anything about its classes, counts or shares, (N,)."""
    nodes: Sequence[Node] = tree.nodes
    if not isinstance(nodes, NodeTable):
        told = (node.class_counts is not None or node.class_shares is not None for node in nodes)
        return np.fromiter(told, np.bool_, len(nodes))
    found = np.zeros(len(nodes), dtype=np.bool_)
    for numbers in (nodes.class_counts, nodes.class_shares):
        if numbers is not None:
            found |= ~np.isnan(numbers).all(axis=1)
    return found
