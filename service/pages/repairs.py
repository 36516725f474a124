"""What follows from an audit, from its page: a repair asked for, a proposal taken, another audit beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError

from treewarden.service.api._requests import AtSite, Reading, Who, asks, reads
from treewarden.service.api._uploading import FileField, receive_form
from treewarden.service.api.repairs import Number
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.errors import InvalidError, ServiceError
from treewarden.service.pages._forms import see
from treewarden.service.pages._rendering import address, page
from treewarden.service.pages.audits import show_audit
from treewarden.service.schemas.audits import NewRepair, Taking
from treewarden.service.schemas.base import Id
from treewarden.service.schemas.models import NewTable
from treewarden.service.site import Site, Unit
from treewarden.service.use_cases.repairs import start_repair, start_repair_with, take_proposal
from treewarden.service.use_cases.show_audit import compare_audits

ROUTER = APIRouter(tags=["pages"])
FILE_FIELDS = {"table_file": FileField("table")}


@ROUTER.get("/audits/{audit_id}/compare", **reads(Permission.READ))
def get_comparison(
    request: Request, principal: Who, unit: Reading, audit_id: Id, to: Annotated[Id, Query()]
) -> Response:
    """Show what differs between two audits."""
    both = compare_audits(unit, principal, audit_id, to)
    return page(request, "audits_compare.html.j2", principal, both=both)


@ROUTER.post("/audits/{audit_id}/repairs", **asks(Permission.SUBMIT))
def post_repair(
    request: Request,
    principal: Who,
    site: AtSite,
    audit_id: Id,
    tries_all: Annotated[bool, Form()] = False,
) -> Response:
    """Look for a repair with the table that is there."""

    def do(unit: Unit) -> str:
        audit = start_repair(unit, principal, audit_id, NewRepair(tries_all=tries_all))
        return f"/audits/{audit.id}"

    return _done(request, principal, site, audit_id, do)


@ROUTER.post("/audits/{audit_id}/repairs/table", **asks(Permission.SUBMIT))
async def post_repair_with_table(
    request: Request, principal: Who, site: AtSite, audit_id: Id
) -> Response:
    """Take the table once more, streamed into the vault, and look for a repair with it; all of it or nothing."""
    try:
        form = await receive_form(request, site, principal, FILE_FIELDS)
    except ServiceError as error:
        return await to_thread.run_sync(partial(_again, request, principal, site, audit_id, error))
    file, path = form.file("table_file"), form.fields.get("table_path", "").strip()

    def do(unit: Unit) -> str:
        if path:
            new = NewTable(path=path)
        elif file is not None:
            new = NewTable(digest=file.digest, file_name=file.file_name)
        else:
            raise InvalidError("table", "no file was chosen; choose the one of the audit")
        tries_all = bool(form.fields.get("tries_all"))
        return (
            f"/audits/{start_repair_with(unit, principal, audit_id, new, tries_all=tries_all).id}"
        )

    return await to_thread.run_sync(partial(_done, request, principal, site, audit_id, do))


@ROUTER.post("/audits/{audit_id}/proposals/{number}/version", **asks(Permission.SUBMIT))
def post_version(
    request: Request, principal: Who, site: AtSite, audit_id: Id, number: Number
) -> Response:
    """Take a proposal as a version, and lead on to its audit, or to where its table is uploaded."""

    def do(unit: Unit) -> str:
        taken = take_proposal(unit, principal, audit_id, number, Taking())
        if taken.audit is not None:
            return f"/audits/{taken.audit.id}"
        return address("/submit", version=taken.version.id)

    return _done(request, principal, site, audit_id, do)


def _done(
    request: Request, principal: Principal, site: Site, audit_id: str, do: Callable[[Unit], str]
) -> Response:
    """Do it in a transaction of its own, and lead on; a refusal undoes all, and is shown on the audit's page."""
    try:
        with site.unit() as unit:
            return see(do(unit))
    except (ServiceError, ValidationError) as error:
        return _again(request, principal, site, audit_id, error)


def _again(
    request: Request,
    principal: Principal,
    site: Site,
    audit_id: str,
    error: ServiceError | ValidationError,
) -> Response:
    with site.reading() as unit:
        return show_audit(request, principal, unit, audit_id, error=error)
