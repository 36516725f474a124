"""The numbers that a regression model predicts, as the people of a table have them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray

MOST_DECIMALS = 9
MOST_STEPS = 2**30
"""Where a range has more steps than that, its numbers are taken for any real ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """The target of each profile's people: the sum, the least and the greatest value, shape (P,) each.

    All values of the table lie a whole number of ``step`` above the least one; 0 stands for no such step. The
    adversary is taken to know the step and the range: that ages are whole years between 18 and 90 is no secret.
    """

    sums: FloatArray
    least: FloatArray
    most: FloatArray
    step: float

    def of(self, profiles: IndexArray) -> Numbers:
        """Return those of some profiles."""
        return Numbers(self.sums[profiles], self.least[profiles], self.most[profiles], self.step)

    @property
    def low(self) -> float:
        """The least value in the table."""
        return float(self.least.min(initial=np.inf))

    @property
    def high(self) -> float:
        """The greatest value in the table."""
        return float(self.most.max(initial=-np.inf))


def numbers_of(values: FloatArray, weight: FloatArray, profile_of: IndexArray) -> Numbers:
    """Return what is said of the values of all rows (N,), of which each stands for ``weight`` people of a profile."""
    size = int(profile_of.max(initial=-1)) + 1
    least, most = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(least, profile_of, values)
    np.maximum.at(most, profile_of, values)
    sums = np.bincount(profile_of, weight * values, size).astype(np.float64)
    return Numbers(sums, least, most, step_of(np.unique(values)))


def step_of(values: FloatArray) -> float:
    """Return the largest step that all differences of distinct values are whole multiples of, as decimals say; or 0."""
    decimals = 0
    for value in values.tolist():
        exponent = Decimal(repr(value)).normalize().as_tuple().exponent
        assert isinstance(exponent, int)
        decimals = max(decimals, -exponent)
        if decimals > MOST_DECIMALS:
            return 0.0
    scale = 10**decimals
    whole = [int(Decimal(repr(value)) * scale) for value in values.tolist()]
    step = math.gcd(*(each - whole[0] for each in whole)) if whole else 0
    if not step or (whole[-1] - whole[0]) // step > MOST_STEPS:
        return 0.0
    return float(step / scale)
