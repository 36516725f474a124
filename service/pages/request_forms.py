"""What follows from an audit: a wish that a finding be accepted, or that the version be released."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError

from treewarden.service.api._requests import AtSite, Reading, Who, asks, reads
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.errors import InvalidError, NotFoundError, ServiceError
from treewarden.service.pages._forms import (
    RELEASE,
    WAIVER_OF_FINDING,
    day_of,
    refusal,
    see,
    status_of,
)
from treewarden.service.pages._rendering import page
from treewarden.service.schemas.audits import Audit, Finding
from treewarden.service.schemas.base import Body, Id, PageRequest
from treewarden.service.schemas.releases import NewRelease, NewWaiver
from treewarden.service.site import Unit
from treewarden.service.use_cases.audits import get_audit, list_findings
from treewarden.service.use_cases.models import get_version
from treewarden.service.use_cases.releases import open_release
from treewarden.service.use_cases.waivers import request_waiver

ROUTER = APIRouter(tags=["pages"])
MOST = 200
DAYS = 90
"""How long a waiver is asked for to begin with."""


class Waiving(Body):
    """A wish for a waiver, as it was typed."""

    reason: str = ""
    owner: str = ""
    ticket: str = ""
    expires: str = ""
    everywhere: str = ""


class Releasing(Body):
    """A wish for a release, as it was typed."""

    title: str = ""
    purpose: str = ""


@ROUTER.get("/audits/{audit_id}/waive", **reads(Permission.SUBMIT))
def get_waive(
    request: Request,
    principal: Who,
    unit: Reading,
    audit_id: Id,
    finding: Annotated[int, Query(ge=0)],
) -> Response:
    """Show what a waiver needs, with all that the finding says of itself."""
    last = (unit.now + timedelta(days=DAYS)).date().isoformat()
    return _waiving(
        request, principal, unit, audit_id, finding, Waiving(owner=principal.name, expires=last)
    )


@ROUTER.post("/audits/{audit_id}/waive", **asks(Permission.SUBMIT))
def post_waive(
    request: Request,
    principal: Who,
    site: AtSite,
    audit_id: Id,
    finding: Annotated[int, Query(ge=0)],
    typed: Annotated[Waiving, Form()],
) -> Response:
    """Ask for the waiver; somebody else decides."""
    try:
        expires = day_of(typed.expires)
        if expires is None:
            raise InvalidError("expires", "is not a date; write it as 2026-01-31")
        with site.unit() as unit:
            audit, found = _find_finding(unit, principal, audit_id, finding)
            version = get_version(unit, principal, audit.model_version_id)
            new = NewWaiver(
                clause=found.clause,
                leaf=found.leaf,
                digest="" if found.leaf else f"sha256:{version.digest}",
                model=None if typed.everywhere else audit.model_name,
                reason=typed.reason.strip(),
                owner=typed.owner.strip(),
                ticket=typed.ticket.strip(),
                expires=expires,
            )
            request_waiver(unit, principal, new)
    except (ServiceError, ValidationError) as error:
        with site.reading() as unit:
            return _waiving(
                request, principal, unit, audit_id=audit_id, n=finding, typed=typed, error=error
            )
    return see("/waivers?state=requested")


@ROUTER.get("/audits/{audit_id}/release", **reads(Permission.SUBMIT))
def get_release(request: Request, principal: Who, unit: Reading, audit_id: Id) -> Response:
    """Show what a release needs."""
    audit = get_audit(unit, principal, audit_id)
    title = f"{audit.model_name}, version {audit.version}"
    return _releasing(
        request, principal, unit, audit_id, Releasing(title=title, purpose=audit.purpose)
    )


@ROUTER.post("/audits/{audit_id}/release", **asks(Permission.SUBMIT))
def post_release(
    request: Request,
    principal: Who,
    site: AtSite,
    audit_id: Id,
    typed: Annotated[Releasing, Form()],
) -> Response:
    """Open the release; somebody else decides."""
    try:
        new = NewRelease(
            audit_id=audit_id, title=typed.title.strip(), purpose=typed.purpose.strip()
        )
        with site.unit() as unit:
            release = open_release(unit, principal, new)
    except (ServiceError, ValidationError) as error:
        with site.reading() as unit:
            return _releasing(request, principal, unit, audit_id, typed, error)
    return see(f"/releases/{release.id}")


def _find_finding(unit: Unit, principal: Principal, audit_id: str, n: int) -> tuple[Audit, Finding]:
    """Return an audit and one of its findings.

    Raises:
        NotFoundError: there is no such finding.
    """
    audit = get_audit(unit, principal, audit_id)
    cursor = ""
    while True:
        part = list_findings(unit, principal, audit_id, PageRequest(limit=MOST, cursor=cursor))
        for finding in part.items:
            if finding.n == n:
                return audit, finding
        if part.next is None:
            raise NotFoundError("finding", "there is no such finding; open the audit again")
        cursor = part.next


def _waiving(
    request: Request,
    principal: Principal,
    unit: Unit,
    audit_id: str,
    n: int,
    typed: Waiving,
    error: ServiceError | ValidationError | None = None,
) -> Response:
    audit, finding = _find_finding(unit, principal, audit_id, n)
    return page(
        request,
        "waive.html.j2",
        principal,
        status=status_of(error) if error else 200,
        audit=audit,
        finding=finding,
        typed=typed,
        today=unit.now.date().isoformat(),
        refused=refusal(error, WAIVER_OF_FINDING) if error else "",
    )


def _releasing(
    request: Request,
    principal: Principal,
    unit: Unit,
    audit_id: str,
    typed: Releasing,
    error: ServiceError | ValidationError | None = None,
) -> Response:
    return page(
        request,
        "wish_release.html.j2",
        principal,
        status=status_of(error) if error else 200,
        audit=get_audit(unit, principal, audit_id),
        typed=typed,
        refused=refusal(error, RELEASE) if error else "",
    )
