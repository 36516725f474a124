"""The arrays inside a fitted scikit-learn tree, however they came here, turned into a published tree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_models import limits
from ppdm_models.arrays import BoolArray, FloatArray, IntArray
from ppdm_models.errors import TreeFormatError
from ppdm_models.meaning.consistency import is_whole
from ppdm_models.tree.column import number_text
from ppdm_models.tree.predicate import Always, MissingTest, NumericTest, Predicate
from ppdm_models.tree.tree import (
    CLASS_WEIGHT,
    Criterion,
    Feature,
    Learner,
    Missing,
    Node,
    Quality,
    Task,
    Tool,
    Tree,
    rebuilt,
)

CRITERIA = {
    "gini": Criterion.GINI,
    "entropy": Criterion.ENTROPY,
    "log_loss": Criterion.ENTROPY,
}

SQUARED = ("squared_error", "friedman_mse", "mse")
"""The criteria under which a node's impurity is the mean squared distance from its mean."""
UNMODELLED = (CLASS_WEIGHT, "monotonic_cst")
"""Settings that decide which split is taken, beside the criterion and the smallest leaf."""

Floats = FloatArray
Wholes = IntArray


@dataclass(frozen=True, slots=True)
class TreeArrays:
    """One number per node: ``children_*`` are -1 at a leaf; ``value`` is nodes x classes (or x 1 for a regression).

    ``value`` holds fractions since scikit-learn 1.3 and (weighted) counts before. ``samples`` counts training records,
    ``weighted`` adds up their weights. ``missing_left`` is None where the tree knows no missing values, ``impurity``
    where it says none.
    """

    children_left: Wholes
    children_right: Wholes
    feature: Wholes
    threshold: Floats
    samples: Wholes
    weighted: Floats
    value: Floats
    missing_left: BoolArray | None = None
    impurity: Floats | None = None

    @property
    def is_unweighted(self) -> bool:
        """Whether every record weighed 1."""
        return bool((self.weighted == self.samples).all())

    def check(self, where: str, features: int) -> None:
        """Refuse arrays that are no tree.

        Raises:
            TreeFormatError: lengths differ, a child is out of order or has two parents, or a number cannot be.
        """
        size = len(self.children_left)
        arrays = (self.children_right, self.feature, self.threshold, self.samples, self.weighted)
        if not 0 < size <= limits.NODES:
            raise TreeFormatError(where, f"{size:,} nodes; 1 to {limits.NODES:,} are read")
        if any(len(array) != size for array in (*arrays, self.value)):
            raise TreeFormatError(where, "its arrays have different lengths")
        if not (np.isfinite(self.value).all() and np.isfinite(self.weighted).all()):
            raise TreeFormatError(where, "a value or weight is no finite number")
        if self.value.size > limits.CLASS_NUMBERS or self.value.shape[1] > limits.CLASSES:
            raise TreeFormatError(where, f"more than {limits.CLASSES:,} classes")
        if (self.weighted < 0).any() or (self.samples < 0).any():
            raise TreeFormatError(where, "a node holds fewer than 0 records")
        self._check_shape(where, features)

    def _check_shape(self, where: str, features: int) -> None:
        size = len(self.children_left)
        depths = [0] + [-1] * (size - 1)
        for index in range(size):
            pair = int(self.children_left[index]), int(self.children_right[index])
            if pair == (-1, -1):
                continue
            if depths[index] < 0 or pair[0] == pair[1]:
                raise TreeFormatError(where, f"node {index} has no place in the tree")
            for child in pair:
                if not index < child < size or depths[child] >= 0:
                    raise TreeFormatError(where, f"node {index} has a child {child} that cannot be")
                depths[child] = depths[index] + 1
            if not 0 <= self.feature[index] < features:
                raise TreeFormatError(where, f"node {index} tests feature {self.feature[index]}")
            if math.isnan(self.threshold[index]) or self.threshold[index] == -math.inf:
                raise TreeFormatError(
                    where, f"node {index} has the threshold {self.threshold[index]}"
                )
        if min(depths) < 0:
            raise TreeFormatError(where, f"node {depths.index(-1)} is no child of any node")
        if max(depths) > limits.DEPTH:
            raise TreeFormatError(where, f"more than {limits.DEPTH} tests on one path")


