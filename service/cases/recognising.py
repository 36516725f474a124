"""Who asks: found by a token or by the cookie of a session."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import Row, select, update

from service.database.tables import account, session, token
from service.errors import NotSignedInError
from service.people.permissions import ALLOWED, Permission, Role
from service.people.principal import Principal
from service.people.tokens import digest_of
from service.site import Site, Unit

NOTED_EVERY = timedelta(minutes=1)


def by_token(unit: Unit, secret: str) -> tuple[Principal, str | None]:
    """Return whose token it is, and the id of the token where its use is yet to be noted: once a minute is enough.

    Raises:
        NotSignedInError: it is unknown, has expired or was revoked, or its owner is disabled.
    """
    found = unit.connection.execute(
        select(account, token.c.id.label("token_id"), token.c.permissions, token.c.used_at)
        .join(account, account.c.id == token.c.account_id)
        .where(
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
    return who, None if is_noted else found.token_id


def by_session(unit: Unit, secret: str) -> Principal:
    """Return whose session it is.

    Raises:
        NotSignedInError: it is unknown or over, or the account is disabled.
    """
    found = unit.connection.execute(
        select(account, session.c.id.label("session_id"))
        .join(account, account.c.id == session.c.account_id)
        .where(
            session.c.hash == digest_of(secret),
            session.c.expires_at > unit.now,
            account.c.disabled_at.is_(None),
        )
    ).first()
    if found is None:
        raise NotSignedInError("session", "is over; sign in again")
    return _principal(found, frozenset(Permission), session_id=found.session_id)


def note_use(site: Site, token_id: str) -> None:
    """Write down that a token is used; of many at once, one does."""
    with site.unit() as unit:
        unit.connection.execute(
            update(token)
            .where(
                token.c.id == token_id,
                token.c.used_at.is_(None) | (token.c.used_at <= unit.now - NOTED_EVERY),
            )
            .values(used_at=unit.now)
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
