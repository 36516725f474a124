"""Accounts of an organisation, and what is kept there how long."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from sqlalchemy import Row, func, insert, select, update

from treewarden.service.auth import passwords
from treewarden.service.auth.principal import ALLOWED, Principal, Role
from treewarden.service.database.tables import account, organisation
from treewarden.service.errors import ConflictError, InvalidError, NotFoundError, new_id
from treewarden.service.ledger.log import record
from treewarden.service.schemas.base import Page, PageRequest
from treewarden.service.schemas.people import (
    Account,
    Changed,
    LeastPack,
    Made,
    NewAccount,
    Organisation,
    Retention,
)
from treewarden.service.site import Unit
from treewarden.service.use_cases.accounts.attempts import was_added
from treewarden.service.use_cases.accounts.authentication import end_sessions, revoke_tokens
from treewarden.service.use_cases.paging import paged
from treewarden.service.use_cases.policies import chosen_pack

DEFAULT = "default"
CHECKLIST = (
    "The table that was audited is the one that the model was trained on",
    "The quasi-identifiers include everything that outsiders may know about a person",
    "The purpose is stated, and the recipients are known",
)
"""What no program can tell: the verdict rests on it."""


def create_administrator(
    unit: Unit, name: str, organisation_name: str = DEFAULT
) -> tuple[Principal, str]:
    """Make an administrator, and the organisation if there is none; return who it is, and the one-time password.

    Raises:
        InvalidError: one of the names cannot be one.
        ConflictError: somebody of the organisation has the name, or one that looks like it.
    """
    try:
        new = NewAccount(name=name, role=Role.ADMINISTRATOR)
        organisation_name = NewAccount(name=organisation_name, role=Role.ADMINISTRATOR).name
    except ValidationError as error:
        problem = "is empty, too long or contains invisible characters; choose another"
        raise InvalidError("name", problem) from error
    found = unit.connection.execute(
        select(organisation.c.id).where(organisation.c.name == organisation_name)
    ).scalar()
    home = found or create_organisation(unit, organisation_name)
    made, password = _create(unit, home, new)
    principal = Principal(home, made, new.name, Role.ADMINISTRATOR, ALLOWED[Role.ADMINISTRATOR])
    record(unit, principal, "account.created", "account", made, {"role": Role.ADMINISTRATOR})
    return principal, password


def create_organisation(unit: Unit, name: str) -> str:
    """Make an organisation, and return its id."""
    made = new_id()
    unit.connection.execute(
        insert(organisation).values(
            id=made,
            name=name,
            keeps_profiles=False,
            checklist=list(CHECKLIST),
            created_at=unit.now,
        )
    )
    return made


def create_account(unit: Unit, principal: Principal, new: NewAccount) -> Made:
    """Make an account with a one-time password.

    Raises:
        ConflictError: somebody of the organisation has the name, or one that looks like it.
    """
    made, password = _create(unit, principal.organisation_id, new)
    record(unit, principal, "account.created", "account", made, {"role": new.role})
    return Made(account=get_account(unit, principal, made), password=password)


def list_accounts(unit: Unit, principal: Principal, page_request: PageRequest) -> Page[Account]:
    """Return accounts of the organisation."""
    statement = select(account).where(account.c.organisation_id == principal.organisation_id)
    rows, following = paged(unit, statement, account.c.id, page_request)
    return Page(items=tuple(map(_account_body, rows)), next=following)


def get_account(unit: Unit, principal: Principal, account_id: str) -> Account:
    """Return an account.

    Raises:
        NotFoundError: there is none in the organisation.
    """
    return _account_body(_find(unit, principal, account_id))


def change_account(unit: Unit, principal: Principal, account_id: str, changed: Changed) -> Account:
    """Change a role, or let somebody in no more, or again.

    Raises:
        NotFoundError: there is no such account in the organisation.
        ConflictError: it is the last administrator's.
    """
    _alone(unit, principal)
    found = _find(unit, principal, account_id)
    values: dict[str, Any] = {}
    if changed.role is not None:
        values["role"] = changed.role
    if changed.is_disabled is not None:
        values["disabled_at"] = (found.disabled_at or unit.now) if changed.is_disabled else None
    if values:
        unit.connection.execute(update(account).where(account.c.id == account_id).values(**values))
        _some_administrator_stays(unit, principal)
        if changed.is_disabled:
            end_sessions(unit, account_id)
        record(
            unit,
            principal,
            "account.changed",
            "account",
            account_id,
            changed.model_dump(mode="json", exclude_none=True),
        )
    return get_account(unit, principal, account_id)


def new_password(unit: Unit, principal: Principal, account_id: str) -> Made:
    """Give somebody a new one-time password; all sessions end then, and all tokens.

    Raises:
        NotFoundError: there is no such account in the organisation.
    """
    _find(unit, principal, account_id)
    password = passwords.new_password()
    unit.connection.execute(
        update(account)
        .where(account.c.id == account_id)
        .values(password_hash=passwords.random_hash_of(password), password_is_temporary=True)
    )
    ended = {"sessions": end_sessions(unit, account_id), "tokens": revoke_tokens(unit, account_id)}
    record(unit, principal, "account.password_reset", "account", account_id, ended)
    return Made(account=get_account(unit, principal, account_id), password=password)


def get_organisation(unit: Unit, principal: Principal) -> Organisation:
    """Return what holds for the organisation."""
    found = unit.connection.execute(
        select(organisation).where(organisation.c.id == principal.organisation_id)
    ).one()
    return Organisation(
        id=found.id,
        name=found.name,
        keeps_profiles=found.keeps_profiles,
        report_days=found.report_days,
        checklist=tuple(found.checklist),
        least_pack=found.least_pack,
    )


def set_retention(unit: Unit, principal: Principal, retention: Retention) -> Organisation:
    """Change what is kept, how long, and what reviewers tick off."""
    values = retention.model_dump(mode="json")
    unit.connection.execute(
        update(organisation).where(organisation.c.id == principal.organisation_id).values(**values)
    )
    record(
        unit, principal, "organisation.changed", "organisation", principal.organisation_id, values
    )
    return get_organisation(unit, principal)


def set_least_pack(unit: Unit, principal: Principal, least_pack: LeastPack) -> Organisation:
    """Say which policy every release should be judged by at least; null for none.

    A policy of the organisation is kept with its version, so that a newer one changes nothing by itself.

    Raises:
        NotFoundError: there is no such policy.
    """
    name = None
    if least_pack.pack is not None:
        chosen = chosen_pack(unit, principal.organisation_id, least_pack.pack)
        name = chosen.name if chosen.pack_version_id is None else f"{chosen.name}@{chosen.n}"
    unit.connection.execute(
        update(organisation)
        .where(organisation.c.id == principal.organisation_id)
        .values(least_pack=name)
    )
    values = {"least_pack": name}
    record(
        unit, principal, "organisation.changed", "organisation", principal.organisation_id, values
    )
    return get_organisation(unit, principal)


def add_account(unit: Unit, organisation_id: str, new: NewAccount, **values: object) -> str:
    """Write the row of an account, and return its id; ``values`` say how its owner signs in.

    Raises:
        ConflictError: somebody of the organisation has the name, or one that looks like it.
    """
    made = new_id()
    row = insert(account).values(
        id=made,
        organisation_id=organisation_id,
        name=new.name,
        role=new.role,
        created_at=unit.now,
        **values,
    )
    if not was_added(unit, row):
        raise ConflictError("name", "is taken, or looks like a name that is taken; choose another")
    return made


def _create(unit: Unit, organisation_id: str, new: NewAccount) -> tuple[str, str]:
    password = passwords.new_password()
    kept = {
        "password_hash": passwords.random_hash_of(password),
        "password_is_temporary": True,
    }
    return add_account(unit, organisation_id, new, **kept), password


def _find(unit: Unit, principal: Principal, account_id: str) -> Row[Any]:
    found = unit.connection.execute(
        select(account).where(
            account.c.id == account_id, account.c.organisation_id == principal.organisation_id
        )
    ).first()
    if found is None:
        raise NotFoundError("account", "nothing here has this id; choose one from the list")
    return found


def _alone(unit: Unit, principal: Principal) -> None:
    """Wait until nobody else changes who is an administrator here."""
    unit.connection.execute(
        select(organisation.c.id)
        .where(organisation.c.id == principal.organisation_id)
        .with_for_update()
    )


def _some_administrator_stays(unit: Unit, principal: Principal) -> None:
    left = unit.connection.execute(
        select(func.count()).where(
            account.c.organisation_id == principal.organisation_id,
            account.c.role == Role.ADMINISTRATOR,
            account.c.disabled_at.is_(None),
        )
    ).scalar_one()
    if not left:
        problem = "would have no administrator left; give the role to another person first"
        raise ConflictError("organisation", problem)


def _account_body(row: Row[Any]) -> Account:
    return Account(
        id=row.id,
        name=row.name,
        role=Role(row.role),
        has_password=row.password_hash is not None,
        has_oidc=row.oidc_subject is not None,
        is_disabled=row.disabled_at is not None,
        created_at=row.created_at,
    )
