"""Cross tables: how many people of each class have each value, with margins and withheld cells.

Two layouts. Long: a column for each condition, one for the class, and ``count`` or ``share`` (of the class among those
who meet the conditions). Wide: the values of one column down, the classes across, counts in the cells. Where a
condition or the class is empty or ``Total``, the number is of all. A condition may be a label of a value hierarchy,
such as a region of several districts. ``<10`` and ``5-9`` are ranges; ``*`` and the like say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    DescriptiveEntry,
    Entry,
    PrintedNumber,
    Statistic,
    TableColumns,
    is_withheld,
    read_count,
    read_measured,
)
from treewarden.ppdm_models.outputs.readers import OutputReader
from treewarden.ppdm_models.outputs.sheets import (
    CellSheet,
    bare,
    class_of,
    column_of,
    conditions_of,
    group_of,
    is_all,
    labels_of,
)

COUNTS = frozenset({"count", "counts", "n", "freq", "frequency"})
SHARES = frozenset({"share", "proportion", "prop"})
PERCENT = frozenset({"percent", "%", "pct"})


class CrossTable(OutputReader):
    """Reads both layouts; a column that is not understood is an error."""

    def recognises(self, sheet: CellSheet, columns: TableColumns) -> bool:
        return _is_long(sheet, columns) or _is_wide(sheet, columns)

    def entries(self, sheet: CellSheet, columns: TableColumns) -> tuple[Entry, ...]:
        layout = _long if _is_long(sheet, columns) else _wide
        return tuple(layout(sheet, columns))


def _is_long(sheet: CellSheet, columns: TableColumns) -> bool:
    names = {bare(name).casefold() for name in sheet.header}
    return columns.target.casefold() in names and bool(names & (COUNTS | SHARES | PERCENT))


def _is_wide(sheet: CellSheet, columns: TableColumns) -> bool:
    groups = [group_of(name, columns) for name in sheet.header[1:]]
    return (
        column_of(sheet.header[0], columns) is not None
        and all(groups)
        and any(found is not None and found.group is not None for found in groups)
    )


def _long(sheet: CellSheet, columns: TableColumns) -> Iterator[Entry]:
    names = [bare(name) for name in sheet.header]
    target = next(n for n, name in enumerate(names) if name.casefold() == columns.target.casefold())
    values: dict[int, str] = {}
    conditions: dict[int, str] = {}
    for number, name in enumerate(names):
        column = column_of(name, columns)
        if number == target:
            continue
        if column is not None:
            conditions[number] = column
        elif name.casefold() in COUNTS | SHARES | PERCENT:
            values[number] = name.casefold()
        else:
            raise OutputsError(
                sheet.where(0),
                f"{name!r} is not a column of the table, a count or a share; remove it",
            )
    for row, cells in enumerate(sheet.rows[1:], start=1):
        group = None
        if not is_all(cells[target]):
            group = class_of(cells[target], columns)
            if group is None:
                raise OutputsError(sheet.where(row), _no_class(cells[target], columns))
        labels = labels_of(sheet, row, conditions, columns)
        conditions_met = conditions_of(sheet, row, labels, columns)
        for number, kind in values.items():
            text = cells[number].strip()
            if is_withheld(text):
                continue
            statistic, printed = _printed(kind, text)
            if printed is None:
                raise OutputsError(
                    sheet.where(row, number), f"{text!r} is not a {kind}; correct it"
                )
            words = f"{statistic} of {_people_words(group, labels, columns)}: {text}"
            yield DescriptiveEntry(
                sheet.where(row), words, group, {statistic: printed}, conditions_met
            )


def _printed(kind: str, text: str) -> tuple[Statistic, PrintedNumber | None]:
    if kind in COUNTS:
        return Statistic.COUNT, read_count(text)
    printed = read_measured(text)
    if printed is not None and kind in PERCENT and not text.endswith("%"):
        printed = printed.times(Fraction(1, 100))
    return Statistic.CLASS_SHARE, printed


def _wide(sheet: CellSheet, columns: TableColumns) -> Iterator[Entry]:
    column = column_of(sheet.header[0], columns)
    assert column is not None
    groups = [group_of(name, columns) for name in sheet.header]
    for row, cells in enumerate(sheet.rows[1:], start=1):
        labels = labels_of(sheet, row, {0: column}, columns)
        conditions_met = conditions_of(sheet, row, labels, columns)
        for number in range(1, len(cells)):
            headed, text = groups[number], cells[number].strip()
            if headed is None or is_withheld(text):
                continue
            printed = read_count(text)
            if printed is None:
                raise OutputsError(sheet.where(row, number), f"{text!r} is not a count; correct it")
            words = f"count of {_people_words(headed.group, labels, columns)}: {text}"
            yield DescriptiveEntry(
                sheet.where(row, number),
                words,
                headed.group,
                {Statistic.COUNT: printed},
                conditions_met,
            )


def _people_words(group: str | None, labels: Mapping[str, str], columns: TableColumns) -> str:
    said = [f"{column} = {label}" for column, label in labels.items()]
    if group is not None:
        said.append(f"{columns.target} = {group}")
    return ", ".join(said) or "all people"


def _no_class(text: str, columns: TableColumns) -> str:
    return f"{text!r} is not a class of the model; use {', '.join(columns.classes)}"


READER = CrossTable()
