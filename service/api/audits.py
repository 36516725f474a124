"""Audits and repairs: submitted, watched, cancelled, and their reports."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Literal

from anyio import sleep, to_thread
from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from treewarden.service.api._answers import Once
from treewarden.service.api._requests import AtSite, Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.schemas.audits import Audit, Finding, NewAudit, Progress, WantedAudits
from treewarden.service.schemas.base import Id, Page, PageRequest
from treewarden.service.site import Site
from treewarden.service.use_cases import audits

ROUTER = APIRouter(tags=["audits"], route_class=Once)
ENDED = ("done", "error", "cancelled")
POLL_SECONDS = 0.5
SIGN_OF_LIFE = 30
"""After so many looks without news a comment is sent, so that nothing between closes the connection."""
FRAMED = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
)
"""A report stands on its own: no script runs in it, and nothing is loaded."""


@ROUTER.post("/audits", status_code=202, **asks(Permission.SUBMIT))
def post_audit(principal: Who, unit: Writing, new: NewAudit, response: Response) -> Audit:
    """Queue an audit or a repair; a worker does it."""
    audit = audits.submit(unit, principal, new)
    response.headers["Location"] = f"/api/v1/audits/{audit.id}"
    return audit


@ROUTER.get("/audits", **reads(Permission.READ))
def get_audits(
    principal: Who, unit: Reading, query: Annotated[WantedAudits, Query()]
) -> Page[Audit]:
    """Return audits, of one state, verdict or model where these are named."""
    return audits.list_audits(unit, principal, query, query.state, query.verdict, query.model_id)


@ROUTER.get("/audits/{audit_id}", **reads(Permission.READ))
def get_audit(principal: Who, unit: Reading, audit_id: Id) -> Audit:
    """Return an audit. UNDETERMINED is a verdict like the others, and never a pass."""
    return audits.get_audit(unit, principal, audit_id)


@ROUTER.get("/audits/{audit_id}/findings", **reads(Permission.READ))
def get_findings(
    principal: Who, unit: Reading, audit_id: Id, query: Annotated[PageRequest, Query()]
) -> Page[Finding]:
    """Return what is not met."""
    return audits.list_findings(unit, principal, audit_id, query)


@ROUTER.post("/audits/{audit_id}/cancel", **asks(Permission.SUBMIT))
def post_cancel(principal: Who, unit: Writing, audit_id: Id) -> Audit:
    """Cancel an audit that you asked for; its table is erased where no other audit needs it."""
    return audits.cancel(unit, principal, audit_id)


@ROUTER.get(
    "/audits/{audit_id}/reports/{kind}.{form}",
    response_class=StreamingResponse,
    **reads(Permission.READ),
)
def get_report(
    principal: Who, unit: Reading, audit_id: Id, kind: Literal["internal", "public"], form: str
) -> StreamingResponse:
    """Return a report; the internal one needs the permission ``internal``, and is kept only where that is allowed."""
    report_file = audits.get_report(unit, principal, audit_id, kind, form)
    headers = {"Content-Disposition": f'inline; filename="{report_file.name}"'}
    if report_file.form == "html":
        headers["Content-Security-Policy"] = FRAMED
    return StreamingResponse(report_file.chunks, media_type=report_file.media_type, headers=headers)


@ROUTER.get(
    "/audits/{audit_id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
    **asks(Permission.READ),
)
async def get_events(
    request: Request,
    principal: Who,
    site: AtSite,
    audit_id: Id,
    last_event_id: Annotated[str, Header(max_length=20)] = "",
) -> StreamingResponse:
    """Return progress as server-sent events, from the one after Last-Event-ID on, until the audit has ended."""
    after = int(last_event_id[:9]) if last_event_id.isascii() and last_event_id.isdigit() else 0
    first = await to_thread.run_sync(_news, site, principal, audit_id, after)
    return StreamingResponse(
        _events(request, site, principal, audit_id, after, first),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},
    )


def _news(
    site: Site, principal: Principal, audit_id: str, after: int
) -> tuple[tuple[Progress, ...], bool]:
    """Return what happened since, and whether that was all; no connection is held in between."""
    with site.reading() as unit:
        has_ended = audits.get_audit(unit, principal, audit_id).state in ENDED
        return audits.progress(unit, principal, audit_id, after), has_ended


async def _events(
    request: Request,
    site: Site,
    principal: Principal,
    audit_id: str,
    after: int,
    news: tuple[tuple[Progress, ...], bool],
) -> AsyncIterator[str]:
    quiet = 0
    while True:
        events, has_ended = news
        for event in events:
            after, quiet = event.seq, 0
            yield f"id: {event.seq}\nevent: {event.kind}\ndata: {event.model_dump_json()}\n\n"
        if has_ended or await request.is_disconnected():
            return
        quiet += 1
        if quiet % SIGN_OF_LIFE == 0:
            yield ": still here\n\n"
        await sleep(POLL_SECONDS)
        news = await to_thread.run_sync(_news, site, principal, audit_id, after)
