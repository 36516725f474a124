"""Trees whose splits are allowed one by one, grown of cuts that are drawn at random, and pruned by cost-complexity.

At each node every cut of every column is drawn with one probability, below 1, independently of the others, as the
columns of a random forest are (Breiman 2001; Geurts et al. 2006 draw cuts). Of the drawn cuts whose two children are
allowed the one that lowers the impurity most is taken; where there is none the node is a leaf. Whether children are
allowed depends on how many records of each class they hold. So every tree that has only allowed splits, each of which
lowers the impurity, can be grown from every table that gives its nodes the same counts: the other cuts were not drawn.

How far a tree is pruned is chosen by cross-validation (Breiman et al. 1984, chapter 3). The whole tree is kept unless a
smaller one does surely better on the records that were held out, by a t-test over the folds. So where no cut was drawn
in any fold nothing is pruned, and every tree that can be grown can be what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

Allowed = Callable[[FloatArray, FloatArray], BoolArray]
"""Which of A nodes may be: from their records by class, (A, p), and the sums of their weights, (A, s)."""
Impurity = Callable[[FloatArray], FloatArray]
"""The impurity of A nodes times the weight of their records, from their sums (A, s)."""
Singles = NDArray[np.float32]

SAME_VALUE = np.float32(1e-7)
"""Values that differ by this or less are not parted, as in scikit-learn."""
LEAST_GAIN_SHARE = 1e-10
"""A split lowers the impurity by more than this share of the records' weight: what floating point may invent."""
LEAF, NOTHING = -1, -2
"""What scikit-learn writes for the children of a leaf, and for what a leaf would compare."""


@dataclass(frozen=True, slots=True)
class GrowthRule:
    """How trees are grown: ``share_drawn`` of the cuts are looked at, to at most ``max_depth`` tests."""

    impurity: Impurity
    allowed: Allowed
    max_depth: int
    share_drawn: float


@dataclass(frozen=True, slots=True)
class Records:
    """The records of a table: ``columns`` (n, d), ``people`` (n, p) counted by class, ``sums`` (n, s) to add up."""

    columns: Singles
    people: FloatArray
    sums: FloatArray


