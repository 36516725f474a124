"""Pages about releases: what waits for a decision, and one release with its checklist, remarks, decisions and gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError

from treewarden.service.api._requests import AtSite, Reading, Who, asks, reads
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.errors import InvalidError, ServiceError
from treewarden.service.pages._forms import RELEASE_DECISION, Typed, Words, refusal, see, status_of
from treewarden.service.pages._rendering import page
from treewarden.service.schemas.base import Id, PageRequest
from treewarden.service.schemas.releases import NewComment, NewReview, Sort, State
from treewarden.service.site import Site, Unit
from treewarden.service.use_cases.audits import get_audit, list_findings
from treewarden.service.use_cases.gate import gate_answer
from treewarden.service.use_cases.releases import (
    add_comment,
    get_release,
    list_releases,
    makes_pdf,
    release_it,
    review,
    tick,
    withdraw,
)

ROUTER = APIRouter(tags=["pages"])
Cursor = Annotated[str, Query(max_length=200)]
Revision = Annotated[int, Form(ge=1)]
SHOWN = 25
"""So many findings are shown on the page of a release; the audit's own page has all of them."""


@ROUTER.get("/releases", **reads(Permission.READ))
def get_releases(
    request: Request,
    principal: Who,
    unit: Reading,
    state: State | Literal[""] = "",
    text: Words = "",
    sort: Sort = "newest",
    cursor: Cursor = "",
) -> Response:
    """Show releases; those that wait for a decision stand apart, above all others, unless some are looked for."""
    is_first = not cursor
    waits = is_first and not text
    waiting = (
        list_releases(unit, principal, PageRequest(limit=100), state="open").items if waits else ()
    )
    found = list_releases(
        unit,
        principal,
        PageRequest(cursor=cursor, limit=25),
        state=state or None,
        text=text,
        sort=sort,
    )
    return page(
        request,
        "releases.html.j2",
        principal,
        waiting=waiting,
        releases=found.items,
        next=found.next,
        state=state,
        text=text,
        sort=sort,
        is_first=is_first,
    )


@ROUTER.get("/releases/{release_id}", **reads(Permission.READ))
def get_one(request: Request, principal: Who, unit: Reading, release_id: Id) -> Response:
    """Show a release."""
    return _render_page(request, principal, unit, release_id, {})


@ROUTER.post("/releases/{release_id}/ticks", **asks(Permission.REVIEW))
def post_tick(
    request: Request,
    principal: Who,
    site: AtSite,
    release_id: Id,
    check: Annotated[str, Form(max_length=200)],
    is_met: Annotated[bool, Form()],
    revision: Revision,
) -> Response:
    """Tick a line of the checklist, or take the tick back."""

    def do(unit: Unit) -> object:
        return tick(unit, principal, release_id, check, is_met, revision)

    return _done(request, principal, site, release_id, do, "#checklist")


@ROUTER.post("/releases/{release_id}/comments", **asks(Permission.READ))
def post_comment(
    request: Request,
    principal: Who,
    site: AtSite,
    release_id: Id,
    text: Annotated[Typed, Form()] = "",
) -> Response:
    """Make a remark."""

    def do(unit: Unit) -> object:
        return add_comment(unit, principal, release_id, NewComment(text=text))

    return _done(request, principal, site, release_id, do, "#talk", text=text)


@ROUTER.post("/releases/{release_id}/reviews", **asks(Permission.REVIEW))
def post_review(
    request: Request,
    principal: Who,
    site: AtSite,
    release_id: Id,
    revision: Revision,
    decision: Annotated[str, Form(max_length=20)] = "",
    comment: Annotated[Typed, Form()] = "",
) -> Response:
    """Decide."""

    def do(unit: Unit) -> object:
        if not decision:
            raise InvalidError(
                "decision", "no decision was chosen; approve, ask for changes or reject"
            )
        new_review = NewReview.model_validate({"decision": decision, "comment": comment})
        return review(unit, principal, release_id, new_review, revision)

    return _done(request, principal, site, release_id, do, decision=decision, comment=comment)


@ROUTER.post("/releases/{release_id}/withdraw", **asks(Permission.SUBMIT))
def post_withdraw(
    request: Request, principal: Who, site: AtSite, release_id: Id, revision: Revision
) -> Response:
    """Take the wish back."""
    return _done(
        request,
        principal,
        site,
        release_id,
        lambda unit: withdraw(unit, principal, release_id, revision),
    )


@ROUTER.post("/releases/{release_id}/release", **asks(Permission.SUBMIT))
def post_release_it(
    request: Request, principal: Who, site: AtSite, release_id: Id, revision: Revision
) -> Response:
    """Write down that the version went out."""
    return _done(
        request,
        principal,
        site,
        release_id,
        lambda unit: release_it(unit, principal, release_id, revision),
    )


def _done(
    request: Request,
    principal: Principal,
    site: Site,
    release_id: str,
    do: Callable[[Unit], object],
    place: str = "",
    **typed: str,
) -> Response:
    """Do it in a transaction of its own, and lead back; a refusal undoes all, and is shown beside what was typed."""
    try:
        with site.unit() as unit:
            do(unit)
    except (ServiceError, ValidationError) as error:
        with site.reading() as unit:
            return _render_page(request, principal, unit, release_id, typed, error)
    return see(f"/releases/{release_id}{place}")


def _render_page(
    request: Request,
    principal: Principal,
    unit: Unit,
    release_id: str,
    typed: dict[str, str],
    error: ServiceError | ValidationError | None = None,
) -> Response:
    release = get_release(unit, principal, release_id)
    findings = list_findings(unit, principal, release.audit_id, PageRequest(limit=SHOWN))
    return page(
        request,
        "release.html.j2",
        principal,
        status=status_of(error) if error else 200,
        release=release,
        gate=gate_answer(unit, principal, release_id),
        audit=get_audit(unit, principal, release.audit_id),
        findings=findings.items,
        has_more=findings.next is not None,
        server=unit.site.settings.base_url.rstrip("/") or str(request.base_url).rstrip("/"),
        makes_pdf=makes_pdf(),
        typed=typed,
        refused=refusal(error, RELEASE_DECISION) if error else "",
    )
