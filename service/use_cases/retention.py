"""The sweep: whatever was left behind or has had its time is erased; workers call it about once a minute."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, delete, exists, or_, select, update

from treewarden.service.auth.principal import Principal
from treewarden.service.database.run_tables import (
    audit,
    audit_file,
    idempotency,
    job,
    mail,
    report,
)
from treewarden.service.database.tables import (
    blob,
    data_table,
    model_version,
    organisation,
    session,
    sign_in_failure,
)
from treewarden.service.errors import UnavailableError
from treewarden.service.ledger.log import record
from treewarden.service.site import Site, Unit
from treewarden.service.use_cases.accounts.attempts import WITHIN
from treewarden.service.use_cases.accounts.authentication import is_live
from treewarden.service.vault.folder_store import StoredFile, remove_left_parts

# Erasing: the key goes with the transaction, the file after it; and whatever is left over, once a minute.
#
# Whoever has lost a key cannot read the file any more, nor a copy of it: so the key goes first, and a file that could
# not be removed then is removed by a later sweep.

LIVE = ("queued", "running")


@dataclass(frozen=True, slots=True)
class Erased:
    """A blob whose key is gone; its file is next."""

    blob_id: str
    digest: str


def tables_of_audit(unit: Unit, audit_id: str) -> tuple[str, ...]:
    """Return the ids of the tables of an audit or repair, in their order: also of its register and further files."""
    found = unit.connection.execute(
        select(audit.c.data_table_id, audit.c.register_id).where(audit.c.id == audit_id)
    ).one()
    files = select(audit_file.c.data_table_id).where(audit_file.c.audit_id == audit_id)
    named = {*found, *unit.connection.execute(files).scalars()}
    return tuple(sorted(table_id for table_id in named if table_id is not None))


def uses_table(table_id: str | ColumnElement[str]) -> ColumnElement[bool]:
    """Return what is true of the audits and repairs that read a table: as theirs, as a register or a further file."""
    its_files = select(audit_file.c.audit_id).where(audit_file.c.data_table_id == table_id)
    return or_(
        audit.c.data_table_id == table_id,
        audit.c.register_id == table_id,
        audit.c.id.in_(its_files.correlate(data_table)),
    )


def finish_with_tables(unit: Unit, *table_ids: str) -> tuple[Erased, ...]:
    """Erase the tables of an audit that no queued or running audit or repair needs any more.

    Called in the transaction in which a job ends, after its state was written and before anything is logged; hand the
    result to ``erase_files``.
    """
    rows = [locked_table(unit, table_id) for table_id in sorted(set(table_ids))]
    due = [row for row in rows if row and row.erased_at is None and not is_needed(unit, row.id)]
    erased = tuple(each for row in due for each in _erase_content(unit, row))
    for row in due:  # last, as with the log: see ``erase_row``
        record(unit, row.organisation_id, "table.erased", "table", row.id, {"digest": row.digest})
    return erased


def erase_files(site: Site, erased: Iterable[Erased]) -> None:
    """Remove the files of what was erased; called after the transaction was committed."""
    for each in erased:
        with contextlib.suppress(
            UnavailableError
        ):  # nobody can read it any more; the sweep tries again
            site.vault.erase(each.blob_id, each.digest)


def is_needed(unit: Unit, table_id: str) -> bool:
    """Return whether a queued or running audit or repair needs a table."""
    return bool(unit.connection.execute(select(_needs(table_id))).scalar_one())


def locked_table(unit: Unit, table_id: str) -> Row[Any] | None:
    """Return the row of a table, locked until the transaction ends, so that none is asked for that just goes."""
    return unit.connection.execute(
        select(data_table).where(data_table.c.id == table_id).with_for_update()
    ).first()


def erase_row(unit: Unit, principal: Principal | str, row: Row[Any]) -> tuple[Erased, ...]:
    """Erase a table that was locked, and its bytes where no other table has the same."""
    erased = _erase_content(unit, row)
    # last, as it has the log to itself from here on: rows are always locked before the log
    record(unit, principal, "table.erased", "table", row.id, {"digest": row.digest})
    return erased


def _erase_content(unit: Unit, row: Row[Any]) -> tuple[Erased, ...]:
    """Erase what a table holds.

    The names of its columns stay only where an audit found what it asks about among them: in a file without a header
    the names are the first person's values.
    """
    values: dict[str, Any] = {"state": "erased", "erased_at": unit.now}
    if not unit.connection.execute(select(_was_audited(row.id))).scalar_one():
        values["columns"] = None
    unit.connection.execute(update(data_table).where(data_table.c.id == row.id).values(**values))
    unit.connection.execute(  # whoever still reads it stops
        update(job)
        .where(job.c.subject_id == row.id, job.c.state.in_(LIVE))
        .values(cancel_requested=True)
    )
    return () if row.blob_id is None else erase_blob(unit, row.blob_id)


def erase_blob(unit: Unit, blob_id: str) -> tuple[Erased, ...]:
    """Destroy the key of a blob that no table has any more, and no model but refused ones."""
    found = unit.connection.execute(
        select(blob).where(blob.c.id == blob_id).with_for_update()
    ).first()
    # asked only once the row is locked: whoever claims a blob locks it too
    is_used = unit.connection.execute(
        select(
            or_(
                exists().where(data_table.c.blob_id == blob_id, data_table.c.erased_at.is_(None)),
                exists().where(
                    model_version.c.blob_id == blob_id, model_version.c.state != "refused"
                ),
            )
        )
    ).scalar_one()
    if found is None or is_used:
        return ()
    unit.connection.execute(
        update(blob).where(blob.c.id == blob_id).values(sealed_key=None, erased_at=unit.now)
    )
    return (Erased(found.id, found.digest),)


def _needs(table_id: str) -> ColumnElement[bool]:
    return exists().where(*_audits_of(table_id), job.c.state.in_(LIVE))


def _was_audited(table_id: str) -> ColumnElement[bool]:
    return exists().where(*_audits_of(table_id), job.c.state == "done")


def _audits_of(table_id: str) -> tuple[ColumnElement[bool], ...]:
    return (
        job.c.subject_id == audit.c.id,
        uses_table(table_id),
        job.c.kind.in_(("audit", "repair")),
    )


AT_ONCE = 500
UNWRITTEN_SECONDS = 3600
"""How old a file without a row has to be: whoever stored it writes the row in the next moment."""
MOST_DAYS = 36_500
MAIL_AGE = timedelta(days=30)
"""How long it is known what became of an e-mail."""


@dataclass(frozen=True, slots=True)
class Swept:
    """How many were erased; ``files`` had no key any more, ``parts`` were left by uploads that were cut off."""

    tables: int
    uploads: int
    reports: int
    files: int
    parts: int


def sweep(site: Site, *, looks_through: bool = True) -> Swept:
    """Erase what has had its time, and what processes left behind that died; safe with any number of callers.

    ``looks_through``: whether all files of the vault are looked through for those that no key opens.

    Raises:
        UnavailableError: the database cannot be reached.
    """
    tables, first = _tables(site)
    with site.unit() as unit:
        uploads = _uploads(unit)
    with site.unit() as unit:
        reports = _reports(unit)
    with site.unit() as unit:
        _people(unit)
    erase_files(site, (*first, *uploads, *reports))
    parts = 0
    with contextlib.suppress(OSError):  # a folder that cannot be read: the next sweep tries again
        parts = remove_left_parts(site.vault.folder)
    swept = Swept(tables, len(uploads), len(reports), _files(site) if looks_through else 0, parts)
    _forget(site)
    return swept


def _tables(site: Site) -> tuple[int, list[Erased]]:
    """Erase tables past their time that no job needs, each in a transaction of its own."""
    count, found = 0, list[Erased]()
    with site.reading() as unit:
        wanted = unit.connection.execute(_late(unit).limit(AT_ONCE)).scalars().all()
    for each in wanted:
        with site.unit() as unit:
            row = locked_table(unit, each)
            still = _late(unit).where(data_table.c.id == each)  # asked again, now that it is locked
            if row is not None and unit.connection.execute(still).first() is not None:
                found += erase_row(unit, row.organisation_id, row)
                count += 1
    return count, found


def _late(unit: Unit) -> Select[str]:
    is_live = job.c.state.in_(LIVE)
    is_read = exists().where(is_live, job.c.subject_id == data_table.c.id)
    is_audited = exists().where(
        is_live,
        job.c.subject_id == audit.c.id,
        uses_table(data_table.c.id),
    )
    return select(data_table.c.id).where(
        data_table.c.erased_at.is_(None),
        data_table.c.expires_at <= unit.now,
        ~is_read,
        ~is_audited,
    )


def _uploads(unit: Unit) -> list[Erased]:
    """Erase uploads that nobody claimed in time."""
    wanted = (
        blob.c.sealed_key.is_not(None)
        & (blob.c.expires_at <= unit.now)
        & ~exists().where(data_table.c.blob_id == blob.c.id, data_table.c.erased_at.is_(None))
        & ~exists().where(model_version.c.blob_id == blob.c.id)
        & ~exists().where(report.c.blob_id == blob.c.id)
    )
    found = list[tuple[str, Erased]]()
    for each in (
        unit.connection.execute(select(blob.c.id).where(wanted).order_by(blob.c.id).limit(AT_ONCE))
        .scalars()
        .all()
    ):
        gone = unit.connection.execute(
            update(blob)
            .where(blob.c.id == each, wanted)
            .values(sealed_key=None, erased_at=unit.now)
            .returning(blob.c.organisation_id, blob.c.digest)
        ).first()
        if gone is not None:
            found.append((gone.organisation_id, Erased(each, gone.digest)))
    for organisation_id, erased in found:  # once all rows are locked
        record(unit, organisation_id, "blob.expired", "blob", erased.blob_id)
    return [erased for _, erased in found]


def _reports(unit: Unit) -> list[Erased]:
    """Erase reports that are older than their organisation keeps them."""
    found: list[Erased] = []
    kept = select(organisation.c.id, organisation.c.report_days)
    for each in unit.connection.execute(kept).all():
        oldest = unit.now - timedelta(days=min(each.report_days, MOST_DAYS))
        rows = unit.connection.execute(
            select(report.c.id, report.c.blob_id)
            .where(report.c.organisation_id == each.id, report.c.created_at < oldest)
            .limit(AT_ONCE)
        ).all()
        for row in rows:
            unit.connection.execute(delete(report).where(report.c.id == row.id))
            found += erase_blob(unit, row.blob_id)
    return found


def _people(unit: Unit) -> None:
    """Forget sessions that are over, answers kept for a repeated request, e-mails, and failures to sign in."""
    day = unit.now - timedelta(days=1)
    unit.connection.execute(delete(session).where(~is_live(unit)))
    unit.connection.execute(delete(idempotency).where(idempotency.c.created_at < day))
    counted = unit.now - WITHIN
    unit.connection.execute(delete(sign_in_failure).where(sign_in_failure.c.created_at < counted))
    sent = (mail.c.state != "pending", mail.c.created_at < unit.now - MAIL_AGE)
    unit.connection.execute(delete(mail).where(*sent))


def _files(site: Site) -> int:
    """Remove files of the vault that no key opens: erased ones at once, those without a row when they are old."""
    count, now = 0, time.time()
    with contextlib.suppress(UnavailableError):  # the next sweep tries again
        for files in site.vault.store.files():
            count += _unkeyed(site, files, now)
    return count


def _unkeyed(site: Site, files: Sequence[StoredFile], now: float) -> int:
    keyed: dict[str, bool] = {}
    with site.reading() as unit:
        for start in range(0, len(files), AT_ONCE):
            ids = [stored_file.blob_id for stored_file in files[start : start + AT_ONCE]]
            rows = unit.connection.execute(
                select(blob.c.id, blob.c.sealed_key.is_not(None).label("is_live")).where(
                    blob.c.id.in_(ids)
                )
            )
            keyed |= {row.id: bool(row.is_live) for row in rows}
    count = 0
    for file in files:
        is_live = keyed.get(file.blob_id)
        is_old = file.written_at < now - UNWRITTEN_SECONDS
        if is_live is False or (is_live is None and is_old):
            site.vault.store.remove(file.blob_id, file.digest)
            count += 1
    return count


def _forget(site: Site) -> None:
    """Have SQLite drop the pages that it keeps of before, so that no erased key is left in its files."""
    if site.engine.dialect.name != "sqlite":
        return
    connection = site.engine.raw_connection()
    try:
        with contextlib.suppress(
            sqlite3.OperationalError
        ):  # somebody reads: the next sweep does it
            connection.cursor().execute("PRAGMA busy_timeout = 0")
            connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.invalidate()  # so that nobody else is given one that does not wait
        connection.close()
