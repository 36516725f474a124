"""Pages about audits: all of them, and one with its progress, verdict, findings and reports."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from service.api._asking import Reading, Who, Writing, asks, reads
from service.cases.audits import cancel, get_audit, list_audits, list_findings, progress
from service.pages._forms import see
from service.pages._grouping import grouped
from service.pages._rendering import page
from service.pages._typed import Words
from service.people.permissions import Permission
from service.schemas.audits import Audit, Progress, Sort, State, Verdict
from service.schemas.base import Id, Wanted

ROUTER = APIRouter(tags=["pages"])
LIVE = ("queued", "running")
MOST = 200
"""So many findings are shown; the report has all."""


@ROUTER.get("/audits", **reads(Permission.READ))
def get_audits(
    request: Request,
    who: Who,
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
        who,
        Wanted(cursor=cursor, limit=25),
        state=state,
        verdict=verdict,
        model_id=model,
        text=text,
        sort=sort,
    )
    return page(
        request,
        "audits.html.j2",
        who,
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
    who: Who,
    unit: Reading,
    audit_id: Id,
    report: Literal["public", "internal"] = "public",
) -> Response:
    """Show an audit."""
    found = get_audit(unit, who, audit_id)
    findings = list_findings(unit, who, audit_id, Wanted(limit=MOST)).items
    kinds = [each.kind for each in found.reports if each.form == "html"]
    if report == "public" and kinds and "public" not in kinds:
        report = "internal"
    pages = [each for each in found.reports if each.kind == report and each.form == "html"]
    return page(
        request,
        "audit.html.j2",
        who,
        audit=found,
        groups=grouped(findings),
        shown=len(findings),
        events=progress(unit, who, audit_id, 0),
        may_cancel=found.created_by == who.name or who.may(Permission.ADMIN),
        is_waiting=found.state in LIVE,
        report=pages[0] if pages and _may_see(who.permissions, report) else None,
        kinds=[kind for kind in kinds if _may_see(who.permissions, kind)],
    )


@ROUTER.get("/audits/{audit_id}/progress", **reads(Permission.READ))
def get_progress(
    request: Request,
    who: Who,
    unit: Reading,
    audit_id: Id,
    seen: Annotated[int, Query(ge=0)] = 0,
    state: State = "queued",
) -> Response:
    """Show how far an audit is, as a part of its page; nothing where nothing is new.

    Once it has begun or ended the page is loaded anew, as more of it changes.
    """
    found = get_audit(unit, who, audit_id)
    if found.state != state:
        return Response(headers={"HX-Refresh": "true"})
    events: tuple[Progress, ...] = tuple(progress(unit, who, audit_id, 0))
    if events and events[-1].seq == seen:
        return Response(status_code=204)
    return page(request, "_progress.html.j2", who, audit=found, events=events)


@ROUTER.post("/audits/{audit_id}/cancel", **asks(Permission.SUBMIT))
def post_cancel(who: Who, unit: Writing, audit_id: Id) -> Response:
    """Cancel an audit that has not ended."""
    found: Audit = cancel(unit, who, audit_id)
    return see(f"/audits/{found.id}")


def _may_see(permissions: frozenset[Permission], kind: str) -> bool:
    return kind == "public" or Permission.INTERNAL in permissions
