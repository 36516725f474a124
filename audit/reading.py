"""What a measure can answer: a quantity known to lie in an interval, or "could not tell" with the reason."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Interval:
    """A quantity known to lie in [low, high]; exact when the two are equal. Infinite ends are allowed."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if math.isnan(self.low) or math.isnan(self.high) or self.low > self.high:
            raise ValueError(f"not an interval: [{self.low}, {self.high}]")

    @property
    def is_exact(self) -> bool:
        """Whether both ends agree."""
        return self.low == self.high


@dataclass(frozen=True, slots=True)
class Undetermined:
    """Could not tell, and why."""

    reason: str


Reading = Interval | Undetermined


def exactly(value: float) -> Interval:
    """Return the reading of a quantity that is known."""
    return Interval(float(value), float(value))


@dataclass(frozen=True, slots=True)
class Spot:
    """One place where a measure was taken: a leaf (a node index), a profile (a row of the population), file or column.

    Of the file, ``index`` counts its leaks; of a table of noisy records its columns, and ``note`` is the name. ``tree``
    counts the trees of an ensemble, from 0.
    """

    kind: Literal["leaf", "profile", "file", "column"]
    index: int
    low: float
    high: float
    note: str = ""
    tree: int = 0


@dataclass(frozen=True, slots=True)
class Measurement:
    """The reading of a whole tree, and the places it comes from, riskiest first."""

    reading: Reading
    spots: tuple[Spot, ...] = ()
