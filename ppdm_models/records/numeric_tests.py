"""What the tests of a model compare one of its numbers with."""

from __future__ import annotations

import math
from collections.abc import Iterator

from treewarden.ppdm_models.tree.ensemble import Model, trees_of
from treewarden.ppdm_models.tree.predicate import NumericTest, atoms


def parts_zero_from_one(model: Model, feature: str) -> bool:
    """Return whether each test of a model on a feature answers otherwise of 0 than of 1."""
    return all(map(_parts, _tests_on(model, feature)))


def compared_with(model: Model, feature: str) -> set[float]:
    """Return the finite numbers that a model's tests compare a feature with."""
    ends = (end for test in _tests_on(model, feature) for end in (test.low, test.high))
    return {end for end in ends if math.isfinite(end)}


def _tests_on(model: Model, feature: str) -> Iterator[NumericTest]:
    for tree in trees_of(model):
        for node in tree.nodes:
            for part in atoms(node.test):
                if isinstance(part, NumericTest) and part.feature == feature:
                    yield part


def _parts(test: NumericTest) -> bool:
    parts_below = test.low == -math.inf or _is_between(test.low, is_above=test.low_closed)
    parts_above = test.high == math.inf or _is_between(test.high, is_above=not test.high_closed)
    return parts_below and parts_above


def _is_between(end: float, *, is_above: bool) -> bool:
    """Return whether an end parts 0 from 1: it belongs to what is above it, or to what is below."""
    return 0 < end <= 1 if is_above else 0 <= end < 1
