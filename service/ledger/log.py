"""The log of what was done, the seals of what a gate goes by, and the events that webhooks and people are sent.

Each row of the log holds the digest of the one before, so that one edit is found. Seals are digests with a key that the
database does not hold. Whoever can write into the database, but has no key file, can change a verdict and cannot seal
the change. A seal says nothing about order: an older row with its older seal is genuine. The log says which one was the
last. An event is written in the transaction of what it tells of, and sent later.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Row, Table, insert, select, text, update

from treewarden.service.auth.principal import ALLOWED, Permission, Principal, Role
from treewarden.service.database.run_tables import (
    audit,
    delivery,
    log_entry,
    log_head,
    mail,
    webhook,
)
from treewarden.service.database.tables import account, release, waiver
from treewarden.service.errors import new_id
from treewarden.service.site import Site, Unit

PURPOSE = b"treewarden seal 1"
SEALED: Mapping[str, tuple[str, ...]] = {
    "audit": (
        *("id", "organisation_id", "kind", "model_version_id", "model_digest", "state", "verdict"),
        *("exit_code", "headline", "entry", "provenance", "result_attempt", "pack_version_id"),
        *("pack_name", "pack_digest", "options", "knowledge", "waivers", "created_by"),
    ),
    "report": ("id", "organisation_id", "audit_id", "kind", "form", "blob_id", "blob_digest"),
    "waiver": (
        *("id", "organisation_id", "clause", "leaf", "digest", "model_name", "worst", "reason"),
        *("owner", "ticket", "expires", "granted", "state", "requested_by", "decided_by"),
    ),
    "release": (
        *("id", "organisation_id", "model_version_id", "uploader_id", "audit_id", "title"),
        *("purpose", "state", "checklist", "opened_by", "revision"),
    ),
    "review": (
        *("id", "organisation_id", "release_id", "uploader_id", "opened_by", "reviewer_id"),
        *("decision", "comment", "at"),
    ),
    "log_head": ("organisation_id", "seq", "hash"),
}
"""What each seal is of: columns of the table, the digest of an audit's model file, that of a report's bytes."""
SEALED_WHERE_GIVEN: Mapping[str, tuple[str, ...]] = {"audit": ("domain",)}
"""Later columns, which seals are of where they hold something: rows from before they were there keep their seals."""


def seal_of(site: Site, table: str, row: Mapping[Any, Any]) -> str:
    """Return the seal of a row."""
    told = {name: row[name] for name in SEALED[table]}
    told |= {name: row[name] for name in SEALED_WHERE_GIVEN.get(table, ()) if row[name]}
    key = hmac.digest(site.vault.master, PURPOSE, "sha256")
    return hmac.new(key, canonical({"table": table, "row": told}), hashlib.sha256).hexdigest()


def is_sealed(site: Site, table: str, row: Mapping[Any, Any]) -> bool:
    """Return whether the seal that a row holds is that of the row."""
    seal = row["seal"]
    return seal is not None and hmac.compare_digest(seal, seal_of(site, table, row))


def canonical(value: object) -> bytes:
    """Return JSON that is the same for the same content; a moment is told in UTC."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=_moment
    )
    return text.encode("ascii")


def _moment(value: object) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"{type(value).__name__} has no canonical form")
    return value.astimezone(UTC).isoformat(timespec="microseconds")


# How webhooks are signed, and how a receiver checks that.

HEADER = "Treewarden-Signature"
TOLERANCE_SECONDS = 300


def signature(secret: str, body: bytes, at: int) -> str:
    """Return the header of a delivery: when it was sent, in seconds since 1970, and the HMAC-SHA256 of that and it."""
    return f"t={at},v1={_digest(secret, body, at)}"


def verify_signature(
    secret: str, header: str, body: bytes, now: float, tolerance: float = TOLERANCE_SECONDS
) -> bool:
    """Return whether a delivery is genuine and fresh; an older one may be a recording that somebody sends again."""
    said = dict(part.partition("=")[::2] for part in header.split(","))
    stamp, given = said.get("t", ""), said.get("v1", "")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 15 and given.isascii()):
        return False
    if abs(now - int(stamp)) > tolerance:
        return False
    return hmac.compare_digest(_digest(secret, body, int(stamp)), given)


def _digest(secret: str, body: bytes, at: int) -> str:
    return hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()


FIRST = "0" * 64
SYSTEM = "treewarden"
"""Who did what nobody asked for: jobs, the sweeper."""


