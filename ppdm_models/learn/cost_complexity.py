"""Cost-complexity pruning of grown trees: how far is chosen by cross-validation (Breiman et al. 1984, chapter 3).

The whole tree is kept unless a smaller one does surely better on the records that were held out, by a t-test over the
folds. So where no cut was drawn in any fold nothing is pruned, and every tree that can be grown can be
what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.learn.drawn_cuts import (
    LEAF,
    GrownNodes,
    GrowthRule,
    Impurity,
    Records,
    grow,
    keep_reachable,
)

HeldOutLoss = Callable[[FloatArray, FloatArray], FloatArray]
"""What A nodes that learned from sums (A, s) lose on the held-out records of sums (A, s), added up; less is better."""


CONFIDENCE = 0.95
"""With which a smaller tree has to be better on held-out records."""
TIE = 1e-9
"""Losses that differ by less than this share are the same."""


@dataclass(frozen=True, slots=True)
class PruningPath:
    """The trees that weakest-link pruning passes through: node ``inner`` becomes a leaf at ``penalty``, in this order.

    ``penalty`` (K,) is the impurity that a leaf more has to lower, as a share of the records' weight; it never falls.
    """

    inner: IndexArray
    penalty: FloatArray


def pruning_path(nodes: GrownNodes, impurity: Impurity) -> PruningPath:
    """Return how a tree is pruned from all its leaves to one, the weakest link first."""
    own = impurity(nodes.sums)
    own = own / max(float(own[0]), np.finfo(float).tiny)
    parent = _parents(nodes)
    leaves = (nodes.left == LEAF).astype(np.float64)
    below = np.where(nodes.left == LEAF, own, 0.0)
    for node in range(len(parent) - 1, 0, -1):
        leaves[parent[node]] += leaves[node]
        below[parent[node]] += below[node]
    is_inner = nodes.left != LEAF
    order, penalties, highest = [], [], 0.0
    while is_inner[0]:
        inner = np.flatnonzero(is_inner)
        links = (own[inner] - below[inner]) / (leaves[inner] - 1)
        place = int(np.argmin(links))
        weakest = int(inner[place])
        highest = max(highest, float(links[place]))
        order.append(weakest)
        penalties.append(highest)
        fewer, more = leaves[weakest] - 1, own[weakest] - below[weakest]
        node = weakest
        while node >= 0:
            leaves[node] -= fewer
            below[node] += more
            node = int(parent[node])
        _mark_leaves(nodes, weakest, is_inner)
    return PruningPath(np.array(order, dtype=np.intp), np.array(penalties))


def prune(nodes: GrownNodes, impurity: Impurity, penalty: float) -> GrownNodes:
    """Return the smallest tree whose leaves are each worth more than a penalty; never without the root's split."""
    path = pruning_path(nodes, impurity)
    gone = path.inner[(path.penalty <= penalty) & (path.inner != 0)]
    left, right = nodes.left.copy(), nodes.right.copy()
    left[gone] = right[gone] = LEAF
    return keep_reachable(nodes, left, right)


def choose_penalty(
    records: Records,
    nodes: GrownNodes,
    rule: GrowthRule,
    loss: HeldOutLoss,
    folds: int,
    draws: np.random.Generator,
) -> float:
    """Return the penalty whose trees lose least on records that were held out; below 0 where nothing is to be pruned.

    The tree is grown again in each fold, by the same rule, from the records of the others.
    """
    path = pruning_path(nodes, rule.impurity)
    ends = np.unique(path.penalty)
    if len(ends) < 2:
        return -1.0
    # The typical penalty between two steps of the path; the last step leaves no split.
    candidates = np.array([-1.0, *np.sqrt(np.maximum(ends[:-1] * ends[1:], 0.0))])
    fold = draws.permutation(len(records.columns)) % folds
    lost = []
    for number in range(folds):
        is_out = fold == number
        if is_out.any() and not is_out.all():
            tree = grow(_records_where(records, ~is_out), rule, draws)
            lost.append(
                _losses(tree, _records_where(records, is_out), rule.impurity, loss, candidates)
            )
    return float(candidates[_surely_better(np.array(lost))])


