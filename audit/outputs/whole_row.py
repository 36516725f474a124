"""One published number as a row in whole numbers: ``low <= sum of weights x people of a class <= high``.

Decimal weights become whole numbers of one unit, exactly: sums of 1.37, as a survey prints it, are exact in hundredths.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray
from treewarden.ppdm_models.tree.column import NumericColumn

MOST_WEIGHT = 10**9
"""Larger weights are rounded, and the ends moved apart by what that may do."""
ENDLESS = 10**18
"""Ends beyond this say nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class WholeRow:
    """``low <= weights @ people of class ``klass`` <= high``, by profile: ``weights`` (P,); None: no such end.

    ``entry`` numbers what was published, among the entries of all outputs.
    """

    entry: int
    klass: int
    weights: IntArray
    low: int | None
    high: int | None

    def holds(self, table: IntArray) -> bool:
        """Whether a table of people by profile and class, (P, m), fulfils the row."""
        people = table[:, self.klass]
        most = int(np.abs(self.weights).max(initial=0)) * int(np.abs(people).sum())
        is_small = most < ENDLESS  # so that machine integers do
        total = int(self.weights @ people) if is_small else _exact_sum(self.weights, people)
        return (self.low is None or self.low <= total) and (self.high is None or total <= self.high)


def _exact_sum(weights: IntArray, people: IntArray) -> int:
    return sum(w * x for w, x in zip(weights.tolist(), people.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Ends:
    """Between which ends a sum lies; None where there is no such end."""

    low: Fraction | None = None
    high: Fraction | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RowOwner:
    """Whose rows are formed: the number of the entry, the class they count, and the people of each profile, (P,).

    Weights are at most ``most_weight``.
    """

    entry: int
    klass: int
    people: IntArray
    most_weight: int = MOST_WEIGHT

    def row(
        self, weights: Sequence[Fraction | int], ends: Ends, *, is_outward: bool = True
    ) -> WholeRow:
        """Return a row of exact weights in whole numbers; where these are too large, moved outwards or inwards.

        Outwards no table that fulfils it as it was is lost; inwards none that does not is let in.
        """
        exact = [Fraction(weight) for weight in weights]
        scale = Fraction(math.lcm(*{weight.denominator for weight in exact} or {1}))
        largest = max((abs(weight) for weight in exact), default=Fraction(0))
        if largest * scale > self.most_weight:
            scale = Fraction(10) ** math.floor(
                math.log10(self.most_weight / max(float(largest), 1e-300))
            )
        scaled = [weight * scale for weight in exact]
        whole = [round(weight) for weight in scaled]
        rests = [weight - near for weight, near in zip(scaled, whole, strict=True)]
        sizes = self.people.tolist()
        least = sum(
            (rest * size for rest, size in zip(rests, sizes, strict=True) if rest < 0), Fraction(0)
        )
        most = sum(
            (rest * size for rest, size in zip(rests, sizes, strict=True) if rest > 0), Fraction(0)
        )
        # What the whole weights add up to is the sum itself less what the rests add, which is between least and most.
        off = (most, least) if is_outward else (least, most)
        low = None if ends.low is None else _bounded(math.ceil(ends.low * scale - off[0]))
        high = None if ends.high is None else _bounded(math.floor(ends.high * scale - off[1]))
        return WholeRow(self.entry, self.klass, np.array(whole, dtype=np.int64), low, high)

    def count_row(
        self, inside: BoolArray, low: int | None = None, high: int | None = None
    ) -> WholeRow:
        """Return a row of how many people of some profiles, (P,), have the class."""
        return WholeRow(self.entry, self.klass, inside.astype(np.int64), low, high)


def _bounded(end: int) -> int:
    return max(-ENDLESS, min(ENDLESS, end))


def exact_numbers(column: NumericColumn, inside: BoolArray) -> list[Fraction]:
    """Return the values of a column as the decimals that they are written as, (P,); 0 outside."""
    units, scale = units_of(column.numbers[inside])
    found = [Fraction(0)] * len(inside)
    for place, unit in zip(np.flatnonzero(inside).tolist(), units, strict=True):
        found[place] = Fraction(unit, scale)
    return found


def as_fractions(numbers: FloatArray) -> list[Fraction]:
    """Return floating-point numbers as exactly what they are."""
    return [Fraction(number) for number in numbers.tolist()]


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
