"""The log as it is read: in parts, whole for export, and checked row by row."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import Row, Text, cast, select

from treewarden.reports.document.words import printable
from treewarden.service.cases.paging import narrowed
from treewarden.service.database.tables import log_entry
from treewarden.service.errors import InvalidError
from treewarden.service.ledger.log import FIRST, digest_of, head_problem
from treewarden.service.people.permissions import Permission
from treewarden.service.people.principal import Principal
from treewarden.service.schemas.base import Page, PageRequest
from treewarden.service.schemas.telling import LogCheck, LogEntry, Sort
from treewarden.service.site import Site, Unit
from treewarden.service.unseen import shown_in_json

PART = 500
COLUMNS = tuple(LogEntry.model_fields)
HIDDEN = "for those who may see full reports"
"""What stands for the digest of a table, which confirms whoever guesses the table; the chain is of what was written."""
SEARCHED = (
    log_entry.c.actor,
    log_entry.c.action,
    log_entry.c.object_kind,
    log_entry.c.object_id,
)
"""Where the words stand that rows are looked for by."""
DETAIL = cast(log_entry.c.detail, Text)
"""Where they may stand too, for who may see all of it: a digest that is hidden must not be found either."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def list_log(
    unit: Unit,
    who: Principal,
    wanted: PageRequest,
    *,
    text: str = "",
    since: date | None = None,
    until: date | None = None,
    sort: Sort = "newest",
) -> Page[LogEntry]:
    """Return rows of the organisation's log, those with all words of a text, of some days; the cursor is a number.

    Raises:
        InvalidError: the cursor is none that a list gave.
    """
    searched = (*SEARCHED, DETAIL) if who.may(Permission.INTERNAL) else SEARCHED
    statement = narrowed(_rows(who.organisation_id), text, searched)
    number = log_entry.c.seq
    if since is not None:
        statement = statement.where(log_entry.c.at >= _midnight(since))
    if until is not None and until < date.max:
        statement = statement.where(log_entry.c.at < _midnight(until + timedelta(days=1)))
    if wanted.cursor:
        if not (wanted.cursor.isascii() and wanted.cursor.isdigit()):
            raise InvalidError("cursor", "is none of this list; take “next” of the page before")
        last = int(wanted.cursor[:18])
        statement = statement.where(number < last if sort == "newest" else number > last)
    found = unit.connection.execute(
        statement.order_by(number.desc() if sort == "newest" else number.asc()).limit(
            wanted.limit + 1
        )
    ).all()
    shown = found[: wanted.limit]
    return Page(
        items=tuple(_entry(who, row) for row in shown),
        next=str(shown[-1].seq) if len(found) > wanted.limit else None,
    )


def check_log(unit: Unit, who: Principal | str) -> LogCheck:
    """Recompute the chain of an organisation's log, and say where it breaks."""
    organisation_id = who if isinstance(who, str) else who.organisation_id
    previous, number = FIRST, 0
    for row in _each(unit, organisation_id):
        number += 1
        problem = ""
        if row.seq != number:
            problem = f"row {number} is missing"
        elif row.previous_hash != previous:
            problem = f"row {number} does not follow from the one before"
        elif row.hash != digest_of(dict(row._mapping)):
            problem = f"row {number} was changed after it was written"
        if problem:
            return LogCheck(holds=False, rows=number, problem=problem, head=previous)
        previous = row.hash
    problem = head_problem(unit, organisation_id)
    return LogCheck(holds=not problem, rows=number, problem=problem, head=previous)


def exported_json(site: Site, who: Principal) -> Iterator[str]:
    """Yield the whole log as JSON, oldest row first, a part at a time; signs that nobody sees are escaped."""
    opening = "[\n"
    for part in _parts(site, who.organisation_id):
        for row in part:
            yield opening + shown_in_json(_entry(who, row).model_dump_json())
            opening = ",\n"
    yield "[]\n" if opening == "[\n" else "\n]\n"


def exported_csv(site: Site, who: Principal) -> Iterator[str]:
    """Yield the whole log as CSV, oldest row first.

    No cell begins as a formula of a spreadsheet does, and signs that nobody sees are written out; the exact text is in
    the JSON.
    """
    yield _line(COLUMNS)
    for part in _parts(site, who.organisation_id):
        for row in part:
            said = json.loads(_entry(who, row).model_dump_json())
            said["detail"] = json.dumps(said["detail"], sort_keys=True)
            yield _line([_harmless(printable(str(said[name]))) for name in COLUMNS])


def _parts(site: Site, organisation_id: str) -> Iterator[list[Row[Any]]]:
    """Yield rows in parts, each in a transaction of its own: rows never change, and new ones only come after."""
    after = 0
    while True:
        with site.reading() as unit:
            rows = unit.connection.execute(
                _rows(organisation_id)
                .where(log_entry.c.seq > after)
                .order_by(log_entry.c.seq)
                .limit(PART)
            ).all()
        if not rows:
            return
        yield list(rows)
        after = rows[-1].seq


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _each(unit: Unit, organisation_id: str) -> Iterator[Row[Any]]:
    after = 0
    while True:
        rows = unit.connection.execute(
            _rows(organisation_id)
            .where(log_entry.c.seq > after)
            .order_by(log_entry.c.seq)
            .limit(PART)
        ).all()
        if not rows:
            return
        yield from rows
        after = rows[-1].seq


def _rows(organisation_id: str) -> Any:  # noqa: ANN401  # a select of one table
    return select(log_entry).where(log_entry.c.organisation_id == organisation_id)


def _entry(who: Principal, row: Row[Any]) -> LogEntry:
    said = {name: getattr(row, name) for name in COLUMNS}
    is_of_table = row.object_kind == "table" or row.detail.get("kind") == "table"
    if is_of_table and "digest" in row.detail and not who.may(Permission.INTERNAL):
        said["detail"] = {**row.detail, "digest": HIDDEN}
    return LogEntry(**said)


def _line(cells: tuple[str, ...] | list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue()


def _harmless(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell
