"""Tables of totals of a model's target by category, as official statistics publish them, with withheld cells.

Long layout: a column for each condition, and ``total`` (or ``sum``), ``mean`` or both, with or without ``count``. Where
a condition is empty or ``Total``, the number is of all; ``{Total}`` is a value of that name. A condition may be a label
of a value hierarchy (given beside the table: ARX's, or sdcTable's list of codes with levels). ``*``, ``x`` and the
like, or the status ``u`` or ``x`` in sdcTable's column ``sdcStatus``, say that a cell is withheld.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    ALL_PEOPLE,
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
    column_of,
    conditions_of,
    labels_of,
)

STATISTICS = {
    **dict.fromkeys(("total", "sum", "totals"), Statistic.TOTAL),
    **dict.fromkeys(("mean", "average"), Statistic.MEAN),
    **dict.fromkeys(("count", "counts", "n", "freq", "frequency"), Statistic.COUNT),
}
STATUS = "sdcstatus"
SUPPRESSED = frozenset({"u", "x"})
"""What sdcTable writes of cells that are withheld: by a rule, or to protect others."""


class TotalsTable(OutputReader):
    """Reads every cell; a column that is not understood is an error."""

    is_of_numbers = True

    def recognises(self, sheet: CellSheet, columns: TableColumns) -> bool:
        statistics = {STATISTICS.get(bare(name).casefold()) for name in sheet.header}
        has_condition = any(column_of(name, columns) for name in sheet.header)
        return has_condition and bool(statistics & {Statistic.TOTAL, Statistic.MEAN})

    def entries(self, sheet: CellSheet, columns: TableColumns) -> tuple[Entry, ...]:
        return tuple(_entries(sheet, columns))


def _entries(sheet: CellSheet, columns: TableColumns) -> Iterator[Entry]:
    conditions: dict[str, int] = {}
    values: dict[Statistic, int] = {}
    status = None
    for number, name in enumerate(map(bare, sheet.header)):
        column, statistic = column_of(name, columns), STATISTICS.get(name.casefold())
        if column is not None and column not in conditions:
            conditions[column] = number
        elif statistic is not None and statistic not in values:
            values[statistic] = number
        elif name.casefold() == STATUS:
            status = number
        else:
            problem = (
                f"{name!r} is not one column of the table, a total, a mean or a count; name further "
                "columns with --qi, or remove it"
            )
            raise OutputsError(sheet.where(0), problem)
    column_at = {number: column for column, number in conditions.items()}
    for row, cells in enumerate(sheet.rows[1:], start=1):
        labels = labels_of(sheet, row, column_at, columns)
        printed = dict(_printed(sheet, row, values))
        is_suppressed = status is not None and cells[status].strip().casefold() in SUPPRESSED
        if is_suppressed and printed:
            problem = (
                "sdcStatus says that the cell is withheld, but its number is in the file; empty the "
                "cell in the file that is published"
            )
            raise OutputsError(sheet.where(row), problem)
        people = ", ".join(f"{column} = {label}" for column, label in labels.items())
        words = f"{columns.target} of {people or ALL_PEOPLE}: {_words(printed)}"
        yield DescriptiveEntry(
            where=sheet.where(row),
            words=words,
            group=None,
            numbers=printed,
            conditions=conditions_of(sheet, row, labels, columns),
            column=columns.target,
        )


def _printed(
    sheet: CellSheet, row: int, values: Mapping[Statistic, int]
) -> Iterator[tuple[Statistic, PrintedNumber]]:
    """Yield the numbers of a row, but those that are withheld.

    Raises:
        OutputsError: one is no number.
    """
    for statistic, number in values.items():
        text = sheet.rows[row][number].strip()
        if is_withheld(text):
            continue
        read = read_count if statistic is Statistic.COUNT else read_measured
        printed = read(text)
        if printed is None:
            raise OutputsError(
                sheet.where(row, number), f"{text!r} is not a {statistic}; correct it"
            )
        yield statistic, printed


def _words(printed: Mapping[Statistic, PrintedNumber]) -> str:
    return ", ".join(f"{name} {number.text}" for name, number in printed.items()) or "withheld"


READER = TotalsTable()
