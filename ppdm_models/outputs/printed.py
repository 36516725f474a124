"""Printed numbers as the intervals that they stand for: ``43.3`` is anything from 43.25 to 43.35, never 43.3 alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

MOST_DIGITS = 40
"""A longer number is refused: nobody prints one, and it would cost time."""
WITHHELD = frozenset(
    {
        "",
        "*",
        "**",
        "x",
        "c",
        "s",
        "-",
        "–",
        "—",
        "..",
        "...",
        "na",
        "n/a",
        "nan",
        "suppressed",
        "withheld",
    }
)
"""How publishers write that a number is not told."""
_NUMBER = re.compile(
    r"(?P<sign>[-+−]?)(?P<whole>\d{1,3}(?:,\d{3})+|\d+)(?:\.(?P<part>\d*))?(?:[eE](?P<power>[-+]?\d{1,3}))?"
)
_RANGE = re.compile(r"(?P<low>\d+)\s*(?:-|–|to)\s*(?P<high>\d+)")
_BOUND = re.compile(r"(?P<sign><=|>=|≤|≥|<|>)\s*(?P<number>.+)")


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """What a printed number may be: between ``low`` and ``high``, both included; None where there is no such end."""

    text: str
    low: Fraction | None
    high: Fraction | None

    @property
    def middle(self) -> Fraction:
        """The number as it stands; of a range its middle.

        Raises:
            ValueError: it has only one end.
        """
        if self.low is None or self.high is None:
            raise ValueError(f"{self.text!r} has one end only")
        return (self.low + self.high) / 2

    def times(self, factor: Fraction) -> PrintedNumber:
        """Return the number in another unit, so many of which make one of this; ``factor`` is above 0."""
        ends = (None if end is None else end * factor for end in (self.low, self.high))
        return PrintedNumber(self.text, *ends)


def is_withheld(text: str) -> bool:
    """Whether a cell says that its number is not told."""
    return text.strip().casefold() in WITHHELD


def read_measured(text: str) -> PrintedNumber | None:
    """Return a number that was rounded to the digits that are printed, or None where it is no number.

    A percent sign divides by 100. Both ends belong to the interval, as nobody says how halves were rounded.
    """
    text = text.strip()
    is_percent = text.endswith("%")
    found = _exact(text.removesuffix("%").strip())
    if found is None:
        return None
    value, unit = found
    number = PrintedNumber(text, value - unit / 2, value + unit / 2)
    return number.times(Fraction(1, 100)) if is_percent else number


def read_count(text: str) -> PrintedNumber | None:
    """Return a number of people: exact, a range such as ``5-9``, or one end such as ``<5``; None where it is none."""
    text = text.strip()
    range_ = _RANGE.fullmatch(text)
    if range_ and len(text) <= MOST_DIGITS:
        low, high = int(range_["low"]), int(range_["high"])
        return PrintedNumber(text, Fraction(low), Fraction(high)) if low <= high else None
    bound = _BOUND.fullmatch(text)
    if bound:
        found = _exact(bound["number"].strip())
        if found is None or found[0].denominator != 1 or found[0] < 0:
            return None
        value, sign = found[0], bound["sign"]
        if sign in ("<", "<=", "≤"):
            high_end = value - 1 if sign == "<" else value
            return PrintedNumber(text, Fraction(0), high_end) if high_end >= 0 else None
        return PrintedNumber(text, value + 1 if sign == ">" else value, None)
    found = _exact(text)
    if found is None or found[0].denominator != 1 or found[0] < 0:
        return None
    return PrintedNumber(text, found[0], found[0])


def _exact(text: str) -> tuple[Fraction, Fraction] | None:
    """Return a number as it stands, and the unit of its last digit."""
    if len(text) > MOST_DIGITS:
        return None
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    part, power = found["part"] or "", int(found["power"] or 0)
    unit = Fraction(10) ** (power - len(part))
    value = int(found["whole"].replace(",", "") + part) * unit
    return (-value if found["sign"] in ("-", "−") else value), unit
