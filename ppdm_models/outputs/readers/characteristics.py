"""Tables of characteristics ("Table 1"): counts, shares, means and medians of each column, by class.

Read as tableone (R, Python), gtsummary and tableby write it to CSV: labels such as ``age, mean (SD)``, ``age (mean
(SD))``, ``chol, median [Q1,Q3]``, ``age, range``, ``sex = F (%)``, or ``sex, n (%)`` with a row or a second column for
each value; tableby's rows such as ``-  Mean (SD)`` stand below their column. Shares are of the class's people who have
a value. Columns of p-values and of tests are named and left open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    DescriptiveEntry,
    Entry,
    OpenEntry,
    PrintedNumber,
    Statistic,
    TableColumns,
    ValueCondition,
    is_withheld,
    read_count,
    read_measured,
)
from treewarden.ppdm_models.outputs.readers import OutputReader
from treewarden.ppdm_models.outputs.sheets import (
    CellSheet,
    HeadedGroup,
    bare,
    column_of,
    group_of,
)

LABEL_HEADERS = frozenset(
    {"", "characteristic", "variable", "characteristics", "label", "covariate"}
)
LEVEL_HEADERS = frozenset({"", "level", "levels", "value"})
IGNORED_HEADERS = frozenset({"missing"})
"""Columns about all people, whatever their class: they say nothing of who has which."""
TEST_HEADERS = re.compile(
    r"p|p[.\- ]?values?\d*|p[.\- ]?value \(adjusted\)|tests?|smd.*|q[.\- ]?values?\d*|statistic",
    re.IGNORECASE,
)
NOT_LINEAR = "p-values and test statistics are not linear constraints over people"
COUNT_LABELS = frozenset({"n", "number", "number of people", "patients", "participants"})
UNKNOWN_LABELS = frozenset({"unknown", "missing", "n missing", "(missing)", "n-miss"})
OF_VALUES = frozenset({"header", "value", "missing"})
MOST_LABEL = 200

_MEAN = r"mean\s*(?:\(\s*(?:sd|s\.d\.)\s*\)|±\s*sd)|mean"
_MEDIAN = r"median\s*(?:[\[(][^\])]*[\])])?"
_RANGE = r"range|\[?\(?min(?:imum)?\s*(?:,|-|–|to)\s*max(?:imum)?\)?\]?"
_KINDS = {
    "mean": re.compile(rf"(?P<name>.+?)[\s,(]+(?:{_MEAN})\s*\)?", re.IGNORECASE),
    "median": re.compile(rf"(?P<name>.+?)[\s,(]+(?:{_MEDIAN})\s*\)?", re.IGNORECASE),
    "range": re.compile(rf"(?P<name>.+?)[\s,(]+(?:{_RANGE})\s*\)?", re.IGNORECASE),
}
_BELOW = {
    "mean": re.compile(_MEAN, re.IGNORECASE),
    "median": re.compile(_MEDIAN, re.IGNORECASE),
    "range": re.compile(_RANGE, re.IGNORECASE),
}
"""Statistics that stand below the name of their column."""
_INDENT = re.compile(r"(?:-|•|&nbsp;|\xa0|\s)+")
_SHARE = re.compile(r"(?P<name>.+?)(?:\s*,?\s*(?:n\s*)?\(\s*%\s*\)|\s*,\s*%)", re.IGNORECASE)
_PAIR = re.compile(
    r"(?P<first>[^\s(\[±]+)\s*(?:[(\[]\s*(?P<rest>[^)\]]*)[)\]]|±\s*(?P<after>\S+))?"
)
_TWO = re.compile(r"(?P<low>[-−]?[\d.]+)\s*(?:,|;|–|—|to|-)\s*(?P<high>[-−]?[\d.]+)")


@dataclass(frozen=True, slots=True)
class _RowMeaning:
    """What the numbers of a row are: of a column, or of those who have one value of it."""

    kind: str
    column: str = ""
    value: str | None = None


class Characteristics(OutputReader):
    """Reads by class; columns of all people are read too, and held against the table."""

    def recognises(self, sheet: CellSheet, columns: TableColumns) -> bool:
        if bare(sheet.header[0]).casefold() not in LABEL_HEADERS:
            return False
        groups = [group_of(name, columns) for name in sheet.header[1:] if name.strip()]
        return any(found is not None and found.group is not None for found in groups)

    def entries(self, sheet: CellSheet, columns: TableColumns) -> tuple[Entry, ...]:
        return tuple(_entries(sheet, columns))


def _entries(sheet: CellSheet, columns: TableColumns) -> Iterator[Entry]:
    groups, level = _groups(sheet, columns)
    for number, headed in groups.items():
        if headed.size is not None:
            words = f"count of {_group_words(headed, columns)}: {headed.size.text}"
            numbers = {Statistic.COUNT: headed.size}
            yield DescriptiveEntry(sheet.where(0, number), words, headed.group, numbers)
    yield from _tests(sheet)
    current = _RowMeaning("none")
    for row, cells in enumerate(sheet.rows[1:], start=1):
        label = bare(cells[0])
        label = label[_indent(label) :]
        value = "" if level is None else bare(cells[level])
        is_empty = all(is_withheld(cells[number]) for number in groups)
        meaning = _meaning(label, value, current, columns)
        if meaning is None:
            if is_empty and column_of(label, columns):
                meaning = _RowMeaning("header", str(column_of(label, columns)))
            elif is_empty:
                continue
            else:
                raise OutputsError(sheet.where(row), _not_understood(label, value, columns))
        # The values of one column stand below each other; what is of no value of a column ends them.
        is_below = meaning.column == current.column != "" and meaning.kind in _BELOW
        is_of_values = meaning.kind in OF_VALUES or is_below
        current = replace(meaning, kind="values") if is_of_values else _RowMeaning("none")
        for number, headed in groups.items():
            if meaning.kind == "header" or is_withheld(cells[number]):
                continue
            entry = _entry(sheet, row, number, meaning, headed, columns)
            if entry is not None:
                yield entry


def _groups(sheet: CellSheet, columns: TableColumns) -> tuple[dict[int, HeadedGroup], int | None]:
    """Return whom each column of numbers is about, and the column that holds the values of categories, if any.

    Raises:
        OutputsError: a column is neither, and not empty.
    """
    groups: dict[int, HeadedGroup] = {}
    level: int | None = None
    for number, name in enumerate(sheet.header[1:], start=1):
        headed = group_of(name, columns) if name.strip() else None
        is_empty = all(not cells[number].strip() for cells in sheet.rows[1:])
        if headed is not None:
            groups[number] = headed
        elif level is None and number == 1 and bare(name).casefold() in LEVEL_HEADERS:
            level = number
        elif TEST_HEADERS.fullmatch(bare(name)):
            continue  # an entry of its own
        elif not is_empty and bare(name).casefold() not in IGNORED_HEADERS:
            problem = (
                f"column {bare(name)!r} is not a class of the model ({', '.join(columns.classes)}); "
                "remove it (then it is not judged)"
            )
            raise OutputsError(sheet.where(0), problem)
    return groups, level


def _tests(sheet: CellSheet) -> Iterator[OpenEntry]:
    """Yield what columns of p-values and tests say, which is left open."""
    for number, name in enumerate(sheet.header[1:], start=1):
        printed = sum(not is_withheld(cells[number]) for cells in sheet.rows[1:])
        if printed and TEST_HEADERS.fullmatch(bare(name)):
            words = f"column {bare(name)!r} with {printed} entries"
            yield OpenEntry(sheet.where(0, number), words, NOT_LINEAR)


def _indent(label: str) -> int:
    """Return how many characters of a label set it below another."""
    found = _INDENT.match(label)
    return found.end() if found else 0


def _meaning(
    label: str, value: str, current: _RowMeaning, columns: TableColumns
) -> _RowMeaning | None:
    """Return what the numbers of a row are; None where that cannot be said."""
    if len(label) > MOST_LABEL:
        return None
    if label.casefold() in COUNT_LABELS and not value:
        return _RowMeaning("count")
    if current.kind == "values" and columns.categories[current.column] is None:
        below = next((kind for kind, name in _BELOW.items() if name.fullmatch(label)), None)
        if below is not None:
            return _RowMeaning(below, current.column)
    for kind, pattern in _KINDS.items():
        found = pattern.fullmatch(label)
        column = column_of(found["name"].strip(" ,("), columns) if found else None
        if column is not None and columns.categories[column] is None:
            return _RowMeaning(kind, column)
    shared = _SHARE.fullmatch(label)
    name = shared["name"].strip(" ,") if shared else label
    column, mark, level = name.partition("=")
    known = column_of(column, columns)
    if mark and known is not None:
        return _of_value(known, level.strip(), columns)
    known = column_of(name, columns)
    if known is not None and value:
        return _of_value(known, value, columns)
    if known is not None and shared:
        return _RowMeaning("header", known)
    if current.kind == "values" and known is None:
        return _of_value(current.column, value or label, columns)
    return None


def _of_value(column: str, value: str, columns: TableColumns) -> _RowMeaning | None:
    """Return that a row is about those who have one value, or none, of a column."""
    if value.casefold() in UNKNOWN_LABELS:
        return _RowMeaning("missing", column)
    known = columns.categories[column]
    if known is not None and value in known:
        return _RowMeaning("value", column, value)
    if known is None and read_measured(value) is not None:
        return _RowMeaning("value", column, value)
    return None


def _entry(
    sheet: CellSheet,
    row: int,
    number: int,
    meaning: _RowMeaning,
    headed: HeadedGroup,
    columns: TableColumns,
) -> DescriptiveEntry | None:
    """Return what one cell says.

    Raises:
        OutputsError: it is not understood.
    """
    text = sheet.rows[row][number].strip()
    numbers = _numbers(meaning.kind, text)
    if numbers is None:
        problem = f"{text!r} is not a valid {_NAMES[meaning.kind]}; correct it, or remove the row"
        raise OutputsError(sheet.where(row, number), problem)
    who = _group_words(headed, columns)
    of = f"{meaning.column} = {meaning.value}" if meaning.value is not None else meaning.column
    words = f"{_NAMES[meaning.kind]} of {', '.join(part for part in (of, who) if part)}: {text}"
    conditions: tuple[ValueCondition, ...] = ()
    if meaning.kind == "value":
        conditions = (ValueCondition(meaning.column, meaning.value),)
    entry = DescriptiveEntry(sheet.where(row, number), words, headed.group, numbers, conditions)
    return replace(entry, column=meaning.column) if meaning.kind != "value" else entry


_NAMES = {
    "count": "count",
    "mean": "mean (SD)",
    "median": "median [quartiles]",
    "range": "range",
    "value": "count (%)",
    "missing": "missing values",
}


def _numbers(kind: str, text: str) -> dict[Statistic, PrintedNumber] | None:
    """Return the numbers of a cell; None where it is not understood."""
    if kind == "range":
        return _ends(text)
    found = _PAIR.fullmatch(text)
    if found is None:
        return None
    rest = found["rest"] if found["rest"] is not None else found["after"]
    if kind in ("count", "missing"):
        count = read_count(found["first"])
        statistic = Statistic.COUNT if kind == "count" else Statistic.MISSING
        return None if count is None or (rest and kind == "count") else {statistic: count}
    if kind == "value":
        return _count_and_share(found["first"], rest)
    first = read_measured(found["first"])
    if first is None:
        return None
    if kind == "mean":
        if not rest:
            return {Statistic.MEAN: first}
        spread = read_measured(rest)
        return None if spread is None else {Statistic.MEAN: first, Statistic.SD: spread}
    if not rest:
        return {Statistic.MEDIAN: first}
    two = _TWO.fullmatch(rest.strip())
    low, high = (read_measured(two[name]) for name in ("low", "high")) if two else (None, None)
    if low is None or high is None:
        return None
    return {
        Statistic.MEDIAN: first,
        Statistic.LOWER_QUARTILE: low,
        Statistic.UPPER_QUARTILE: high,
    }


def _ends(text: str) -> dict[Statistic, PrintedNumber] | None:
    two = _TWO.fullmatch(text.strip("[]() "))
    low, high = (read_measured(two[name]) for name in ("low", "high")) if two else (None, None)
    return (
        None if low is None or high is None else {Statistic.MINIMUM: low, Statistic.MAXIMUM: high}
    )


def _count_and_share(first: str, second: str | None) -> dict[Statistic, PrintedNumber] | None:
    """Return a count, with or without its share; a share that stands alone or first ends in a percent sign."""
    if first.endswith("%") and (not second or is_withheld(second)):
        share = read_measured(first)
        return None if share is None else {Statistic.SHARE: share}
    if first.endswith("%") and second and not second.strip().endswith("%"):
        first, second = second.strip(), first
    count = read_count(first)
    if count is None:
        return None
    if not second or is_withheld(second):
        return {Statistic.COUNT: count}
    share = read_measured(second)
    if share is None:
        return None
    share = share if second.strip().endswith("%") else share.times(Fraction(1, 100))
    return {Statistic.COUNT: count, Statistic.SHARE: share}


def _group_words(headed: HeadedGroup, columns: TableColumns) -> str:
    return "all people" if headed.group is None else f"{columns.target} = {headed.group}"


def _not_understood(label: str, value: str, columns: TableColumns) -> str:
    said = f"{label!r}" if not value else f"{label!r}, {value!r}"
    is_column = any(
        re.match(rf"{re.escape(name)}(?!\w)", label, re.IGNORECASE) for name in columns.categories
    )
    problem = (
        f"the row {said} names no statistic or value of its column"
        if is_column
        else f"the table has no column for the row {said}"
    )
    return (
        f"{problem}; write it like 'age, mean (SD)', 'age, median "
        "[Q1,Q3]' or 'sex = F, n (%)', with names and values as in the table; "
        "name further columns with --qi, or remove the row"
    )


READER = Characteristics()
