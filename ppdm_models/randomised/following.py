"""Whether records stand in an order that tells their values: then neighbours average noise away.

In a table that is sorted by a column, the mean of the noisy values around a record is close to its true value, however
wide the noise is. So the correlation of each record's value with the next one's is added up as they pass by.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
SURE_SIGMAS = 4.0
"""By chance, the correlation of so many records is this many times 1 / sqrt(records) once in 16,000 tables."""


class Following:
    """Adds up, of one column, what each value has to do with the next; missing ones (NaN) follow nothing."""

    def __init__(self, middle: float, width: float) -> None:
        self._middle, self._width = middle, width
        self._last: Numbers = np.empty(0)
        self.pairs = 0
        self._sums = np.zeros(5)

    def add(self, values: Numbers) -> None:
        """Take in the values of the next records, in their order."""
        scaled = np.concatenate([self._last, (values - self._middle) / self._width])
        first, second = scaled[:-1], scaled[1:]
        there = ~(np.isnan(first) | np.isnan(second))
        if not there.all():
            first, second = first[there], second[there]
        self.pairs += len(first)
        # Sums of products, and no dot products: those would start threads for so little.
        products = (first * first, second * second, first * second)
        self._sums += [float(each.sum()) for each in (first, second, *products)]
        self._last = scaled[-1:]

    @property
    def correlation(self) -> float:
        """The correlation of a value with the next; 0 where it is no more than chance makes of few records."""
        if self.pairs < 2:
            return 0.0
        first, second, first_square, second_square, product = self._sums / self.pairs
        spread = (first_square - first**2) * (second_square - second**2)
        if spread <= 0:
            return 0.0
        found = float((product - first * second) / math.sqrt(spread))
        return found if abs(found) > SURE_SIGMAS / math.sqrt(self.pairs) else 0.0
