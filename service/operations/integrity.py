"""The database and its vault kept whole: a check of all they hold, and a copy that any database takes back.

The check asks for the level, the logs, what refers to what, and every file. In a copy each line is a piece of JSON:
what the file is, then one row after the other in the order in which they refer to each other, then how many there were
and the digest of all lines before. Keys of tables never reach the copy, so one that outlives a table cannot read it;
sessions and the like, which hold for a moment, are left out. The files of the vault are sealed and copied beside it;
the key file is kept elsewhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, islice
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy import (
    Column,
    ColumnElement,
    LargeBinary,
    Row,
    Table,
    and_,
    case,
    exists,
    func,
    insert,
    null,
    select,
    text,
    update,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.types import TypeEngine

import treewarden
from treewarden.ppdm_models.errors import os_reason
from treewarden.service.database.engine import check_level, head, level, upgrade
from treewarden.service.database.run_tables import SCHEMA, Utc, audit, idempotency, mail, worker
from treewarden.service.database.tables import (
    blob,
    data_table,
    organisation,
    release,
    session,
    sign_in_failure,
)
from treewarden.service.errors import GoneError, SetupError, UnavailableError
from treewarden.service.ledger.log import record
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
        return "its file does not have the SHA-256 of its row"
    return ""


def _is_kept(site: Site, blob_id: str) -> bool:
    kept = select(blob.c.id).where(blob.c.id == blob_id, blob.c.sealed_key.is_not(None))
    with site.reading() as unit:
        return unit.connection.execute(kept).first() is not None


FORM = "treewarden backup 1"
MOMENTARY = (session, sign_in_failure, idempotency, mail, worker)
KEEPING_KEYS = ("model", "report", "file")
"""The kinds of blobs whose keys are copied; what else there is holds records of people."""
ROWS_AT_ONCE = 500


def back_up(site: Site, path: Path) -> int:
    """Write one unchanging view of the database into a new file, and return how many rows that are.

    Raises:
        SetupError: the file is there already or cannot be written, or the database is of another level.
        UnavailableError: the database cannot be reached.
    """
    check_level(site.engine)
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            digest, number = hashlib.sha256(), -1
            with site.reading() as unit:
                for line in _lines(unit):
                    digest.update(line)
                    file.write(line)
                    number += 1
            file.write(_line({"rows": number, "sha256": digest.hexdigest()}))
            file.flush()
            os.fsync(file.fileno())
        os.link(part, path)  # unlike to rename it, this never replaces a file
    except FileExistsError as error:
        raise SetupError(str(path), "exists already; name a new file") from error
    except OSError as error:
        problem = f"cannot be written ({os_reason(error)}); name another file"
        raise SetupError(str(path), problem) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    return number


def restore(site: Site, path: Path) -> int:
    """Put the rows of a copy into an empty database, all or none, and return how many that are.

    Tables whose key was left out are erased from then on, and the log of each organisation says that it was restored.

    Raises:
        SetupError: the database holds something, or the file is no whole copy of this level.
        UnavailableError: the database cannot be reached.
    """
    if level(site.engine) is None:
        upgrade(site.engine)
    check_level(site.engine)
    try:
        with path.open("rb") as file, site.unit() as unit:
            _check_empty(unit)
            with _without_triggers(unit, "review"):
                return _restored(unit, file, path)
    except OSError as error:
        raise SetupError(
            str(path), f"cannot be read ({os_reason(error)}); check the path"
        ) from error


@contextlib.contextmanager
def _without_triggers(unit: Unit, table: str) -> Iterator[None]:
    """Let rows of a table be as they were written: what was decided under older rules is kept, and opens no gate."""
    if unit.connection.dialect.name == "postgresql":
        unit.connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
        yield
        unit.connection.execute(text(f"ALTER TABLE {table} ENABLE TRIGGER USER"))
        return
    wanted = text(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = :table"
    )
    found = unit.connection.execute(wanted, {"table": table}).all()
    for row in found:
        unit.connection.execute(text(f"DROP TRIGGER {row.name}"))
    yield
    for row in found:
        unit.connection.exec_driver_sql(row.sql)


def _lines(unit: Unit) -> Iterator[bytes]:
    told = {"form": FORM, "level": head(), "version": treewarden.__version__}
    yield _line(told | {"at": unit.now.isoformat()})
    for table in SCHEMA.sorted_tables:
        if table in MOMENTARY:
            continue
        columns = [_copied(table, column) for column in table.c]
        statement = select(*columns).order_by(*table.primary_key)
        for row in unit.connection.execute(statement.execution_options(yield_per=ROWS_AT_ONCE)):
            yield _line({"table": table.name, "row": _written(row)})


def _copied(table: Table, column: Column[Any]) -> ColumnElement[Any]:
    """Return a column as it is copied: keys of tables are left where they are, by the database itself.

    So are the columns of tables that are there: without a header they are the first person's values.
    """
    if table is data_table and column.name == "columns":
        return case((data_table.c.erased_at.is_not(None), column), else_=null()).label(column.name)
    if table is blob and column.name == "sealed_key":
        return case((blob.c.kind.in_(KEEPING_KEYS), column), else_=None).label(column.name)
    return column


def _written(row: Row[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in row._mapping.items():
        if isinstance(value, bytes):
            found[name] = b64encode(value).decode("ascii")
        elif isinstance(value, datetime):
            found[name] = value.isoformat()
        elif value is not None:
            found[name] = value
    return found


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def _check_empty(unit: Unit) -> None:
    for table in SCHEMA.sorted_tables:
        if unit.connection.execute(select(table).limit(1)).first() is not None:
            problem = "is not empty; restore into a new, empty one"
            raise SetupError("database", problem)


def _restored(unit: Unit, file: BinaryIO, path: Path) -> int:
    broken = SetupError(str(path), "is not a complete backup of treewarden; use another copy")
    tables = {table.name: table for table in SCHEMA.sorted_tables if table not in MOMENTARY}
    lines = _checked(file, path, broken)
    number = 0
    try:
        for (name, columns), rows in groupby(
            lines, key=lambda line: (line["table"], [*line["row"]])
        ):
            types = {column: tables[name].c[column].type for column in columns}
            while part := list(islice(rows, ROWS_AT_ONCE)):
                values = [_read(said["row"], types) for said in part]
                unit.connection.execute(insert(tables[name]), values)
                number += len(values)
    except (AttributeError, KeyError, TypeError, ValueError, SQLAlchemyError) as error:
        raise broken from error
    _erase_tables(unit)
    for each in unit.connection.execute(select(organisation.c.id)).scalars().all():
        record(unit, each, "database.restored", "organisation", each, {"rows": number})
    return number


def _checked(file: BinaryIO, path: Path, broken: SetupError) -> Iterator[dict[str, Any]]:
    """Yield the rows that a copy tells of; it ends with an error unless the copy is whole."""
    digest, number, last = hashlib.sha256(), 0, b""
    for line in file:
        if last:
            digest.update(last)
            said = _read_line(last, broken)
            if number == 0:
                _check_form(said, path, broken)
            else:
                yield said
            number += 1
        last = line
    if number == 0 or _read_line(last, broken) != {
        "rows": number - 1,
        "sha256": digest.hexdigest(),
    }:
        raise broken


def _check_form(form: dict[str, Any], path: Path, broken: SetupError) -> None:
    if form.get("form") != FORM:
        raise broken
    if form.get("level") != head():
        problem = (
            f"has level {form.get('level')}, but this version needs {head()}; restore it "
            f"with treewarden {form.get('version')}, then run: treewarden db upgrade"
        )
        raise SetupError(str(path), problem)


def _read_line(line: bytes, broken: SetupError) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise broken from error
    if not isinstance(found, dict):
        raise broken
    return found


def _read(row: dict[str, Any], types: dict[str, TypeEngine[Any]]) -> dict[str, Any]:
    found = dict(row)
    for name, kind in types.items():
        if isinstance(kind, LargeBinary):
            found[name] = b64decode(found[name], validate=True)
        elif isinstance(kind, Utc):
            found[name] = datetime.fromisoformat(found[name])
    return found


def _erase_tables(unit: Unit) -> None:
    """Say of tables whose keys stayed behind what they are: erased."""
    gone = select(blob.c.id).where(blob.c.sealed_key.is_(None))
    erased = unit.connection.execute(
        update(data_table)
        .where(data_table.c.blob_id.in_(gone), data_table.c.erased_at.is_(None))
        .values(state="erased", erased_at=unit.now)
        .returning(data_table.c.id, data_table.c.organisation_id, data_table.c.digest)
    ).all()
    unit.connection.execute(
        update(blob)
        .where(blob.c.sealed_key.is_(None), blob.c.erased_at.is_(None))
        .values(erased_at=unit.now)
    )
    for each in erased:
        detail = {"digest": each.digest}
        record(unit, each.organisation_id, "table.erased", "table", each.id, detail)
