"""Calibration tables: how many of those whose predicted chance lies in a range have the class.

Columns ``bin`` (``[0.1,0.2)``, ``(0.1,0.2]``, ``0.1-0.2`` without its upper end unless that is 1), ``n``, and
``events`` or ``observed`` (a share); they are about the second class. The chances are the class shares of the tree's
leaves, so that a column of mean predictions says nothing more: remove it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    DescriptiveEntry,
    Entry,
    ScoreCondition,
    Statistic,
    TableColumns,
    is_withheld,
    read_count,
    read_measured,
)
from treewarden.ppdm_models.outputs.readers import OutputReader
from treewarden.ppdm_models.outputs.sheets import CellSheet, bare

BINS = frozenset(
    {"bin", "bins", "predicted risk", "risk group", "probability", "predicted range", "score"}
)
SIZES = frozenset({"n", "count", "people", "size", "total"})
EVENTS = frozenset({"events", "observed events", "cases", "n.event", "positives"})
SHARES = frozenset(
    {"observed", "observed rate", "observed share", "event rate", "fraction of positives"}
)
_BIN = re.compile(
    r"(?P<open>[\[(]?)\s*(?P<low>\d*\.?\d+)\s*(?P<percent>%?)\s*(?:,|;|-|–|to)\s*(?P<high>\d*\.?\d+)\s*%?\s*"
    r"(?P<close>[\])]?)"
)


class CalibrationTable(OutputReader):
    """Reads sizes, which the model tells, and events or shares of them."""

    def recognises(self, sheet: CellSheet, columns: TableColumns) -> bool:
        names = [bare(name).casefold() for name in sheet.header]
        return names[0] in BINS and bool(set(names[1:]) & (EVENTS | SHARES))

    def entries(self, sheet: CellSheet, columns: TableColumns) -> tuple[Entry, ...]:
        if len(columns.classes) != 2:
            problem = "a calibration table is read of models with two classes only; remove it"
            raise OutputsError(sheet.source, problem)
        return tuple(_entries(sheet, columns.classes[1], columns))


def _entries(sheet: CellSheet, group: str, columns: TableColumns) -> Iterator[Entry]:
    names = [bare(name).casefold() for name in sheet.header]
    known = SIZES | EVENTS | SHARES
    strange = [sheet.header[n] for n in range(1, len(names)) if names[n] not in known]
    if strange:
        problem = (
            f"columns {', '.join(strange)}: only n, events and observed are read; remove mean "
            "predictions, which follow from the model, and other columns (then they are not judged)"
        )
        raise OutputsError(sheet.where(0), problem)
    for row, cells in enumerate(sheet.rows[1:], start=1):
        condition = _condition(sheet, row, group)
        who = f"people with a predicted chance in {bare(cells[0])}"
        for number in range(1, len(names)):
            text = cells[number].strip()
            if is_withheld(text):
                continue
            is_share, is_size = names[number] in SHARES, names[number] in SIZES
            printed = read_measured(text) if is_share else read_count(text)
            if printed is None:
                problem = f"{text!r} is not a {'share' if is_share else 'count'}; correct it"
                raise OutputsError(sheet.where(row, number), problem)
            statistic = Statistic.CLASS_SHARE if is_share else Statistic.COUNT
            of = who if is_size else f"{columns.target} = {group} of {who}"
            words = f"{statistic} of {of}: {text}"
            klass = None if is_size else group
            where = sheet.where(row, number)
            yield DescriptiveEntry(where, words, klass, {statistic: printed}, (condition,))


def _condition(sheet: CellSheet, row: int, group: str) -> ScoreCondition:
    """Return the range of a bin.

    Raises:
        OutputsError: it is none.
    """
    found = _BIN.fullmatch(bare(sheet.rows[row][0]))
    if found is None:
        problem = f"{sheet.rows[row][0]!r} is not a range of chances; write it as [0.1,0.2)"
        raise OutputsError(sheet.where(row), problem)
    unit = Fraction(1, 100) if found["percent"] else Fraction(1)
    low, high = Fraction(found["low"]) * unit, Fraction(found["high"]) * unit
    is_last = not found["close"] and high == 1
    return ScoreCondition(
        group, low, high, has_low=found["open"] != "(", has_high=found["close"] == "]" or is_last
    )


READER = CalibrationTable()
