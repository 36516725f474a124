"""Whether a database and its vault hold what they should: the level, the logs, what refers to what, and every file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Row, and_, exists, func, select, text

from treewarden.service.database.engine import check_level, head
from treewarden.service.database.run_tables import SCHEMA, audit
from treewarden.service.database.tables import blob, organisation, release
from treewarden.service.errors import GoneError, SetupError, UnavailableError
from treewarden.service.site import Site, Unit
from treewarden.service.use_cases.contradictions import (
    contradicted_audits,
    contradicted_releases,
    contradicted_waivers,
)
from treewarden.service.use_cases.log import Anchor, anchor_problems, check_log

AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class CheckedItem:
    """One thing that was looked at, and what is wrong with it, if anything."""

    what: str
    problem: str = ""


def check(site: Site, anchors: Sequence[Anchor] = ()) -> Iterator[CheckedItem]:
    """Look at everything, and yield what was found as it is found; nothing is changed.

    ``anchors`` are what was said elsewhere of the logs before.

    Raises:
        SetupError: the database is of another level, so that nothing in it can be told.
        UnavailableError: the database cannot be reached.
    """
    check_level(site.engine)
    yield CheckedItem(f"level {head()}")
    with site.reading() as unit:
        yield from _file(unit)
        yield from _logs(unit)
        yield from (CheckedItem("anchor", problem) for problem in anchor_problems(unit, anchors))
        if anchors:
            yield CheckedItem(f"{len(anchors)} anchors of logs")
        yield from _decisions(unit)
        yield from _references(unit)
    yield _store(site)
    yield from _blobs(site)


def _store(site: Site) -> CheckedItem:
    """Write, read and remove a small file where files are kept."""
    try:
        site.vault.store.check()
    except SetupError as error:
        return CheckedItem("where files are kept", str(error))
    return CheckedItem("where files are kept")


def _file(unit: Unit) -> Iterator[CheckedItem]:
    if unit.connection.dialect.name == "sqlite":
        found = unit.connection.execute(text("PRAGMA integrity_check")).scalars().all()
        yield CheckedItem("file of the database", "" if found == ["ok"] else "; ".join(found)[:500])


def _logs(unit: Unit) -> Iterator[CheckedItem]:
    for row in unit.connection.execute(select(organisation).order_by(organisation.c.id)).all():
        log_check = check_log(unit, row.id)
        yield CheckedItem(f"log of {row.name!r}, {log_check.rows} rows", log_check.problem)


def _decisions(unit: Unit) -> Iterator[CheckedItem]:
    """Compare verdicts, releases and waivers with their seals, with each other and with the log."""
    number = 0
    for table, compare in ((audit, contradicted_audits), (release, contradicted_releases)):
        ids = unit.connection.execute(select(table.c.id).order_by(table.c.id)).scalars().all()
        for start in range(0, len(ids), AT_ONCE):
            found = compare(unit, ids[start : start + AT_ONCE])
            yield from (CheckedItem(table.name, problem) for problem in found.values())
        number += len(ids)
    for each in unit.connection.execute(select(organisation.c.id)).scalars().all():
        for problem in contradicted_waivers(unit, each).values():
            yield CheckedItem("waiver", problem)
    yield CheckedItem(f"{number} audits and releases, and all waivers")


def _references(unit: Unit) -> Iterator[CheckedItem]:
    """Look for rows that refer to none; PostgreSQL refuses them, SQLite may have been written by somebody else."""
    number = 0
    for table in SCHEMA.sorted_tables:
        for key in table.foreign_key_constraints:
            other = key.referred_table.alias()
            pairs = [(element.parent, other.c[element.column.name]) for element in key.elements]
            leads = exists().where(and_(*(ours == theirs for ours, theirs in pairs)))
            is_said = and_(*(ours.is_not(None) for ours, _ in pairs))
            lost = unit.connection.execute(
                select(func.count()).select_from(table).where(is_said, ~leads)
            ).scalar_one()
            number += 1
            if lost:
                problem = f"{lost} rows refer to a row of {key.referred_table.name} that is missing"
                yield CheckedItem(f"table {table.name}", problem)
    yield CheckedItem(f"{number} kinds of references")


def _blobs(site: Site) -> Iterator[CheckedItem]:
    """Unseal every file, a few rows at a time, so that nobody who writes has to wait."""
    number, after = 0, ""
    while True:
        with site.reading() as unit:
            rows = unit.connection.execute(
                select(blob)
                .where(blob.c.sealed_key.is_not(None), blob.c.id > after)
                .order_by(blob.c.id)
                .limit(AT_ONCE)
            ).all()
        if not rows:
            break
        for row in rows:
            problem = _problem(site, row)
            if problem and _is_kept(site, row.id):  # it may have been erased meanwhile
                yield CheckedItem(f"{row.kind} {row.id}", problem)
            number, after = number + 1, row.id
    yield CheckedItem(f"{number} files of the vault")


def _problem(site: Site, row: Row[tuple[object, ...]]) -> str:
    digest, size = hashlib.sha256(), 0
    try:
        for chunk in site.vault.chunks(row.id, row.digest, row.sealed_key):
            digest.update(chunk)
            size += len(chunk)
    except GoneError:
        return "its file is missing from the vault"
    except UnavailableError as error:
        return str(error)
    if digest.hexdigest() != row.digest or size != row.size:
        return "its file holds other bytes than its row says"
    return ""


def _is_kept(site: Site, blob_id: str) -> bool:
    kept = select(blob.c.id).where(blob.c.id == blob_id, blob.c.sealed_key.is_not(None))
    with site.reading() as unit:
        return unit.connection.execute(kept).first() is not None
