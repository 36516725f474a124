"""The log as it is read: in parts, whole for export, and checked row by row."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import structlog
from pydantic import Field, ValidationError
from sqlalchemy import Row, Text, cast, select

from treewarden.ppdm_models.errors import os_reason
from treewarden.reports.document.words import printable
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.database.run_tables import log_entry, log_head
from treewarden.service.database.tables import organisation
from treewarden.service.errors import InvalidError, SetupError, UnavailableError
from treewarden.service.ledger.log import FIRST, Event, digest_of, emit, head_problem
from treewarden.service.names import shown_in_json
from treewarden.service.schemas.base import Body, Digest, Id, Page, PageRequest
from treewarden.service.schemas.people import LogCheck, LogEntry, Sort
from treewarden.service.site import Site, Unit
from treewarden.service.use_cases.paging import narrowed

PART = 500
COLUMNS = tuple(LogEntry.model_fields)
HIDDEN = "only for people who may read full reports"
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
    principal: Principal,
    page_request: PageRequest,
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
    searched = (*SEARCHED, DETAIL) if principal.may(Permission.INTERNAL) else SEARCHED
    statement = narrowed(_rows(principal.organisation_id), text, searched)
    number = log_entry.c.seq
    if since is not None:
        statement = statement.where(log_entry.c.at >= _midnight(since))
    if until is not None and until < date.max:
        statement = statement.where(log_entry.c.at < _midnight(until + timedelta(days=1)))
    if page_request.cursor:
        if not (page_request.cursor.isascii() and page_request.cursor.isdigit()):
            raise InvalidError(
                "cursor", "does not belong to this list; use “next” of the previous page"
            )
        last = int(page_request.cursor[:18])
        statement = statement.where(number < last if sort == "newest" else number > last)
    found = unit.connection.execute(
        statement.order_by(number.desc() if sort == "newest" else number.asc()).limit(
            page_request.limit + 1
        )
    ).all()
    shown = found[: page_request.limit]
    return Page(
        items=tuple(_entry(principal, row) for row in shown),
        next=str(shown[-1].seq) if len(found) > page_request.limit else None,
    )


def check_log(unit: Unit, principal: Principal | str) -> LogCheck:
    """Recompute the chain of an organisation's log, and say where it breaks."""
    organisation_id = principal if isinstance(principal, str) else principal.organisation_id
    previous, number = FIRST, 0
    for row in _log_rows(unit, organisation_id):
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


def exported_json(site: Site, principal: Principal) -> Iterator[str]:
    """Yield the whole log as JSON, oldest row first, a part at a time; signs that nobody sees are escaped."""
    opening = "[\n"
    for part in _parts(site, principal.organisation_id):
        for row in part:
            yield opening + shown_in_json(_entry(principal, row).model_dump_json())
            opening = ",\n"
    yield "[]\n" if opening == "[\n" else "\n]\n"


def exported_csv(site: Site, principal: Principal) -> Iterator[str]:
    """Yield the whole log as CSV, oldest row first.

    No cell begins as a formula of a spreadsheet does, and signs that nobody sees are written out; the exact text is in
    the JSON.
    """
    yield _line(COLUMNS)
    for part in _parts(site, principal.organisation_id):
        for row in part:
            said = json.loads(_entry(principal, row).model_dump_json())
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


def _log_rows(unit: Unit, organisation_id: str) -> Iterator[Row[Any]]:
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


def _entry(principal: Principal, row: Row[Any]) -> LogEntry:
    said = {name: getattr(row, name) for name in COLUMNS}
    is_of_table = row.object_kind == "table" or row.detail.get("kind") == "table"
    if is_of_table and "digest" in row.detail and not principal.may(Permission.INTERNAL):
        said["detail"] = {**row.detail, "digest": HIDDEN}
    return LogEntry(**said)


