"""Notices by e-mail: what each wants to hear of, and a test whether they arrive."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import select, update

from treewarden.service.database.tables import account, mail
from treewarden.service.errors import ConflictError, InvalidError, TooManyError
from treewarden.service.ledger.events import Event
from treewarden.service.ledger.log import record
from treewarden.service.ledger.notices import queue_mail
from treewarden.service.people.principal import Principal
from treewarden.service.schemas.notices import NewNotices, Notices, SentMail
from treewarden.service.site import Unit

PAUSE = timedelta(minutes=1)
"""How long somebody waits between two tests: an address is whoever's it says."""
NOT_SET_UP = "none is sent here; an administrator sets TREEWARDEN_MAIL_HOST"


def get_notices(unit: Unit, who: Principal) -> Notices:
    """Return what somebody hears of, and what became of the newest e-mail to them."""
    found = unit.connection.execute(
        select(account.c.mail_address, account.c.mail_events).where(account.c.id == who.account_id)
    ).one()
    last = unit.connection.execute(
        select(mail).where(mail.c.account_id == who.account_id).order_by(mail.c.id.desc()).limit(1)
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


def set_notices(unit: Unit, who: Principal, new: NewNotices) -> Notices:
    """Change what somebody hears of; what waits to be sent goes to the new address, or nowhere.

    Raises:
        InvalidError: the address is of a domain that no mail goes to.
    """
    domains = tuple(each.lower() for each in unit.site.settings.mail_domains)
    if new.address and domains and new.address.rpartition("@")[2].lower() not in domains:
        raise InvalidError("address", f"is of no domain that mail goes to: {', '.join(domains)}")
    events = list(dict.fromkeys(map(str, new.events)))
    unit.connection.execute(
        update(account)
        .where(account.c.id == who.account_id)
        .values(mail_address=new.address or None, mail_events=events)
    )
    # not the address: the log stays for good
    detail = {"events": events, "has_address": bool(new.address)}
    record(unit, who, "account.notices_changed", "account", who.account_id, detail)
    return get_notices(unit, who)


def send_test(unit: Unit, who: Principal) -> Notices:
    """Send somebody an e-mail that tells of nothing, to see whether it arrives.

    Raises:
        ConflictError: no e-mail is sent here, or there is no address.
        TooManyError: one was sent within the last minute.
    """
    unit.connection.execute(
        select(account.c.id).where(account.c.id == who.account_id).with_for_update()
    )
    found = get_notices(unit, who)
    if not found.is_set_up:
        raise ConflictError("e-mail", NOT_SET_UP)
    if not found.address:
        raise ConflictError("address", "is missing; give one first")
    recent = select(mail.c.id).where(
        mail.c.account_id == who.account_id,
        mail.c.event == Event.PING,
        mail.c.created_at > unit.now - PAUSE,
    )
    if unit.connection.execute(recent).first() is not None:
        raise TooManyError("e-mail", "a test was sent within the last minute; wait for it")
    queue_mail(unit, who.organisation_id, who.account_id, Event.PING, "/account")
    return get_notices(unit, who)
