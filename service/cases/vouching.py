"""Sign in whoever another service vouches for."""

from __future__ import annotations

from pydantic import ValidationError
from sqlalchemy import select

from treewarden.service.cases.people import add_account
from treewarden.service.cases.sessions import SignedIn, begin_session
from treewarden.service.database.tables import account, organisation
from treewarden.service.errors import ConflictError, InvalidError, NotSignedInError
from treewarden.service.ledger.log import record
from treewarden.service.people.oidc import Person
from treewarden.service.people.permissions import ALLOWED, Role
from treewarden.service.people.principal import Principal
from treewarden.service.schemas.people import NewAccount
from treewarden.service.site import Unit


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
        problem = "new people belong to an organisation that is not there; ask an administrator"
        raise ConflictError("sign-in", problem)
    try:
        new = NewAccount(name=person.name, role=role)
    except ValidationError as error:
        raise InvalidError("name", "cannot be one here; ask an administrator") from error
    try:
        made = add_account(
            unit, home, new, password_is_temporary=False, oidc_subject=person.subject
        )
    except ConflictError as error:
        raise ConflictError(
            "name", "belongs to another account here; ask an administrator"
        ) from error
    who = Principal(home, made, new.name, role, ALLOWED[role])
    record(unit, who, "account.created", "account", made, {"role": role})
    return made
