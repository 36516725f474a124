"""Who asks: found by a token or by the cookie of a session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, Literal

from sqlalchemy import ColumnElement, Row, Select, func, select, update

from treewarden.service.database.tables import account, session, token
from treewarden.service.errors import NotSignedInError
from treewarden.service.people.permissions import ALLOWED, Permission, Role
from treewarden.service.people.principal import Principal
from treewarden.service.people.tokens import digest_of
from treewarden.service.site import Site, Unit

WHO = (account.c.id, account.c.organisation_id, account.c.name, account.c.role)
NOTED_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class PendingUse:
    """A token or a session whose use has yet to be written down."""

    what: Literal["token", "session"]
    id: str


def by_token(unit: Unit, secret: str) -> tuple[Principal, PendingUse | None]:
    """Return whose token it is, and its use where that is yet to be noted: once a minute is enough.

    Raises:
        NotSignedInError: it is unknown, has expired or was revoked, or its owner is disabled.
    """
    found = unit.connection.execute(
        _every_token().where(
            token.c.hash == digest_of(secret),
            token.c.revoked_at.is_(None),
            token.c.expires_at.is_(None) | (token.c.expires_at > unit.now),
            account.c.disabled_at.is_(None),
        )
    ).first()
    if found is None:
        problem = "is unknown, has expired or was revoked; make a new one under “Tokens”"
        raise NotSignedInError("token", problem)
    allowed = frozenset(map(Permission, found.permissions))
    is_noted = found.used_at is not None and found.used_at > unit.now - NOTED_EVERY
    who = _principal(found, allowed, token_id=found.token_id)
    return who, None if is_noted else PendingUse("token", found.token_id)


def by_session(unit: Unit, secret: str) -> tuple[Principal, PendingUse | None]:
    """Return whose session it is, and its use where that is yet to be noted.

    Raises:
        NotSignedInError: it is unknown or over, or the account is disabled.
    """
    found = unit.connection.execute(
        _every_session().where(
            session.c.hash == digest_of(secret),
            is_live(unit),
            account.c.disabled_at.is_(None),
        )
    ).first()
    if found is None:
        raise NotSignedInError("session", "is over; sign in again")
    is_noted = found.seen_at is not None and found.seen_at > unit.now - NOTED_EVERY
    who = _principal(found, frozenset(Permission), session_id=found.session_id)
    return who, None if is_noted else PendingUse("session", found.session_id)


# Statements are put together once, as every request needs one of them; no more is read than a principal is made of.


@cache
def _every_token() -> Select[Any]:
    return select(*WHO, token.c.id.label("token_id"), token.c.permissions, token.c.used_at).join(
        account, account.c.id == token.c.account_id
    )


@cache
def _every_session() -> Select[Any]:
    return select(*WHO, session.c.id.label("session_id"), session.c.seen_at).join(
        account, account.c.id == session.c.account_id
    )


def is_live(unit: Unit) -> ColumnElement[bool]:
    """Return what holds for a session that goes on: it is not too old, and was used not long ago."""
    idle = timedelta(minutes=unit.site.settings.session_idle_minutes)
    seen = func.coalesce(session.c.seen_at, session.c.created_at)
    return (session.c.expires_at > unit.now) & (seen > unit.now - idle)


def note_use(site: Site, use: PendingUse) -> None:
    """Write down that a token or a session is used; of many at once, one does."""
    table, at = (token, token.c.used_at) if use.what == "token" else (session, session.c.seen_at)
    with site.unit() as unit:
        is_due = at.is_(None) | (at <= unit.now - NOTED_EVERY)
        unit.connection.execute(
            update(table).where(table.c.id == use.id, is_due).values({at: unit.now})
        )


def _principal(
    found: Row[Any],
    allowed: frozenset[Permission],
    token_id: str | None = None,
    session_id: str | None = None,
) -> Principal:
    role = Role(found.role)
    return Principal(
        found.organisation_id,
        found.id,
        found.name,
        role,
        ALLOWED[role] & allowed,
        token_id,
        session_id,
    )
