"""Leaf values that hold one step for all classes at once, by the softmax loss: how many of a leaf have each class.

A gradient step is v_k = eta * (S_k - sum p_k) / (people + l2), one class apart from the other. Newton's is the solution
of (H + l2) v = eta * (S - sum p) with the sums of second derivatives H_kj = sum p_k ([k = j] - p_j): S follows by
putting v in, without solving anything. Newer versions of CatBoost take at least 2^-23 times the largest entry of H's
diagonal for l2 (``hessian.cpp``), older ones did not: where that is more than l2, either may be true. What a library's
own solution leaves over is small next to its terms, however near to singular H + l2 is (Higham 2002, theorem 10.4).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.audit.inverters._bounds import Bounds, exactly, variance
from treewarden.audit.inverters._rounds import DOUBLE, SINGLE, Leafs, column
from treewarden.ppdm_models.arrays import FloatArray


def newton_step(
    leaves: Sequence[Leafs], shares: Bounds, people: FloatArray, eta: float, ridge: float
) -> list[Bounds]:
    """Return the number of people with each class by leaf, (L,) each, where values are Newton's step for all classes.

    ``shares`` (P, K) are everybody's probabilities before the step; ``leaves`` are one entry per class.
    """
    steps = [each.values.times(1 / eta) for each in leaves]
    place, classes = leaves[0].place, len(leaves)
    mean = exactly(np.zeros(len(people)))
    for output, step in enumerate(steps):
        mean = mean + column(shares, output) * step.at(place)
    largest = sum(np.maximum(np.abs(step.low), np.abs(step.high)) for step in steps)
    rounded = _rounding(people) * (1 + largest)
    # The residual of a solution by Cholesky's factors is at most so many roundings of the largest entry times it.
    left = (3 * classes + 8) * 2 * DOUBLE * (leaves[0].people / 4 + ridge) * largest
    least = _largest_curve(leaves[0], shares, people) * SINGLE * 2 * (1 + 2.0**-20)
    ridges = Bounds(np.full(len(least), ridge), np.maximum(ridge, least))
    found = []
    for output, (each, step) in enumerate(zip(leaves, steps, strict=True)):
        own = column(shares, output)
        # Of sum_j p_k ([k = j] - p_j) v_j each person adds p_k (v_k - sum_j p_j v_j).
        added = own + own * (step.at(place) - mean)
        found.append((each.summed(added, people) + step * ridges).wider(rounded + left))
    return found


def _largest_curve(leaves: Leafs, shares: Bounds, people: FloatArray) -> FloatArray:
    """Return the largest sum of p (1 - p) of a class by leaf, (L,)."""
    classes = range(shares.low.shape[1])
    curves = [leaves.summed(variance(column(shares, each)), people).high for each in classes]
    return np.asarray(np.maximum.reduce(curves))


def gradient_step(
    leaves: Sequence[Leafs], shares: Bounds, people: FloatArray, eta: float, ridge: float
) -> list[Bounds]:
    """Return the number of people with each class by leaf, (L,) each, where values are one gradient step."""
    found = []
    for output, each in enumerate(leaves):
        labels = each.summed(column(shares, output), people).wider(_rounding(people))
        moved = each.values.times(1 / eta) * exactly(each.people).plus(ridge)
        found.append(labels + moved)
    return found


def _rounding(people: FloatArray) -> float:
    """Return how far the library's sums of numbers of at most 1 over all people may be off."""
    return float(4 * DOUBLE * people.sum() ** 2)
