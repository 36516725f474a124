"""Webhooks with their deliveries, the log, and workers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from treewarden.service.ledger.log import Event
from treewarden.service.schemas.base import Body, Id, shown_as

Sort = Literal["newest", "oldest"]


class NewWebhook(Body):
    """Where events go: an https address, and which events."""

    model_config = shown_as(
        {"url": "https://hooks.example.org/treewarden", "events": ["release.decided"]}
    )

    url: str = Field(min_length=1, max_length=2000)
    events: Annotated[tuple[Event, ...], Field(min_length=1)]


class Webhook(Body):
    """A webhook, without its secret."""

    id: Id
    url: str
    events: tuple[Event, ...]
    is_disabled: bool
    created_at: datetime


class MadeWebhook(Body):
    """A new webhook and the secret that signs what it is sent: shown this once."""

    webhook: Webhook
    secret: str


class Delivery(Body):
    """One event on its way to one webhook."""

    id: Id
    webhook_id: Id
    event: str
    state: Literal["pending", "done", "failed"]
    attempts: int
    next_at: datetime | None
    status_code: int | None
    problem: str
    created_at: datetime
    delivered_at: datetime | None
    payload: dict[str, Any]


class LogEntry(Body):
    """One row of the log."""

    seq: int
    at: datetime
    actor: str
    action: str
    object_kind: str
    object_id: str
    detail: dict[str, Any]
    previous_hash: str
    hash: str


class LogCheck(Body):
    """Whether the chain of digests holds, and the first row that breaks it."""

    holds: bool
    rows: int
    problem: str = ""
    head: str = ""


class Worker(Body):
    """A process that does jobs."""

    id: Id
    name: str
    slots: int
    version: str
    started_at: datetime
    seen_at: datetime
    is_alive: bool
    job: str = ""
