"""The page about oneself: the password, and what one hears of by e-mail."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response
from pydantic import ValidationError

from treewarden.service.api._requests import AtSite, Who, address_of, asks
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.errors import ServiceError
from treewarden.service.ledger.log import Event
from treewarden.service.pages._forms import (
    NOTICES,
    PASSWORD,
    Typed,
    keep_session,
    refusal,
    see,
    status_of,
    with_wait,
)
from treewarden.service.pages._rendering import page
from treewarden.service.schemas.people import NewNotices
from treewarden.service.site import Site
from treewarden.service.use_cases.accounts.sign_in import change_password, has_password
from treewarden.service.use_cases.notices import get_notices, send_test, set_notices

ROUTER = APIRouter(tags=["pages"])
EVENTS = {
    Event.AUDIT_FINISHED: "an audit that you requested has ended",
    Event.WAIVER_DECIDED: "a waiver that you requested was decided",
    Event.RELEASE_DECIDED: "a release that you requested was decided",
    Event.RELEASE_RELEASED: "a release that you requested was published",
    Event.WAIVER_REQUESTED: "a waiver waits for your decision",
    Event.RELEASE_OPENED: "a release waits for your decision",
}
Secret = Annotated[str, Form(max_length=500)]


@ROUTER.get("/account", **asks(Permission.GATE))
def get_account(request: Request, principal: Who, site: AtSite, changed: bool = False) -> Response:
    """Show the form for a new password."""
    return _render_page(request, principal, site, changed=changed)


@ROUTER.post("/account", **asks(Permission.GATE))
def post_account(
    request: Request, principal: Who, site: AtSite, password: Secret = "", new_password: Secret = ""
) -> Response:
    """Change the password, and go on with a new session."""
    try:
        signed_in = change_password(site, principal, password, new_password, address_of(request))
    except ServiceError as error:
        return _render_page(request, principal, site, error=error)
    answer = see("/account?changed=true")
    keep_session(answer, site.settings, signed_in.secret)
    return answer


@ROUTER.post("/account/notices", **asks(Permission.READ))
def post_notices(
    request: Request,
    principal: Who,
    site: AtSite,
    address: Annotated[Typed, Form()] = "",
    events: Annotated[tuple[str, ...], Form()] = (),
) -> Response:
    """Change what somebody hears of by e-mail."""
    try:
        new = NewNotices.model_validate({"address": address, "events": events})
        with site.unit() as unit:
            set_notices(unit, principal, new)
    except (ServiceError, ValidationError) as error:
        return _render_page(request, principal, site, error=error)
    return see("/account#notices")


@ROUTER.post("/account/notices/test", **asks(Permission.READ))
def post_test(request: Request, principal: Who, site: AtSite) -> Response:
    """Send an e-mail that tells of nothing."""
    try:
        with site.unit() as unit:
            send_test(unit, principal)
    except ServiceError as error:
        return _render_page(request, principal, site, error=error)
    return see("/account#notices")


def _render_page(
    request: Request,
    principal: Principal,
    site: Site,
    *,
    changed: bool = False,
    error: ServiceError | ValidationError | None = None,
) -> Response:
    with site.reading() as unit:
        has_one = has_password(unit, principal)
        notices = get_notices(unit, principal) if principal.may(Permission.READ) else None
    answer = page(
        request,
        "account.html.j2",
        principal,
        status=status_of(error) if error else 200,
        has_password=has_one,
        changed=changed,
        notices=notices,
        events=list(EVENTS.items()),
        refused=refusal(error, {**PASSWORD, **NOTICES}) if error else "",
    )
    return with_wait(answer, error)
