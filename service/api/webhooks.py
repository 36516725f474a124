"""Webhooks, what was sent to them, and the workers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from treewarden.service.api._answers import takes_no_key
from treewarden.service.api._requests import Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.schemas.base import Id, Page, PageRequest
from treewarden.service.schemas.people import Delivery, MadeWebhook, NewWebhook, Webhook, Worker
from treewarden.service.use_cases import notices
from treewarden.service.use_cases.jobs import list_workers

ROUTER = APIRouter(tags=["operations"], dependencies=[Depends(takes_no_key)])


@ROUTER.post("/webhooks", status_code=201, **asks(Permission.ADMIN))
def post_webhook(principal: Who, unit: Writing, new: NewWebhook) -> MadeWebhook:
    """Make a webhook; the secret that signs is shown this once."""
    return notices.create_webhook(unit, principal, new)


@ROUTER.get("/webhooks", **reads(Permission.ADMIN))
def get_webhooks(
    principal: Who, unit: Reading, query: Annotated[PageRequest, Query()]
) -> Page[Webhook]:
    """Return webhooks."""
    return notices.list_webhooks(unit, principal, query)


@ROUTER.get("/webhooks/{webhook_id}", **reads(Permission.ADMIN))
def get_webhook(principal: Who, unit: Reading, webhook_id: Id) -> Webhook:
    """Return a webhook."""
    return notices.get_webhook(unit, principal, webhook_id)


@ROUTER.delete("/webhooks/{webhook_id}", **asks(Permission.ADMIN))
def delete_webhook(principal: Who, unit: Writing, webhook_id: Id) -> Webhook:
    """Send nothing more there; what was sent stays in the list."""
    return notices.disable_webhook(unit, principal, webhook_id)


@ROUTER.post("/webhooks/{webhook_id}/ping", status_code=202, **asks(Permission.ADMIN))
def post_ping(principal: Who, unit: Writing, webhook_id: Id) -> Delivery:
    """Send an event that says nothing."""
    return notices.ping(unit, principal, webhook_id)


@ROUTER.get("/webhooks/{webhook_id}/deliveries", **reads(Permission.ADMIN))
def get_deliveries(
    principal: Who, unit: Reading, webhook_id: Id, query: Annotated[PageRequest, Query()]
) -> Page[Delivery]:
    """Return what was sent, and what became of it."""
    return notices.list_deliveries(unit, principal, webhook_id, query)


@ROUTER.post("/deliveries/{delivery_id}/redeliver", status_code=202, **asks(Permission.ADMIN))
def post_redeliver(principal: Who, unit: Writing, delivery_id: Id) -> Delivery:
    """Send an event once more, with the same id."""
    return notices.redeliver(unit, principal, delivery_id)


@ROUTER.get("/workers", **reads(Permission.ADMIN))
def get_workers(principal: Who, unit: Reading) -> Page[Worker]:
    """Return the processes that do jobs."""
    return Page(items=list_workers(unit))