def _surely_better(lost: FloatArray) -> int:
    """Return the candidate that wins most over the first one, of losses by fold and candidate (F, K).

    What is won has to differ from nothing by a one-sided t-test of the folds; else it is the first.
    """
    won = lost[:, :1] - lost
    mean = won.mean(axis=0)
    if len(won) < 2:
        return 0
    error = won.std(axis=0, ddof=1) / np.sqrt(len(won))
    is_sure = mean > stdtrit(len(won) - 1, CONFIDENCE) * error + TIE * np.abs(lost[:, 0]).mean()
    return int(np.argmax(np.where(is_sure, mean, 0.0)))


def _losses(
    tree: GrownNodes,
    held_out: Records,
    impurity: Impurity,
    loss: HeldOutLoss,
    penalties: FloatArray,
) -> FloatArray:
    """Return what the tree, pruned at each penalty, loses on the held-out records, shape (K,)."""
    sums = _sums_in_nodes(tree, held_out)
    own = loss(tree.sums, sums)
    path = pruning_path(tree, impurity)
    parent = _parents(tree)
    found = np.zeros(len(penalties))
    for place, penalty in enumerate(penalties):
        gone = path.inner[(path.penalty <= penalty) & (path.inner != 0)]
        is_leaf = tree.left == LEAF
        is_leaf[gone] = True
        is_there = np.ones(len(parent), dtype=bool)
        for node in range(1, len(parent)):
            is_there[node] = is_there[parent[node]] and not is_leaf[parent[node]]
        found[place] = own[is_there & is_leaf].sum()
    return found


def _sums_in_nodes(tree: GrownNodes, records: Records) -> FloatArray:
    """Return the sums of the records that pass each node, shape (N, s)."""
    sums = np.zeros((len(tree.left), records.sums.shape[1]))
    waiting = [(0, np.arange(len(records.columns)))]
    while waiting:
        node, here = waiting.pop()
        sums[node] = records.sums[here].sum(axis=0)
        if tree.left[node] != LEAF:
            values = records.columns[here, tree.feature[node]]
            is_left = values <= tree.threshold[node]
            waiting.append((int(tree.left[node]), here[is_left]))
            waiting.append((int(tree.right[node]), here[~is_left]))
    return sums


def _records_where(records: Records, is_kept: BoolArray) -> Records:
    return Records(records.columns[is_kept], records.people[is_kept], records.sums[is_kept])


def _parents(nodes: GrownNodes) -> IndexArray:
    parent = np.full(len(nodes.left), -1, dtype=np.intp)
    inner = np.flatnonzero(nodes.left != LEAF)
    parent[nodes.left[inner]] = inner
    parent[nodes.right[inner]] = inner
    return parent


def _mark_leaves(nodes: GrownNodes, top: int, is_inner: BoolArray) -> None:
    """Mark that a node and all below it are no inner nodes any more."""
    waiting = [top]
    while waiting:
        node = waiting.pop()
        is_inner[node] = False
        if nodes.left[node] != LEAF:
            waiting += [int(nodes.left[node]), int(nodes.right[node])]


# What predictions of the leaves lose on other records, from what is added up of both.


def brier(learned: FloatArray, held_out: FloatArray) -> FloatArray:
    """Return the squared distances between the known shares of the classes and the held-out classes."""
    shares = learned / np.maximum(learned.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    everybody = held_out.sum(axis=1)
    return np.asarray(
        (1 + (shares**2).sum(axis=1)) * everybody - 2 * (shares * held_out).sum(axis=1)
    )


def squared_distance(learned: FloatArray, held_out: FloatArray) -> FloatArray:
    """Return the squared distances of held-out numbers from the known mean; sums as of ``squared_error``."""
    mean = learned[:, 1] / np.maximum(learned[:, 0], np.finfo(float).tiny)
    return np.asarray(held_out[:, 2] - 2 * mean * held_out[:, 1] + mean**2 * held_out[:, 0])