def _line(cells: tuple[str, ...] | list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue()


def _harmless(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell


# Last digests of the logs, written where nobody who can change the database can take them back.
#
# A log's own chain cannot tell that its end was cut off together with its sealed end. A digest that stands elsewhere
# can: in a file of another machine, in what a webhook received, or in the service's own output.

LOG = structlog.get_logger(__name__)


class Anchor(Body):
    """The last row that the log of an organisation had at a moment."""

    organisation: Id
    seq: int = Field(ge=1)
    hash: Digest
    at: datetime


def anchor(site: Site, anchored_rows: dict[str, int]) -> tuple[Anchor, ...]:
    """Say the last row of each log to the output, to webhooks and to the anchor file, where it is another than before.

    ``anchored_rows`` holds the numbers of the rows that were said, and is brought up to date.

    Raises:
        UnavailableError: the anchor file cannot be written.
    """
    with site.reading() as unit:
        anchors = tuple(
            each for each in _heads(unit) if anchored_rows.get(each.organisation) != each.seq
        )
    if not anchors:
        return ()
    with site.unit() as unit:
        for each in anchors:
            emit(unit, each.organisation, Event.LOG_ANCHORED, each.model_dump(mode="json"))
    for each in anchors:
        LOG.info("log anchored", **each.model_dump(mode="json"))
    if site.settings.anchor_file is not None:
        _append(site.settings.anchor_file, anchors)
    anchored_rows.update({each.organisation: each.seq for each in anchors})
    return anchors


def anchor_problems(unit: Unit, anchors: Sequence[Anchor]) -> Iterator[str]:
    """Yield what the logs do not hold any more of what some anchors say."""
    for each in anchors:
        row = unit.connection.execute(
            select(log_entry.c.hash).where(
                log_entry.c.organisation_id == each.organisation, log_entry.c.seq == each.seq
            )
        ).scalar()
        if row != each.hash:
            what = (
                "is missing; the end of the log was cut off"
                if row is None
                else "is a different one"
            )
            last = f"row {each.seq}, the last one on {each.at:%Y-%m-%d %H:%M},"
            yield f"log of {_name(unit, each.organisation)}: {last} {what}"


def read_anchors(path: Path) -> tuple[Anchor, ...]:
    """Return the anchors of a file: one a line, or the body of a ``log.anchored`` event; both are JSON.

    Raises:
        SetupError: the file cannot be read, or a line is no anchor, or there is none.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise SetupError(
            str(path), f"cannot be read ({os_reason(error)}); check the path"
        ) from error
    anchors = tuple(
        _read(line, f"{path}: line {number}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    )
    if not anchors:
        problem = "contains no anchor; name the file that TREEWARDEN_ANCHOR_FILE wrote"
        raise SetupError(str(path), problem)
    return anchors


def _heads(unit: Unit) -> Iterator[Anchor]:
    for row in unit.connection.execute(select(log_head).order_by(log_head.c.organisation_id)):
        yield Anchor(organisation=row.organisation_id, seq=row.seq, hash=row.hash, at=unit.now)


def _append(path: Path, anchors: tuple[Anchor, ...]) -> None:
    """Add lines; what stands in the file is never read or written again, so that it may be of an append-only place."""
    data = "".join(each.model_dump_json() + "\n" for each in anchors).encode()
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, data)
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        problem = f"cannot be written ({os_reason(error)}); see TREEWARDEN_ANCHOR_FILE"
        raise UnavailableError(str(path), problem) from error


def _read(line: bytes, where: str) -> Anchor:
    try:
        said: Any = json.loads(line)
        if isinstance(said, dict) and said.get("event") == Event.LOG_ANCHORED:
            said = said.get("data")
        return Anchor.model_validate(said)
    except (ValueError, RecursionError, ValidationError) as error:
        raise SetupError(
            where, "is not an anchor; remove the line, or name another file"
        ) from error


def _name(unit: Unit, organisation_id: str) -> str:
    wanted = select(organisation.c.name).where(organisation.c.id == organisation_id)
    found = unit.connection.execute(wanted).scalar()
    return repr(found) if found is not None else f"organisation {organisation_id}"
