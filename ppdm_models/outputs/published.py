"""A published output, entry by entry: counts, shares, means and the rest, of which people, and as it was printed.

Printed numbers are intervals: ``43.3`` is anything from 43.25 to 43.35, never 43.3 alone. Output files are small tables
of cells, read within limits, as anybody may have written them. A column is about one class, or about all.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from treewarden.ppdm_models.errors import OutputsError

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


MOST_BYTES = 4_000_000
MOST_CELLS = 200_000


@dataclass(frozen=True, slots=True)
class CellSheet:
    """Rows of cells, without empty rows; ``lines`` says where in the file each stands, ``header`` is the first."""

    source: str
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    @property
    def header(self) -> tuple[str, ...]:
        """The cells of the first row."""
        return self.rows[0]

    def where(self, row: int, column: int | None = None) -> str:
        """Return the place of a row or cell, as messages name it."""
        place = f"{self.source}:{self.lines[row]}"
        return place if column is None else f"{place}: column {self.header[column] or column + 1!r}"


def read_sheet(data: bytes, source: str) -> CellSheet:
    """Return the cells of a CSV file, parted by commas, semicolons or tabs.

    Raises:
        OutputsError: it is too large, not text, or has no cells.
    """
    if len(data) > MOST_BYTES:
        raise OutputsError(
            source, f"larger than {MOST_BYTES:,} bytes; give one output in each file"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OutputsError(source, "not UTF-8 text; save it as CSV in UTF-8") from error
    if "\0" in text:
        raise OutputsError(source, "not text; save it as CSV in UTF-8")
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    cells = 0
    try:
        for row in reader:
            cells += len(row)
            if cells > MOST_CELLS:
                raise OutputsError(
                    source, f"more than {MOST_CELLS:,} cells; give one output in each file"
                )
            if any(cell.strip() for cell in row):
                rows.append(tuple(cell.rstrip() for cell in row))
                lines.append(reader.line_num)
    except csv.Error as error:
        raise OutputsError(source, f"not CSV: {error}; save it as CSV again") from error
    if len(rows) < 2:
        raise OutputsError(source, "has no rows below its header; give the output as CSV")
    width = max(map(len, rows))
    padded = tuple(row + ("",) * (width - len(row)) for row in rows)
    return CellSheet(source, padded, tuple(lines))


def _delimiter(text: str) -> str:
    """Return what parts the cells of the first line that has any: the mark that stands there most often."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max((",", ";", "\t"), key=first.count)


ALL_PEOPLE = frozenset({"total", "all", "overall", "sum", "margin"})
_SIZE = re.compile(r"(?P<name>.*?)[\s,:(]*\(?\s*[nN]\s*=\s*(?P<size>[\d,]+)\s*\)?\s*")


@dataclass(frozen=True, slots=True)
class HeadedGroup:
    """Whom a column is about: a class, or all people where ``group`` is None; and how many they are, if told."""

    group: str | None
    size: PrintedNumber | None = None


def bare(text: str) -> str:
    """Return a cell without the marks of bold and slanted text."""
    return text.replace("**", "").replace("__", "").strip()


def is_all(text: str) -> bool:
    """Whether a cell says that a number is about everybody."""
    return not text.strip() or bare(text).casefold() in ALL_PEOPLE


def group_of(header: str, columns: TableColumns) -> HeadedGroup | None:
    """Return whom a column with this header is about; None where it names no class and not all people."""
    text = " ".join(bare(header).split())
    size = None
    sized = _SIZE.fullmatch(text)
    if sized:
        text, size = sized["name"].strip(" ,:("), read_count(sized["size"])
    prefix, mark, value = text.partition("=")
    if mark and prefix.strip().casefold() == columns.target.casefold():
        text = value.strip()
    group = class_of(text, columns)
    if group is not None:
        return HeadedGroup(group, size)
    return HeadedGroup(None, size) if text and is_all(text) else None


def class_of(text: str, columns: TableColumns) -> str | None:
    """Return the class that a text names, None where it names none."""
    text = bare(text)
    if text in columns.classes:
        return text
    alike = [name for name in columns.classes if name.casefold() == text.casefold()]
    return alike[0] if len(alike) == 1 else None


def column_of(text: str, columns: TableColumns) -> str | None:
    """Return the column of the table that a text names, None where it names none."""
    text = bare(text)
    if text in columns.categories:
        return text
    alike = [name for name in columns.categories if name.casefold() == text.casefold()]
    return alike[0] if len(alike) == 1 else None
