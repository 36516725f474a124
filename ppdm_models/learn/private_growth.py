"""Trees with differential privacy: cuts and labels drawn by permute-and-flip, every part of epsilon accounted for.

After PrivaTree (Vos, Vos, Li, Erkin & Verwer 2023), which draws labels by permute-and-flip and chooses cuts privately.
Here cuts come from a grid that hangs on public bounds alone, and are scored by whole numbers: the sum over both sides
of floor(sum of squared class counts / records), whose difference between cuts is that of the Gini impurity. One record
changes the score of one side by at most 1, so a scale of epsilon / 2 keeps epsilon (McSherry & Talwar 2007).

Nodes of one depth share no record, so a level costs what one of its nodes does, and so do all labels. The tree always
has its full depth: to stop early would tell of the records. What is spent is levels * node + label, exactly.

Draws have exact probabilities and come from the operating system's source of secrets, with no seed and no floating
point: noise in floating-point numbers leaks by its last digits (Mironov 2012). Here every probability is a ratio of
whole numbers, and e^(-ratio) is drawn by a game of such coins (Canonne, Kamath & Steinke 2020, algorithm 1).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray

Below = Callable[[int], int]
"""Draws a whole number evenly from 0 to one less than the given."""


def flip_coin(chance: Fraction, below: Below = secrets.randbelow) -> bool:
    """Return True with this probability, from 0 to 1."""
    return below(chance.denominator) < chance.numerator


def flip_exponential(weakness: Fraction, below: Below = secrets.randbelow) -> bool:
    """Return True with the probability e^(-weakness), of a weakness of 0 or more."""
    while weakness > 1:
        if not flip_exponential(Fraction(1), below):
            return False
        weakness -= 1
    rounds = 1
    while flip_coin(weakness / rounds, below):
        rounds += 1
    return rounds % 2 == 1


def permute_and_flip(
    scores: Sequence[int], scale: Fraction, below: Below = secrets.randbelow
) -> int:
    """Return the place of one of the scores, drawn by permute-and-flip (McKenna & Sheldon 2020).

    Candidates are taken in random order, and one is chosen with the probability e^(-scale (highest - score)). Where a
    record changes every score by one at most, a scale of epsilon / 2 has epsilon-differential privacy; where it can
    only raise them, a scale of epsilon.
    """
    highest, left = max(scores), list(range(len(scores)))
    while True:
        place = below(len(left))
        left[place], left[-1] = left[-1], left[place]
        candidate = left.pop()
        if flip_exponential(scale * (highest - scores[candidate]), below):
            return candidate


PANELS = 40
NODES, WEIGHTS = (part for part in np.polynomial.legendre.leggauss(24))
"""Between halves of halves of 0 to 1 the integrand is smooth: 24 points of each are exact to rounding."""


def score_chances(every: IntArray, scale: float) -> tuple[IntArray, FloatArray]:
    """Return the scores of all candidates, rising, each once, and how likely permute-and-flip draws each.

    A candidate with the coin q is drawn with q times the integral of the others' 1 - q t over t from 0 to 1.
    """
    scores, times = np.unique(every, return_counts=True)
    coins = np.exp(-scale * (scores[-1] - scores).astype(np.float64))
    edges = np.concatenate([[0.0], 0.5 ** np.arange(PANELS, -1, -1.0)])
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    points = (middle[:, None] + half[:, None] * NODES).reshape(-1)
    weights = (half[:, None] * WEIGHTS).reshape(-1)
    left = 1 - coins * points[:, None]
    together = np.exp((times * np.log(left)).sum(axis=1))
    drawn = times * coins * (weights[:, None] * together[:, None] / left).sum(axis=0)
    return scores, np.asarray(drawn / drawn.sum())


@dataclass(frozen=True, slots=True)
class PrivacyBudget:
    """What is spent on the cut of each level, and on the labels."""

    node: Fraction
    label: Fraction
    levels: int

    @property
    def total(self) -> Fraction:
        """What the tree costs in all."""
        return self.node * self.levels + self.label


@dataclass(frozen=True, slots=True, eq=False)
class PrivateNodes:
    """A full binary tree, depth first, (N,) each: children (-1 at leaves), column, cut and label (-1 inside)."""

    left: IndexArray
    right: IndexArray
    feature: IndexArray
    threshold: FloatArray
    label: IndexArray


def split_budget(epsilon: float, label_share: float, levels: int) -> PrivacyBudget:
    """Return how an epsilon is spent: a share on labels, the rest evenly on the levels; all on labels without any."""
    whole = Fraction(epsilon)
    label = whole if levels == 0 else Fraction(float(epsilon * label_share))
    node = Fraction(0) if levels == 0 else (whole - label) / levels
    return PrivacyBudget(node, label, levels)


def grow_private(
    columns: FloatArray,
    classes: IntArray,
    grids: list[FloatArray],
    budget: PrivacyBudget,
    class_count: int,
    *,
    below: Below = secrets.randbelow,
) -> PrivateNodes:
    """Return a tree over records (n, d) of classes (n,), with cuts of these grids.

    A column without cuts is not split on; where no column has any, the tree is one leaf at every place.
    """
    codes = [np.searchsorted(grid, columns[:, place]) for place, grid in enumerate(grids)]
    grower = _Grower(
        codes=codes,
        classes=classes,
        grids=grids,
        budget=budget,
        class_count=class_count,
        below=below,
        nodes=([], [], [], [], []),
    )
    grower.grow(np.arange(len(classes)), 0)
    left, right, feature, threshold, label = grower.nodes
    return PrivateNodes(
        left=np.array(left, dtype=np.intp),
        right=np.array(right, dtype=np.intp),
        feature=np.array(feature, dtype=np.intp),
        threshold=np.array(threshold, dtype=np.float64),
        label=np.array(label, dtype=np.intp),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Grower:
    codes: list[IndexArray]
    classes: IntArray
    grids: list[FloatArray]
    budget: PrivacyBudget
    class_count: int
    below: Below
    nodes: tuple[list[int], list[int], list[int], list[float], list[int]]

    def grow(self, records: IndexArray, depth: int) -> int:
        """Add the nodes of some records, and return the first of them."""
        left, right, feature, threshold, label = self.nodes
        node = len(left)
        for part in (left, right, feature, label):
            part.append(-1)
        threshold.append(-2.0)
        if depth == self.budget.levels:
            counts = np.bincount(self.classes[records], minlength=self.class_count)
            label[node] = permute_and_flip(counts.tolist(), self.budget.label, self.below)
            return node
        column, cut = self._chosen(records)
        feature[node], threshold[node] = column, float(self.grids[column][cut])
        is_left = self.codes[column][records] <= cut
        left[node] = self.grow(records[is_left], depth + 1)
        right[node] = self.grow(records[~is_left], depth + 1)
        return node

    def _chosen(self, records: IndexArray) -> tuple[int, int]:
        """Return the column and the cut that are drawn for a node."""
        places, scores = [], list[int]()
        for column, grid in enumerate(self.grids):
            scores += self._scores(records, column, len(grid)).tolist()
            places += [(column, cut) for cut in range(len(grid))]
        return places[permute_and_flip(scores, self.budget.node / 2, self.below)]

    def _scores(self, records: IndexArray, column: int, cuts: int) -> IntArray:
        """Return the score of each cut of a column, (cuts,): whole numbers, reckoned in whole numbers."""
        here = self.codes[column][records] * self.class_count + self.classes[records]
        size = (cuts + 1) * self.class_count
        counts = np.bincount(here, minlength=size).reshape(cuts + 1, self.class_count)
        before = np.cumsum(counts, axis=0)[:-1].astype(np.int64)
        after = counts.sum(axis=0) - before
        return np.asarray(purity_scores(before) + purity_scores(after))


def purity_scores(counts: IntArray) -> IntArray:
    """Return floor(sum of squares / sum) of each row; 0 where there is nobody."""
    people = counts.sum(axis=1)
    return np.asarray((counts**2).sum(axis=1) // np.maximum(people, 1))
