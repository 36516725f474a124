"""The intervals over which a distribution is reconstructed, and where noisy values fall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
RECORDS_PER_INTERVAL = 100
FEWEST, MOST = 10, 100
FEWEST_RECORDS = FEWEST * RECORDS_PER_INTERVAL
"""The fewest intervals, with the records that each asks for."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """Equally wide intervals that fill a known domain, from the lowest value on."""

    low: float
    width: float
    count: int

    @property
    def edges(self) -> Numbers:
        """Where they begin and end; shape (count + 1,)."""
        return self.low + self.width * np.arange(self.count + 1, dtype=np.float64)

    @property
    def middles(self) -> Numbers:
        """Their middles; shape (count,)."""
        return self.low + self.width * (np.arange(self.count, dtype=np.float64) + 0.5)

    def numbers(self, values: Numbers) -> NDArray[np.int64]:
        """Return the number of the interval of each value; the first or last where it lies outside."""
        found = np.clip(np.floor((values - self.low) / self.width), 0, self.count - 1)
        numbers: NDArray[np.int64] = found.astype(np.int64)
        ends = self.edges[
            1:-1
        ]  # by which trees are told: what was rounded must not fall on the other side
        if len(ends):
            numbers -= (numbers > 0) & (values < ends[np.maximum(numbers - 1, 0)])
            numbers += (numbers < self.count - 1) & (
                values >= ends[np.minimum(numbers, len(ends) - 1)]
            )
        return numbers

    def widened(self, reach: float) -> Intervals:
        """Return intervals of the same width that hold everything that noise of a reach can make of the domain."""
        more = int(np.ceil(reach / self.width - 1e-9))
        return Intervals(self.low - more * self.width, self.width, self.count + 2 * more)


def intervals(low: float, high: float, records: int, *, is_whole: bool = False) -> Intervals:
    """Return the intervals for a domain and so many records: one in a hundred, from 10 to 100 of them.

    Whole numbers of at most 100 values have an interval each, which ends half way between them.

    Raises:
        ValueError: the domain is empty.
    """
    if not high > low:
        raise ValueError(f"a domain from {low:g} to {high:g}; give one of more than a point")
    if is_whole and high - low + 1 <= MOST:
        return Intervals(low - 0.5, 1.0, round(high - low) + 1)
    count = min(max(records // RECORDS_PER_INTERVAL, FEWEST), MOST)
    return Intervals(low, (high - low) / count, count)
