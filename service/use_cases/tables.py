"""Training tables: uploads, or files below an allowed folder; read once, audited, and erased.

A table belongs to who uploaded it, and its owner shares it with others of the organisation. To all the rest it is
unknown, but to administrators: they see what it is called and can erase it, and cannot audit with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import Row, Select, delete, exists, insert, or_, select

from treewarden.service.auth.principal import ALLOWED, Permission, Principal, Role
from treewarden.service.database.tables import account, data_table, organisation, table_share
from treewarden.service.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    SetupError,
    TooLargeError,
    new_id,
)
from treewarden.service.ledger.log import record
from treewarden.service.schemas.base import Page, PageRequest
from treewarden.service.schemas.models import ColumnOf, NewShare, NewTable, Share, TrainingTable
from treewarden.service.settings import Settings
from treewarden.service.site import Unit
from treewarden.service.use_cases.accounts.attempts import was_added
from treewarden.service.use_cases.blobs import (
    check_tables,
    check_waiting,
    claim_blob,
    most_of_table,
)
from treewarden.service.use_cases.jobs import end_with_table, lock_jobs_of, queue_job, tell_ended
from treewarden.service.use_cases.retention import Erased, erase_row, locked_table
from treewarden.service.vault.addresses import open_below

# Which folders hold tables that an organisation may name by their path: its own, and nobody else's.

LOG = structlog.get_logger(__name__)
WHERE = "TREEWARDEN_TABLE_ROOTS"


@dataclass(frozen=True, slots=True)
class TableRoot:
    """A folder, and the name or id of the organisation whose it is; "" where the setting does not say."""

    organisation: str
    folder: str


def table_roots(settings: Settings) -> tuple[TableRoot, ...]:
    """Return what the setting says: ``ORGANISATION=FOLDER``, or a folder alone."""
    return tuple(map(_root, settings.table_roots))


def roots_of(unit: Unit, organisation_id: str) -> tuple[str, ...]:
    """Return the folders of an organisation; those without one are its own as long as there is no other."""
    found = table_roots(unit.site.settings)
    if not found:
        return ()
    names = {row.id: row.name for row in unit.connection.execute(_organisations())}
    own = {organisation_id, names.get(organisation_id)}
    if len(names) == 1:
        own.add("")
    return tuple(table_root.folder for table_root in found if table_root.organisation in own)


def check_table_roots(unit: Unit) -> None:
    """Check, before a process starts, that each folder belongs to one organisation.

    Raises:
        SetupError: a folder names no organisation where there are several, or lies in that of another one.
    """
    found = table_roots(unit.site.settings)
    rows = unit.connection.execute(_organisations()).all()
    unnamed = next((table_root for table_root in found if not table_root.organisation), None)
    if unnamed is not None and len(rows) > 1:
        which = " or ".join(f"{_written(row.name, row.id)}={unnamed.folder}" for row in rows[:2])
        problem = (
            f"{unnamed.folder!r} names no organisation, but there are {len(rows)}; write {which}"
        )
        raise SetupError(WHERE, problem)
    ids = {row.name: row.id for row in rows}
    _check_apart(
        [
            TableRoot(ids.get(table_root.organisation, table_root.organisation), table_root.folder)
            for table_root in found
        ]
    )
    known = {"", *ids, *ids.values()}
    for each in found:
        if each.organisation not in known:
            LOG.warning("a table root of no organisation", folder=each.folder)


def _check_apart(table_roots: Sequence[TableRoot]) -> None:
    for table_root, two in combinations(table_roots, 2):
        if table_root.organisation == two.organisation:
            continue
        first, second = Path(table_root.folder).resolve(), Path(two.folder).resolve()
        if first.is_relative_to(second) or second.is_relative_to(first):
            problem = (
                f"{table_root.folder!r} and {two.folder!r} belong to two organisations, "
                "and one is inside the other; give each organisation its own folder"
            )
            raise SetupError(WHERE, problem)


def _root(setting: str) -> TableRoot:
    name, separator, folder = setting.partition("=")
    if not separator or "/" in name:
        return TableRoot("", setting)
    return TableRoot(name.strip(), folder.strip())


def _written(name: str, organisation_id: str) -> str:
    """Return an organisation as the setting takes it: by its id where the name holds what parts a setting."""
    return organisation_id if set(name) & set("=,/") else name


def _organisations() -> Select[tuple[str, str]]:
    return select(organisation.c.id, organisation.c.name).order_by(organisation.c.name)


MOST_SIGNS = 200
ERASED = (
    "its table was erased by its owner or an administrator; upload it again and submit a new audit"
)
WITHDRAWN = (
    "its table is no longer shared with the person who submitted the audit; ask "
    "the owner to share it again"
)


def add_table(unit: Unit, principal: Principal, new: NewTable) -> TrainingTable:
    """Take an upload, or a file below an allowed folder, as a table, and have it read.

    Raises:
        NotFoundError: there is no such upload.
        InvalidError: the path leads to no file that may be read.
        TooLargeError: the file is larger than a table may be.
        TooManyError: the organisation has as many tables, or jobs waiting, as it may.
    """
    check_waiting(unit, principal)
    check_tables(unit, principal)
    made = new_id()
    row: dict[str, Any]
    most = most_of_table(unit.site.settings, new.holds)
    if new.digest is not None:
        found = claim_blob(unit, principal, new.digest, "table")
        name = new.file_name or "table"
        if found.size > most:
            problem = f"is larger than {most:,} bytes; give one {new.holds} in each file"
            raise TooLargeError(name, problem)
        row = {"kind": "upload", "blob_id": found.id, "digest": new.digest}
        detail = {"digest": new.digest, "holds": new.holds}
    else:
        path = new.path or ""
        open_below(path, roots_of(unit, principal.organisation_id), most).close()
        name = new.file_name or path.rpartition("/")[2][:MOST_SIGNS]
        row = {"kind": "path", "path": path, "digest": ""}
        detail = {"path": path, "holds": new.holds}
    unit.connection.execute(
        insert(data_table).values(
            id=made,
            organisation_id=principal.organisation_id,
            file_name=name,
            state="reading",
            holds=new.holds,
            uploaded_by=principal.account_id,
            created_at=unit.now,
            expires_at=unit.now + timedelta(hours=unit.site.settings.table_hours),
            **row,
        )
    )
    queue_job(unit, principal.organisation_id, "inspect_table", made)
    record(unit, principal, "table.added", "table", made, detail)
    return get_table(unit, principal, made)


def get_table(unit: Unit, principal: Principal, table_id: str) -> TrainingTable:
    """Return a table.

    Raises:
        NotFoundError: there is no such table, or it is for others.
    """
    return _all_shown(unit, principal, [_row(unit, principal, table_id)])[0]


def list_tables(unit: Unit, principal: Principal, page_request: PageRequest) -> Page[TrainingTable]:
    """Return the tables that somebody may see, newest first."""
    statement = (
        _visible_tables(principal).order_by(data_table.c.id.desc()).limit(page_request.limit + 1)
    )
    if page_request.cursor:
        statement = statement.where(data_table.c.id < page_request.cursor)
    rows = unit.connection.execute(statement).all()
    shown = rows[: page_request.limit]
    following = shown[-1].id if len(rows) > len(shown) else None
    return Page(items=_all_shown(unit, principal, shown), next=following)


def claim_table(unit: Unit, principal: Principal, table_id: str) -> Row[Any]:
    """Return the row of a table that an audit is about to be asked for, locked until the transaction ends.

    Raises:
        NotFoundError: there is no such table, or it is for others.
        ForbiddenError: it is somebody else's, and who asks is an administrator.
        ConflictError: it could not be read, or was erased.
    """
    # locked before it is asked whose it is, so that nobody withdraws it meanwhile
    locked_table(unit, table_id)
    found = _row(unit, principal, table_id)
    if not found.may_audit:
        raise ForbiddenError(
            "table", "belongs to another person; ask that person to share it with you"
        )
    if found.erased_at is not None:
        raise ConflictError("table", "was erased; upload it again")
    if found.state == "refused":
        raise ConflictError("table", "could not be read; see the message, and upload another table")
    return found


def erase_table(unit: Unit, principal: Principal, table_id: str) -> tuple[Erased, ...]:
    """Erase a table before its time; hand the result to ``erase_files`` after the transaction.

    Its audits do not keep it: those that wait end with an error, those that run are cancelled.

    Raises:
        NotFoundError: there is no such table, or it is for others.
        ForbiddenError: somebody else uploaded it, and who asks is no administrator.
    """
    _check_owner(unit, principal, table_id, "erases it", Permission.ADMIN)
    lock_jobs_of(unit, table_id)
    found = locked_table(unit, table_id)
    if found is None or found.erased_at is not None:
        return ()
    ended = end_with_table(unit, table_id, None, ERASED)
    erased = erase_row(unit, principal, found)
    tell_ended(unit, principal.organisation_id, ended)
    return erased


def share_table(unit: Unit, principal: Principal, table_id: str, new: NewShare) -> TrainingTable:
    """Let somebody else of the organisation audit with a table.

    Raises:
        NotFoundError: there is no such table, or it is for others; or nobody of that name may submit audits.
        ForbiddenError: somebody else uploaded it.
        ConflictError: it was erased, or is that person's already.
    """
    _check_owner(unit, principal, table_id, "shares it")
    found = locked_table(unit, table_id)
    if found is None or found.erased_at is not None:
        raise ConflictError("table", "was erased, so it cannot be shared; upload it again")
    with_whom = unit.connection.execute(
        select(account).where(
            account.c.organisation_id == principal.organisation_id,
            account.c.name == new.name,
            account.c.disabled_at.is_(None),
        )
    ).first()
    if with_whom is None or Permission.SUBMIT not in ALLOWED[Role(with_whom.role)]:
        problem = "no person with this name may submit audits here; check the spelling"
        raise NotFoundError("name", problem)
    row = insert(table_share).values(
        data_table_id=table_id,
        account_id=with_whom.id,
        organisation_id=principal.organisation_id,
        created_at=unit.now,
    )
    if with_whom.id == principal.account_id or not was_added(unit, row):
        raise ConflictError("name", "this person can use the table already; nothing was changed")
    record(unit, principal, "table.shared", "table", table_id, {"with": with_whom.name})
    return get_table(unit, principal, table_id)


def withdraw_table(
    unit: Unit, principal: Principal, table_id: str, account_id: str
) -> TrainingTable:
    """Share a table with somebody no more; what that person asked for with it ends as if it were erased.

    Raises:
        NotFoundError: there is no such table, or it is for others, or not shared with that person.
        ForbiddenError: somebody else uploaded it, and who asks is no administrator.
    """
    _check_owner(unit, principal, table_id, "withdraws it", Permission.ADMIN)
    lock_jobs_of(unit, table_id)
    locked_table(unit, table_id)
    gone = unit.connection.execute(
        delete(table_share).where(
            table_share.c.data_table_id == table_id, table_share.c.account_id == account_id
        )
    )
    if not gone.rowcount:
        raise NotFoundError("table", "is not shared with this person; see the table")
    ended = end_with_table(unit, table_id, account_id, WITHDRAWN)
    record(unit, principal, "table.withdrawn", "table", table_id, {"from": account_id})
    tell_ended(unit, principal.organisation_id, ended)
    return get_table(unit, principal, table_id)


def _check_owner(
    unit: Unit, principal: Principal, table_id: str, does: str, or_with: Permission | None = None
) -> None:
    """Check that a table is somebody's own, or that a permission stands in for that."""
    is_instead = or_with is not None and principal.may(or_with)
    if _row(unit, principal, table_id).uploaded_by != principal.account_id and not is_instead:
        raise ForbiddenError("table", f"only the person who uploaded it {does}; ask that person")


