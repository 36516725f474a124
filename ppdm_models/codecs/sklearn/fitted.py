"""Turns a fitted scikit-learn tree into a published tree; scikit-learn itself is not needed for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from treewarden.ppdm_models.codecs.sklearn.arrays import (
    STOPPING,
    UNMODELLED,
    TreeArrays,
    class_label,
    tree_from_arrays,
)
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.tree.tree import Tree

SETTINGS = (
    "criterion",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "splitter",
    "max_features_",
    *UNMODELLED,
    *STOPPING,
)


def from_sklearn(
    estimator: Any,  # noqa: ANN401  # any estimator with a fitted tree_: scikit-learn is no dependency
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    target: str = "",
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
    settings = {name: getattr(estimator, name) for name in SETTINGS if hasattr(estimator, name)}
    return tree_from_arrays(
        _arrays(state),
        _feature_names(estimator, feature_names, int(state.n_features)),
        _classes(estimator, class_names),
        settings=settings,
        target=target,
        source=kind,
    )


def _arrays(state: Any) -> TreeArrays:  # noqa: ANN401  # see from_sklearn
    to_left = getattr(state, "missing_go_to_left", None)
    impurity = getattr(state, "impurity", None)
    return TreeArrays(
        children_left=np.asarray(state.children_left, dtype=np.int64),
        children_right=np.asarray(state.children_right, dtype=np.int64),
        feature=np.asarray(state.feature, dtype=np.int64),
        threshold=np.asarray(state.threshold, dtype=np.float64),
        samples=np.asarray(state.n_node_samples, dtype=np.int64),
        weighted=np.asarray(state.weighted_n_node_samples, dtype=np.float64),
        value=np.asarray(state.value, dtype=np.float64)[:, 0, :],
        missing_left=None if to_left is None else np.asarray(to_left, dtype=bool),
        impurity=None if impurity is None else np.asarray(impurity, dtype=np.float64),
    )


def _classes(estimator: Any, class_names: Sequence[str] | None) -> tuple[str, ...]:  # noqa: ANN401  # see from_sklearn
    found = getattr(estimator, "classes_", None)
    if found is None:
        return ()
    labels = (
        tuple(class_label(value) for value in found)
        if class_names is None
        else tuple(map(str, class_names))
    )
    if len(labels) != len(found):
        raise ValueError(f"{len(labels)} class names for {len(found)} classes")
    return labels


def _feature_names(estimator: Any, given: Sequence[str] | None, size: int) -> list[str]:  # noqa: ANN401  # see above
    seen: Iterable[object] | None = (
        given if given is not None else getattr(estimator, "feature_names_in_", None)
    )
    names = [f"x{index}" for index in range(size)] if seen is None else [str(name) for name in seen]
    if len(names) != size:
        raise ValueError(f"{len(names)} feature names for {size} features")
    return names
