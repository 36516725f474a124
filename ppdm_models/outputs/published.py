"""What a published output says, entry by entry: counts, shares, means and the rest, of whom, and as it was printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from treewarden.ppdm_models.outputs.printed import PrintedNumber


class Statistic(StrEnum):
    """What a number is of the people of an entry.

    ``COUNT`` is how many they are. ``SHARE`` is how many of all of the group meet the entry's conditions, and
    ``CLASS_SHARE`` how many of all who meet the conditions have the group's class. The others are of the entry's
    column, over those who have a value there; quartiles are ``LOWER_QUARTILE`` and ``UPPER_QUARTILE``.
    """

    COUNT = "count"
    SHARE = "share"
    CLASS_SHARE = "share of the class"
    MEAN = "mean"
    SD = "standard deviation"
    MEDIAN = "median"
    LOWER_QUARTILE = "lower quartile"
    UPPER_QUARTILE = "upper quartile"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class ValueCondition:
    """That somebody has one value in a column; ``value`` is its text, None: any value that is there."""

    column: str
    value: str | None


@dataclass(frozen=True, slots=True)
class DescriptiveEntry:
    """One cell of a table: numbers about the people of one class who meet all conditions.

    ``group`` is the class, None where the numbers are of all people. ``column`` is what means and the like are of.
    """

    where: str
    words: str
    group: str | None
    numbers: Mapping[Statistic, PrintedNumber]
    conditions: tuple[ValueCondition, ...] = ()
    column: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """A column of a design matrix: 1 for everybody where ``column`` is "", a number, or 1 for who has ``value``."""

    column: str = ""
    value: str | None = None


@dataclass(frozen=True, slots=True)
class LogisticEntry:
    """Coefficients of one logistic regression of the class, with what each is multiplied by.

    ``inverse_penalty`` is the C of a ridge penalty on all but the constant, None where there is none.
    """

    where: str
    words: str
    coefficients: tuple[tuple[Term, PrintedNumber], ...]
    inverse_penalty: Fraction | None = None


Entry = DescriptiveEntry | LogisticEntry


@dataclass(frozen=True, slots=True)
class PublishedOutput:
    """An output that is published beside a model: its file's name, what kind it is, and its entries."""

    source: str
    kind: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of the table that outputs are of: the target and its classes, and the others' values.

    ``categories`` says the values of each other column, None where it holds numbers.
    """

    target: str
    classes: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...] | None]
