"""Leaves that merging would make, as they would be published: what kinds of numbers the old leaves publish, summed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.pruning.siblings import MergedLeaves
from treewarden.ppdm_models.tree.tree import (
    Band,
    Node,
    NoTrueChild,
    Task,
    Tree,
    completed,
    count_of,
)

# Class counts carried up a tree where its leaves publish only hits and misses (Sharkey et al. 2008, equation 1).


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


@dataclass(frozen=True, slots=True)
class _PublishedNodes:
    """What nodes publish as leaves, one row each; NaN where something is not told, so that a sum with it is not either.

    ``shares`` and ``scores`` are weighted by records. ``listed`` is 0 where some class count is told, ``banded`` 1
    where one is told as a band.
    """

    records: FloatArray
    counts: FloatArray
    listed: FloatArray
    shares: FloatArray
    low: FloatArray
    high: FloatArray
    banded: FloatArray
    scores: FloatArray

    def transform(self, change: Callable[[FloatArray], FloatArray]) -> _PublishedNodes:
        return _PublishedNodes(*(change(getattr(self, field.name)) for field in fields(self)))


def summed(tree: Tree, stopping: FloatArray) -> FloatArray:
    """Return what each node would hold as a leaf, given what stops at each node: shape (N, ...) in and out."""
    sums = np.array(stopping, dtype=np.float64)
    for node in reversed(tree.nodes):
        if node.parent is not None:
            sums[node.parent] += sums[node.index]
    return sums


def merged_leaves(
    tree: Tree,
    candidates: MergedLeaves,
    classes: FloatArray | None,
    stopping: FloatArray | None = None,
) -> tuple[Node, ...]:
    """Return every candidate as it would be published as a leaf; a leaf is one already.

    ``classes`` are the real class counts, shape (N + G, m), where they are known: a label is then their plurality (the
    node's old score where that ties), else that of what is published, else the old score, else by equation 1 of
    Sharkey et al. 2008. What an inner node publishes itself goes before the sum over its leaves. ``stopping`` (N,) are
    the real records that stop at each node; where the file publishes neither the number of an inner node nor what the
    leaves' are to be weighted by, those tell it.
    """
    leaves = _as_published(tree, candidates, classes)
    if stopping is None or tree.task is not Task.REGRESSION:
        return leaves
    return _averaged(tree, candidates, leaves, stopping)


def _averaged(
    tree: Tree, candidates: MergedLeaves, leaves: tuple[Node, ...], stopping: FloatArray
) -> tuple[Node, ...]:
    """Return the leaves, merged ones without a number with the mean of what the records in them were told before.

    So are all, where an inner node's number is for the records that none of its children takes, as in compact PMML.
    """
    inner = np.array([not node.is_leaf for node in tree.nodes])
    is_for_rest = tree.no_true_child is NoTrueChild.LAST_PREDICTION and stopping[inner].any()
    said = np.array([np.nan if n.score is None else float(n.score) for n in tree.nodes])
    told = np.where(stopping > 0, said * stopping, 0.0)
    records, total = (candidates.totals(summed(tree, rows)) for rows in (stopping, told))
    is_old = [*~inner, *[False] * (len(leaves) - len(inner))]
    return tuple(
        leaf
        if old or not held > 0 or not (is_for_rest or leaf.score is None)
        else replace(leaf, score=_number_or_none(number / held))
        for leaf, old, held, number in zip(leaves, is_old, records, total, strict=True)
    )


def _as_published(
    tree: Tree, candidates: MergedLeaves, classes: FloatArray | None
) -> tuple[Node, ...]:
    size = len(tree.nodes)
    guessed = counts_up(tree, candidates.members) if classes is None and tree.classes else None
    published_nodes = _published_nodes(tree, tree.nodes)
    inner = np.array([not node.is_leaf for node in tree.nodes])
    below = published_nodes.transform(lambda rows: summed(tree, _without(rows, inner)))
    leaves = [
        node
        if node.is_leaf
        else _join_leaf(tree, node, below, index, _row(classes, index), _row(guessed, index))
        for index, node in enumerate(tree.nodes)
    ]
    if len(candidates.members) == size:
        return tuple(leaves)
    together = _published_nodes(tree, leaves).transform(candidates.totals)
    for number in range(size, len(candidates.members)):
        first = tree.nodes[candidates.members[number][0]]
        bare = replace(
            first,
            test=candidates.tests[number - size],
            score=None,
            records=None,
            class_counts=None,
            class_shares=None,
            bands=None,
            impurity=None,
        )
        leaves.append(
            _join_leaf(tree, bare, together, number, _row(classes, number), _row(guessed, number))
        )
    return tuple(leaves)


def _row(rows: FloatArray | None, number: int) -> FloatArray | None:
    return None if rows is None else rows[number]


def _without(rows: FloatArray, inner: BoolArray) -> FloatArray:
    kept = rows.copy()
    kept[inner] = 0.0
    return kept


def _published_nodes(tree: Tree, nodes: Sequence[Node]) -> _PublishedNodes:
    m = len(tree.classes)
    unknown = (np.nan,) * m
    records = np.array([node.records for node in nodes], dtype=np.float64)
    weight = np.nan_to_num(records)
    counts = np.array(
        [completed(n.class_counts, count_of(n)) if n.class_counts else unknown for n in nodes],
        dtype=np.float64,
    ).reshape(len(nodes), m)
    shares = np.array([node.class_shares or unknown for node in nodes], dtype=np.float64)
    ends = [
        np.array([_ends(n.bands, m, end) for n in nodes]).reshape(len(nodes), m) for end in (0, 1)
    ]
    low, high = (np.where(np.isnan(each), counts, each) for each in ends)
    numbers = [node.score if isinstance(node.score, float | int) else np.nan for node in nodes]
    return _PublishedNodes(
        records=records,
        counts=counts,
        listed=np.array([0.0 if node.class_counts else np.nan for node in nodes]),
        shares=shares.reshape(len(nodes), m) * weight[:, None],
        low=low,
        high=high,
        banded=np.array([float(node.bands is not None) for node in nodes]),
        scores=np.array(numbers, dtype=np.float64) * weight,
    )


def _ends(bands: tuple[Band | None, ...] | None, m: int, end: int) -> tuple[float, ...]:
    return tuple(np.nan if band is None else band[end] for band in bands or (None,) * m)


def _join_leaf(
    tree: Tree,
    node: Node,
    nodes: _PublishedNodes,
    row: int,
    classes: FloatArray | None,
    guessed: FloatArray | None,
) -> Node:
    """Return a node as a leaf, from what is told below it in one row."""
    records = _number_or_none(nodes.records[row]) if node.records is None else node.records
    counts = node.class_counts or _all_known(nodes.counts[row])
    shares = node.class_shares or _mean_shares(nodes, row, classes)
    bands = _summed_bands(nodes, row) if counts is None and nodes.banded[row] > 0 else None
    score = _score(tree, node, nodes, row, _numbers(tree, classes, counts or shares, guessed, node))
    if counts is None and classes is not None and tree.has_people and score in tree.classes:
        label = tree.classes.index(str(score))
        if nodes.listed[row] == 0:
            counts = tuple(float(c) if k == label else None for k, c in enumerate(classes))
    return replace(
        node,
        children=(),
        default_child=None,
        score=score,
        records=records,
        class_counts=counts,
        class_shares=shares,
        bands=bands,
    )


def _number_or_none(number: float) -> float | None:
    return None if np.isnan(number) else float(number)


def _all_known(row: FloatArray) -> tuple[float, ...] | None:
    return None if np.isnan(row).any() or not len(row) else tuple(row.tolist())


def _mean_shares(
    nodes: _PublishedNodes, row: int, classes: FloatArray | None
) -> tuple[float, ...] | None:
    """Return the shares of all leaves together, by their published records or else by the real class counts."""
    if np.isnan(nodes.shares[row]).any():
        return None
    total = nodes.records[row]
    if total > 0:
        return _all_known(nodes.shares[row] / total)
    if classes is None or not classes.sum():
        return None
    return _all_known(classes / classes.sum())


def _summed_bands(nodes: _PublishedNodes, row: int) -> tuple[Band | None, ...]:
    ends = zip(nodes.low[row].tolist(), nodes.high[row].tolist(), strict=True)
    return tuple(None if np.isnan(low) else (low, high) for low, high in ends)


def _numbers(
    tree: Tree,
    classes: FloatArray | None,
    published: Sequence[float | None] | None,
    guessed: FloatArray | None,
    node: Node,
) -> list[float]:
    """Return the class numbers that a label is read from, best known first; none where the old score must do.

    Numbers that count no people are what predictions are made from all the same, and the label has to go with them.
    """
    known = () if published is None or None in published else published
    if classes is not None and (tree.has_people or not known):
        return list(classes)
    if known:
        return [number for number in known if number is not None]
    return [] if guessed is None or node.score is not None else list(guessed)


def _score(
    tree: Tree, node: Node, nodes: _PublishedNodes, row: int, numbers: Sequence[float]
) -> str | float | None:
    if tree.task is Task.REGRESSION:
        return _mean_score(nodes, row) if node.score is None else node.score
    if not numbers:
        return node.score
    most = max(numbers)
    best = [tree.classes[code] for code, number in enumerate(numbers) if number == most]
    return node.score if node.score in best else best[0]


def _mean_score(nodes: _PublishedNodes, row: int) -> float | None:
    """Return the mean of the leaves' numbers, weighted by their records; None where either is not published."""
    if not nodes.records[row] > 0:
        return None
    return _number_or_none(nodes.scores[row] / nodes.records[row])
