"""Last digests of the logs, written where nobody who can change the database can take them back.

A log's own chain cannot tell that its end was cut off together with its sealed end. A digest that stands elsewhere can:
in a file of another machine, in what a webhook received, or in the service's own output.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog
from pydantic import Field, ValidationError
from sqlalchemy import select

from treewarden.service.database.tables import log_entry, log_head, organisation
from treewarden.service.errors import SetupError, UnavailableError
from treewarden.service.ledger.events import Event, emit
from treewarden.service.schemas.base import Body, Digest, Id
from treewarden.service.site import Site, Unit

LOG = structlog.get_logger(__name__)


class Anchor(Body):
    """The last row that the log of an organisation had at a moment."""

    organisation: Id
    seq: int = Field(ge=1)
    hash: Digest
    at: datetime


def anchor(site: Site, known: dict[str, int]) -> tuple[Anchor, ...]:
    """Say the last row of each log to the output, to webhooks and to the anchor file, where it is another than before.

    ``known`` holds the numbers of the rows that were said, and is brought up to date.

    Raises:
        UnavailableError: the anchor file cannot be written.
    """
    with site.reading() as unit:
        found = tuple(each for each in _heads(unit) if known.get(each.organisation) != each.seq)
    if not found:
        return ()
    with site.unit() as unit:
        for each in found:
            emit(unit, each.organisation, Event.LOG_ANCHORED, each.model_dump(mode="json"))
    for each in found:
        LOG.info("log anchored", **each.model_dump(mode="json"))
    if site.settings.anchor_file is not None:
        _append(site.settings.anchor_file, found)
    known.update({each.organisation: each.seq for each in found})
    return found


def anchor_problems(unit: Unit, anchors: Sequence[Anchor]) -> Iterator[str]:
    """Yield what the logs do not hold any more of what some anchors say."""
    for each in anchors:
        row = unit.connection.execute(
            select(log_entry.c.hash).where(
                log_entry.c.organisation_id == each.organisation, log_entry.c.seq == each.seq
            )
        ).scalar()
        if row != each.hash:
            what = "is missing; the end of the log was cut off" if row is None else "is another"
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
        raise SetupError(str(path), f"cannot be read ({error.strerror})") from error
    found = tuple(
        _read(line, f"{path}: line {number}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    )
    if not found:
        problem = "holds no anchor; name the file that TREEWARDEN_ANCHOR_FILE wrote"
        raise SetupError(str(path), problem)
    return found


def _heads(unit: Unit) -> Iterator[Anchor]:
    for row in unit.connection.execute(select(log_head).order_by(log_head.c.organisation_id)):
        yield Anchor(organisation=row.organisation_id, seq=row.seq, hash=row.hash, at=unit.now)


def _append(path: Path, found: tuple[Anchor, ...]) -> None:
    """Add lines; what stands in the file is never read or written again, so that it may be of an append-only place."""
    data = "".join(each.model_dump_json() + "\n" for each in found).encode()
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, data)
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        problem = f"cannot be written ({error.strerror}); see TREEWARDEN_ANCHOR_FILE"
        raise UnavailableError(str(path), problem) from error


def _read(line: bytes, where: str) -> Anchor:
    try:
        said: Any = json.loads(line)
        if isinstance(said, dict) and said.get("event") == Event.LOG_ANCHORED:
            said = said.get("data")
        return Anchor.model_validate(said)
    except (ValueError, RecursionError, ValidationError) as error:
        raise SetupError(where, "is no anchor; take the line out, or another file") from error


def _name(unit: Unit, organisation_id: str) -> str:
    wanted = select(organisation.c.name).where(organisation.c.id == organisation_id)
    found = unit.connection.execute(wanted).scalar()
    return repr(found) if found is not None else f"organisation {organisation_id}"
