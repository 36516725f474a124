"""A published output, entry by entry: counts, shares, means and the rest, of which people, and as it was printed.

Printed numbers are intervals: ``43.3`` is anything from 43.25 to 43.35, never 43.3 alone. What cannot be made a row
over people is an entry too (``OpenEntry``), so that it is never forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

MOST_DIGITS = 40
"""A longer number is refused: nobody prints one, and it would cost time."""
SURE_DIGITS = 12
"""Digits of a computed number that do not depend on the order of its sums."""
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
ALL_PEOPLE = "all people"
"""Whom a cell is about that meets no condition, in words."""
_NUMBER = re.compile(
    r"(?P<sign>[-+−]?)(?P<whole>\d{1,3}(?:,\d{3})+|\d+|(?=\.\d))(?:\.(?P<part>\d*))?(?:[eE](?P<power>[-+]?\d{1,3}))?"
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

    A percent sign divides by 100. Both ends belong to the interval, as nobody says how halves were rounded. A number
    with more digits was computed and never rounded: it is as sure as arithmetic leaves it.
    """
    text = text.strip()
    is_percent = text.endswith("%")
    found = _exact(text.removesuffix("%").strip())
    if found is None:
        return None
    value, unit = found
    unit = max(unit, abs(value) / 10**SURE_DIGITS)
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


class Statistic(StrEnum):
    """What a number is of the people of an entry.

    ``COUNT`` is how many they are. ``SHARE`` is how many of all of the group meet the entry's conditions, and
    ``CLASS_SHARE`` how many of all who meet the conditions have the group's class. The others are of the entry's
    column, over those who have a value there; quartiles are ``LOWER_QUARTILE`` and ``UPPER_QUARTILE``.
    ``TOTAL`` is what the target of a model of numbers adds up to over those who meet the conditions.
    """

    COUNT = "count"
    SHARE = "share"
    CLASS_SHARE = "share of the class"
    MEAN = "mean"
    SD = "standard deviation"
    MEDIAN = "median"
    LOWER_QUARTILE = "lower quartile"
    UPPER_QUARTILE = "upper quartile"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    MISSING = "missing"
    TOTAL = "total"


@dataclass(frozen=True, slots=True)
class ValueCondition:
    """That somebody has one value in a column; ``value`` is its text, None: any value that is there."""

    column: str
    value: str | None


@dataclass(frozen=True, slots=True)
class ValuesCondition:
    """That somebody has one of several values in a column."""

    column: str
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class RangeCondition:
    """That somebody's number in a column is between two ends; None: no such end. ``has_low``: the end belongs to it."""

    column: str
    low: Fraction | None = None
    high: Fraction | None = None
    has_low: bool = True
    has_high: bool = True


@dataclass(frozen=True, slots=True)
class PredictedCondition:
    """That the model predicts one class for somebody."""

    predicted: str


@dataclass(frozen=True, slots=True)
class ScoreCondition:
    """That the share of a class which the model gives somebody is between two ends, as of a ``RangeCondition``."""

    scored: str
    low: Fraction
    high: Fraction
    has_low: bool = True
    has_high: bool = False


ColumnCondition = ValueCondition | ValuesCondition | RangeCondition
Condition = ColumnCondition | PredictedCondition | ScoreCondition


@dataclass(frozen=True, slots=True)
class DescriptiveEntry:
    """One cell of a table: numbers about the people of one class who meet all conditions.

    ``group`` is the class, None where the numbers are of all people. ``column`` is what means and the like are of. A
    cell of a table of totals that is withheld has no numbers.
    """

    where: str
    words: str
    group: str | None
    numbers: Mapping[Statistic, PrintedNumber]
    conditions: tuple[Condition, ...] = ()
    column: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """A column of a design matrix: 1 for everybody where ``column`` is "", a number, or 1 for who has ``value``."""

    column: str = ""
    value: str | None = None


class Family(StrEnum):
    """What a regression is: of the class's log odds, of its chance (least squares), or of how soon it comes (Cox)."""

    LOGISTIC = "logistic regression"
    LINEAR = "linear regression"
    COX = "Cox regression"


@dataclass(frozen=True, slots=True)
class RegressionEntry:
    """Coefficients of one regression of the class, with what each is multiplied by.

    ``inverse_penalty`` is the C of a ridge penalty on all but the constant, None where there is none. Of a Cox
    regression ``time`` is the column with the time of the event or of the last look, and ``has_breslow`` says that
    events at one time are counted as Breslow does.
    """

    where: str
    words: str
    coefficients: tuple[tuple[Term, PrintedNumber], ...]
    family: Family = Family.LOGISTIC
    inverse_penalty: Fraction | None = None
    time: str = ""
    has_breslow: bool = False


class Performance(StrEnum):
    """What a number says of how well the model predicts the people that it was trained on."""

    AUC = "area under the ROC curve"
    ACCURACY = "accuracy"
    BRIER = "Brier score"


@dataclass(frozen=True, slots=True)
class PerformanceEntry:
    """How well the model's scores of a class, or its labels, tell who has it; ``group`` is that class."""

    where: str
    words: str
    statistic: Performance
    printed: PrintedNumber
    group: str


@dataclass(frozen=True, slots=True)
class SurvivalPoint:
    """What a table of survival says at one time: who is still there, events since the last, the share left."""

    time: Fraction
    at_risk: PrintedNumber | None = None
    events: PrintedNumber | None = None
    censored: PrintedNumber | None = None
    survival: PrintedNumber | None = None


@dataclass(frozen=True, slots=True)
class SurvivalEntry:
    """A Kaplan-Meier table of those who meet the conditions; times rise, and ``time`` is their column."""

    where: str
    words: str
    time: str
    points: tuple[SurvivalPoint, ...]
    conditions: tuple[ColumnCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordGroup:
    """Records of an anonymised table that are alike: what their values may have been, and how many have each class.

    Where ``is_vague``, some of their values are words of which nobody said what they hold, and may be anything.
    """

    where: str
    conditions: tuple[ColumnCondition, ...]
    counts: Mapping[str, int]
    is_vague: bool = False


@dataclass(frozen=True, slots=True)
class AnonymisedEntry:
    """A table of the same people whose values were made coarser, record by record; some records may be left out."""

    where: str
    words: str
    groups: tuple[RecordGroup, ...]


@dataclass(frozen=True, slots=True)
class OpenEntry:
    """Numbers of which no rows are made, and why: they prove nothing here, and keep open who is certain."""

    where: str
    words: str
    why: str


Entry = (
    DescriptiveEntry
    | RegressionEntry
    | PerformanceEntry
    | SurvivalEntry
    | AnonymisedEntry
    | OpenEntry
)


@dataclass(frozen=True, slots=True)
class PublishedOutput:
    """An output that is published beside a model: its file's name, what kind it is, and its entries."""

    source: str
    kind: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of the table that outputs are of: the target and its classes, and the others' values.

    There are no ``classes`` where the target is a number.
    ``categories`` says the values of each other column, None where it holds numbers. ``hierarchies`` say which values
    each label of a column holds, as far as files say so.
    """

    target: str
    classes: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...] | None]
    hierarchies: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
