"""What webhooks and people are told: an event is written in the transaction of what it tells of, and sent later."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from sqlalchemy import insert, select

from treewarden.service.database.tables import delivery, webhook
from treewarden.service.ids import new_id
from treewarden.service.ledger.notices import queue_notices
from treewarden.service.site import Unit


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