@dataclass(frozen=True, slots=True)
class GrownNodes:
    """The nodes of a grown tree, each before its children, the left one first, as scikit-learn numbers them.

    ``people`` (N, p) and ``sums`` (N, s) are those of the records that pass each node.
    """

    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    people: FloatArray
    sums: FloatArray

    @property
    def leaf_count(self) -> int:
        """The number of leaves."""
        return int((self.left == LEAF).sum())

    @property
    def depths(self) -> IntArray:
        """The number of tests above each node, (N,)."""
        depths = np.zeros(len(self.left), dtype=np.int64)
        for node in np.flatnonzero(self.left != LEAF).tolist():
            depths[[self.left[node], self.right[node]]] = depths[node] + 1
        return depths


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut of one column, and by how much it lowers the impurity."""

    gain: float
    feature: int
    threshold: float


def grow(records: Records, rule: GrowthRule, draws: np.random.Generator) -> GrownNodes:
    """Grow a tree from the records of a table; a root without an allowed split is its only leaf."""
    rows: list[list[float]] = []
    inside: list[IndexArray] = []
    waiting: list[tuple[IndexArray, int, int, int]] = [
        (np.arange(len(records.columns), dtype=np.intp), 0, -1, 0)
    ]
    while waiting:
        here, depth, parent, side = waiting.pop()
        number = len(rows)
        rows.append([LEAF, LEAF, NOTHING, NOTHING])
        inside.append(here)
        if parent >= 0:
            rows[parent][side] = number
        cut = best_cut(records, here, rule, draws) if depth < rule.max_depth else None
        if cut is None:
            continue
        rows[number][2:] = [cut.feature, cut.threshold]
        is_left = records.columns[here, cut.feature] <= cut.threshold
        waiting.append((here[~is_left], depth + 1, number, 1))
        waiting.append((here[is_left], depth + 1, number, 0))
    table = np.array(rows, dtype=np.float64)
    return GrownNodes(
        left=table[:, 0].astype(np.int64),
        right=table[:, 1].astype(np.int64),
        feature=table[:, 2].astype(np.int64),
        threshold=table[:, 3],
        people=np.stack([records.people[node].sum(axis=0) for node in inside]),
        sums=np.stack([records.sums[node].sum(axis=0) for node in inside]),
    )


def best_cut(
    records: Records, here: IndexArray, rule: GrowthRule, draws: np.random.Generator
) -> Cut | None:
    """Return the drawn and allowed cut of a node that lowers the impurity most; None where there is none."""
    best: Cut | None = None
    whole = records.sums[here].sum(axis=0)
    everybody = records.people[here].sum(axis=0)
    before = float(rule.impurity(whole[None])[0])
    least = LEAST_GAIN_SHARE * len(here)
    for feature in range(records.columns.shape[1]):
        values = records.columns[here, feature]
        order = np.argsort(values, kind="stable")
        values = values[order]
        ends = np.flatnonzero(values[1:] > values[:-1] + SAME_VALUE)
        ends = ends[draws.random(len(ends)) < rule.share_drawn]
        if not len(ends):
            continue
        people = records.people[here[order]].cumsum(axis=0)[ends]
        sums = records.sums[here[order]].cumsum(axis=0)[ends]
        fits = rule.allowed(people, sums) & rule.allowed(everybody - people, whole - sums)
        if not fits.any():
            continue
        gains = before - rule.impurity(sums[fits]) - rule.impurity(whole - sums[fits])
        place = int(np.argmax(gains))
        if gains[place] > max(least, 0.0 if best is None else best.gain):
            end = int(ends[fits][place])
            best = Cut(float(gains[place]), feature, middle(values[end], values[end + 1]))
    return best


def middle(low: np.float32, high: np.float32) -> float:
    """Return where two 32-bit numbers are parted: half way, or at the lower one where half way is the upper one."""
    half = float(low) / 2 + float(high) / 2
    return float(low) if np.float32(half) >= high else half


def cut_back(nodes: GrownNodes, leaves: int, impurity: Impurity) -> GrownNodes:
    """Return the tree with at most so many leaves (1 or more): pairs of leaves are joined, the weakest split first."""
    gains = impurity(nodes.sums)
    left, right = nodes.left.copy(), nodes.right.copy()
    count = nodes.leaf_count
    while count > max(leaves, 1):
        inner = np.flatnonzero(left != LEAF)
        last = inner[(left[left[inner]] == LEAF) & (left[right[inner]] == LEAF)]
        gain = gains[last] - gains[left[last]] - gains[right[last]]
        weakest = last[np.argmin(gain)]
        left[weakest] = right[weakest] = LEAF
        count -= 1
    return keep_reachable(nodes, left, right)


def keep_reachable(nodes: GrownNodes, left: IntArray, right: IntArray) -> GrownNodes:
    """Return the nodes that can still be reached by these children, (N,) each, numbered anew."""
    kept, stack = [], [0]
    while stack:
        node = stack.pop()
        kept.append(node)
        if left[node] != LEAF:
            stack += [int(right[node]), int(left[node])]
    place = np.full(len(left), LEAF, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    is_leaf = left[kept] == LEAF
    return replace(
        nodes,
        left=np.where(is_leaf, LEAF, place[left[kept]]),
        right=np.where(is_leaf, LEAF, place[right[kept]]),
        feature=np.where(is_leaf, NOTHING, nodes.feature[kept]),
        threshold=np.where(is_leaf, float(NOTHING), nodes.threshold[kept]),
        people=nodes.people[kept],
        sums=nodes.sums[kept],
    )


# How mixed the records of nodes are, from what is added up of them.


def gini(sums: FloatArray) -> FloatArray:
    """Return Gini's impurity times the weight, from the weight of each class (A, m)."""
    weight = np.maximum(sums.sum(axis=1), np.finfo(float).tiny)
    return np.asarray(weight - (sums**2).sum(axis=1) / weight)


def entropy(sums: FloatArray) -> FloatArray:
    """Return the entropy in bits times the weight, from the weight of each class (A, m)."""
    weight = np.maximum(sums.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    shares = np.maximum(sums, 0.0) / weight
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(np.maximum(sums, 0.0) * logs).sum(axis=1))


def squared_error(sums: FloatArray) -> FloatArray:
    """Return the squared distances from the mean, from weights, weighted values and their squares (A, 3)."""
    weight = np.maximum(sums[:, 0], np.finfo(float).tiny)
    return np.maximum(sums[:, 2] - sums[:, 1] ** 2 / weight, 0.0)


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
