"""What a tree predicts, in whole numbers, so that the sums of a node do not depend on the order of its records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.errors import LearnerError
from treewarden.ppdm_models.tree.tree import Task

MOST_DECIMALS = 9
LARGEST_PRODUCT = 2.0**53
"""Whole numbers up to here are exact as floats: sums of the response, also times a number of records."""


@dataclass(frozen=True, slots=True)
class Response:
    """The predicted column of N records.

    ``values`` has shape (N,): codes into ``classes``, or (regression, no classes) whole numbers of steps,
    where one step is ``1 / per_unit``.
    """

    name: str
    values: IntArray
    classes: tuple[str, ...] = ()
    per_unit: int = 1

    @property
    def task(self) -> Task:
        """Whether classes or numbers are predicted."""
        return Task.CLASSIFICATION if self.classes else Task.REGRESSION

    def sums(self, rows: IndexArray, cells: IndexArray | IntArray, size: int) -> FloatArray:
        """Return what the records of each cell add up to: class counts, (size, m), or count and sum, (size, 2)."""
        here = self.values[rows]
        if self.classes:
            width = len(self.classes)
            flat = np.bincount(cells * width + here, minlength=size * width)
            return flat.reshape(size, width).astype(np.float64)
        counts = np.bincount(cells, minlength=size).astype(np.float64)
        return np.stack([counts, np.bincount(cells, weights=here, minlength=size)], axis=1)

    def score(self, total: FloatArray) -> str | float:
        """Return what a leaf with these sums predicts: the most frequent class, the first of several, or the mean."""
        if self.classes:
            return self.classes[int(np.argmax(total))]
        return float(Fraction(int(total[1]), int(total[0]) * self.per_unit))


def of_classes(name: str, codes: IntArray, classes: Sequence[str]) -> Response:
    """Return a response of class codes, shape (N,)."""
    return Response(name, codes.astype(np.int64), tuple(classes))


def of_numbers(name: str, values: FloatArray) -> Response:
    """Return a response of numbers, shape (N,), as whole numbers of the coarsest decimal step that holds them all.

    Raises:
        LearnerError: a number is missing or has too many digits for sums that are exact.
    """
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0]) + 1
        raise LearnerError(f"column {name!r}, record {row}", "no number; leave such records out")
    for decimals in range(MOST_DECIMALS + 1):
        steps = np.round(values * 10.0**decimals)
        if np.abs(steps).sum() * len(steps) >= LARGEST_PRODUCT:
            break
        if (steps / 10.0**decimals == values).all():
            return Response(name, steps.astype(np.int64), per_unit=10**decimals)
    raise LearnerError(
        f"column {name!r}",
        "its numbers have more digits than can be added up exactly; round them",
    )
