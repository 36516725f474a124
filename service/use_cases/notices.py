"""Notices by e-mail (which events each person wants, and a test that they arrive), and an organisation's webhooks."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from sqlalchemy import Row, insert, select, update

from treewarden.service.auth.principal import Principal
from treewarden.service.database.run_tables import delivery, mail, webhook
from treewarden.service.database.tables import account
from treewarden.service.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    TooManyError,
    new_id,
)
from treewarden.service.ledger.log import Event, queue, queue_mail, record
from treewarden.service.schemas.base import Page, PageRequest
from treewarden.service.schemas.people import (
    Delivery,
    MadeWebhook,
    NewNotices,
    NewWebhook,
    Notices,
    SentMail,
    Webhook,
)
from treewarden.service.site import Unit
from treewarden.service.use_cases.paging import paged
from treewarden.service.vault.addresses import target

PAUSE = timedelta(minutes=1)
"""How long somebody waits between two tests: an address is whoever's it says."""
NOT_SET_UP = "this service sends no e-mail; an administrator can set TREEWARDEN_MAIL_HOST"


def get_notices(unit: Unit, principal: Principal) -> Notices:
    """Return what somebody hears of, and what became of the newest e-mail to them."""
    found = unit.connection.execute(
        select(account.c.mail_address, account.c.mail_events).where(
            account.c.id == principal.account_id
        )
    ).one()
    last = unit.connection.execute(
        select(mail)
        .where(mail.c.account_id == principal.account_id)
        .order_by(mail.c.id.desc())
        .limit(1)
    ).first()
    return Notices(
        is_set_up=bool(unit.site.settings.mail_host),
        address=found.mail_address or "",
        events=tuple(found.mail_events or ()),
        last=None
        if last is None
        else SentMail(
            event=last.event,
            state=last.state,
            problem=last.problem,
            created_at=last.created_at,
            delivered_at=last.delivered_at,
        ),
    )


def set_notices(unit: Unit, principal: Principal, new: NewNotices) -> Notices:
    """Change what somebody hears of; what waits to be sent goes to the new address, or nowhere.

    Raises:
        InvalidError: the address is of a domain that no mail goes to.
    """
    domains = tuple(mail_domain.lower() for mail_domain in unit.site.settings.mail_domains)
    if new.address and domains and new.address.rpartition("@")[2].lower() not in domains:
        raise InvalidError(
            "address", f"is not in an allowed domain; use one of {', '.join(domains)}"
        )
    events = list(dict.fromkeys(map(str, new.events)))
    unit.connection.execute(
        update(account)
        .where(account.c.id == principal.account_id)
        .values(mail_address=new.address or None, mail_events=events)
    )
    # not the address: the log stays for good
    detail = {"events": events, "has_address": bool(new.address)}
    record(unit, principal, "account.notices_changed", "account", principal.account_id, detail)
    return get_notices(unit, principal)


def send_test(unit: Unit, principal: Principal) -> Notices:
    """Send somebody an e-mail that tells of nothing, to see whether it arrives.

    Raises:
        ConflictError: no e-mail is sent here, or there is no address.
        TooManyError: one was sent within the last minute.
    """
    unit.connection.execute(
        select(account.c.id).where(account.c.id == principal.account_id).with_for_update()
    )
    notices = get_notices(unit, principal)
    if not notices.is_set_up:
        raise ConflictError("e-mail", NOT_SET_UP)
    if not notices.address:
        raise ConflictError("address", "is missing; enter one first")
    recent = select(mail.c.id).where(
        mail.c.account_id == principal.account_id,
        mail.c.event == Event.PING,
        mail.c.created_at > unit.now - PAUSE,
    )
    if unit.connection.execute(recent).first() is not None:
        raise TooManyError("e-mail", "a test was sent in the last minute; wait until it arrives")
    queue_mail(unit, principal.organisation_id, principal.account_id, Event.PING, "/account")
    return get_notices(unit, principal)


# Webhooks: where an organisation wants to hear of events, and what became of each.


def create_webhook(unit: Unit, principal: Principal, new: NewWebhook) -> MadeWebhook:
    """Make a webhook and its secret, which is shown this once.

    Raises:
        InvalidError: the address is none that may be called.
    """
    target(new.url, unit.site.settings.webhook_hosts)
    secret = f"twh_{secrets.token_urlsafe(32)}"
    made = new_id()
    unit.connection.execute(
        insert(webhook).values(
            id=made,
            organisation_id=principal.organisation_id,
            url=new.url,
            sealed_secret=unit.site.vault.seal(secret.encode()),
            events=[str(event) for event in new.events],
            created_by=principal.account_id,
            created_at=unit.now,
        )
    )
    record(unit, principal, "webhook.created", "webhook", made)
    return MadeWebhook(webhook=get_webhook(unit, principal, made), secret=secret)


