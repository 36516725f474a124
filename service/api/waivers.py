"""Waivers: asked for by one, approved by another."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from treewarden.service.api._answers import Once
from treewarden.service.api._requests import Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.schemas.base import Id, Page
from treewarden.service.schemas.releases import (
    Deciding,
    Imported,
    NewWaiver,
    Waiver,
    WaiversFile,
    WantedWaivers,
)
from treewarden.service.use_cases import waivers

ROUTER = APIRouter(tags=["waivers"], route_class=Once)
TOML = "application/toml"


@ROUTER.post("/waivers", status_code=201, **asks(Permission.SUBMIT))
def post_waiver(principal: Who, unit: Writing, new: NewWaiver) -> Waiver:
    """Ask that a finding be accepted until a day."""
    return waivers.request_waiver(unit, principal, new)


@ROUTER.get("/waivers", **reads(Permission.READ))
def get_waivers(
    principal: Who, unit: Reading, query: Annotated[WantedWaivers, Query()]
) -> Page[Waiver]:
    """Return waivers, of one state where it is named."""
    return waivers.list_waivers(unit, principal, query, query.state)


@ROUTER.get("/waivers.toml", response_class=Response, **reads(Permission.READ))
def get_file(principal: Who, unit: Reading) -> Response:
    """Return all waivers that hold today, as a file that ``treewarden audit --waivers`` reads."""
    return Response(waivers.export_waivers(unit, principal), media_type=TOML)


@ROUTER.post("/waivers-import", status_code=201, **asks(Permission.SUBMIT))
def post_file(principal: Who, unit: Writing, file: WaiversFile) -> Imported:
    """Ask for every waiver of a file that is not known yet; somebody else decides about each."""
    return waivers.import_waivers(unit, principal, file.toml.encode("utf-8", "replace"))


@ROUTER.get("/waivers/{waiver_id}", **reads(Permission.READ))
def get_waiver(principal: Who, unit: Reading, waiver_id: Id) -> Waiver:
    """Return a waiver."""
    return waivers.get_waiver(unit, principal, waiver_id)


@ROUTER.post("/waivers/{waiver_id}/approve", **asks(Permission.REVIEW))
def post_approve(principal: Who, unit: Writing, waiver_id: Id, body: Deciding) -> Waiver:
    """Accept what somebody else asked for, from today on."""
    return waivers.approve_waiver(unit, principal, waiver_id, body)


@ROUTER.post("/waivers/{waiver_id}/refuse", **asks(Permission.REVIEW))
def post_refuse(principal: Who, unit: Writing, waiver_id: Id, body: Deciding) -> Waiver:
    """Refuse what somebody else asked for."""
    return waivers.refuse_waiver(unit, principal, waiver_id, body)


@ROUTER.post("/waivers/{waiver_id}/revoke", **asks(Permission.REVIEW))
def post_revoke(principal: Who, unit: Writing, waiver_id: Id, body: Deciding) -> Waiver:
    """Take back a waiver that was approved; audits that rest on it pass no gate any more."""
    return waivers.revoke_waiver(unit, principal, waiver_id, body)
