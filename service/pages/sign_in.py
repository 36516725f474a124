"""Sign in and out by a browser."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response

from treewarden.service.api._guarding import browsers_of
from treewarden.service.api._requests import AtSite, Who, address_of, asks, is_open
from treewarden.service.auth.principal import Permission
from treewarden.service.errors import ConflictError, ServiceError
from treewarden.service.pages._forms import (
    SIGN_IN,
    drop_session,
    keep_browser,
    keep_session,
    refusal,
    see,
    status_of,
    with_wait,
)
from treewarden.service.pages._rendering import page
from treewarden.service.site import Site
from treewarden.service.use_cases.accounts.authentication import sign_out
from treewarden.service.use_cases.accounts.sign_in import Credentials, asks_organisation, sign_in

ROUTER = APIRouter(tags=["pages"])
HERE = re.compile(r"/(?![/\\])[^\x00-\x20\\]*")
"""An address of this site: what leads elsewhere does not fit."""
Short = Annotated[str, Form(max_length=500)]


@ROUTER.get("/sign-in", **is_open())
def get_sign_in(
    request: Request,
    site: AtSite,
    next: str = "/",  # noqa: A002  # the name in the address
    organisation: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show the form; an address may name the organisation, so that nobody has to type it."""
    return form(request, site, next=next, organisation=organisation)


@ROUTER.post("/sign-in", **is_open())
def post_sign_in(
    request: Request,
    site: AtSite,
    name: Short = "",
    password: Short = "",
    new_password: Short = "",
    organisation: Short = "",
    next: Short = "/",  # noqa: A002  # the name of the field
) -> Response:
    """Begin a session, and lead on; a cookie that was there before is replaced."""
    browsers = browsers_of(site, request.cookies)
    credentials = Credentials(
        name=name,
        password=password,
        address=address_of(request),
        organisation=organisation,
        new_password=new_password,
        browsers=browsers,
    )
    try:
        signed_in = sign_in(site, credentials)
    except ServiceError as error:
        asks_new = isinstance(error, ConflictError) or bool(new_password)
        return form(
            request,
            site,
            next=next,
            name=name,
            organisation=organisation,
            error=error,
            asks_new=asks_new,
        )
    answer = see(safe(next))
    keep_session(answer, site.settings, signed_in.secret)
    keep_browser(answer, site, browsers, signed_in.who.account_id)
    return answer


@ROUTER.post("/sign-out", **asks(Permission.GATE))
def post_sign_out(principal: Who, site: AtSite) -> Response:
    """End the session."""
    with site.unit() as unit:
        sign_out(unit, principal)
    answer = see("/sign-in")
    drop_session(answer, site.settings)
    return answer


def safe(address: str) -> str:
    """Return where to lead on: an address of this site, whatever was asked for."""
    return address if HERE.fullmatch(address) else "/"


def form(
    request: Request,
    site: Site,
    *,
    next: str = "/",  # noqa: A002
    name: str = "",
    organisation: str = "",
    error: ServiceError | None = None,
    asks_new: bool = False,
) -> Response:
    """Return the page with the form; it asks for the organisation where the service has several."""
    with site.reading() as unit:
        has_several = asks_organisation(unit)
    answer = page(
        request,
        "sign_in.html.j2",
        None,
        status=status_of(error) if error else 200,
        next=safe(next),
        name=name,
        organisation=organisation,
        has_several=has_several,
        asks_new=asks_new,
        has_oidc=bool(site.settings.oidc_issuer),
        refused=refusal(error, SIGN_IN) if error and not (asks_new and error.status == 409) else "",
    )
    return with_wait(answer, error)
