"""Who asks."""

from __future__ import annotations

from fastapi import APIRouter
from sqlalchemy import select

from treewarden.service.api._requests import Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.database.tables import organisation
from treewarden.service.schemas.people import Me, NewNotices, Notices
from treewarden.service.use_cases import notices

ROUTER = APIRouter(tags=["people"])


@ROUTER.get("/me", **reads(Permission.GATE))
def get_me(principal: Who, unit: Reading) -> Me:
    """Return who asks, and what may be done."""
    name = unit.connection.execute(
        select(organisation.c.name).where(organisation.c.id == principal.organisation_id)
    ).scalar_one()
    return Me(
        id=principal.account_id,
        name=principal.name,
        role=principal.role,
        organisation=name,
        permissions=tuple(sorted(principal.permissions)),
    )


@ROUTER.get("/me/notices", **reads(Permission.READ))
def get_notices(principal: Who, unit: Reading) -> Notices:
    """Return what you hear of by e-mail, and what became of the newest one."""
    return notices.get_notices(unit, principal)


@ROUTER.put("/me/notices", **asks(Permission.READ))
def put_notices(principal: Who, unit: Writing, new: NewNotices) -> Notices:
    """Change what you hear of by e-mail."""
    return notices.set_notices(unit, principal, new)


@ROUTER.post("/me/notices/test", **asks(Permission.READ))
def post_test(principal: Who, unit: Writing) -> Notices:
    """Send yourself an e-mail that tells of nothing, to see whether it arrives."""
    return notices.send_test(unit, principal)
