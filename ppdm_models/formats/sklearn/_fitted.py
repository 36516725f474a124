"""Turns a fitted scikit-learn tree into a published tree, without importing scikit-learn.

It also tells whether the tree's numbers have exactly the digits that its counts give.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewarden.ppdm_models.arrays import FloatArray, IntArray
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.sklearn._arrays import (
    STOPPING,
    UNMODELLED,
    TreeArrays,
    class_label,
    tree_from_arrays,
)
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
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
            f"{kind} contains no fitted tree; fit a DecisionTreeClassifier or "
            "DecisionTreeRegressor first"
        )
    if int(state.n_outputs) != 1:
        raise TreeFormatError(
            kind, f"the tree predicts {state.n_outputs} outputs; give a tree with one output"
        )
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
        raise ValueError(
            f"{len(labels)} class names were given for {len(found)} classes; give one for each"
        )
    return labels


def _feature_names(estimator: Any, feature_names: Sequence[str] | None, size: int) -> list[str]:  # noqa: ANN401  # see above
    seen: Iterable[object] | None = (
        feature_names
        if feature_names is not None
        else getattr(estimator, "feature_names_in_", None)
    )
    names = [f"x{index}" for index in range(size)] if seen is None else [str(name) for name in seen]
    if len(names) != size:
        raise ValueError(
            f"{len(names)} feature names were given for {size} features; give one for each"
        )
    return names


# The rows of a scikit-learn tree's state, as files hold them: by field name where there are names.

FIELDS = (
    "left_child",
    "right_child",
    "feature",
    "threshold",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
)

Columns = Mapping[str, NDArray[np.generic]]


def arrays_of(
    columns: Columns, values: NDArray[np.generic], where: str, features: int
) -> TreeArrays:
    """Return the checked arrays of a tree from its columns and its nodes x outputs x classes values.

    Raises:
        TreeFormatError: a column is missing or no number, or it predicts several outputs.
    """
    absent = [name for name in FIELDS if name not in columns]
    if absent:
        raise TreeFormatError(where, f"its nodes have no {absent[0]}")
    kinds = {name: columns[name].dtype.kind for name in columns}
    if any(kinds[name] not in "biuf" for name in columns) or values.dtype.kind not in "iuf":
        raise TreeFormatError(where, "a node contains something that is not a number")
    if values.ndim != 3 or values.shape[2] < 1:
        raise TreeFormatError(where, "its values do not have the shape nodes x outputs x classes")
    if values.shape[1] != 1:
        raise TreeFormatError(
            where, f"the tree predicts {values.shape[1]} outputs; give a tree with one output"
        )
    to_left = columns.get("missing_go_to_left")
    arrays = TreeArrays(
        children_left=_whole(columns["left_child"], where),
        children_right=_whole(columns["right_child"], where),
        feature=_whole(columns["feature"], where),
        threshold=columns["threshold"].astype(np.float64),
        samples=_whole(columns["n_node_samples"], where),
        weighted=columns["weighted_n_node_samples"].astype(np.float64),
        value=values[:, 0, :].astype(np.float64),
        missing_left=None if to_left is None else to_left.astype(bool),
        impurity=columns["impurity"].astype(np.float64),
    )
    arrays.check(where, features)
    return arrays


def _whole(column: NDArray[np.generic], where: str) -> IntArray:
    numbers = column.astype(np.float64)
    if not (np.abs(numbers) < 2**53).all() or (numbers != np.round(numbers)).any():
        raise TreeFormatError(where, "a node contains a fraction where a whole number is expected")
    return numbers.astype(np.int64)


# Side channels of every scikit-learn file: a seed, exact sizes, the spread of tiny leaves.


def seed_leak(seed: object, where: str) -> Iterator[Leak]:
    """Yield that training can be repeated, where the seed is a number."""
    if isinstance(seed, int) and not isinstance(seed, bool):
        yield Leak(
            LeakKind.REPLAY,
            where,
            f"random_state {seed} is in the file with all settings: an adversary can repeat the training on "
            "guessed records",
        )


def size_leak(arrays: TreeArrays, where: str) -> Iterator[Leak]:
    """Yield that a weighted tree still tells how many records each leaf holds."""
    if not arrays.is_unweighted:
        smallest = int(arrays.samples[arrays.children_left < 0].min())
        yield Leak(
            LeakKind.SMALL_COUNTS,
            where,
            "n_node_samples counts the records of each leaf, though the classes are weighted",
            records=smallest,
        )


def spread_leak(arrays: TreeArrays, is_regression: bool, where: str) -> Iterator[Leak]:
    """Yield that mean and variance of a leaf of two give both values of the target."""
    leaves = arrays.samples[arrays.children_left < 0]
    if is_regression and arrays.tells_counts and (leaves <= 2).any():
        yield Leak(
            LeakKind.EXACT_TARGETS,
            where,
            "the mean and the impurity of a leaf with 1 or 2 records disclose their exact target values",
            records=int(leaves.min()),
        )


ULP = 4 * float(np.finfo(np.float64).eps)
"""How far a share may be from its counts, relatively; scikit-learn divides once."""
IMPURITY = 1e-12
"""How far an impurity may be from that of its counts."""
MOST_FRACTION = 0.01
"""How far a count may be from a whole number: beyond it records had weights, whose sums happen to be whole."""


def odd_digits(
    arrays: TreeArrays, *, is_class: bool, criterion: object
) -> Iterator[tuple[str, str]]:
    """Yield "nodes" or "values", and what in them whole counts do not give; weighted counts may be any numbers."""
    inner = arrays.children_left >= 0
    left, right = arrays.children_left[inner], arrays.children_right[inner]
    if (arrays.samples[left] + arrays.samples[right] != arrays.samples[inner]).any():
        yield "nodes", "numbers of records that do not add up"
    if not is_class or (arrays.weighted != np.round(arrays.weighted)).any():
        return
    value, weighted = arrays.value, arrays.weighted[:, None]
    if not weighted.any():
        if not ((value == 0) | (value == 1)).all():
            yield "values", "class shares of nodes without records"
        return
    if (arrays.samples > arrays.weighted).any() or not weighted.all():
        yield "nodes", "more records in a node than were drawn for it, or a node without records"
        return
    are_shares = bool(np.allclose(value.sum(axis=1), 1.0)) and value.max() <= 1
    counts = value * weighted if are_shares else value
    whole = np.round(counts)
    if (np.abs(counts - whole) > MOST_FRACTION).any():
        return
    exact = whole / weighted if are_shares else whole
    if (np.abs(value - exact) > ULP * np.maximum(exact, ULP)).any():
        yield "values", "digits of class shares that no counts give"
    if arrays.impurity is None:
        return
    expected = _impurity(whole / weighted, criterion)
    if expected is None or (np.abs(arrays.impurity - expected) > IMPURITY).any():
        yield "nodes", "impurities that are not those of the class counts"


def _impurity(shares: FloatArray, criterion: object) -> FloatArray | None:
    """Return the impurity of each node, (n,), None for a criterion that is not known."""
    if criterion == "gini":
        squares: FloatArray = (shares**2).sum(axis=1)
        return 1.0 - squares
    if criterion not in ("entropy", "log_loss"):
        return None
    entropies: FloatArray = -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1)
    return entropies
