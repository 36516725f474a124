"""Whether the values and weights of inner nodes of a LightGBM file follow from its leaves, or hold more.

A node has the value -G / (H + lambda), shrunk and moved by the start, and G and H add up over children (Ke et al.
2017); children of a split on several categories are made under lambda + cat_l2. The library prints six digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IntArray
from treewarden.ppdm_models.formats.lightgbm._arrays import CATEGORICAL
from treewarden.ppdm_models.formats.lightgbm._lines import LightgbmLines, TreeLines

TOLERANCE = 2e-5
"""How far sums of numbers of six digits may be from each other, relatively."""
SHORT = re.compile(
    r"-?(?=(?:\d\.?){1,6}(?:e|\Z)|0\.0*\d{1,6}(?:e|\Z))\d+(?:\.\d+)?(?:e[-+]\d{2,3})?"
)
"""A number of six digits."""
USUAL_RIDGES = (0.0, 1.0, 0.1, 0.5, 5.0, 10.0)
USUAL_EXTRAS = (10.0, 0.0)
"""What lambda_l2 and cat_l2 mostly are, where a file does not say it."""
VALUES, WEIGHTS = "internal_value", "internal_weight"


def unexplained_lines(document: LightgbmLines) -> Iterator[int]:
    """Yield the lines of inner nodes' values and weights that no leaf explains."""
    for block in document.trees:
        told = [key for key in (VALUES, WEIGHTS) if document.said(key, block.keys)]
        if told and not (_are_short(document, block, told) and _are_implied(document, block)):
            yield from (block.keys[key] for key in told)


def _are_short(document: LightgbmLines, block: TreeLines, keys: Sequence[str]) -> bool:
    """Return whether numbers have no more digits than the library prints."""
    entries = (entry for key in keys for entry in (document.said(key, block.keys) or "").split())
    return all(map(SHORT.fullmatch, entries))


def _are_implied(document: LightgbmLines, block: TreeLines) -> bool:
    """Return whether what a checked tree says of its inner nodes follows from its leaves."""
    if document.said("is_linear", block.keys) == "1":
        return False
    left, right, types = (
        _numbers(document, key, block).astype(np.int64)
        for key in ("left_child", "right_child", "decision_type")
    )
    values, weights, leaf_values, leaf_weights = (
        _numbers(document, key, block) for key in (VALUES, WEIGHTS, "leaf_value", "leaf_weight")
    )
    size = len(left)
    if not size:
        return True
    if any(len(each) not in (0, size) for each in (values, weights)):
        return False
    if len(leaf_weights) != size + 1 or len(leaf_values) != size + 1 or len(types) != size:
        return not values.any() and not weights.any()
    children = np.stack([left, right], axis=1)
    summed = _summed(children, leaf_weights)
    if len(weights) and not _are_near(weights, summed):
        return False
    if not len(values):
        return True
    sums = np.concatenate([summed, leaf_weights[::-1]])  # -1 is the first leaf, so it stands last
    below = np.concatenate([values, leaf_values[::-1]])
    listed = set(np.flatnonzero(types & CATEGORICAL).tolist())
    lassos = {rate * _setting(document, "lambda_l1") for rate in _rates(document, block)}
    return any(
        _explains(
            children, _NodeNumbers(sums, below, start, lasso), ridge, dict.fromkeys(listed, extra)
        )
        for ridge, extra, start, lasso in product(
            *_settings(document, bool(listed)), {0.0, values[0]}, lassos
        )
    )


def _numbers(document: LightgbmLines, key: str, block: TreeLines) -> FloatArray:
    return np.array((document.said(key, block.keys) or "").split(), dtype=np.float64)


def _settings(
    document: LightgbmLines, has_lists: bool
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return what lambda_l2 and cat_l2 may be."""
    found = []
    for key, usual in (("lambda_l2", USUAL_RIDGES), ("cat_l2", USUAL_EXTRAS)):
        said = document.setting(key)
        try:
            found.append((float(said),) if said else usual)
        except ValueError:
            found.append(usual)
    return found[0], (*found[1], 0.0) if has_lists else (0.0,)


def _rates(document: LightgbmLines, block: TreeLines) -> set[float]:
    """Return what a tree may have been shrunk by: the library says 1 of one that a start was added to."""
    said = document.said("shrinkage", block.keys) or ""
    return {_setting(document, "learning_rate"), float(said) if SHORT.fullmatch(said) else 1.0}


def _setting(document: LightgbmLines, key: str) -> float:
    said = document.setting(key) or ""
    return float(said) if SHORT.fullmatch(said) else 0.0


def _summed(children: IntArray, leaf_weights: FloatArray) -> FloatArray:
    """Return the weights of inner nodes, (n,), each of which stands before those below it."""
    summed = np.zeros(len(children))
    for node in range(len(children) - 1, -1, -1):
        for child in children[node].tolist():
            summed[node] += summed[child] if child >= 0 else leaf_weights[~child]
    return summed


def _are_near(weights: FloatArray, summed: FloatArray) -> bool:
    return bool((np.abs(weights - summed) <= TOLERANCE * np.maximum(np.abs(weights), summed)).all())


@dataclass(frozen=True, slots=True)
class _NodeNumbers:
    """The sums of second derivatives and the values of all nodes, inner ones first.

    ``start`` is what was added to all values, ``lasso`` what the L1 penalty took from each sum of gradients, shrunk.
    """

    sums: FloatArray
    values: FloatArray
    start: float
    lasso: float


def _explains(
    children: IntArray, numbers: _NodeNumbers, ridge: float, extra: Mapping[int, float]
) -> bool:
    """Return whether sums of gradients add up at every inner node; ``extra`` may be added for children of some."""
    ridges = np.full(len(numbers.sums), ridge)
    for node in sorted(extra):  # parents before children: each but the first knows its own
        for more in (extra[node], 0.0):
            ridges[children[node]] = ridge + more
            if _adds_up(children[node : node + 1], numbers, ridges, first=node):
                break
    return _adds_up(children, numbers, ridges, first=0)


def _adds_up(children: IntArray, numbers: _NodeNumbers, ridges: FloatArray, first: int) -> bool:
    """Return whether gradients of children are those of their nodes, which stand one behind the other."""
    nodes = slice(first, first + len(children))
    weights = numbers.sums + ridges
    steps = numbers.values - numbers.start
    gradients = steps * weights + numbers.lasso * np.sign(steps)
    sizes = (np.abs(numbers.values) + abs(numbers.start)) * weights
    off = np.abs(gradients[children].sum(axis=1) - gradients[nodes])
    # Of a step of 0 it is known that the penalty took all of its gradients away: they are no larger.
    cut = numbers.lasso * ((steps[children] == 0).sum(axis=1) + (steps[nodes] == 0))
    return bool((off <= TOLERANCE * (sizes[children].sum(axis=1) + sizes[nodes]) + cut).all())
