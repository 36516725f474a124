"""What a changed tree is worth on records that its leaves did not see: leaves are set anew, fold by fold.

The splits stay as they are published, and saw all records, so this is more than new records would give; but a leaf of
few people no longer counts as right about them because it was made of them. That is what training accuracy cannot tell,
and why changes are compared by it wherever a table and a tree allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from treewarden.audit.population.population import Population
from treewarden.audit.population.target import label_of
from treewarden.audit.reading import Reading, Undetermined, exactly
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.tree import Node, Task, Tree

UtilityName = Literal["accuracy", "auc", "log-loss"]
UTILITY_NAMES: tuple[UtilityName, ...] = get_args(UtilityName)
FOLDS = 5
LEAST_OF_CLASS = FOLDS
"""People of each class that are needed, so that every fold has one."""
NEAR_SHARE = 1e-3
"""How far a leaf's number may lie from the mean of its people, in standard deviations of the target."""


@dataclass(frozen=True, slots=True, eq=False)
class FoldedClasses:
    """People by profile, class and fold: ``counts`` (K, N) of N cells, with ``profiles`` and ``classes`` (N,)."""

    profiles: IndexArray
    classes: IndexArray
    counts: FloatArray
    class_count: int


@dataclass(frozen=True, slots=True, eq=False)
class FoldedNumbers:
    """Records of a numeric target: profile, number and fold of each, (N,)."""

    profiles: IndexArray
    numbers: FloatArray
    folds: IndexArray


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """Measures trees over the same people by one ``utility``: of numbers always the share of variance explained."""

    utility: UtilityName
    folded: FoldedClasses | FoldedNumbers

    def measure(self, tree: Tree, node_of_profile: IndexArray) -> Reading:
        """Return the mean utility over the folds of a tree whose profiles stop in these nodes, shape (P,).

        More is better: log loss is given below 0. A leaf that publishes its class alone has no shares, so that its
        log loss is not told.
        """
        if isinstance(self.folded, FoldedNumbers):
            return exactly(_explained_variance(self.folded, node_of_profile))
        leaves, place = np.unique(node_of_profile, return_inverse=True)
        has_shares = np.array([_has_shares(tree.nodes[int(leaf)]) for leaf in leaves])
        if self.utility == "log-loss" and not has_shares.all():
            return Undetermined("a leaf that gives its class alone has no log loss")
        counts = _leaf_counts(self.folded, place.reshape(-1), len(leaves))
        return exactly(float(np.mean(_fold_scores(counts, has_shares, self.utility))))


def cross_validation(
    model: Model, population: Population, utility: UtilityName
) -> CrossValidation | Undetermined:
    """Return what measures changes of a model; or why they are compared by training accuracy instead."""
    if not isinstance(model, Tree):
        return Undetermined(
            "the leaves of several trees that work together cannot be set anew without the learner"
        )
    if (population.leaf < 0).any():
        return Undetermined("some records stop in no leaf")
    if model.task is Task.REGRESSION:
        return _of_numbers(model, population)
    return _of_classes(model, population, utility)


def _of_classes(
    tree: Tree, population: Population, utility: UtilityName
) -> CrossValidation | Undetermined:
    truth = population.truth
    if isinstance(truth, Undetermined):
        return truth
    people = np.rint(truth).astype(np.int64)
    for code, of_class in enumerate(people.sum(axis=0)):
        if 0 < of_class < LEAST_OF_CLASS:
            name = tree.classes[code]
            return Undetermined(f"fewer than {LEAST_OF_CLASS} records have the class {name!r}")
    if (people.sum(axis=0) > 0).sum() < 2:
        return Undetermined("all records have the same class")
    weighed = truth if population.weight is None else truth * population.weight[:, None]
    if not _labels_are_modes(tree, population.leaf, weighed):
        return Undetermined("some leaf predicts another class than most of its records have")
    return CrossValidation(utility, _folded_classes(people, population.weight))


def _labels_are_modes(tree: Tree, leaf: IndexArray, truth: FloatArray) -> bool:
    """Return whether each leaf predicts a class that none of its records' is more frequent than."""
    leaves, place = np.unique(leaf, return_inverse=True)
    counts = np.zeros((len(leaves), truth.shape[1]))
    np.add.at(counts, place.reshape(-1), truth)
    for node, row in zip(leaves, counts, strict=True):
        label = label_of(tree, tree.nodes[int(node)])
        if label is None or row[label] < row.max() * (1 - 1e-9):
            return False
    return True


