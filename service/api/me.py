"""Who asks."""

from __future__ import annotations

from fastapi import APIRouter
from sqlalchemy import select

from service.api._asking import Reading, Who, reads
from service.database.tables import organisation
from service.people.permissions import Permission
from service.schemas.people import Me

ROUTER = APIRouter(tags=["people"])


@ROUTER.get("/me", **reads(Permission.GATE))
def get_me(who: Who, unit: Reading) -> Me:
    """Return who asks, and what may be done."""
    name = unit.connection.execute(
        select(organisation.c.name).where(organisation.c.id == who.organisation_id)
    ).scalar_one()
    return Me(
        id=who.account_id,
        name=who.name,
        role=who.role,
        organisation=name,
        permissions=tuple(sorted(who.permissions)),
    )
