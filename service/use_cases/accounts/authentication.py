"""Authentication: who sends a request, by a token or by a session's cookie; how sessions begin and end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Literal

from sqlalchemy import ColumnElement, Row, Select, delete, func, insert, select, true, update

from treewarden.service.auth.passwords import SHOWN, digest_of, new_secret
from treewarden.service.auth.principal import ALLOWED, Permission, Principal, Role
from treewarden.service.database.tables import account, session, token
from treewarden.service.errors import ForbiddenError, NotFoundError, NotSignedInError, new_id
from treewarden.service.ledger.log import record
from treewarden.service.schemas.base import Page, PageRequest
from treewarden.service.schemas.people import EndedAccess, MadeToken, NewToken, Session, Token
from treewarden.service.site import Site, Unit
from treewarden.service.use_cases.paging import paged

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
    principal = _principal(found, allowed, token_id=found.token_id)
    return principal, None if is_noted else PendingUse("token", found.token_id)


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
        raise NotSignedInError("session", "has ended; sign in again")
    is_noted = found.seen_at is not None and found.seen_at > unit.now - NOTED_EVERY
    principal = _principal(found, frozenset(Permission), session_id=found.session_id)
    return principal, None if is_noted else PendingUse("session", found.session_id)


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
    row: Row[Any],
    allowed: frozenset[Permission],
    token_id: str | None = None,
    session_id: str | None = None,
) -> Principal:
    role = Role(row.role)
    return Principal(
        organisation_id=row.organisation_id,
        account_id=row.id,
        name=row.name,
        role=role,
        permissions=ALLOWED[role] & allowed,
        token_id=token_id,
        session_id=session_id,
    )


# Sessions of people in a browser: begun, listed, ended; and all access of an account, ended at once.


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
    principal, _ = by_session(unit, secret)
    record(unit, principal, "session.begun", "account", account_id)
    return SignedIn(principal, secret)


def sign_out(unit: Unit, principal: Principal) -> None:
    """End the session of this request."""
    if principal.session_id is not None:
        unit.connection.execute(delete(session).where(session.c.id == principal.session_id))
        record(unit, principal, "session.ended", "account", principal.account_id)


def list_sessions(
    unit: Unit, principal: Principal, page_request: PageRequest, account_id: str | None = None
) -> Page[Session]:
    """Return one's own sessions that go on; administrators see those of all, or of one account.

    Raises:
        NotFoundError: there is no such account that who asks can see.
    """
    statement = _seen_by(unit, principal)
    if account_id is not None:
        check_account(unit, principal, account_id)
        statement = statement.where(session.c.account_id == account_id)
    rows, following = paged(unit, statement, session.c.id, page_request)
    return Page(items=tuple(_session_body(row, principal) for row in rows), next=following)


def end_session(unit: Unit, principal: Principal, session_id: str) -> Session:
    """End a session: one's own, or as administrator anybody's.

    Raises:
        NotFoundError: there is none that who asks can see.
    """
    found = unit.connection.execute(
        _seen_by(unit, principal).where(session.c.id == session_id)
    ).first()
    if found is None:
        raise NotFoundError("session", "nothing here has this id; choose one from the list")
    unit.connection.execute(delete(session).where(session.c.id == session_id))
    record(unit, principal, "session.ended", "account", found.account_id)
    return _session_body(found, principal)


def end_access(unit: Unit, principal: Principal, account_id: str) -> EndedAccess:
    """End all sessions of an account and revoke all its tokens, but for what this request came with.

    Raises:
        NotFoundError: there is no such account that who asks can see.
    """
    check_account(unit, principal, account_id)
    ended = EndedAccess(
        sessions=end_sessions(unit, account_id, but=principal.session_id),
        tokens=revoke_tokens(unit, account_id, but=principal.token_id),
    )
    record(unit, principal, "account.access_ended", "account", account_id, ended.model_dump())
    return ended


def check_account(unit: Unit, principal: Principal, account_id: str) -> None:
    """Check that an account is one's own, or for administrators one of the organisation.

    Raises:
        NotFoundError: it is not.
    """
    home = select(account.c.id).where(
        account.c.id == account_id, account.c.organisation_id == principal.organisation_id
    )
    is_seen = account_id == principal.account_id or principal.may(Permission.ADMIN)
    if not is_seen or unit.connection.execute(home).first() is None:
        raise NotFoundError("account", "nothing here has this id; choose one from the list")


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


def _seen_by(unit: Unit, principal: Principal) -> Select[Any]:
    statement = (
        select(session, account.c.name.label("owner"))
        .join(account, account.c.id == session.c.account_id)
        .where(account.c.organisation_id == principal.organisation_id, is_live(unit))
    )
    if principal.may(Permission.ADMIN):
        return statement
    return statement.where(session.c.account_id == principal.account_id)


def _session_body(row: Row[Any], principal: Principal) -> Session:
    return Session(
        id=row.id,
        owner=row.owner,
        address=row.address,
        created_at=row.created_at,
        seen_at=row.seen_at,
        expires_at=row.expires_at,
        is_this=row.id == principal.session_id,
    )


# Tokens: what programs prove with who sent them.


def create_token(unit: Unit, principal: Principal, new: NewToken) -> MadeToken:
    """Make a token of who asks; it may do no more than who asks may now.

    One that is made with a token ends with that one at the latest: who found a token cannot keep what it opens.

    Raises:
        ForbiddenError: it should do more.
    """
    permissions = sorted(set(new.permissions) - principal.permissions)
    if permissions:
        problem = f"you do not have the permission {', '.join(permissions)}; leave it out"
        raise ForbiddenError("permissions", problem)
    made, secret = new_id(), new_secret()
    ends = None if new.days is None else unit.now + timedelta(days=new.days)
    if principal.token_id is not None:
        ends = _earlier(ends, _find(unit, principal, principal.token_id).expires_at)
    unit.connection.execute(
        insert(token).values(
            id=made,
            organisation_id=principal.organisation_id,
            account_id=principal.account_id,
            name=new.name,
            prefix=secret[:SHOWN],
            hash=digest_of(secret),
            permissions=sorted(set(new.permissions)),
            created_at=unit.now,
            expires_at=ends,
        )
    )
    detail = {
        "permissions": sorted(set(new.permissions)),
        "days": new.days,
        "with": principal.token_id,
    }
    record(unit, principal, "token.created", "token", made, detail)
    return MadeToken(token=_token_body(_find(unit, principal, made)), secret=secret)


def list_tokens(
    unit: Unit, principal: Principal, page_request: PageRequest, account_id: str | None = None
) -> Page[Token]:
    """Return one's own tokens; administrators see those of all, or of one account.

    Raises:
        NotFoundError: there is no such account that who asks can see.
    """
    statement = _tokens_visible_to(principal)
    if account_id is not None:
        check_account(unit, principal, account_id)
        statement = statement.where(token.c.account_id == account_id)
    rows, following = paged(unit, statement, token.c.id, page_request)
    return Page(items=tuple(map(_token_body, rows)), next=following)


def revoke_token(unit: Unit, principal: Principal, token_id: str) -> Token:
    """Have a token let nobody in any more: one's own, or as administrator anybody's.

    Raises:
        NotFoundError: there is none that who asks can see.
    """
    found = _find(unit, principal, token_id)
    if found.revoked_at is None:
        unit.connection.execute(
            update(token).where(token.c.id == token_id).values(revoked_at=unit.now)
        )
        record(unit, principal, "token.revoked", "token", token_id)
    return _token_body(_find(unit, principal, token_id))


def _earlier(one: datetime | None, other_time: datetime | None) -> datetime | None:
    """Return the earlier time; None is never."""
    return min((each for each in (one, other_time) if each is not None), default=None)


def _tokens_visible_to(principal: Principal) -> Select[Any]:
    statement = (
        select(token, account.c.name.label("owner"))
        .join(account, account.c.id == token.c.account_id)
        .where(token.c.organisation_id == principal.organisation_id)
    )
    if principal.may(Permission.ADMIN):
        return statement
    return statement.where(token.c.account_id == principal.account_id)


def _find(unit: Unit, principal: Principal, token_id: str) -> Row[Any]:
    found = unit.connection.execute(
        _tokens_visible_to(principal).where(token.c.id == token_id)
    ).first()
    if found is None:
        raise NotFoundError("token", "nothing here has this id; choose one from the list")
    return found


def _token_body(row: Row[Any]) -> Token:
    return Token(
        id=row.id,
        name=row.name,
        owner=row.owner,
        prefix=row.prefix,
        permissions=tuple(map(Permission, row.permissions)),
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        used_at=row.used_at,
    )
