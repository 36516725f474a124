"""The log of what was done: each row holds the digest of the one before, so that one edit is found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select, text

from service.database.tables import log_entry
from service.people.principal import Principal
from service.site import Unit

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
    last = unit.connection.execute(
        select(log_entry.c.seq, log_entry.c.hash)
        .where(log_entry.c.organisation_id == organisation)
        .order_by(log_entry.c.seq.desc())
        .limit(1)
    ).first()
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
    unit.connection.execute(insert(log_entry).values(**row, hash=digest_of(row)))


def digest_of(row: Mapping[str, Any]) -> str:
    """Return the digest of a row: of all its columns but the digest itself, as canonical JSON."""
    told = {key: value for key, value in row.items() if key != "hash"}
    at = told["at"]
    assert isinstance(at, datetime)
    told["at"] = at.isoformat(timespec="microseconds")
    data = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(data.encode()).hexdigest()


def _one_at_a_time(unit: Unit, organisation: str) -> None:
    """Wait until nobody else writes into this organisation's log; SQLite has one writer anyway."""
    if unit.connection.dialect.name == "postgresql":
        key = int.from_bytes(hashlib.sha256(organisation.encode()).digest()[:8], signed=True)
        unit.connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
