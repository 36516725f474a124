"""Repairs that follow from an audit, and their proposals."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from fastapi.responses import StreamingResponse

from treewarden.service.api._answers import Once
from treewarden.service.api._requests import Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.schemas.audits import Audit, NewRepair, Proposals, Repairs, Taken, Taking
from treewarden.service.schemas.base import Id
from treewarden.service.use_cases import repairs

ROUTER = APIRouter(tags=["repairs"], route_class=Once)
Number = Annotated[int, Path(ge=1, le=10_000)]


@ROUTER.post("/audits/{audit_id}/repairs", status_code=202, **asks(Permission.SUBMIT))
def post_repair(
    principal: Who, unit: Writing, audit_id: Id, new: NewRepair, response: Response
) -> Audit:
    """Queue a search for a changed model that passes; a worker does it, as it does audits."""
    audit = repairs.start_repair(unit, principal, audit_id, new)
    response.headers["Location"] = f"/api/v1/audits/{audit.id}"
    return audit


@ROUTER.get("/audits/{audit_id}/repairs", **reads(Permission.READ))
def get_repairs(principal: Who, unit: Reading, audit_id: Id) -> Repairs:
    """Return the repairs of an audit, and whether one can be asked for now."""
    return repairs.list_repairs(unit, principal, audit_id)


@ROUTER.get("/audits/{audit_id}/proposals", **reads(Permission.READ))
def get_proposals(principal: Who, unit: Reading, audit_id: Id) -> Proposals:
    """Return the changes that a repair tried, best first; an audit has none."""
    return repairs.list_proposals(unit, principal, audit_id)


@ROUTER.get(
    "/audits/{audit_id}/proposals/{number}/file",
    response_class=StreamingResponse,
    **reads(Permission.INTERNAL),
)
def get_file(principal: Who, unit: Reading, audit_id: Id, number: Number) -> StreamingResponse:
    """Return the file that a proposal makes, as it was audited."""
    repaired_file = repairs.proposal_file(unit, principal, audit_id, number)
    return StreamingResponse(
        repaired_file.chunks,
        media_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{_plain(repaired_file.name)}"'},
    )


@ROUTER.post(
    "/audits/{audit_id}/proposals/{number}/version", status_code=201, **asks(Permission.SUBMIT)
)
def post_version(
    principal: Who, unit: Writing, audit_id: Id, number: Number, taking: Taking
) -> Taken:
    """Make the file of a proposal the newest version of its model, and have that audited."""
    return repairs.take_proposal(unit, principal, audit_id, number, taking)


def _plain(name: str) -> str:
    return "".join(
        sign if sign.isascii() and (sign.isalnum() or sign in "-._") else "_" for sign in name
    )
