"""Anonymised tables of the same people: records whose values were made coarser, as treewarden, ARX or sdcMicro do it.

A value is itself, a range (``[20, 40[``, ``[20, 40)``, ``(20,40]``, ``20-40``, ``≥ 60``), a set (``{A, B}``), a mask
(``12**``), a label of a value hierarchy (a file of ARX, called after the column, given beside the table), or ``*``. A
record may be left out. A label that nobody explains may be anything. Numbers that nobody has, such as means of groups,
are not read as values. A synthetic table is of nobody: it is refused where its records fit no people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    AnonymisedEntry,
    ColumnCondition,
    Entry,
    RecordGroup,
    TableColumns,
)
from treewarden.ppdm_models.outputs.readers import OutputReader
from treewarden.ppdm_models.outputs.sheets import (
    CellSheet,
    bare,
    class_of,
    column_of,
    read_condition,
)

COUNTED = frozenset({"count", "counts", "n", "freq", "frequency", "share", "prop", "percent", "%"})
ANYTHING = frozenset({"", "*", "**", "na", "nan", "null", "?"})
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
        found = read_condition(column, text, columns)
        if found is None:
            is_vague = True
        else:
            conditions.append(found)
    return RecordGroup(where, tuple(conditions), dict(counts), is_vague)


READER = AnonymisedTable()