def list_webhooks(unit: Unit, principal: Principal, page_request: PageRequest) -> Page[Webhook]:
    """Return webhooks, without their secrets."""
    statement = select(webhook).where(webhook.c.organisation_id == principal.organisation_id)
    rows, following = paged(unit, statement, webhook.c.id, page_request)
    return Page(items=tuple(map(_webhook, rows)), next=following)


def get_webhook(unit: Unit, principal: Principal, webhook_id: str) -> Webhook:
    """Return a webhook.

    Raises:
        NotFoundError: the organisation has none of that id.
    """
    found = unit.connection.execute(
        select(webhook).where(
            webhook.c.organisation_id == principal.organisation_id, webhook.c.id == webhook_id
        )
    ).first()
    if found is None:
        raise NotFoundError(
            f"webhook {webhook_id[:40]!r}", "nothing here has this id; check the id"
        )
    return _webhook(found)


def disable_webhook(unit: Unit, principal: Principal, webhook_id: str) -> Webhook:
    """Send nothing more to a webhook, not even what waits.

    Raises:
        NotFoundError: the organisation has none of that id.
        ConflictError: it is disabled already.
    """
    if get_webhook(unit, principal, webhook_id).is_disabled:
        raise ConflictError("webhook", "is disabled already, so nothing was changed")
    unit.connection.execute(
        update(webhook).where(webhook.c.id == webhook_id).values(disabled_at=unit.now)
    )
    unit.connection.execute(
        update(delivery)
        .where(delivery.c.webhook_id == webhook_id, delivery.c.state == "pending")
        .values(state="failed", problem="the webhook was disabled", next_at=None)
    )
    record(unit, principal, "webhook.disabled", "webhook", webhook_id)
    return get_webhook(unit, principal, webhook_id)


def ping(unit: Unit, principal: Principal, webhook_id: str) -> Delivery:
    """Send an event that says nothing.

    Raises:
        NotFoundError: the organisation has none of that id.
        ConflictError: it is disabled.
    """
    if get_webhook(unit, principal, webhook_id).is_disabled:
        raise ConflictError("webhook", "is disabled; create a new one")
    made = queue(unit, principal.organisation_id, webhook_id, Event.PING, {})
    return _delivery(_row(unit, principal, made))


def list_deliveries(
    unit: Unit, principal: Principal, webhook_id: str, page_request: PageRequest
) -> Page[Delivery]:
    """Return what was sent to a webhook, and what became of it.

    Raises:
        NotFoundError: the organisation has none of that id.
    """
    get_webhook(unit, principal, webhook_id)
    statement = select(delivery).where(delivery.c.webhook_id == webhook_id)
    rows, following = paged(unit, statement, delivery.c.id, page_request)
    return Page(items=tuple(map(_delivery, rows)), next=following)


def redeliver(unit: Unit, principal: Principal, delivery_id: str) -> Delivery:
    """Send an event once more, with the same id.

    Raises:
        NotFoundError: the organisation has no such delivery.
        ConflictError: it waits to be sent anyway, or its webhook is disabled.
    """
    found = _row(unit, principal, delivery_id)
    if found.state == "pending":
        raise ConflictError("delivery", "is waiting to be sent already")
    if get_webhook(unit, principal, found.webhook_id).is_disabled:
        raise ConflictError("webhook", "is disabled; create a new one")
    unit.connection.execute(
        update(delivery)
        .where(delivery.c.id == delivery_id)
        .values(state="pending", attempts=0, next_at=unit.now, problem="")
    )
    record(unit, principal, "webhook.redelivered", "delivery", delivery_id)
    return _delivery(_row(unit, principal, delivery_id))


def _row(unit: Unit, principal: Principal, delivery_id: str) -> Row[Any]:
    found = unit.connection.execute(
        select(delivery).where(
            delivery.c.organisation_id == principal.organisation_id, delivery.c.id == delivery_id
        )
    ).first()
    if found is None:
        raise NotFoundError(
            f"delivery {delivery_id[:40]!r}", "nothing here has this id; check the id"
        )
    return found


def _webhook(row: Row[Any]) -> Webhook:
    return Webhook(
        id=row.id,
        url=row.url,
        events=tuple(row.events),
        is_disabled=row.disabled_at is not None,
        created_at=row.created_at,
    )


def _delivery(row: Row[Any]) -> Delivery:
    return Delivery(
        id=row.id,
        webhook_id=row.webhook_id,
        event=row.event,
        state=row.state,
        attempts=row.attempts,
        next_at=row.next_at,
        status_code=row.status_code,
        problem=row.problem,
        created_at=row.created_at,
        delivered_at=row.delivered_at,
        payload=row.payload,
    )
