"""Turns a fitted scikit-learn tree into a published tree; scikit-learn itself is not needed for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppdm_models.consistency import is_whole
from ppdm_models.errors import TreeFormatError
from ppdm_models.predicate import Always, MissingTest, NumericTest, Predicate, number_text
from ppdm_models.tree import (
    Criterion,
    Feature,
    Learner,
    Missing,
    Node,
    Quality,
    Task,
    Tree,
    rebuilt,
)

CRITERIA = {
    "gini": Criterion.GINI,
    "entropy": Criterion.ENTROPY,
    "log_loss": Criterion.ENTROPY,
}


def from_sklearn(
    estimator: Any,  # noqa: ANN401  # any estimator with a fitted tree_: scikit-learn is no dependency
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    target: str = "class",
) -> Tree:
    """Return a fitted decision tree (or extra tree, or one tree of a forest) as scikit-learn applies it.

    ``class_names`` follow ``estimator.classes_``. Features compare 32-bit numbers; a missing value goes where the model
    sends it (the node's default child). Counts are people only where no sample or class weights were at work. A node is
    named by scikit-learn's number for it.

    Raises:
        TypeError: the estimator has no fitted tree.
        ValueError: there are not as many names as features or classes.
        TreeFormatError: the estimator predicts several outputs.
    """
    state = getattr(estimator, "tree_", None)
    kind = type(estimator).__name__
    if state is None:
        raise TypeError(
            f"{kind} holds no fitted tree; fit a DecisionTreeClassifier or DecisionTreeRegressor first"
        )
    if int(state.n_outputs) != 1:
        raise TreeFormatError(kind, f"predicts {state.n_outputs} outputs; give a tree with one")
    classes = _classes(estimator, class_names)
    names = _feature_names(estimator, feature_names, int(state.n_features))
    weighted = np.asarray(state.weighted_n_node_samples, dtype=np.float64)
    value = np.asarray(state.value, dtype=np.float64)[:, 0, :]
    counts = _counts(value, weighted) if classes else None
    nodes = _nodes(state, names, classes, weighted, value, counts)
    unweighted = bool((weighted == np.asarray(state.n_node_samples)).all())
    whole = counts is None or all(is_whole(float(count)) for count in counts.flat)
    tree = Tree(
        nodes=tuple(nodes),
        features=tuple(Feature(name, numeric=True, single=True) for name in names),
        target=target,
        classes=classes,
        task=Task.CLASSIFICATION if classes else Task.REGRESSION,
        learner=_learner(estimator, float(weighted[0]), int(state.n_features)),
        quality=Quality.EXACT if unweighted and whole else Quality.WEIGHTED,
        missing=Missing.DEFAULT_CHILD if hasattr(state, "missing_go_to_left") else Missing.NONE,
        source=kind,
        format="sklearn",
    )
    return rebuilt(tree, tree.nodes)


def _classes(estimator: Any, class_names: Sequence[str] | None) -> tuple[str, ...]:  # noqa: ANN401  # see from_sklearn
    found = getattr(estimator, "classes_", None)
    if found is None:
        return ()
    labels = (
        tuple(_label(value) for value in found)
        if class_names is None
        else tuple(map(str, class_names))
    )
    if len(labels) != len(found):
        raise ValueError(f"{len(labels)} class names for {len(found)} classes")
    return labels


def _label(value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return number_text(float(value)) if isinstance(value, float | np.floating) else str(value)


def _feature_names(estimator: Any, given: Sequence[str] | None, size: int) -> list[str]:  # noqa: ANN401  # see above
    seen: Iterable[object] | None = (
        given if given is not None else getattr(estimator, "feature_names_in_", None)
    )
    names = [f"x{index}" for index in range(size)] if seen is None else [str(name) for name in seen]
    if len(names) != size:
        raise ValueError(f"{len(names)} feature names for {size} features")
    return names


def _counts(value: NDArray[np.float64], weighted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return class counts per node: ``value`` holds fractions since scikit-learn 1.3, counts before."""
    products = value * weighted[:, None] if np.allclose(value.sum(axis=1), 1.0) else value
    rounded = np.round(products)
    return np.where(
        np.abs(products - rounded) <= 1e-6 * np.maximum(1.0, rounded), rounded, products
    )


def _nodes(
    state: Any,  # noqa: ANN401  # see from_sklearn
    names: Sequence[str],
    classes: tuple[str, ...],
    weighted: NDArray[np.float64],
    value: NDArray[np.float64],
    counts: NDArray[np.float64] | None,
) -> list[Node]:
    """Return the nodes under scikit-learn's own numbers: each parent before its children."""
    size = int(state.node_count)
    to_left = getattr(state, "missing_go_to_left", np.zeros(size, dtype=bool))
    tests: list[Predicate] = [Always()] * size
    parents: list[int | None] = [None] * size
    children: list[tuple[int, ...]] = [()] * size
    for index in range(size):
        left, right = int(state.children_left[index]), int(state.children_right[index])
        if left < 0:
            continue
        children[index] = (left, right)
        parents[left] = parents[right] = index
        tests[left], tests[right] = _tests(
            names[int(state.feature[index])], float(state.threshold[index])
        )
    by_default = hasattr(state, "missing_go_to_left")
    return [
        Node(
            index=index,
            name=str(index),
            parent=parents[index],
            children=children[index],
            test=tests[index],
            score=classes[int(value[index].argmax())] if classes else float(value[index, 0]),
            records=float(weighted[index]),
            class_counts=None if counts is None else tuple(map(float, counts[index])),
            default_child=children[index][0 if to_left[index] else 1]
            if by_default and children[index]
            else None,
        )
        for index in range(size)
    ]


def _tests(name: str, threshold: float) -> tuple[Predicate, Predicate]:
    if threshold == math.inf:  # the split sends every number left and only missing values right
        return MissingTest(name, negated=True), MissingTest(name)
    return (
        NumericTest(name, high=threshold, high_closed=True),
        NumericTest(name, low=threshold),
    )


def _learner(estimator: Any, records: float, features: int) -> Learner:  # noqa: ANN401  # see from_sklearn
    smallest = getattr(estimator, "min_samples_leaf", 1)
    share = getattr(estimator, "min_weight_fraction_leaf", 0.0)
    by_count = smallest if isinstance(smallest, int | np.integer) else math.ceil(smallest * records)
    looked_at = getattr(estimator, "max_features_", None)
    return Learner(
        criterion=CRITERIA.get(str(getattr(estimator, "criterion", ""))),
        min_leaf_records=max(1, int(by_count), math.ceil(share * records)),
        all_features=getattr(estimator, "splitter", "best") == "best"
        and looked_at in (None, features),
        multiway=False,
    )
