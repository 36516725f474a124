"""Sign in with an organisation, a name and a password; change the password."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Row, case, select, update

from treewarden.service.auth import passwords
from treewarden.service.auth.oidc import Person
from treewarden.service.auth.principal import ALLOWED, Principal, Role
from treewarden.service.database.tables import account, organisation
from treewarden.service.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotSignedInError,
    TooManyError,
)
from treewarden.service.ledger.log import record
from treewarden.service.names import name_key, normalize_name
from treewarden.service.schemas.people import NewAccount
from treewarden.service.site import Site, Unit
from treewarden.service.use_cases.accounts.attempts import (
    ATTEMPTS_FROM_ADDRESS,
    ATTEMPTS_FROM_ANYWHERE,
    FailedAttempt,
    KnownBrowser,
    Limit,
    count_attempt,
    forget_attempts,
    is_text,
    log_failure,
    network_of,
    take_back,
)
from treewarden.service.use_cases.accounts.authentication import (
    SignedIn,
    begin_session,
    end_sessions,
)
from treewarden.service.use_cases.accounts.people import add_account


@dataclass(frozen=True, slots=True)
class Credentials:
    """What somebody typed to sign in, and where it came from.

    ``organisation`` may be empty where the service has one alone. ``browsers`` are what the cookies of this browser
    say of accounts that were signed in with it before.
    """

    name: str
    password: str
    address: str
    organisation: str = ""
    new_password: str = ""
    browsers: tuple[KnownBrowser, ...] = ()


@dataclass(frozen=True, slots=True)
class _SignInAttempt:
    """One attempt as it is counted; ``found`` is the account, ``first`` the limit that success forgets."""

    limits: tuple[Limit, ...]
    failed: FailedAttempt
    found: Row[Any] | None

    @property
    def first(self) -> Limit:
        return self.limits[0]


def sign_in(site: Site, credentials: Credentials) -> SignedIn:
    """Begin a session. A one-time password has to be changed by the same request that uses it.

    Each attempt counts before the password is looked at, so that many at once find no more than one after another.
    Whoever calls this holds a place of ``site.hashing``.

    Raises:
        NotSignedInError: name, password or organisation is wrong, or the account is disabled: all in the same words.
        TooManyError: it went wrong too often in the last minutes.
        ConflictError: the password is a one-time one, and ``new_password`` is missing.
        InvalidError: ``new_password`` cannot be taken.
    """
    with site.reading() as unit:
        attempt = _attempt(unit, credentials)
    counted = _counted(site, attempt)
    found = attempt.found
    with site.hashing.turn():
        is_it = passwords.matches(credentials.password, found.password_hash if found else None)
    if found is None or not is_it or found.disabled_at is not None:
        log_failure(site, attempt.failed)
        raise _wrong()
    try:
        values = _new_values(site, credentials, found)
    except (ConflictError, InvalidError):
        with site.unit() as unit:
            take_back(unit, counted)
        raise
    return _begun(site, credentials, attempt, found, counted, values)


def change_password(
    site: Site, principal: Principal, password: str, new_password: str, address: str = ""
) -> SignedIn:
    """Change one's own password; all sessions end, and this one goes on as a new one.

    Raises:
        ForbiddenError: a token asks, or somebody else vouches for who this is.
        InvalidError: the password is not the one that holds, or the new one cannot be taken.
        TooManyError: it went wrong too often in the last minutes, or too many sign in just now.
    """
    if principal.session_id is None:
        raise ForbiddenError(
            "password", "cannot be changed with a token; sign in and change it there"
        )
    mine = account.c.id == principal.account_id
    limit = Limit(f"{principal.account_id}\npassword")
    failed = FailedAttempt(
        limit.what,
        "password_change.refused",
        address,
        principal.organisation_id,
        principal.account_id,
    )
    with site.hashing.take(principal.account_id, is_known=True):
        with site.unit() as unit:
            counted = count_attempt(unit, (limit,))
            kept = unit.connection.execute(select(account.c.password_hash).where(mine)).scalar_one()
        if kept is None:
            problem = "you have no password here; change it in the service that you sign in with"
            raise ForbiddenError("password", problem)
        with site.hashing.turn():
            is_it = passwords.matches(password, kept)
        if not is_it:
            log_failure(site, failed)
            raise InvalidError("password", "is not the current password; try again")
        try:
            passwords.check_new(new_password, password, (principal.name,))
        except InvalidError:
            with site.unit() as unit:
                take_back(unit, counted)
            raise
        with site.hashing.turn():
            hashed = passwords.hash_of(new_password)
    values = {"password_hash": hashed, "password_is_temporary": False}
    with site.unit() as unit:
        if not unit.connection.execute(
            update(account).where(mine, account.c.password_hash == kept).values(**values)
        ).rowcount:
            raise ConflictError("password", "was changed in the meantime; sign in again")
        end_sessions(unit, principal.account_id)
        forget_attempts(unit, limit)
        signed_in = begin_session(unit, principal.account_id, address)
        record(unit, signed_in.who, "account.password_changed", "account", principal.account_id)
        return signed_in


def has_password(unit: Unit, principal: Principal) -> bool:
    """Return whether who asks signs in by a password."""
    statement = select(account.c.password_hash).where(account.c.id == principal.account_id)
    return unit.connection.execute(statement).scalar_one() is not None


def asks_organisation(unit: Unit) -> bool:
    """Return whether people have to say their organisation when they sign in: where there are several."""
    return len(unit.connection.execute(select(organisation.c.id).limit(2)).all()) > 1


def _attempt(unit: Unit, credentials: Credentials) -> _SignInAttempt:
    """Return who it may be, and what the attempt counts for; whoever there is, names are counted alike."""
    home = _organisation_of(unit, credentials.organisation)
    # asked where there is no such organisation too, so that it takes as long
    is_name = is_text(credentials.name)
    found = _account_of(unit, home or "", credentials.name) if is_name else None
    where = home or f"unknown {name_key(credentials.organisation)}"
    subject = f"{where}\n{name_key(credentials.name)}"
    failed = FailedAttempt(subject, "sign_in.refused", credentials.address)
    if found is not None:
        failed = replace(failed, organisation_id=found.organisation_id, account_id=found.id)
        for browser in credentials.browsers:
            if browser.account_id == found.id:
                return _SignInAttempt((Limit(f"{found.id}\n{browser.id}\nbrowser"),), failed, found)
    network = network_of(credentials.address)
    limits = (
        Limit(f"{subject}\n{network}"),
        Limit(f"{network}\naddress", ATTEMPTS_FROM_ADDRESS),
        Limit(f"{subject}\nanywhere", ATTEMPTS_FROM_ANYWHERE),
    )
    return _SignInAttempt(limits, failed, found)


def _organisation_of(unit: Unit, name: str) -> str | None:
    """Return the organisation of that name, whatever its case; the only one where none was said."""
    rows = unit.connection.execute(select(organisation.c.id, organisation.c.name)).all()
    typed = normalize_name(name.strip())
    if not typed:
        return rows[0].id if len(rows) == 1 else None
    same = [row.id for row in rows if row.name == typed]
    alike = [row.id for row in rows if row.name.casefold() == typed.casefold()]
    return next(iter(same or (alike if len(alike) == 1 else ())), None)


def _account_of(unit: Unit, organisation_id: str, name: str) -> Row[Any] | None:
    """Return the account of that name; of accounts that look alike from before they were refused, the very one."""
    is_same = account.c.name == name
    return unit.connection.execute(
        select(account)
        .where(
            account.c.organisation_id == organisation_id,
            is_same | (account.c.name_key == name_key(name)),
        )
        .order_by(case((is_same, 0), else_=1))
        .limit(1)
    ).first()


def _counted(site: Site, attempt: _SignInAttempt) -> tuple[str, ...]:
    """Count an attempt; where there were too many, the logs say so."""
    try:
        with site.unit() as unit:
            return count_attempt(unit, attempt.limits)
    except TooManyError:
        log_failure(site, replace(attempt.failed, action="sign_in.locked"))
        raise


def _new_values(site: Site, credentials: Credentials, row: Row[Any]) -> dict[str, object]:
    """Return what is to be kept of a new password, where the one that was used is for one time."""
    if not row.password_is_temporary:
        return {}
    if not credentials.new_password:
        raise ConflictError("password", "this password was temporary; choose a new password now")
    passwords.check_new(credentials.new_password, credentials.password, (row.name,))
    with site.hashing.turn():
        hashed = passwords.hash_of(credentials.new_password)
    return {"password_hash": hashed, "password_is_temporary": False}


def _begun(
    site: Site,
    credentials: Credentials,
    attempt: _SignInAttempt,
    row: Row[Any],
    counted: tuple[str, ...],
    values: dict[str, object],
) -> SignedIn:
    """Begin the session of who proved who it is, unless the account was changed meanwhile."""
    with site.unit() as unit:
        unchanged = (
            account.c.id == row.id,
            account.c.password_hash == row.password_hash,
            account.c.disabled_at.is_(None),
        )
        if values:
            if not unit.connection.execute(
                update(account).where(*unchanged).values(**values)
            ).rowcount:
                raise _wrong()
            end_sessions(unit, row.id)
        elif unit.connection.execute(select(account.c.id).where(*unchanged)).first() is None:
            raise _wrong()
        forget_attempts(unit, attempt.first)
        take_back(unit, counted)
        signed_in = begin_session(unit, row.id, credentials.address)
        if values:
            record(unit, signed_in.who, "account.password_changed", "account", row.id)
        return signed_in


def _wrong() -> NotSignedInError:
    problem = "the name, the password or the organisation is wrong; try again"
    return NotSignedInError("sign-in", problem)


# Sign-in of people whom another service vouches for.


def sign_in_vouched(unit: Unit, person: Person, address: str = "") -> SignedIn:
    """Begin a session; who was never here gets an account with the role that the settings say.

    An account belongs to the subject. A name alone proves nothing: it is never taken over by who has the same one.

    Raises:
        NotSignedInError: the account is disabled.
        ConflictError: the name, or one that looks like it, is that of another account in the organisation.
        InvalidError: the name cannot be one.
    """
    found = unit.connection.execute(
        select(account.c.id, account.c.disabled_at).where(account.c.oidc_subject == person.subject)
    ).first()
    if found is None:
        return begin_session(unit, _new(unit, person), address)
    if found.disabled_at is not None:
        raise NotSignedInError("account", "is disabled; ask an administrator")
    return begin_session(unit, found.id, address)


def _new(unit: Unit, person: Person) -> str:
    settings = unit.site.settings
    role = Role(settings.oidc_role)
    home = unit.connection.execute(
        select(organisation.c.id).where(organisation.c.name == settings.oidc_organisation)
    ).scalar()
    if home is None:
        problem = "the organisation for new people does not exist; ask an administrator"
        raise ConflictError("sign-in", problem)
    try:
        new = NewAccount(name=person.name, role=role)
    except ValidationError as error:
        raise InvalidError(
            "name", "is not a name that can be used here; ask an administrator"
        ) from error
    try:
        made = add_account(
            unit, home, new, password_is_temporary=False, oidc_subject=person.subject
        )
    except ConflictError as error:
        raise ConflictError(
            "name", "belongs to another account here; ask an administrator"
        ) from error
    principal = Principal(home, made, new.name, role, ALLOWED[role])
    record(unit, principal, "account.created", "account", made, {"role": role})
    return made
