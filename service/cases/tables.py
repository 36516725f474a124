"""Training tables: uploads, or files below an allowed folder; read once, audited, and erased."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import Row, Select, insert, select

from service.cases.blobs import claim_blob
from service.cases.erasing import Erased, erase_row, is_needed, locked_table
from service.cases.queueing import queue_job
from service.cases.quotas import check_tables, check_waiting
from service.database.tables import account, data_table
from service.errors import ConflictError, ForbiddenError, NotFoundError
from service.ids import new_id
from service.ledger.log import record
from service.people.permissions import Permission
from service.people.principal import Principal
from service.schemas.base import Page, Wanted
from service.schemas.tables import ColumnOf, NewTable, TrainingTable
from service.site import Unit
from service.vault.paths import open_below

MOST_SIGNS = 200


def add_table(unit: Unit, who: Principal, new: NewTable) -> TrainingTable:
    """Take an upload, or a file below an allowed folder, as a table, and have it read.

    Raises:
        NotFoundError: there is no such upload.
        InvalidError: the path leads to no file that may be read.
        TooLargeError: the file is larger than a table may be.
        TooManyError: the organisation has as many tables, or jobs waiting, as it may.
    """
    check_waiting(unit, who)
    check_tables(unit, who)
    made = new_id()
    row: dict[str, Any]
    if new.digest is not None:
        found = claim_blob(unit, who, new.digest, "table")
        name = new.file_name or f"table {new.digest[:12]}"
        row = {"kind": "upload", "blob_id": found.id, "digest": new.digest}
        detail = {"digest": new.digest}
    else:
        path, settings = new.path or "", unit.site.settings
        open_below(path, settings.table_roots, settings.max_table).close()
        name = new.file_name or path.rpartition("/")[2][:MOST_SIGNS]
        row = {"kind": "path", "path": path, "digest": ""}
        detail = {"path": path}
    unit.connection.execute(
        insert(data_table).values(
            id=made,
            organisation_id=who.organisation_id,
            file_name=name,
            state="reading",
            uploaded_by=who.account_id,
            created_at=unit.now,
            expires_at=unit.now + timedelta(hours=unit.site.settings.table_hours),
            **row,
        )
    )
    queue_job(unit, who.organisation_id, "inspect_table", made)
    record(unit, who, "table.added", "table", made, detail)
    return get_table(unit, who, made)


def get_table(unit: Unit, who: Principal, table_id: str) -> TrainingTable:
    """Return a table.

    Raises:
        NotFoundError: the organisation has no such table.
    """
    found = unit.connection.execute(_told(who).where(data_table.c.id == table_id)).first()
    if found is None:
        raise _unknown(table_id)
    return _table(found)


def list_tables(unit: Unit, who: Principal, wanted: Wanted) -> Page[TrainingTable]:
    """Return the tables of an organisation, newest first."""
    statement = _told(who).order_by(data_table.c.id.desc()).limit(wanted.limit + 1)
    if wanted.cursor:
        statement = statement.where(data_table.c.id < wanted.cursor)
    rows = unit.connection.execute(statement).all()
    shown = rows[: wanted.limit]
    following = shown[-1].id if len(rows) > len(shown) else None
    return Page(items=tuple(map(_table, shown)), next=following)


def claim_table(unit: Unit, who: Principal, table_id: str) -> Row[Any]:
    """Return the row of a table that an audit is about to be asked for, locked until the transaction ends.

    Raises:
        NotFoundError: the organisation has no such table.
        ConflictError: it could not be read, or was erased.
    """
    found = locked_table(unit, table_id)
    if found is None or found.organisation_id != who.organisation_id:
        raise _unknown(table_id)
    if found.erased_at is not None:
        raise ConflictError("table", "was erased; upload it again")
    if found.state == "refused":
        raise ConflictError("table", "could not be read; see what it says, and upload another one")
    return found


def erase_table(unit: Unit, who: Principal, table_id: str) -> tuple[Erased, ...]:
    """Erase a table before its time; hand the result to ``erase_files`` after the transaction.

    Raises:
        NotFoundError: the organisation has no such table.
        ForbiddenError: somebody else uploaded it, and who asks is no administrator.
        ConflictError: an audit needs it.
    """
    found = locked_table(unit, table_id)
    if found is None or found.organisation_id != who.organisation_id:
        raise _unknown(table_id)
    if found.uploaded_by != who.account_id and not who.may(Permission.ADMIN):
        problem = "was uploaded by somebody else; ask them or an administrator to erase it"
        raise ForbiddenError("table", problem)
    if found.erased_at is not None:
        return ()
    if is_needed(unit, table_id):
        raise ConflictError("table", "is needed by an audit; cancel that, or wait until it ends")
    return erase_row(unit, who, found)


def _told(who: Principal) -> Select[Any]:
    return (
        select(data_table, account.c.name.label("uploader"))
        .join(account, account.c.id == data_table.c.uploaded_by)
        .where(data_table.c.organisation_id == who.organisation_id)
    )


def _table(row: Row[Any]) -> TrainingTable:
    columns = row.columns
    return TrainingTable(
        id=row.id,
        kind=row.kind,
        file_name=row.file_name,
        digest=row.digest,
        state=row.state,
        problem=row.problem,
        records=row.records,
        columns=None if columns is None else tuple(ColumnOf(**each) for each in columns),
        uploaded_by=row.uploader,
        created_at=row.created_at,
        expires_at=row.expires_at,
        erased_at=row.erased_at,
    )


def _unknown(table_id: str) -> NotFoundError:
    return NotFoundError("table", f"{table_id[:32]!r} is unknown; see the list of tables")
