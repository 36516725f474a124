"""Anonymised tables of the same people: records whose values were made coarser, as treewarden, ARX or sdcMicro do it.

A value is itself, a range (``[20, 40[``, ``[20, 40)``, ``(20,40]``, ``20-40``, ``≥ 60``), a set (``{A, B}``), a mask
(``12**``), a label of a value hierarchy (a file of ARX, called after the column, given beside the table), or ``*``. A
record may be left out. A label that nobody explains may be anything. Numbers that nobody has, such as means of groups,
are not read as values. A synthetic table is of nobody: it is refused where its records fit no people.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    AnonymisedEntry,
    ColumnCondition,
    Entry,
    RangeCondition,
    RecordGroup,
    TableColumns,
    ValueCondition,
    ValuesCondition,
    read_measured,
)
from treewarden.ppdm_models.outputs.readers import OutputReader
from treewarden.ppdm_models.outputs.sheets import CellSheet, bare, class_of, column_of

COUNTED = frozenset({"count", "counts", "n", "freq", "frequency", "share", "prop", "percent", "%"})
ANYTHING = frozenset({"", "*", "**", "na", "nan", "null", "?"})
_N = r"[-−]?\d+(?:\.\d+)?"
_RANGE = re.compile(
    rf"(?P<open>[\[(\]]?)\s*(?P<low>{_N})\s*(?:,|;|-|–|to|:)\s*(?P<high>{_N})\s*(?P<close>[\])\[]?)"
)
_ONE_END = re.compile(rf"(?P<sign><=|>=|≤|≥|<|>)\s*(?P<end>{_N})")
Conditions = tuple[ColumnCondition, ...]


class AnonymisedTable(OutputReader):
    """Reads tables with the target and quasi-identifiers as columns, a row for each record."""

    def recognises(self, sheet: CellSheet, columns: TableColumns) -> bool:
        names = [bare(name) for name in sheet.header]
        folded = {name.casefold() for name in names}
        is_counted = bool(folded & COUNTED)
        others = [name for name in names if name.casefold() != columns.target.casefold()]
        return (
            columns.target.casefold() in folded
            and not is_counted
            and bool(others)
            and any(column_of(name, columns) for name in others)
            and not any(class_of(name, columns) for name in others)
        )

    def entries(self, sheet: CellSheet, columns: TableColumns) -> tuple[Entry, ...]:
        target, places = _columns_of(sheet, columns)
        kinds: dict[tuple[str, ...], Counter[str]] = {}
        lines: dict[tuple[str, ...], int] = {}
        for row, cells in enumerate(sheet.rows[1:], start=1):
            label = class_of(cells[target], columns)
            if label is None:
                known = ", ".join(columns.classes)
                problem = f"{cells[target]!r} is not a class of the model; use {known}"
                raise OutputsError(sheet.where(row), problem)
            key = tuple(cells[place].strip() for place in places)
            kinds.setdefault(key, Counter())[label] += 1
            lines.setdefault(key, row)
        groups = tuple(
            _group(
                sheet.where(lines[key]),
                dict(zip(places.values(), key, strict=True)),
                counts,
                columns,
            )
            for key, counts in kinds.items()
        )
        words = f"anonymised table of {len(sheet.rows) - 1:,} records"
        return (AnonymisedEntry(sheet.where(0), words, groups),)


def _columns_of(sheet: CellSheet, columns: TableColumns) -> tuple[int, dict[int, str]]:
    """Return where the target stands, and the table's column at each other place.

    Raises:
        OutputsError: a column is not the table's, or stands twice.
    """
    target, places = -1, dict[int, str]()
    for number, name in enumerate(map(bare, sheet.header)):
        column = column_of(name, columns)
        if name.casefold() == columns.target.casefold():
            target = number
        elif column is None or column in places.values():
            problem = (
                f"{name!r} is not one column of the table; name further columns with --qi, or remove "
                "it (then it is not judged)"
            )
            raise OutputsError(sheet.where(0), problem)
        else:
            places[number] = column
    return target, places


def _group(
    where: str, values: Mapping[str, str], counts: Mapping[str, int], columns: TableColumns
) -> RecordGroup:
    conditions, is_vague = list[ColumnCondition](), False
    for column, text in values.items():
        if text.casefold() in ANYTHING:
            continue
        known = columns.categories[column]
        labelled = columns.hierarchies.get(column, {}).get(text)
        found: ColumnCondition | None
        if labelled is not None:
            found = ValuesCondition(column, labelled)
        else:
            found = _number(column, text) if known is None else _category(column, text, known)
        if found is None:
            is_vague = True
        else:
            conditions.append(found)
    return RecordGroup(where, tuple(conditions), dict(counts), is_vague)


def _category(column: str, text: str, categories: tuple[str, ...]) -> ColumnCondition | None:
    """Return what a text holds of a column's values; None where that is not understood."""
    if text in categories:
        return ValueCondition(column, text)
    if text.startswith("{") and text.endswith("}"):
        parts = [part.strip() for part in text[1:-1].split(",")]
        return ValuesCondition(column, frozenset(parts)) if set(parts) <= set(categories) else None
    start = text.rstrip("*")
    if start and start != text:
        alike = [
            value for value in categories if len(value) == len(text) and value.startswith(start)
        ]
        return ValuesCondition(column, frozenset(alike)) if alike else None
    return None


def _number(column: str, text: str) -> ColumnCondition | None:
    """Return which numbers a text holds; None where that is not understood."""
    plain = read_measured(text)
    if plain is not None and not text.endswith("%"):
        return ValueCondition(column, text)
    one = _ONE_END.fullmatch(text)
    if one:
        end, has_end = Fraction(one["end"].replace("−", "-")), one["sign"] not in "<>"
        if one["sign"].startswith(("<", "≤")):
            return RangeCondition(column, high=end, has_high=has_end)
        return RangeCondition(column, low=end, has_low=has_end)
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
    low, high = (Fraction(found[name].replace("−", "-")) for name in ("low", "high"))
    # Without brackets both ends may belong to it: then it holds no less than what was meant.
    has_low, has_high = found["open"] in ("[", ""), found["close"] in ("]", "")
    return RangeCondition(column, low, high, has_low=has_low, has_high=has_high)


READER = AnonymisedTable()
