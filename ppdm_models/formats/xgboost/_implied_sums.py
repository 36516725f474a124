"""Whether the weights and gains of inner nodes of an XGBoost file follow from its leaves, or hold more.

With the second derivatives H of a node, its weight is w = -T(G) / (H + lambda), T(G) the sum of its gradients G after
the L1 penalty alpha; a leaf has the value eta w, and a split gains the sum of w^2 (H + lambda) over its children less
that of its node (Chen and Guestrin 2016, equations 5 and 7). G adds up over children. So few settings (eta, lambda,
alpha) must explain the numbers of all nodes; where none do, the numbers tell more of the training than the leaves.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray

TOLERANCE = 1e-5
"""How far sums of numbers of 32 bits may be from each other, relatively."""
USUAL_RATES = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01)
USUAL_RIDGES = (1.0, 0.0, 10.0, 5.0, 2.0, 0.1)
USUAL_LASSOS = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0)
DIGITS = (1, 2, 3)
"""Digits of a setting that somebody chose; only many nodes can show one of more."""
MOST_TRIED = 2_000
"""Inner nodes on which settings are tried first: what explains all of them must explain these."""
FEWEST_NODES = 16
"""Inner nodes that show settings of many digits: four settings explain any numbers of four."""
LARGEST = int(sys.float_info.max)
COLUMNS = ("base_weights", "loss_changes")


@dataclass(frozen=True, slots=True)
class _InnerNodes:
    """The inner nodes (n,) of all trees, each with two children (n, 2); ``weights`` of leaves are their values."""

    weights: FloatArray
    sums: FloatArray
    gains: FloatArray
    child_weights: FloatArray
    child_sums: FloatArray
    is_leaf: BoolArray
    is_weight_told: bool
    is_gain_told: bool


@dataclass(frozen=True, slots=True)
class _Settings:
    """What the leaves were shrunk by: 1 / eta, lambda and alpha."""

    inverse_rate: float
    ridge: float
    lasso: float = 0.0


def are_told(trees: Sequence[Mapping[str, object]]) -> bool:
    """Return whether a tree holds a weight or gain of a node that is no 0; trees of vectors hold their leaves there."""
    return any(
        any(_column(tree, name)) for tree in trees if not _has_vectors(tree) for name in COLUMNS
    )


def are_implied(trees: Sequence[Mapping[str, object]]) -> bool:
    """Return whether some settings explain all weights and gains of nodes by the leaves and sums of the trees."""
    plain = [tree for tree in trees if not _has_vectors(tree)]
    if not all(map(_has_numbers, plain)):
        return True  # told as unknown content
    if not all(map(_has_floats, plain)) or not all(map(_is_leaf_weight_told, plain)):
        return False
    if not any(child != -1 for tree in plain for child in _column(tree, "left_children")):
        return True
    nodes = _inner_nodes(plain)
    if nodes is None:
        return False
    if not (nodes.is_weight_told or nodes.is_gain_told):
        return True
    few = _first_nodes(nodes, MOST_TRIED)
    return any(
        _explains(settings, few) and _explains(settings, nodes) for settings in _candidates(nodes)
    )


def clear(trees: Sequence[dict[str, object]]) -> None:
    """Set the weights and gains of all nodes to 0, which the library loads; predictions use neither."""
    for tree in trees:
        if not _has_vectors(tree):
            for name in COLUMNS:
                tree[name] = [0.0] * len(_column(tree, name))


def _column(tree: Mapping[str, object], name: str) -> list[float]:
    column = tree.get(name, [])
    return column if isinstance(column, list) else []


def _has_floats(tree: Mapping[str, object]) -> bool:
    """Return whether no integer of a tree is beyond all floats."""
    names = (*COLUMNS, "sum_hessian", "split_conditions")
    return all(
        abs(each) <= LARGEST for name in names for each in _column(tree, name) if type(each) is int
    )


def _has_numbers(tree: Mapping[str, object]) -> bool:
    names = (*COLUMNS, "sum_hessian", "split_conditions")
    return all(type(each) in (int, float) for name in names for each in _column(tree, name))


def _has_vectors(tree: Mapping[str, object]) -> bool:
    return len(_column(tree, "base_weights")) not in (0, len(_column(tree, "left_children")))


def _is_leaf_weight_told(tree: Mapping[str, object]) -> bool:
    """Return whether the weights of leaves are their values, with or without the shrinkage, or nothing."""
    weights = np.array(_column(tree, "base_weights"), dtype=np.float64)
    if not weights.any():
        return True
    is_leaf = np.array(_column(tree, "left_children")) == -1
    told = weights[is_leaf]
    values = np.array(_column(tree, "split_conditions"), dtype=np.float64)[is_leaf]
    if np.array_equal(told, values):
        return True
    largest = int(np.abs(told).argmax())
    rate = values[largest] / told[largest] if told[largest] else 0.0
    return bool((np.abs(values - rate * told) <= TOLERANCE * np.abs(values)).all())


def _inner_nodes(trees: Sequence[Mapping[str, object]]) -> _InnerNodes | None:
    """Return the inner nodes of trees; None where there are none, or not all numbers of them."""
    parts: list[tuple[FloatArray, ...]] = []
    leaf_marks: list[BoolArray] = []
    for tree in trees:
        left = np.array(_column(tree, "left_children"), dtype=np.int64)
        right = np.array(_column(tree, "right_children"), dtype=np.int64)
        inner = np.flatnonzero(left != -1)
        if not len(inner):
            continue
        names = ("base_weights", "loss_changes", "sum_hessian", "split_conditions")
        numbers = [np.array(_column(tree, name), dtype=np.float64) for name in names]
        numbers = [each if len(each) else np.zeros(len(left)) for each in numbers]
        if any(len(each) != len(left) for each in numbers):
            return None
        numbers[-1] = np.where(left == -1, numbers[-1], 0.0)  # a set of categories has no threshold
        if not all(np.isfinite(each).all() for each in numbers):
            return None
        weights, gains, sums, values = numbers
        children = np.stack([left[inner], right[inner]], axis=1)
        is_leaf = left[children] == -1
        below = np.where(is_leaf, values[children], weights[children])
        parts.append((weights[inner], sums[inner], gains[inner], below, sums[children]))
        leaf_marks.append(is_leaf)
    if not parts:
        return None
    weights, sums, gains, below, sums_below = (
        np.concatenate(each) for each in zip(*parts, strict=True)
    )
    return _InnerNodes(
        weights=weights,
        sums=sums,
        gains=gains,
        child_weights=below,
        child_sums=sums_below,
        is_leaf=np.concatenate(leaf_marks),
        is_weight_told=bool(weights.any()),
        is_gain_told=bool(gains.any()),
    )


def _candidates(nodes: _InnerNodes) -> Iterator[_Settings]:
    """Yield settings that may explain the numbers: usual ones, and those that fit best, rounded and as they are."""
    for rate, ridge, lasso in product(USUAL_RATES, USUAL_RIDGES, USUAL_LASSOS):
        yield _Settings(1 / rate, ridge, lasso)
    for with_lasso in (False, True):
        fitted = _fitted(nodes, with_lasso)
        if fitted is None:
            continue
        for digits in DIGITS:
            numbers = (1 / fitted.inverse_rate, fitted.ridge, fitted.lasso)
            rate, ridge, lasso = (float(f"{number:.{digits - 1}e}") for number in numbers)
            yield _Settings(1 / rate, ridge, lasso)
        if len(nodes.weights) >= FEWEST_NODES:
            yield fitted


def _first_nodes(nodes: _InnerNodes, size: int) -> _InnerNodes:
    return replace(
        nodes,
        weights=nodes.weights[:size],
        sums=nodes.sums[:size],
        gains=nodes.gains[:size],
        child_weights=nodes.child_weights[:size],
        child_sums=nodes.child_sums[:size],
        is_leaf=nodes.is_leaf[:size],
    )


def _fitted(nodes: _InnerNodes, with_lasso: bool) -> _Settings | None:
    """Return the settings that fit best by least squares: linear in lambda, 1 / eta, their product and alpha."""
    inner, leaf = ~nodes.is_leaf, nodes.is_leaf
    weighted = nodes.child_weights * nodes.child_sums
    columns = [
        (nodes.child_weights * inner).sum(axis=1) - nodes.weights,
        (weighted * leaf).sum(axis=1),
        (nodes.child_weights * leaf).sum(axis=1),
    ]
    if with_lasso:
        columns.append(np.sign(nodes.child_weights).sum(axis=1) - np.sign(nodes.weights))
    right = nodes.weights * nodes.sums - (weighted * inner).sum(axis=1)
    matrix = np.stack(columns, axis=1)
    scale = np.abs(weighted).sum(axis=1) + np.abs(nodes.weights * nodes.sums)
    scale[scale == 0] = 1.0
    if with_lasso:  # what the penalty took away in full says nothing
        is_cut = (nodes.child_weights == 0).any(axis=1) | (nodes.weights == 0)
        matrix, right, scale = matrix[~is_cut], right[~is_cut], scale[~is_cut]
    try:
        found, *_ = np.linalg.lstsq(matrix / scale[:, None], right / scale, rcond=None)
    except np.linalg.LinAlgError:
        return None
    ridge, inverse, _, *lasso = found.tolist()
    if not inverse > 0 or not np.isfinite(found).all():
        return None
    return _Settings(inverse, max(ridge, 0.0), max(lasso[0], 0.0) if lasso else 0.0)


def _explains(settings: _Settings, nodes: _InnerNodes) -> bool:
    """Return whether gradients add up, and splits gain what they should, under some settings."""
    scales = np.where(nodes.is_leaf, settings.inverse_rate, 1.0)
    weights = nodes.child_weights * scales
    below = weights * (nodes.child_sums + settings.ridge) + settings.lasso * np.sign(weights)
    here = nodes.weights * (nodes.sums + settings.ridge) + settings.lasso * np.sign(nodes.weights)
    size = np.abs(below).sum(axis=1) + np.abs(here)
    # Of a weight of 0 it is known that the penalty took all of its gradients away: they are no larger.
    cut = settings.lasso * ((weights == 0).sum(axis=1) + (nodes.weights == 0))
    if nodes.is_weight_told:
        off = np.abs(below.sum(axis=1) - here)
        if (off > TOLERANCE * size + cut).any():
            return False
    if not nodes.is_gain_told:
        return True
    gained = weights**2 * (nodes.child_sums + settings.ridge)
    before = nodes.weights**2 * (nodes.sums + settings.ridge)
    if not nodes.is_weight_told:
        return False  # a gain alone tells what the weight of its node is
    off = np.abs(gained.sum(axis=1) - before - nodes.gains)
    return bool((off <= TOLERANCE * (gained.sum(axis=1) + before)).all())
