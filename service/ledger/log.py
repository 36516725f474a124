"""The log of what was done: each row holds the digest of the one before, so that one edit is found."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row, insert, select, text, update

from treewarden.service.auth.principal import Principal
from treewarden.service.database.tables import log_entry, log_head
from treewarden.service.ledger.seals import canonical, is_sealed, seal_of
from treewarden.service.site import Unit

FIRST = "0" * 64
SYSTEM = "treewarden"
"""Who did what nobody asked for: jobs, the sweeper."""


def record(
    unit: Unit,
    who: Principal | str,
    action: str,
    object_kind: str,
    object_id: str,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Write a row, in the transaction of what it tells; ``who`` is an organisation's id where nobody asked.

    ``action`` is a verb with what it is done to (``model.created``); ``detail`` holds no cell of a table.
    """
    organisation = who.organisation_id if isinstance(who, Principal) else who
    _one_at_a_time(unit, organisation)
    last, head = _last(unit, organisation), _head(unit, organisation)
    row: dict[str, Any] = {
        "organisation_id": organisation,
        "seq": 1 if last is None else last.seq + 1,
        "at": unit.now,
        "actor_id": who.account_id if isinstance(who, Principal) else None,
        "actor": who.name if isinstance(who, Principal) else SYSTEM,
        "action": action,
        "object_kind": object_kind,
        "object_id": object_id,
        "detail": dict(detail or {}),
        "previous_hash": FIRST if last is None else last.hash,
    }
    row["hash"] = digest_of(row)
    unit.connection.execute(insert(log_entry).values(**row))
    if not _problem(
        unit, last, head
    ):  # a head that another end of the log was cut from stays as it is
        _keep_head(unit, row, is_first=head is None)


def head_problem(unit: Unit, organisation_id: str) -> str:
    """Return why the end of a log is not the one that was sealed, "" where it is."""
    return _problem(unit, _last(unit, organisation_id), _head(unit, organisation_id))


def seal_head(unit: Unit, organisation_id: str) -> None:
    """Seal the end of a log that was written before logs had a sealed end."""
    last = _last(unit, organisation_id)
    if last is not None and _head(unit, organisation_id) is None:
        _keep_head(unit, last._mapping, is_first=True)


def _last(unit: Unit, organisation_id: str) -> Row[Any, Any, Any] | None:
    return unit.connection.execute(
        select(log_entry.c.organisation_id, log_entry.c.seq, log_entry.c.hash)
        .where(log_entry.c.organisation_id == organisation_id)
        .order_by(log_entry.c.seq.desc())
        .limit(1)
    ).first()


def _head(unit: Unit, organisation_id: str) -> Row[Any] | None:
    wanted = select(log_head).where(log_head.c.organisation_id == organisation_id)
    return unit.connection.execute(wanted).first()


def _problem(unit: Unit, last: Row[Any, Any, Any] | None, head: Row[Any] | None) -> str:
    if last is None and head is None:
        return ""
    if head is None or not is_sealed(unit.site, "log_head", head._mapping):
        return "the seal of its last row is missing or broken"
    if last is None or (last.seq, last.hash) != (head.seq, head.hash):
        return f"it does not end with row {head.seq} as that was sealed"
    return ""


def _keep_head(unit: Unit, row: Mapping[Any, Any], *, is_first: bool) -> None:
    head = {name: row[name] for name in ("organisation_id", "seq", "hash")}
    head["seal"] = seal_of(unit.site, "log_head", head)
    its = log_head.c.organisation_id == head["organisation_id"]
    unit.connection.execute(
        insert(log_head).values(head) if is_first else update(log_head).where(its).values(head)
    )


def digest_of(row: Mapping[Any, Any]) -> str:
    """Return the digest of a row: of all its columns but the digest itself, as canonical JSON."""
    told = {key: value for key, value in row.items() if key != "hash"}
    return hashlib.sha256(canonical(told)).hexdigest()


def _one_at_a_time(unit: Unit, organisation: str) -> None:
    """Wait until nobody else writes into this organisation's log; SQLite has one writer anyway."""
    if unit.connection.dialect.name == "postgresql":
        key = int.from_bytes(hashlib.sha256(organisation.encode()).digest()[:8], signed=True)
        unit.connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
