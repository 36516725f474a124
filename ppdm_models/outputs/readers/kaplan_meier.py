"""Kaplan-Meier tables: at each time the people at risk, the events since the time before, and the share left.

Columns as R's ``survfit`` (``summary``, broom) or lifelines' event table name them. The column of times is called as in
the table, or ``time = COLUMN``. ``strata`` parts the people by values of other columns, such as ``sex=F``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    ColumnCondition,
    Entry,
    OpenEntry,
    PrintedNumber,
    SurvivalEntry,
    SurvivalPoint,
    TableColumns,
    ValueCondition,
    is_withheld,
    read_count,
    read_measured,
)
from treewarden.ppdm_models.outputs.readers import OutputReader
from treewarden.ppdm_models.outputs.sheets import CellSheet, bare, column_of

AT_RISK = frozenset({"n.risk", "at_risk", "at risk", "number at risk", "n_risk"})
EVENTS = frozenset({"n.event", "observed", "events", "n_event", "deaths"})
CENSORED = frozenset({"n.censor", "censored", "n_censor"})
SURVIVAL = frozenset({"survival", "surv", "estimate", "km_estimate", "s(t)"})
FOLLOWING = frozenset({"removed", "entrance"})
"""What lifelines prints that times alone tell."""
STRATA = frozenset({"strata", "stratum"})
_ERRORS = re.compile(r"std\.?[ _]?err(or)?|se|(conf\.?)?(low|lower|high|upper).*|.*\d\d ?% ?ci.*")
_TIME = re.compile(r"(?:time|event_at|timeline)\s*(?:=|\()\s*(?P<column>.+?)\s*\)?", re.IGNORECASE)
NOT_LINEAR = "standard errors and confidence limits are not linear constraints over people"


class KaplanMeier(OutputReader):
    """Reads one curve, or one for each stratum."""

    def recognises(self, sheet: CellSheet, columns: TableColumns) -> bool:
        names = {bare(name).casefold() for name in sheet.header[1:]}
        first = bare(sheet.header[0]).casefold()
        is_time = first.startswith(("time", "event_at")) or column_of(first, columns) is not None
        return is_time and bool(names & (AT_RISK | EVENTS)) and bool(names & (EVENTS | SURVIVAL))

    def entries(self, sheet: CellSheet, columns: TableColumns) -> tuple[Entry, ...]:
        return tuple(_entries(sheet, columns))


def _entries(sheet: CellSheet, columns: TableColumns) -> Iterator[Entry]:
    time = _time_column(sheet, columns)
    strata: dict[str, list[SurvivalPoint]] = {}
    more: set[int] = set()
    for row, cells in enumerate(sheet.rows[1:], start=1):
        stratum, parts = "", dict[str, PrintedNumber]()
        for number, name in enumerate(map(str.casefold, map(bare, sheet.header))):
            text = cells[number].strip()
            if number == 0 or name in FOLLOWING or is_withheld(text):
                continue
            if name in STRATA:
                stratum = text
            elif _ERRORS.fullmatch(name):
                more.add(number)
            else:
                kind, printed = _number(sheet, row, number, name)
                parts[kind] = printed
        found = read_measured(cells[0])
        if found is None:
            raise OutputsError(sheet.where(row, 0), f"{cells[0]!r} is not a time; correct it")
        point = SurvivalPoint(Fraction(found.middle), **parts)
        strata.setdefault(stratum, []).append(point)
    for stratum, points in strata.items():
        if any(one.time >= other.time for one, other in zip(points, points[1:], strict=False)):
            raise OutputsError(sheet.source, "its times do not rise; give one curve in each file")
        of = f" of {stratum}" if stratum else ""
        words = f"Kaplan-Meier table{of} with {len(points)} times"
        conditions = _conditions(sheet, stratum, columns)
        yield SurvivalEntry(sheet.where(0), words, time, tuple(points), conditions)
    for number in sorted(more):
        yield OpenEntry(sheet.where(0), f"column {sheet.header[number]!r}", NOT_LINEAR)


def _time_column(sheet: CellSheet, columns: TableColumns) -> str:
    """Return the table's column with the times.

    Raises:
        OutputsError: the header names none.
    """
    header = bare(sheet.header[0])
    named = _TIME.fullmatch(header)
    column = column_of(named["column"] if named else header, columns)
    if column is None or columns.categories[column] is not None:
        problem = (
            f"{header!r} is not a numeric column of the table; write 'time = COLUMN', and name the "
            "column with --qi"
        )
        raise OutputsError(sheet.where(0), problem)
    return column


def _number(sheet: CellSheet, row: int, number: int, name: str) -> tuple[str, PrintedNumber]:
    kinds = {"at_risk": AT_RISK, "events": EVENTS, "censored": CENSORED, "survival": SURVIVAL}
    kind = next((kind for kind, names in kinds.items() if name in names), None)
    if kind is None:
        problem = f"column {sheet.header[number]!r} is not of a Kaplan-Meier table; remove it"
        raise OutputsError(sheet.where(0), problem)
    text = sheet.rows[row][number].strip()
    printed = read_measured(text) if kind == "survival" else read_count(_whole(text))
    if printed is None:
        raise OutputsError(sheet.where(row, number), f"{text!r} is not a number; correct it")
    return kind, printed


def _whole(text: str) -> str:
    """Return a count as some programs print it, with a point and noughts, without these."""
    return re.sub(r"(?<=\d)\.0+$", "", text)


def _conditions(
    sheet: CellSheet, stratum: str, columns: TableColumns
) -> tuple[ColumnCondition, ...]:
    found = []
    for part in filter(None, map(str.strip, stratum.split(","))):
        name, _, value = (each.strip() for each in part.partition("="))
        column = column_of(name, columns)
        known = None if column is None else columns.categories[column]
        if column is None or (known is not None and value not in known):
            problem = f"stratum {stratum!r} names no value of a column; write it as COLUMN=VALUE"
            raise OutputsError(sheet.source, problem)
        found.append(ValueCondition(column, value))
    return tuple(found)


READER = KaplanMeier()
