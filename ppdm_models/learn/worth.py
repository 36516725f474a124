"""How good a split is: a function of what its branches add up to, and of nothing else.

Two splits that send the same records apart have the same worth to the last bit, whatever the values that are compared
and whatever the order of the records. The impurity decrease is computed from whole numbers: by gini and variance with
one rounding per operation, by entropy from a table of n log n in fixed point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.learn.response import Response

CRITERIA = ("gini", "entropy", "gain-ratio", "variance")
FIXED_POINT = 2.0**24
"""Steps per nat: n log n of a million records stays exact in a float."""


@dataclass(frozen=True, slots=True)
class Worth:
    """Compares candidates under one criterion; ``logs`` holds n log n for n up to the number of records (entropy)."""

    criterion: str
    logs: FloatArray

    def gains(self, total: FloatArray, branches: FloatArray) -> FloatArray:
        """Return the impurity decrease times records, shape (candidates,); ``branches`` is (candidates, b, m)."""
        if self.criterion == "variance":
            centre = np.array([0.0, np.round(total[1] / total[0])])
            total = total - centre * total[0]
            branches = branches - centre * branches[..., :1]
        gains: FloatArray = self._purity(branches).sum(axis=-1) - self._purity(total[None])[0]
        return gains

    def ranks(self, branches: FloatArray, gains: FloatArray) -> FloatArray:
        """Return what candidates of one node are compared by: the gain, or its ratio to the split's own information."""
        if self.criterion != "gain-ratio":
            return gains
        sizes = branches.sum(axis=-1).astype(np.intp)
        split = self.logs[sizes.sum(axis=-1)] - self.logs[sizes].sum(axis=-1)
        ranks: FloatArray = gains / np.maximum(split, 1.0)
        return ranks

    def _purity(self, sums: FloatArray) -> FloatArray:
        """Return records times purity, up to what is the same for every split of a node; 0 where there are none."""
        if self.criterion in ("entropy", "gain-ratio"):
            counts = sums.astype(np.intp)
            pure: FloatArray = self.logs[counts].sum(axis=-1) - self.logs[counts.sum(axis=-1)]
            return pure
        if self.criterion == "gini":
            size, square = sums.sum(axis=-1), (sums**2).sum(axis=-1)
        else:
            size, square = sums[..., 0], sums[..., 1] ** 2
        purity: FloatArray = np.divide(square, size, out=np.zeros_like(size), where=size > 0)
        return purity


def worth_of(criterion: str, response: Response) -> Worth:
    """Return the comparison of candidates for a response under a criterion."""
    logs = [0.0]
    if criterion in ("entropy", "gain-ratio"):
        logs += [
            float(round(n * math.log(n) * FIXED_POINT)) for n in range(1, len(response.values) + 1)
        ]
    return Worth(criterion, np.array(logs))


def informative(total: FloatArray, branches: FloatArray, by_class: bool) -> BoolArray:
    """Return whether any branch differs from the node in its class shares or mean: decided in whole numbers.

    All criteria are strictly concave, so exactly these candidates lower the impurity.
    """
    if not by_class:
        apart = branches[..., 1] * total[0] != branches[..., 0] * total[1]
        return np.asarray(apart.any(axis=-1))
    sizes = branches.sum(axis=-1, keepdims=True)
    return np.asarray((branches * total.sum() != sizes * total).any(axis=(-1, -2)))
