"""What webhooks and people are told: an event is written in the transaction of what it tells of, and sent later."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from sqlalchemy import Row, Table, insert, select

from treewarden.service.auth.principal import ALLOWED, Permission, Role
from treewarden.service.database.run_tables import audit, delivery, mail, webhook
from treewarden.service.database.tables import account, release, waiver
from treewarden.service.errors import new_id
from treewarden.service.site import Unit

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