def _row(unit: Unit, principal: Principal, table_id: str) -> Row[Any]:
    found = unit.connection.execute(
        _visible_tables(principal).where(data_table.c.id == table_id)
    ).first()
    if found is None:
        raise _unknown(table_id)
    return found


def _visible_tables(principal: Principal) -> Select[Any]:
    """Return what selects the tables that somebody may see, and says of each whether they may audit with it."""
    shared = exists().where(
        table_share.c.data_table_id == data_table.c.id,
        table_share.c.account_id == principal.account_id,
    )
    may_audit = or_(data_table.c.uploaded_by == principal.account_id, shared)
    found = (
        select(data_table, account.c.name.label("uploader"), may_audit.label("may_audit"))
        .join(account, account.c.id == data_table.c.uploaded_by)
        .where(data_table.c.organisation_id == principal.organisation_id)
    )
    return found if principal.may(Permission.ADMIN) else found.where(may_audit)


def _all_shown(
    unit: Unit, principal: Principal, rows: Sequence[Row[Any]]
) -> tuple[TrainingTable, ...]:
    """Return tables as they are shown; with whom they are shared is looked up once."""
    shares: defaultdict[str, list[Share]] = defaultdict(list)
    for each in unit.connection.execute(
        select(table_share.c.data_table_id, account.c.id, account.c.name)
        .join(account, account.c.id == table_share.c.account_id)
        .where(table_share.c.data_table_id.in_([row.id for row in rows]))
        .order_by(account.c.name)
    ):
        shares[each.data_table_id].append(Share(account_id=each.id, name=each.name))
    return tuple(_table(principal, row, tuple(shares[row.id])) for row in rows)


def _table(principal: Principal, row: Row[Any], shares: tuple[Share, ...]) -> TrainingTable:
    columns = row.columns if row.may_audit else None
    is_owner = row.uploaded_by == principal.account_id
    return TrainingTable(
        id=row.id,
        kind=row.kind,
        holds=row.holds,
        file_name=row.file_name,
        digest=row.digest if row.may_audit and principal.may(Permission.INTERNAL) else "",
        state=row.state,
        problem=row.problem,
        records=row.records,
        columns=None if columns is None else tuple(ColumnOf(**column) for column in columns),
        uploaded_by=row.uploader,
        is_owner=is_owner,
        may_audit=bool(row.may_audit) and row.state != "erased",
        shared_with=shares if is_owner or principal.may(Permission.ADMIN) else (),
        created_at=row.created_at,
        expires_at=row.expires_at,
        erased_at=row.erased_at,
    )


def _unknown(table_id: str) -> NotFoundError:
    return NotFoundError("table", f"{table_id[:32]!r} is unknown; see the list of tables")
