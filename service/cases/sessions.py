"""Sessions of people in a browser: begun, listed, ended; and all access of an account, ended at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, delete, insert, select, true, update

from treewarden.service.cases.paging import paged
from treewarden.service.cases.recognising import by_session, is_live
from treewarden.service.database.tables import account, session, token
from treewarden.service.errors import NotFoundError
from treewarden.service.ids import new_id
from treewarden.service.ledger.log import record
from treewarden.service.people.permissions import Permission
from treewarden.service.people.principal import Principal
from treewarden.service.people.tokens import digest_of, new_secret
from treewarden.service.schemas.base import Page, PageRequest
from treewarden.service.schemas.people import EndedAccess, Session
from treewarden.service.site import Unit


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who signed in, and the secret of the new session, for the cookie."""

    who: Principal
    secret: str


def begin_session(unit: Unit, account_id: str, address: str = "") -> SignedIn:
    """Begin a session of an account, whoever vouched for who it is."""
    secret = new_secret()
    unit.connection.execute(
        insert(session).values(
            id=new_id(),
            hash=digest_of(secret),
            account_id=account_id,
            address=address[:64],
            created_at=unit.now,
            seen_at=unit.now,
            expires_at=unit.now + timedelta(hours=unit.site.settings.session_hours),
        )
    )
    who, _ = by_session(unit, secret)
    record(unit, who, "session.begun", "account", account_id)
    return SignedIn(who, secret)


def sign_out(unit: Unit, who: Principal) -> None:
    """End the session of this request."""
    if who.session_id is not None:
        unit.connection.execute(delete(session).where(session.c.id == who.session_id))
        record(unit, who, "session.ended", "account", who.account_id)


def list_sessions(
    unit: Unit, who: Principal, wanted: PageRequest, account_id: str | None = None
) -> Page[Session]:
    """Return one's own sessions that go on; administrators see those of all, or of one account.

    Raises:
        NotFoundError: there is no such account that who asks can see.
    """
    statement = _seen_by(unit, who)
    if account_id is not None:
        check_account(unit, who, account_id)
        statement = statement.where(session.c.account_id == account_id)
    rows, following = paged(unit, statement, session.c.id, wanted)
    return Page(items=tuple(_told(each, who) for each in rows), next=following)


def end_session(unit: Unit, who: Principal, session_id: str) -> Session:
    """End a session: one's own, or as administrator anybody's.

    Raises:
        NotFoundError: there is none that who asks can see.
    """
    found = unit.connection.execute(_seen_by(unit, who).where(session.c.id == session_id)).first()
    if found is None:
        raise NotFoundError("session", "there is none with this id; look at the list")
    unit.connection.execute(delete(session).where(session.c.id == session_id))
    record(unit, who, "session.ended", "account", found.account_id)
    return _told(found, who)


def end_access(unit: Unit, who: Principal, account_id: str) -> EndedAccess:
    """End all sessions of an account and revoke all its tokens, but for what this request came with.

    Raises:
        NotFoundError: there is no such account that who asks can see.
    """
    check_account(unit, who, account_id)
    ended = EndedAccess(
        sessions=end_sessions(unit, account_id, but=who.session_id),
        tokens=revoke_tokens(unit, account_id, but=who.token_id),
    )
    record(unit, who, "account.access_ended", "account", account_id, ended.model_dump())
    return ended


def check_account(unit: Unit, who: Principal, account_id: str) -> None:
    """Check that an account is one's own, or for administrators one of the organisation.

    Raises:
        NotFoundError: it is not.
    """
    home = select(account.c.id).where(
        account.c.id == account_id, account.c.organisation_id == who.organisation_id
    )
    is_seen = account_id == who.account_id or who.may(Permission.ADMIN)
    if not is_seen or unit.connection.execute(home).first() is None:
        raise NotFoundError("account", "there is none with this id; look at the list")


def end_sessions(unit: Unit, account_id: str, but: str | None = None) -> int:
    """End all sessions of an account, and return how many; but for one."""
    statement = delete(session).where(session.c.account_id == account_id)
    return unit.connection.execute(statement.where(_is_not(session.c.id, but))).rowcount


def revoke_tokens(unit: Unit, account_id: str, but: str | None = None) -> int:
    """Have no token of an account let anybody in any more, and return how many did; but for one."""
    statement = update(token).where(token.c.account_id == account_id, token.c.revoked_at.is_(None))
    return unit.connection.execute(
        statement.where(_is_not(token.c.id, but)).values(revoked_at=unit.now)
    ).rowcount


def _is_not(column: ColumnElement[str], value: str | None) -> ColumnElement[bool]:
    return true() if value is None else column != value


def _seen_by(unit: Unit, who: Principal) -> Select[Any]:
    statement = (
        select(session, account.c.name.label("owner"))
        .join(account, account.c.id == session.c.account_id)
        .where(account.c.organisation_id == who.organisation_id, is_live(unit))
    )
    if who.may(Permission.ADMIN):
        return statement
    return statement.where(session.c.account_id == who.account_id)


def _told(row: Row[Any], who: Principal) -> Session:
    return Session(
        id=row.id,
        owner=row.owner,
        address=row.address,
        created_at=row.created_at,
        seen_at=row.seen_at,
        expires_at=row.expires_at,
        is_this=row.id == who.session_id,
    )
