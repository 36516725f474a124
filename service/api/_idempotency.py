"""Answers that are kept under a key, so that whoever asks twice changes things once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from treewarden.service.auth.principal import Principal
from treewarden.service.database.run_tables import idempotency
from treewarden.service.errors import ConflictError, InvalidError
from treewarden.service.site import Site, Unit

LONGEST = 200
GIVEN_UP = timedelta(minutes=2)
"""After which a request without an answer is taken for dead, and its key may be used again."""
WHERE = "Idempotency-Key"


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What was answered."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """The right to answer under a key. Whoever takes a key over from a dead request has another ``at``."""

    who: Principal
    key: str
    at: datetime


def claim(site: Site, who: Principal, key: str, request_hash: str) -> KeyClaim | StoredAnswer:
    """Return the answer that is kept under a key, or the right to make it.

    Raises:
        InvalidError: the key cannot be one, or another request was sent with it.
        ConflictError: the request is being answered just now.
    """
    if not (0 < len(key) <= LONGEST and key.isascii() and key.isprintable()):
        raise InvalidError(WHERE, f"has to be 1 to {LONGEST} printable signs of ASCII")
    try:
        with site.unit() as unit:
            return _claimed(unit, who, key, request_hash)
    except IntegrityError as error:  # another request was faster by a hair
        raise _in_flight() from error


def _claimed(unit: Unit, who: Principal, key: str, request_hash: str) -> KeyClaim | StoredAnswer:
    found = unit.connection.execute(
        select(idempotency).where(*_is(who, key)).with_for_update()
    ).first()
    if found is None:
        unit.connection.execute(
            insert(idempotency).values(
                organisation_id=who.organisation_id,
                account_id=who.account_id,
                key=key,
                request_hash=request_hash,
                created_at=unit.now,
            )
        )
        return KeyClaim(who, key, unit.now)
    if found.request_hash != request_hash:
        raise InvalidError(WHERE, "was sent with another request; take a new one")
    if found.status is not None:
        return StoredAnswer(found.status, dict(found.headers), found.body)
    if found.created_at + GIVEN_UP > unit.now:
        raise _in_flight()
    unit.connection.execute(update(idempotency).where(*_is(who, key)).values(created_at=unit.now))
    return KeyClaim(who, key, unit.now)


def keep(unit: Unit, claimed: KeyClaim, answer: StoredAnswer) -> None:
    """Keep an answer, in the transaction of what it tells of: both are there, or neither.

    Raises:
        ConflictError: it took so long that the key was given to another request.
    """
    kept = unit.connection.execute(
        update(idempotency)
        .where(*_claim_holds(claimed))
        .values(status=answer.status, headers=answer.headers, body=answer.body)
    )
    if not kept.rowcount:
        raise _in_flight()


def give_back(site: Site, claimed: KeyClaim) -> None:
    """Free a key under which nothing was done."""
    with site.unit() as unit:
        unit.connection.execute(delete(idempotency).where(*_claim_holds(claimed)))


def _is(who: Principal, key: str) -> tuple[ColumnElement[bool], ...]:
    return (
        idempotency.c.organisation_id == who.organisation_id,
        idempotency.c.account_id == who.account_id,
        idempotency.c.key == key,
    )


def _claim_holds(claimed: KeyClaim) -> tuple[ColumnElement[bool], ...]:
    return (
        *_is(claimed.who, claimed.key),
        idempotency.c.created_at == claimed.at,
        idempotency.c.status.is_(None),
    )


def _in_flight() -> ConflictError:
    return ConflictError(WHERE, "is being answered just now; ask again in a moment")