def _folded_classes(people: IndexArray, weight: FloatArray | None) -> FoldedClasses:
    """Deal the people of each class to the folds in turn, profiles in an order drawn the same way every time."""
    shuffled = np.random.default_rng(0).permutation(len(people))
    profiles, classes, counts = [], [], []
    for code in range(people.shape[1]):
        cells = shuffled[people[shuffled, code] > 0]
        ends = np.cumsum(people[cells, code])
        starts = ends - people[cells, code]
        fold = np.arange(FOLDS)[:, None]
        # How many of the places start, ..., end - 1 leave the remainder of the fold.
        counts.append((ends - fold + FOLDS - 1) // FOLDS - (starts - fold + FOLDS - 1) // FOLDS)
        profiles.append(cells)
        classes.append(np.full(len(cells), code))
    profile = np.concatenate(profiles)
    dealt = np.concatenate(counts, axis=1).astype(np.float64)
    if weight is not None:
        dealt = dealt * weight[profile]
    return FoldedClasses(profile, np.concatenate(classes), dealt, people.shape[1])


def _leaf_counts(folded: FoldedClasses, leaf_of_profile: IndexArray, leaves: int) -> FloatArray:
    """Return what each fold has of each class in each leaf, shape (K, L, C)."""
    key = leaf_of_profile[folded.profiles] * folded.class_count + folded.classes
    size = leaves * folded.class_count
    counts = [np.bincount(key, fold, size) for fold in folded.counts]
    return np.asarray(counts, dtype=np.float64).reshape(-1, leaves, folded.class_count)


def _has_shares(leaf: Node) -> bool:
    """Return whether a leaf says more than its class; a number in a range counts as said."""
    return bool(leaf.class_counts or leaf.class_shares or leaf.bands)


def _fold_scores(
    counts: FloatArray, has_shares: Sequence[bool] | np.ndarray, utility: UtilityName
) -> list[float]:
    """Return the utility of each fold, its leaves set by the other folds; one person of the prior is added to each."""
    whole, scores = counts.sum(axis=0), []
    for fold in counts:
        known = whole - fold
        prior = known.sum(axis=0) / known.sum()
        shares = (known + prior) / (known.sum(axis=1, keepdims=True) + 1)
        labels = shares.argmax(axis=1)
        if utility == "accuracy":
            scores.append(float(fold[np.arange(len(fold)), labels].sum() / fold.sum()))
        elif utility == "log-loss":
            is_there = fold > 0
            scores.append(float((fold[is_there] * np.log(shares[is_there])).sum() / fold.sum()))
        else:
            told = np.where(
                np.asarray(has_shares)[:, None], shares, np.eye(shares.shape[1])[labels]
            )
            scores.append(_area(fold, told))
    return scores


def _area(fold: FloatArray, shares: FloatArray) -> float:
    """Return the area under the curve; of several classes the mean of each against the rest."""
    present = np.flatnonzero(fold.sum(axis=0) > 0)
    areas = [_one_area(fold[:, code], fold.sum(axis=1), shares[:, code]) for code in present]
    return float(np.mean(areas[1:] if len(areas) == 2 else areas))


def _one_area(positive: FloatArray, everybody: FloatArray, score: FloatArray) -> float:
    values, place = np.unique(score, return_inverse=True)
    right = np.bincount(place.reshape(-1), positive, len(values))
    wrong = np.bincount(place.reshape(-1), everybody - positive, len(values))
    below = np.cumsum(wrong) - wrong
    return float((right * (below + wrong / 2)).sum() / (right.sum() * wrong.sum()))


def _of_numbers(tree: Tree, population: Population) -> CrossValidation | Undetermined:
    order = population.order
    if order is None or order.numbers is None:
        return Undetermined("rows of the table stand for several people each")
    numbers, profiles = np.asarray(order.numbers, dtype=np.float64), np.asarray(order.profiles)
    if len(numbers) < 2 * FOLDS or np.isnan(numbers).any() or not numbers.std():
        return Undetermined("the table has too few records, or one number only")
    node = population.leaf[profiles]
    sizes = np.maximum(np.bincount(node, minlength=len(tree.nodes)), 1)
    means = np.bincount(node, numbers, len(tree.nodes)) / sizes
    for leaf in np.unique(node):
        score = tree.nodes[int(leaf)].score
        if not isinstance(score, int | float):
            return Undetermined("some leaf predicts no number")
        if abs(float(score) - means[leaf]) > NEAR_SHARE * numbers.std():
            return Undetermined("some leaf predicts another number than the mean of its records")
    folds = np.random.default_rng(0).permutation(len(numbers)) % FOLDS
    return CrossValidation("accuracy", FoldedNumbers(profiles, numbers, folds))


def _explained_variance(folded: FoldedNumbers, node_of_profile: IndexArray) -> float:
    node, scores = node_of_profile[folded.profiles], []
    for fold in range(FOLDS):
        is_out = folded.folds == fold
        known, numbers = node[~is_out], folded.numbers[~is_out]
        size = int(node.max()) + 1
        people = np.bincount(known, minlength=size)
        means = np.full(size, numbers.mean())
        sums = np.bincount(known, numbers, size)
        means[people > 0] = sums[people > 0] / people[people > 0]
        held_out = folded.numbers[is_out]
        spread = ((held_out - held_out.mean()) ** 2).sum()
        if spread > 0:
            scores.append(1 - ((held_out - means[node[is_out]]) ** 2).sum() / spread)
    return float(np.mean(scores)) if scores else 0.0
