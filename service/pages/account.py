"""The page about oneself: the password."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from service.api._asking import AtSite, Who, asks
from service.api._forwarding import address_of
from service.cases.signing_in import change_password, has_password
from service.errors import ServiceError
from service.pages._cookies import keep_session
from service.pages._forms import refusal, see, status_of, with_wait
from service.pages._labels import PASSWORD
from service.pages._rendering import page
from service.people.permissions import Permission
from service.people.principal import Principal
from service.site import Site

ROUTER = APIRouter(tags=["pages"])
Secret = Annotated[str, Form(max_length=500)]


@ROUTER.get("/account", **asks(Permission.GATE))
def get_account(request: Request, who: Who, site: AtSite, changed: bool = False) -> Response:
    """Show the form for a new password."""
    return _shown(request, who, site, changed=changed)


@ROUTER.post("/account", **asks(Permission.GATE))
def post_account(
    request: Request, who: Who, site: AtSite, password: Secret = "", new_password: Secret = ""
) -> Response:
    """Change the password, and go on with a new session."""
    try:
        made = change_password(site, who, password, new_password, address_of(request))
    except ServiceError as error:
        return _shown(request, who, site, error=error)
    answer = see("/account?changed=true")
    keep_session(answer, site.settings, made.secret)
    return answer


def _shown(
    request: Request,
    who: Principal,
    site: Site,
    *,
    changed: bool = False,
    error: ServiceError | None = None,
) -> Response:
    with site.reading() as unit:
        has_one = has_password(unit, who)
    answer = page(
        request,
        "account.html.j2",
        who,
        status=status_of(error) if error else 200,
        has_password=has_one,
        changed=changed,
        refused=refusal(error, PASSWORD) if error else "",
    )
    return with_wait(answer, error)