def tree_from_arrays(
    arrays: TreeArrays,
    names: Sequence[str],
    classes: tuple[str, ...],
    *,
    settings: Mapping[str, object],
    target: str = "",
    source: str = "tree",
) -> Tree:
    """Return the tree of checked arrays; ``settings`` are the estimator's, ``classes`` empty for a regression.

    Features compare 32-bit numbers. Counts are people only where no weights were at work; a node is named
    by its number.
    """
    counts = _counts(arrays.value, arrays.weighted) if classes else None
    whole = counts is None or all(is_whole(float(count)) for count in counts.flat)
    tree = Tree(
        nodes=tuple(_nodes(arrays, names, classes, counts, _spreads(arrays, settings))),
        features=tuple(Feature(name, numeric=True, single=True) for name in names),
        target=target,
        classes=classes,
        task=Task.CLASSIFICATION if classes else Task.REGRESSION,
        learner=learner_of(settings, float(arrays.weighted[0]), len(names)),
        quality=Quality.EXACT if arrays.is_unweighted and whole else Quality.WEIGHTED,
        missing=Missing.NONE if arrays.missing_left is None else Missing.DEFAULT_CHILD,
        source=source,
        format="sklearn",
    )
    return rebuilt(tree, tree.nodes)


def class_label(value: object) -> str:
    """Return a class as people write it: ``1``, ``true``, ``setosa``."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return number_text(float(value)) if isinstance(value, float | np.floating) else str(value)


def learner_of(settings: Mapping[str, object], records: float, features: int) -> Learner:
    """Return how a tree was grown, from an estimator's settings (and its ``max_features_``)."""
    smallest, share = settings.get("min_samples_leaf", 1), settings.get("min_weight_fraction_leaf")
    by_count = 1.0
    if isinstance(smallest, int | float | np.number) and 0 < smallest < math.inf:
        is_count = isinstance(smallest, int | np.integer)
        by_count = float(smallest) if is_count else float(smallest) * records
    by_share = share * records if isinstance(share, float) and 0 <= share <= 1 else 0.0
    least = min(max(by_count, by_share), max(records, 1.0))  # no leaf holds more than all
    return Learner(
        criterion=CRITERIA.get(str(settings.get("criterion", ""))),
        min_leaf_records=max(1, math.ceil(least)),
        all_features=settings.get("splitter", "best") == "best"
        and settings.get("max_features_") in (None, features),
        multiway=False,
        tool=Tool.SCIKIT_LEARN,
        unmodelled=tuple(name for name in UNMODELLED if _is_set(settings.get(name))),
    )


def _is_set(setting: object) -> bool:
    """Return whether a setting is given and says something: constraints of 0 on every feature say nothing."""
    if setting is None or isinstance(setting, str | Mapping):
        return setting is not None
    return bool(np.any(np.asarray(setting, dtype=object) != 0))


def _counts(value: Floats, weighted: Floats) -> Floats:
    """Return class counts per node: ``value`` holds fractions since scikit-learn 1.3, counts before."""
    products = value * weighted[:, None] if np.allclose(value.sum(axis=1), 1.0) else value
    rounded = np.round(products)
    return np.where(
        np.abs(products - rounded) <= 1e-6 * np.maximum(1.0, rounded), rounded, products
    )


def _nodes(
    arrays: TreeArrays,
    names: Sequence[str],
    classes: tuple[str, ...],
    counts: Floats | None,
    spreads: Sequence[float] | None,
) -> list[Node]:
    """Return the nodes under scikit-learn's own numbers: each parent before its children."""
    size = len(arrays.children_left)
    tests: list[Predicate] = [Always()] * size
    parents: list[int | None] = [None] * size
    children: list[tuple[int, ...]] = [()] * size
    defaults: list[int | None] = [None] * size
    for index in range(size):
        left, right = int(arrays.children_left[index]), int(arrays.children_right[index])
        if left < 0:
            continue
        children[index] = (left, right)
        parents[left] = parents[right] = index
        if arrays.missing_left is not None:
            defaults[index] = left if arrays.missing_left[index] else right
        tests[left], tests[right] = threshold_tests(
            names[int(arrays.feature[index])], float(arrays.threshold[index])
        )
    value = arrays.value
    return [
        Node(
            index=index,
            name=str(index),
            parent=parents[index],
            children=children[index],
            test=tests[index],
            score=classes[int(value[index].argmax())] if classes else float(value[index, 0]),
            records=float(arrays.weighted[index]),
            class_counts=None if counts is None else tuple(map(float, counts[index])),
            default_child=defaults[index],
            spread=None if classes or spreads is None else (spreads[index], spreads[index]),
        )
        for index in range(size)
    ]


def _spreads(arrays: TreeArrays, settings: Mapping[str, object]) -> list[float] | None:
    """Return each node's mean squared distance from its mean, where its impurity is that."""
    is_square = str(settings.get("criterion", "")) in SQUARED
    if arrays.impurity is None or not is_square or not np.isfinite(arrays.impurity).all():
        return None
    return [float(each) for each in arrays.impurity]


def threshold_tests(name: str, threshold: float) -> tuple[Predicate, Predicate]:
    """Return the tests of both children of a split: at most the threshold, and above it."""
    if threshold == math.inf:  # the split sends every number left and only missing values right
        return MissingTest(name, negated=True), MissingTest(name)
    return (
        NumericTest(name, high=threshold, high_closed=True),
        NumericTest(name, low=threshold),
    )