def record(
    unit: Unit,
    principal: Principal | str,
    action: str,
    object_kind: str,
    object_id: str,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Write a row, in the transaction of what it tells; ``principal`` is an organisation's id where nobody asked.

    ``action`` is a verb with what it is done to (``model.created``); ``detail`` holds no cell of a table.
    """
    organisation = principal.organisation_id if isinstance(principal, Principal) else principal
    _one_at_a_time(unit, organisation)
    last, head = _last(unit, organisation), _head(unit, organisation)
    row: dict[str, Any] = {
        "organisation_id": organisation,
        "seq": 1 if last is None else last.seq + 1,
        "at": unit.now,
        "actor_id": principal.account_id if isinstance(principal, Principal) else None,
        "actor": principal.name if isinstance(principal, Principal) else SYSTEM,
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
        return f"its last row is not the sealed row {head.seq}"
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


# Who hears of an event by e-mail: its owner, and those who may decide about it, where they wish so.

ABOUT: Mapping[str, tuple[Table, str, str]] = {
    "audit": (audit, "audit_id", "created_by"),
    "waiver": (waiver, "waiver_id", "requested_by"),
    "release": (release, "release_id", "opened_by"),
}
"""By the first word of an event: the table of what it is about, its id in the payload, and whose own it is."""
TO_DECIDE = ("waiver.requested", "release.opened")
"""Events for those who may decide, and not for who asks; all others are for who asked."""


def queue_notices(unit: Unit, organisation_id: str, event: str, payload: Mapping[str, Any]) -> None:
    """Queue an e-mail to everybody whom an event is for and who wishes to hear of it; none where none are sent."""
    kind = event.partition(".")[0]
    if not unit.site.settings.mail_host or kind not in ABOUT:
        return
    table, key, column = ABOUT[kind]
    about = str(payload[key])
    asker = unit.connection.execute(select(table.c[column]).where(table.c.id == about)).scalar_one()
    for each in _wishing(unit, organisation_id, event):
        is_asker = each.id == asker
        may_decide = Permission.REVIEW in ALLOWED[Role(each.role)]
        if (may_decide and not is_asker) if event in TO_DECIDE else is_asker:
            queue_mail(unit, organisation_id, each.id, event, f"/{kind}s/{about}")


def queue_mail(unit: Unit, organisation_id: str, account_id: str, event: str, path: str) -> str:
    """Queue one e-mail, and return its id."""
    made = new_id()
    unit.connection.execute(
        insert(mail).values(
            id=made,
            organisation_id=organisation_id,
            account_id=account_id,
            event=event,
            path=path,
            state="pending",
            attempts=0,
            next_at=unit.now,
            problem="",
            created_at=unit.now,
        )
    )
    return made


def _wishing(unit: Unit, organisation_id: str, event: str) -> list[Row[Any, Any, Any]]:
    rows = unit.connection.execute(
        select(account.c.id, account.c.role, account.c.mail_events).where(
            account.c.organisation_id == organisation_id,
            account.c.disabled_at.is_(None),
            account.c.mail_address.is_not(None),
        )
    )
    return [row for row in rows.all() if event in (row.mail_events or ())]


class Event(StrEnum):
    """What can be told of."""

    AUDIT_FINISHED = "audit.finished"
    WAIVER_REQUESTED = "waiver.requested"
    WAIVER_DECIDED = "waiver.decided"
    RELEASE_OPENED = "release.opened"
    RELEASE_DECIDED = "release.decided"
    RELEASE_RELEASED = "release.released"
    CONTRADICTION_FOUND = "contradiction.found"
    LOG_ANCHORED = "log.anchored"
    PING = "ping"


def emit(unit: Unit, organisation_id: str, event: Event, payload: Mapping[str, Any]) -> None:
    """Queue a delivery to each webhook of an organisation that wants to hear of an event, and e-mails about it.

    ``payload`` holds ids, states and verdicts: nothing that a pipeline may not see.
    """
    wanted = unit.connection.execute(
        select(webhook.c.id, webhook.c.events).where(
            webhook.c.organisation_id == organisation_id, webhook.c.disabled_at.is_(None)
        )
    )
    for each in wanted.all():
        if event in each.events:
            queue(unit, organisation_id, each.id, event, payload)
    queue_notices(unit, organisation_id, event, payload)


def queue(
    unit: Unit, organisation_id: str, webhook_id: str, event: Event, payload: Mapping[str, Any]
) -> str:
    """Queue one delivery, and return its id."""
    made = new_id()
    unit.connection.execute(
        insert(delivery).values(
            id=made,
            organisation_id=organisation_id,
            webhook_id=webhook_id,
            event=event,
            payload={"id": made, "event": event, "at": unit.now.isoformat(), "data": dict(payload)},
            state="pending",
            attempts=0,
            next_at=unit.now,
            problem="",
            created_at=unit.now,
        )
    )
    return made
