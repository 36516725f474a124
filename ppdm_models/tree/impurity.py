"""How mixed the classes of a node's records are, where a file prints it, and which counts of classes it allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

BITS = math.log(2)
"""One bit in nats."""
FLOAT_SLACK = 1e-9
"""How far the arithmetic of a producer may be from ours."""


class Criterion(StrEnum):
    """How the learner compared the candidates for a split."""

    GINI = "gini"
    ENTROPY = "entropy"
    GAIN_RATIO = "gain-ratio"


@dataclass(frozen=True, slots=True)
class Impurity:
    """A published impurity: it lies between ``low`` and ``high``, ends included, as the printed digits allow.

    Gini is 1 less the sum of the squared shares; entropy is in nats, whatever base the producer takes.
    """

    criterion: Criterion
    low: float
    high: float

    def __post_init__(self) -> None:
        if self.criterion is Criterion.GAIN_RATIO:
            raise ValueError("a gain ratio is of a split, not of a node")
        if not 0 <= self.low <= self.high < math.inf:
            raise ValueError(f"no impurity lies between {self.low} and {self.high}")


def printed(criterion: Criterion, value: float, decimals: int, unit: float = 1.0) -> Impurity:
    """Return an impurity that was rounded to so many decimals; ``unit`` is what the producer's 1 is here (``BITS``).

    Raises:
        ValueError: it is negative by more than rounding, or no finite number.
    """
    half = 0.5 * 10.0**-decimals + FLOAT_SLACK
    return Impurity(criterion, max(0.0, value - half) * unit, (value + half) * unit)


def impurity_of(criterion: Criterion, counts: Sequence[float]) -> float:
    """Return the impurity of a node with these counts of its classes; 0 where it has no records."""
    total = math.fsum(counts)
    shares = [count / total for count in counts if count > 0]
    if criterion is Criterion.GINI:
        return max(0.0, 1.0 - math.fsum(share * share for share in shares)) if shares else 0.0
    return max(0.0, -math.fsum(share * math.log(share) for share in shares))


def fits(counts: Sequence[float], impurity: Impurity) -> bool:
    """Return whether whole counts of a node's classes have an impurity as published: the exact statement."""
    found = impurity_of(impurity.criterion, counts)
    return impurity.low - FLOAT_SLACK <= found <= impurity.high + FLOAT_SLACK
