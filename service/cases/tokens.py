"""Tokens: what programs prove with who sent them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, Select, insert, select, update

from treewarden.service.cases.paging import paged
from treewarden.service.cases.sessions import check_account
from treewarden.service.database.tables import account, token
from treewarden.service.errors import ForbiddenError, NotFoundError
from treewarden.service.ids import new_id
from treewarden.service.ledger.log import record
from treewarden.service.people.permissions import Permission
from treewarden.service.people.principal import Principal
from treewarden.service.people.tokens import SHOWN, digest_of, new_secret
from treewarden.service.schemas.base import Page, PageRequest
from treewarden.service.schemas.people import MadeToken, NewToken, Token
from treewarden.service.site import Unit


def create_token(unit: Unit, who: Principal, new: NewToken) -> MadeToken:
    """Make a token of who asks; it may do no more than who asks may now.

    One that is made with a token ends with that one at the latest: who found a token cannot keep what it opens.

    Raises:
        ForbiddenError: it should do more.
    """
    more = sorted(set(new.permissions) - who.permissions)
    if more:
        problem = f"{', '.join(more)} is more than you may do; leave it out"
        raise ForbiddenError("permissions", problem)
    made, secret = new_id(), new_secret()
    ends = None if new.days is None else unit.now + timedelta(days=new.days)
    if who.token_id is not None:
        ends = _earlier(ends, _find(unit, who, who.token_id).expires_at)
    unit.connection.execute(
        insert(token).values(
            id=made,
            organisation_id=who.organisation_id,
            account_id=who.account_id,
            name=new.name,
            prefix=secret[:SHOWN],
            hash=digest_of(secret),
            permissions=sorted(set(new.permissions)),
            created_at=unit.now,
            expires_at=ends,
        )
    )
    detail = {"permissions": sorted(set(new.permissions)), "days": new.days, "with": who.token_id}
    record(unit, who, "token.created", "token", made, detail)
    return MadeToken(token=_told(_find(unit, who, made)), secret=secret)


def list_tokens(
    unit: Unit, who: Principal, wanted: PageRequest, account_id: str | None = None
) -> Page[Token]:
    """Return one's own tokens; administrators see those of all, or of one account.

    Raises:
        NotFoundError: there is no such account that who asks can see.
    """
    statement = _seen_by(who)
    if account_id is not None:
        check_account(unit, who, account_id)
        statement = statement.where(token.c.account_id == account_id)
    rows, following = paged(unit, statement, token.c.id, wanted)
    return Page(items=tuple(map(_told, rows)), next=following)


def revoke_token(unit: Unit, who: Principal, token_id: str) -> Token:
    """Have a token let nobody in any more: one's own, or as administrator anybody's.

    Raises:
        NotFoundError: there is none that who asks can see.
    """
    found = _find(unit, who, token_id)
    if found.revoked_at is None:
        unit.connection.execute(
            update(token).where(token.c.id == token_id).values(revoked_at=unit.now)
        )
        record(unit, who, "token.revoked", "token", token_id)
    return _told(_find(unit, who, token_id))


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    """Return the earlier time; None is never."""
    return min((each for each in (one, other) if each is not None), default=None)


def _seen_by(who: Principal) -> Select[Any]:
    statement = (
        select(token, account.c.name.label("owner"))
        .join(account, account.c.id == token.c.account_id)
        .where(token.c.organisation_id == who.organisation_id)
    )
    if who.may(Permission.ADMIN):
        return statement
    return statement.where(token.c.account_id == who.account_id)


def _find(unit: Unit, who: Principal, token_id: str) -> Row[Any]:
    found = unit.connection.execute(_seen_by(who).where(token.c.id == token_id)).first()
    if found is None:
        raise NotFoundError("token", "there is none with this id; look at the list")
    return found


def _told(row: Row[Any]) -> Token:
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
