"""A side of a real session: what it brings is read and checked before anybody is met, what it keeps is told after."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from treewarden.audit.progress import Step, silent
from treewarden.jobs.vertical.columns import NumberHandling, coded_like, holding_of, ids_of
from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.methods.vertical.messages import ProtocolError, role
from treewarden.ppdm_models.methods.vertical.party_view import Codes, Holding
from treewarden.ppdm_models.methods.vertical.session import Meeting
from treewarden.ppdm_models.methods.vertical.taking_part import (
    Brought,
    Led,
    PartyRecord,
    lead,
    take_part,
)
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.table import Table

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Own:
    """A party's files: its table, its name in the session, the column of ids that all hold, records to classify."""

    table: Path
    name: str
    ids: str | None
    asked: Path | None
    numbers: NumberHandling


@dataclass(frozen=True, slots=True)
class CheckedPart:
    """A party's part, checked: its number, its tables, the names of its attributes, and whether it holds the class."""

    number: int
    table: Table
    asked: Table | None
    names: tuple[str, ...]
    target: str | None


def part_of(meeting: Meeting, own: Own, step: Step = silent) -> CheckedPart:
    """Read a party's tables, and check that they are what the session file says.

    Raises:
        PartyError: the session has no such party, or the tables do not fit it.
        TableError: a table cannot be read, or a column cannot be used.
    """
    session = meeting.session
    if own.name not in session.parties:
        there = ", ".join(session.parties)
        raise PartyError("--name", f"the session has no party {own.name!r}; it has {there}")
    number = session.parties.index(own.name)
    with step(f"reading {own.table.name}"):
        table = read_table(own.table)
    holds = number == session.labelled
    if holds and meeting.target not in table.columns:
        raise PartyError(own.table.name, table.lacks(meeting.target))
    if not holds and meeting.target in table.columns:
        labelled = session.parties[session.labelled]
        problem = f"has a column {meeting.target!r}, and only {labelled} may hold the class; remove the column"
        raise PartyError(own.table.name, problem)
    names = tuple(column for column in table.columns if column not in (meeting.target, own.ids))
    if len(names) != len(session.ranks[number]):
        said = len(session.ranks[number])
        problem = f"has {len(names):,} attributes, and the session file states {said:,}; correct one of them"
        raise PartyError(own.table.name, problem)
    if own.ids is None and table.rows != session.records:
        problem = f"has {table.rows:,} records, and the session file states {session.records:,}"
        advice = "correct one of them, or name a column of ids with --id"
        raise PartyError(own.table.name, f"{problem}; {advice}")
    part = CheckedPart(
        number, table, _asked_table(meeting, own), names, meeting.target if holds else None
    )
    holding_of(table, names, part.target, session.classes, own.numbers)  # refused before any meets
    return part


def _asked_table(meeting: Meeting, own: Own) -> Table | None:
    if (own.asked is None) is not (meeting.asked == 0):
        count = meeting.asked
        problem = f"the session classifies {count:,} records; " + (
            "give them with --asked FILE" if count else "leave out --asked"
        )
        raise PartyError("--asked", problem)
    if own.asked is None:
        return None
    table = read_table(own.asked)
    if own.ids is None and table.rows != meeting.asked:
        problem = f"has {table.rows:,} records, and the session file states {meeting.asked:,}; correct one of them"
        raise PartyError(own.asked.name, problem)
    return table


def taken_part(meeting: Meeting, own: Own, part: CheckedPart, certificates: Path) -> PartyRecord:
    """Be a party until the miner ends the session.

    Raises:
        PartyError: a side cannot be reached, is late or breaks the protocol, or a table does not fit.
    """
    session = meeting.session

    def holding(rows: Codes, _: Holding | None) -> Holding:
        return holding_of(
            part.table, part.names, part.target, session.classes, own.numbers, rows=rows
        )

    records = Brought(_ids(part.table, own), holding)
    brought = None
    if part.asked is not None:
        table = part.asked

        def asked_of(rows: Codes, known: Holding | None) -> Holding:
            return coded_like(table, known or Holding(()), rows)

        brought = Brought(_ids(table, own), asked_of)
    return _run(meeting, take_part(meeting, part.number, certificates, records, brought))


def _ids(table: Table, own: Own) -> Sequence[str] | None:
    return None if own.ids is None else ids_of(table, own.ids)


def led(meeting: Meeting, certificates: Path) -> Led:
    """Lead a session.

    Raises:
        PartyError: a party cannot be reached, is late or breaks the protocol.
    """
    return _run(meeting, lead(meeting, certificates))


def _run(meeting: Meeting, side: Coroutine[Any, Any, Result]) -> Result:
    try:
        return asyncio.run(side)
    except ProtocolError as error:
        who = role(error.who, meeting.session.parties)
        raise PartyError(who, error.problem) from error
