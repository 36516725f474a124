"""Pages about waivers: asking for one, deciding about it, and the file that others use them by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError

from treewarden.service.api._requests import AtSite, Reading, Who, asks, reads
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.errors import ServiceError
from treewarden.service.pages._forms import (
    WAIVER,
    WAIVER_DECISION,
    WAIVERS_FILE,
    Typed,
    Words,
    refusal,
    see,
    status_of,
)
from treewarden.service.pages._rendering import page
from treewarden.service.schemas.base import Body, Id, PageRequest
from treewarden.service.schemas.releases import Deciding, NewWaiver, WaiverSort
from treewarden.service.site import Site, Unit
from treewarden.service.use_cases.waivers import (
    approve_waiver,
    export_waivers,
    get_waiver,
    import_waivers,
    list_waivers,
    refuse_waiver,
    request_waiver,
    revoke_waiver,
    why_not_approved,
)

ROUTER = APIRouter(tags=["pages"])
STATES = ("requested", "approved", "refused", "revoked")


class WaiverForm(Body):
    """The fields of a waiver as they were typed."""

    clause: Typed = ""
    leaf: Typed = ""
    digest: Typed = ""
    model: Typed = ""
    worst: Typed = ""
    reason: Typed = ""
    owner: Typed = ""
    ticket: Typed = ""
    expires: Typed = ""

    def new_waiver(self) -> NewWaiver:
        """Return what is asked for; what was left empty is not said.

        Raises:
            ValidationError: a field is missing or cannot be.
        """
        typed = self.model_dump()
        typed |= {name: typed[name] or None for name in ("model", "worst")}
        return NewWaiver.model_validate(typed)


@ROUTER.get("/waivers", **reads(Permission.READ))
def get_waivers(
    request: Request,
    principal: Who,
    unit: Reading,
    state: Literal["", "requested", "approved", "refused", "revoked"] = "",
    text: Words = "",
    sort: WaiverSort = "newest",
    cursor: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show waivers, all or those that are like what was asked."""
    page_request = PageRequest(cursor=cursor, limit=50)
    found = list_waivers(unit, principal, page_request, state=state, text=text, sort=sort)
    return page(
        request,
        "waivers.html.j2",
        principal,
        waivers=found.items,
        next=found.next,
        state=state,
        text=text,
        sort=sort,
        states=STATES,
        today=unit.now.date(),
        is_first=not cursor,
    )


@ROUTER.get("/waivers/new", **asks(Permission.SUBMIT))
def get_new(request: Request, principal: Who, form: Annotated[WaiverForm, Query()]) -> Response:
    """Show the form that asks for a waiver; a finding's page fills in what it is about."""
    first = form.model_copy(update={"owner": form.owner or principal.name})
    return _new(request, principal, first)


@ROUTER.post("/waivers", **asks(Permission.SUBMIT))
def post_waiver(
    request: Request, principal: Who, site: AtSite, form: Annotated[WaiverForm, Form()]
) -> Response:
    """Ask for a waiver, and lead on to it."""
    try:
        new_waiver = form.new_waiver()
        with site.unit() as unit:
            waiver = request_waiver(unit, principal, new_waiver)
    except (ServiceError, ValidationError) as error:
        return _new(request, principal, form, error)
    return see(f"/waivers/{waiver.id}")


@ROUTER.get("/waivers/import", **asks(Permission.SUBMIT))
def get_import(request: Request, principal: Who) -> Response:
    """Show the form that takes a waivers file."""
    return page(request, "waivers_import.html.j2", principal, toml="", refused="", taken=None)


@ROUTER.post("/waivers/import", **asks(Permission.SUBMIT))
def post_import(
    request: Request,
    principal: Who,
    site: AtSite,
    toml: Annotated[str, Form(max_length=500_000)] = "",
) -> Response:
    """Take a waivers file; each waiver in it becomes a wish."""
    try:
        with site.unit() as unit:
            taken = import_waivers(unit, principal, toml.replace("\r\n", "\n").encode())
    except ServiceError as error:
        return page(
            request,
            "waivers_import.html.j2",
            principal,
            status=status_of(error),
            toml=toml,
            refused=refusal(error, WAIVERS_FILE),
            taken=None,
        )
    return page(request, "waivers_import.html.j2", principal, toml="", refused="", taken=taken)


@ROUTER.get("/waivers/export", **reads(Permission.READ))
def get_export(principal: Who, unit: Reading) -> Response:
    """Return the approved waivers as the file that ``treewarden audit --waivers`` reads."""
    named = {"Content-Disposition": 'attachment; filename="waivers.toml"'}
    named["Cache-Control"] = "no-store"
    data = export_waivers(unit, principal)
    return Response(data, media_type="application/toml", headers=named)


@ROUTER.get("/waivers/{waiver_id}", **reads(Permission.READ))
def get_one(request: Request, principal: Who, unit: Reading, waiver_id: Id) -> Response:
    """Show a waiver."""
    return _render_page(request, principal, unit, waiver_id, "")


@ROUTER.post("/waivers/{waiver_id}/{decision}", **asks(Permission.REVIEW))
def post_decision(
    request: Request,
    principal: Who,
    site: AtSite,
    waiver_id: Id,
    decision: Literal["approve", "refuse", "revoke"],
    comment: Annotated[Typed, Form()] = "",
) -> Response:
    """Decide about a waiver, or take an approval back."""
    decide: Callable[..., object] = {
        "approve": approve_waiver,
        "refuse": refuse_waiver,
        "revoke": revoke_waiver,
    }[decision]
    return _decided(request, principal, site, waiver_id, decide, comment)


def _decided(
    request: Request,
    principal: Principal,
    site: Site,
    waiver_id: str,
    decide: Callable[..., object],
    comment: str,
) -> Response:
    try:
        deciding = Deciding(comment=comment)
        with site.unit() as unit:
            decide(unit, principal, waiver_id, deciding)
    except (ServiceError, ValidationError) as error:
        with site.reading() as unit:
            return _render_page(request, principal, unit, waiver_id, comment, error)
    return see(f"/waivers/{waiver_id}")


def _render_page(
    request: Request,
    principal: Principal,
    unit: Unit,
    waiver_id: str,
    comment: str,
    error: ServiceError | ValidationError | None = None,
) -> Response:
    waiver = get_waiver(unit, principal, waiver_id)
    may_decide = waiver.state == "requested" and principal.may(Permission.REVIEW)
    return page(
        request,
        "waiver.html.j2",
        principal,
        status=status_of(error) if error else 200,
        waiver=waiver,
        why_not=why_not_approved(unit, principal, waiver_id) if may_decide else "",
        today=unit.now.date(),
        comment=comment,
        refused=refusal(error, WAIVER_DECISION) if error else "",
    )


def _new(
    request: Request,
    principal: Principal,
    form: WaiverForm,
    error: ServiceError | ValidationError | None = None,
) -> Response:
    return page(
        request,
        "waiver_new.html.j2",
        principal,
        status=status_of(error) if error else 200,
        asked=form,
        wrong=_wrong(error),
        refused=refusal(error, WAIVER) if error else "",
    )


def _wrong(error: ServiceError | ValidationError | None) -> frozenset[str]:
    """Return which fields were refused."""
    if not isinstance(error, ValidationError):
        return frozenset()
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return frozenset(str(each["loc"][0]) for each in found if each["loc"])
