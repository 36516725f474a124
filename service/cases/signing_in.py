"""Sign in with a name and a password, and out again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, func, insert, select, text, update

from service.cases.people import end_sessions
from service.cases.recognising import by_session
from service.database.tables import account, session, sign_in_failure
from service.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotSignedInError,
    TooManyError,
)
from service.ids import new_id
from service.ledger.log import record
from service.people import passwords
from service.people.principal import Principal
from service.people.tokens import digest_of, new_secret
from service.site import Site, Unit

ATTEMPTS = 5
ATTEMPTS_FROM_ANYWHERE = 100
"""For one name, whatever addresses they come from: behind some proxies whoever asks says himself where he is."""
WITHIN = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who signed in, and the secret of the new session, for the cookie."""

    who: Principal
    secret: str


def sign_in(site: Site, name: str, password: str, address: str, new_password: str = "") -> SignedIn:
    """Begin a session. A one-time password has to be changed by the same request that uses it.

    Each attempt counts before the password is looked at, so that many at once find no more than one after another.

    Raises:
        NotSignedInError: the name or the password is wrong, or the account is disabled.
        TooManyError: it went wrong too often in the last minutes.
        ConflictError: the password is a one-time one, and ``new_password`` is missing.
        InvalidError: ``new_password`` cannot be taken.
    """
    key = digest_of(f"{name}\n{address}")
    with site.unit() as unit:
        attempts = [
            _count(unit, key),
            _count(unit, digest_of(f"{name}\nanywhere"), ATTEMPTS_FROM_ANYWHERE),
        ]
    with site.reading() as unit:
        found = unit.connection.execute(select(account).where(account.c.name == name)).first()
    is_it = passwords.matches(password, found.password_hash if found else None)
    if found is None or not is_it or found.disabled_at is not None:
        raise _wrong()
    values: dict[str, object] = {}
    if found.password_is_temporary:
        if not new_password:
            _forget(site, attempts)
            raise ConflictError("password", "is for one time; give a new one with it")
        passwords.check_new(new_password, password)
        values = {
            "password_hash": passwords.hash_of(new_password),
            "password_is_temporary": False,
        }
    with site.unit() as unit:
        unchanged = (
            account.c.id == found.id,
            account.c.password_hash == found.password_hash,
            account.c.disabled_at.is_(None),
        )
        if values:
            if not unit.connection.execute(
                update(account).where(*unchanged).values(**values)
            ).rowcount:
                raise _wrong()
            end_sessions(unit, found.id)
        elif unit.connection.execute(select(account.c.id).where(*unchanged)).first() is None:
            raise _wrong()
        unit.connection.execute(delete(sign_in_failure).where(sign_in_failure.c.name_hash == key))
        _take_back(unit, attempts)
        made = begin_session(unit, found.id)
        if values:
            record(unit, made.who, "account.password_changed", "account", found.id)
        return made


def change_password(site: Site, who: Principal, password: str, new_password: str) -> SignedIn:
    """Change one's own password; all sessions end, and this one goes on as a new one.

    Raises:
        ForbiddenError: a token asks, or somebody else vouches for who this is.
        InvalidError: the password is not the one that holds, or the new one cannot be taken.
        TooManyError: it went wrong too often in the last minutes.
    """
    if who.session_id is None:
        raise ForbiddenError("password", "is changed by who is signed in, not by a token")
    mine = account.c.id == who.account_id
    with site.unit() as unit:
        key = digest_of(f"{who.account_id}\npassword")
        _count(unit, key)
        kept = unit.connection.execute(select(account.c.password_hash).where(mine)).scalar_one()
    if kept is None:
        problem = "there is none here; change it where you sign in"
        raise ForbiddenError("password", problem)
    if not passwords.matches(password, kept):
        raise InvalidError("password", "is not the one that holds; try again")
    passwords.check_new(new_password, password)
    values = {"password_hash": passwords.hash_of(new_password), "password_is_temporary": False}
    with site.unit() as unit:
        if not unit.connection.execute(
            update(account).where(mine, account.c.password_hash == kept).values(**values)
        ).rowcount:
            raise ConflictError("password", "was changed meanwhile; sign in again")
        end_sessions(unit, who.account_id)
        unit.connection.execute(delete(sign_in_failure).where(sign_in_failure.c.name_hash == key))
        made = begin_session(unit, who.account_id)
        record(unit, made.who, "account.password_changed", "account", who.account_id)
        return made


def has_password(unit: Unit, who: Principal) -> bool:
    """Return whether who asks signs in by a password."""
    statement = select(account.c.password_hash).where(account.c.id == who.account_id)
    return unit.connection.execute(statement).scalar_one() is not None


def begin_session(unit: Unit, account_id: str) -> SignedIn:
    """Begin a session of an account, whoever vouched for who it is."""
    secret = new_secret()
    unit.connection.execute(
        insert(session).values(
            id=new_id(),
            hash=digest_of(secret),
            account_id=account_id,
            created_at=unit.now,
            expires_at=unit.now + timedelta(hours=unit.site.settings.session_hours),
        )
    )
    who = by_session(unit, secret)
    record(unit, who, "session.begun", "account", account_id)
    return SignedIn(who, secret)


def sign_out(unit: Unit, who: Principal) -> None:
    """End the session of this request."""
    if who.session_id is not None:
        unit.connection.execute(delete(session).where(session.c.id == who.session_id))
        record(unit, who, "session.ended", "account", who.account_id)


def _count(unit: Unit, key: str, most: int = ATTEMPTS) -> str:
    """Write down an attempt, and return its id."""
    if unit.connection.dialect.name == "postgresql":
        lock = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], signed=True)
        unit.connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": lock})
    so_far = unit.connection.execute(
        select(func.count()).where(
            sign_in_failure.c.name_hash == key, sign_in_failure.c.created_at > unit.now - WITHIN
        )
    ).scalar_one()
    if so_far >= most:
        raise TooManyError("sign-in", "went wrong too often; wait 15 minutes")
    made = new_id()
    unit.connection.execute(
        insert(sign_in_failure).values(id=made, name_hash=key, created_at=unit.now)
    )
    return made


def _forget(site: Site, attempts: list[str]) -> None:
    with site.unit() as unit:
        _take_back(unit, attempts)


def _take_back(unit: Unit, attempts: list[str]) -> None:
    unit.connection.execute(delete(sign_in_failure).where(sign_in_failure.c.id.in_(attempts)))


def _wrong() -> NotSignedInError:
    return NotSignedInError("sign-in", "the name or the password is wrong; try again")
