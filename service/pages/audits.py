"""Pages about audits: all of them, and one with its progress, verdict, findings and reports."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError

from treewarden.service.api._requests import Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.errors import ServiceError
from treewarden.service.pages._forms import COMPARISON, Words, refusal, see, status_of
from treewarden.service.pages._rendering import grouped, page
from treewarden.service.schemas.audits import Audit, Progress, Sort, State, Verdict
from treewarden.service.schemas.base import Id, PageRequest
from treewarden.service.site import Unit
from treewarden.service.use_cases.audits import (
    cancel,
    comparable_audits,
    get_audit,
    list_audits,
    list_findings,
    progress,
)
from treewarden.service.use_cases.releases import makes_pdf
from treewarden.service.use_cases.repairs import list_proposals, list_repairs
from treewarden.service.use_cases.tables import roots_of

ROUTER = APIRouter(tags=["pages"])
LIVE = ("queued", "running")
MOST_OTHERS = 50
"""So many audits, the newest ones, are offered to compare with."""
MOST = 200
"""So many findings are shown; the report has all."""


@ROUTER.get("/audits", **reads(Permission.READ))
def get_audits(
    request: Request,
    principal: Who,
    unit: Reading,
    state: State | Literal[""] = "",
    verdict: Verdict | Literal[""] = "",
    model: Annotated[Id | Literal[""], Query()] = "",
    text: Words = "",
    sort: Sort = "newest",
    cursor: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show audits, all or those that are like what was asked."""
    found = list_audits(
        unit,
        principal,
        PageRequest(cursor=cursor, limit=25),
        state=state,
        verdict=verdict,
        model_id=model,
        text=text,
        sort=sort,
    )
    return page(
        request,
        "audits.html.j2",
        principal,
        audits=found.items,
        next=found.next,
        is_first=not cursor,
        state=state,
        verdict=verdict,
        model=model,
        text=text,
        sort=sort,
    )


@ROUTER.get("/audits/{audit_id}", **reads(Permission.READ))
def get_one(
    request: Request,
    principal: Who,
    unit: Reading,
    audit_id: Id,
    report: Literal["public", "internal"] = "public",
) -> Response:
    """Show an audit."""
    return show_audit(request, principal, unit, audit_id, report)


def show_audit(
    request: Request,
    principal: Principal,
    unit: Unit,
    audit_id: str,
    report: Literal["public", "internal"] = "public",
    error: ServiceError | ValidationError | None = None,
) -> Response:
    """Return the page of an audit, with what was refused there, and what can be done next.

    Raises:
        NotFoundError: the organisation has no such audit.
    """
    audit = get_audit(unit, principal, audit_id)
    findings = list_findings(unit, principal, audit_id, PageRequest(limit=MOST)).items
    kinds = [report_of.kind for report_of in audit.reports if report_of.form == "html"]
    if report == "public" and kinds and "public" not in kinds:
        report = "internal"
    pages = [
        report_of
        for report_of in audit.reports
        if report_of.kind == report and report_of.form == "html"
    ]
    return page(
        request,
        "audit.html.j2",
        principal,
        status=status_of(error) if error else 200,
        refused=refusal(error, COMPARISON) if error else "",
        audit=audit,
        groups=grouped(findings),
        shown=len(findings),
        events=progress(unit, principal, audit_id, 0),
        may_cancel=audit.created_by == principal.name or principal.may(Permission.ADMIN),
        is_waiting=audit.state in LIVE,
        report=pages[0] if pages and _may_see(principal.permissions, report) else None,
        kinds=[kind for kind in kinds if _may_see(principal.permissions, kind)],
        repairs=list_repairs(unit, principal, audit_id) if _can_fail(audit) else None,
        proposals=list_proposals(unit, principal, audit_id) if _has_tried(audit) else None,
        others=_others(unit, principal, audit)
        if audit.state == "done" and audit.kind == "audit"
        else [],
        makes_pdf=makes_pdf(),
        has_roots=bool(roots_of(unit, principal.organisation_id)),
    )


@ROUTER.get("/audits/{audit_id}/progress", **reads(Permission.READ))
def get_progress(
    request: Request,
    principal: Who,
    unit: Reading,
    audit_id: Id,
    seen: Annotated[int, Query(ge=0)] = 0,
    state: State = "queued",
) -> Response:
    """Show how far an audit is, as a part of its page; nothing where nothing is new.

    Once it has begun or ended the page is loaded anew, as more of it changes.
    """
    audit = get_audit(unit, principal, audit_id)
    if audit.state != state:
        return Response(headers={"HX-Refresh": "true"})
    events: tuple[Progress, ...] = tuple(progress(unit, principal, audit_id, 0))
    if events and events[-1].seq == seen:
        return Response(status_code=204)
    return page(request, "_progress.html.j2", principal, audit=audit, events=events)


@ROUTER.post("/audits/{audit_id}/cancel", **asks(Permission.SUBMIT))
def post_cancel(principal: Who, unit: Writing, audit_id: Id) -> Response:
    """Cancel an audit that has not ended."""
    audit: Audit = cancel(unit, principal, audit_id)
    return see(f"/audits/{audit.id}")


def _can_fail(audit: Audit) -> bool:
    return audit.kind == "audit" and audit.verdict in ("FAIL", "UNDETERMINED")


def _has_tried(audit: Audit) -> bool:
    return audit.kind == "repair" and audit.state == "done"


def _others(unit: Unit, principal: Principal, audit: Audit) -> list[tuple[str, str]]:
    """Return the audits to compare with, those of the same model first, each with what it is called."""
    return [
        (
            row.id,
            f"{row.verdict}: {row.model_name}, version {row.version}, {row.created_at:%Y-%m-%d %H:%M}",
        )
        for row in comparable_audits(unit, principal, audit, MOST_OTHERS)
    ]


def _may_see(permissions: frozenset[Permission], kind: str) -> bool:
    return kind == "public" or Permission.INTERNAL in permissions
