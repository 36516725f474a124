"""Pages about webhooks: where events go, and what became of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError

from treewarden.service.api._requests import AtSite, Reading, Who, asks, reads
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.errors import ServiceError
from treewarden.service.ledger.log import Event
from treewarden.service.pages._forms import WEBHOOK, Typed, refusal, see, status_of
from treewarden.service.pages._rendering import page
from treewarden.service.schemas.base import Id, PageRequest
from treewarden.service.schemas.people import MadeWebhook, NewWebhook
from treewarden.service.site import Site, Unit
from treewarden.service.use_cases.notices import (
    create_webhook,
    disable_webhook,
    get_webhook,
    list_deliveries,
    list_webhooks,
    ping,
    redeliver,
)

ROUTER = APIRouter(tags=["pages"])
AT = "/administration/webhooks"
EVENTS = {
    Event.AUDIT_FINISHED: "an audit has ended, with any result",
    Event.WAIVER_REQUESTED: "a waiver was requested",
    Event.WAIVER_DECIDED: "a waiver was approved, refused or revoked",
    Event.RELEASE_OPENED: "a release was requested",
    Event.RELEASE_DECIDED: "a release was decided",
    Event.RELEASE_RELEASED: "a version was released",
}


@ROUTER.get(AT, **asks(Permission.ADMIN))
def get_webhooks(request: Request, principal: Who, site: AtSite) -> Response:
    """Show all webhooks, and the form for a new one."""
    return _all(request, principal, site)


@ROUTER.post(AT, **asks(Permission.ADMIN))
def post_webhook(
    request: Request,
    principal: Who,
    site: AtSite,
    url: Annotated[Typed, Form()] = "",
    events: Annotated[tuple[str, ...], Form()] = (),
) -> Response:
    """Add a webhook, and show its secret; it is in this answer and nowhere else."""
    try:
        new_webhook = NewWebhook.model_validate({"url": url, "events": events})
        with site.unit() as unit:
            made_webhook = create_webhook(unit, principal, new_webhook)
    except (ServiceError, ValidationError) as error:
        return _all(request, principal, site, typed={"url": url, "events": events}, error=error)
    return _all(request, principal, site, made=made_webhook)


@ROUTER.get(AT + "/{webhook_id}", **reads(Permission.ADMIN))
def get_one(
    request: Request,
    principal: Who,
    unit: Reading,
    webhook_id: Id,
    cursor: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show a webhook, and what became of each event."""
    return _one(request, principal, unit, webhook_id, cursor)


@ROUTER.post(AT + "/{webhook_id}/ping", **asks(Permission.ADMIN))
def post_ping(request: Request, principal: Who, site: AtSite, webhook_id: Id) -> Response:
    """Send an event that says nothing, to see whether it arrives."""
    return _done(
        request, principal, site, webhook_id, lambda unit: ping(unit, principal, webhook_id)
    )


@ROUTER.post(AT + "/{webhook_id}/disable", **asks(Permission.ADMIN))
def post_disable(request: Request, principal: Who, site: AtSite, webhook_id: Id) -> Response:
    """Send nothing there any more."""
    return _done(
        request,
        principal,
        site,
        webhook_id,
        lambda unit: disable_webhook(unit, principal, webhook_id),
    )


@ROUTER.post(AT + "/{webhook_id}/deliveries/{delivery_id}", **asks(Permission.ADMIN))
def post_again(
    request: Request, principal: Who, site: AtSite, webhook_id: Id, delivery_id: Id
) -> Response:
    """Send an event once more."""
    return _done(
        request, principal, site, webhook_id, lambda unit: redeliver(unit, principal, delivery_id)
    )


def _done(
    request: Request,
    principal: Principal,
    site: Site,
    webhook_id: str,
    do: Callable[[Unit], object],
) -> Response:
    try:
        with site.unit() as unit:
            do(unit)
    except ServiceError as error:
        with site.reading() as unit:
            return _one(request, principal, unit, webhook_id, "", error)
    return see(f"{AT}/{webhook_id}")


def _one(
    request: Request,
    principal: Principal,
    unit: Unit,
    webhook_id: str,
    cursor: str,
    error: ServiceError | None = None,
) -> Response:
    found = list_deliveries(unit, principal, webhook_id, PageRequest(cursor=cursor, limit=50))
    return page(
        request,
        "webhook.html.j2",
        principal,
        status=status_of(error) if error else 200,
        webhook=get_webhook(unit, principal, webhook_id),
        deliveries=found.items,
        next=found.next,
        is_first=not cursor,
        refused=refusal(error, WEBHOOK) if error else "",
    )


def _all(
    request: Request,
    principal: Principal,
    site: Site,
    *,
    made: MadeWebhook | None = None,
    typed: Mapping[str, object] | None = None,
    error: ServiceError | ValidationError | None = None,
) -> Response:
    with site.reading() as unit:
        found = list_webhooks(unit, principal, PageRequest(limit=200))
    return page(
        request,
        "webhooks.html.j2",
        principal,
        status=status_of(error) if error else 200,
        webhooks=found.items,
        events=list(EVENTS.items()),
        made=made,
        typed=typed or {"url": "", "events": tuple(EVENTS)},
        refused=refusal(error, WEBHOOK) if error else "",
    )
