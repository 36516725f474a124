"""The first page: what waits for whom, what fails, what was audited last."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from treewarden.service.api._requests import Reading, Who, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.pages._rendering import page
from treewarden.service.schemas.base import PageRequest
from treewarden.service.use_cases.audits import list_audits
from treewarden.service.use_cases.overview import overview

ROUTER = APIRouter(tags=["pages"])


@ROUTER.get("/", **reads(Permission.READ))
def get_overview(request: Request, principal: Who, unit: Reading) -> Response:
    """Show what there is to do."""
    found = overview(unit, principal)
    may_decide = principal.may(Permission.REVIEW)
    return page(
        request,
        "overview.html.j2",
        principal,
        all=found,
        audits=list_audits(unit, principal, PageRequest(limit=8)).items,
        to_decide=[
            waiting
            for waiting in found.waiting
            if may_decide and not waiting.is_mine and _is_open(waiting.state)
        ],
        mine=[waiting for waiting in found.waiting if waiting.is_mine],
    )


def _is_open(state: str) -> bool:
    return state in ("open", "requested")
