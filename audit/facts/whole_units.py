"""Decimal weights as whole numbers of one unit, exactly: a survey prints 1.37, and its sums are exact in hundredths."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray

MOST_DECIMALS = 9
EXACT_BELOW = 10**15
"""Two decimals of at most 15 digits never round to the same 64-bit number, so the shortest one for it is the one."""


def units_of(weights: FloatArray) -> tuple[list[int], int]:
    """Return weights (n,) as whole numbers of one unit, and how many units make 1: as few as will do.

    A weight is read as the shortest decimal that stands for it. A weight with more than 9 decimals or 15 digits takes
    Python's fractions, a hundred times as long.
    """
    for decimals in range(MOST_DECIMALS + 1):
        power = 10**decimals
        units = np.rint(weights * power)
        if np.abs(units).max(initial=0.0) >= EXACT_BELOW:
            break
        if (units / power == weights).all():
            whole = units.astype(np.int64)
            common = math.gcd(power, int(np.gcd.reduce(whole, initial=0)))
            return (whole // common).tolist(), power // common
    exact = [Fraction(repr(value)) for value in weights.tolist()]
    scale = math.lcm(*(value.denominator for value in exact))
    return [int(value * scale) for value in exact], scale
