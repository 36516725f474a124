"""Sign in by another service: there and back. What has to match meanwhile is kept in a sealed cookie."""

from __future__ import annotations

import base64
import json
import secrets
import time
from dataclasses import astuple

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from treewarden.service.api._requests import AtSite, address_of, cookie_name, is_open
from treewarden.service.auth.oidc import SignInStart, begin, finish
from treewarden.service.errors import NotFoundError, NotSignedInError, ServiceError
from treewarden.service.pages._forms import SEE_OTHER, drop_cookie, keep_cookie, keep_session, see
from treewarden.service.pages.sign_in import form, safe
from treewarden.service.site import Site
from treewarden.service.use_cases.accounts.sign_in import sign_in_vouched

ROUTER = APIRouter(tags=["pages"])
FLOW = "treewarden_flow"
SECONDS = 600
PATH = "/sign-in/oidc"
LONGEST = 2000


@ROUTER.get(PATH, **is_open())
def get_there(request: Request, site: AtSite, next: str = "/") -> Response:  # noqa: A002  # the name in the address
    """Lead to the provider."""
    if not site.settings.oidc_issuer:
        raise NotFoundError(
            "provider", "no other service is set up for sign-in; sign in with a password"
        )
    try:
        begun = begin(site.settings, _back(request, site))
    except ServiceError as error:
        return form(request, site, next=next, error=error)
    answer = RedirectResponse(begun.url, SEE_OTHER)
    keep_cookie(answer, site.settings, FLOW, _sealed(site, begun, safe(next)), SECONDS)
    return answer


@ROUTER.get(f"{PATH}/back", **is_open())
def get_back(request: Request, site: AtSite, code: str = "", state: str = "") -> Response:
    """Begin a session of whom the provider vouches for; the sealed cookie holds for one attempt."""
    try:
        if not site.settings.oidc_issuer:
            raise NotFoundError(
                "provider", "no other service is set up for sign-in; sign in with a password"
            )
        begun, following = _opened(site, request.cookies.get(cookie_name(site.settings, FLOW), ""))
        is_ours = secrets.compare_digest(state.encode(), begun.state.encode())
        if not is_ours or not 0 < len(code) <= LONGEST:
            raise _not_begun()
        person = finish(site.settings, _back(request, site), begun, code)
        with site.unit() as unit:
            signed_in = sign_in_vouched(unit, person, address_of(request))
    except ServiceError as error:
        answer = form(request, site, error=error)
    else:
        answer = see(following)
        keep_session(answer, site.settings, signed_in.secret)
    drop_cookie(answer, site.settings, FLOW)
    return answer


def _back(request: Request, site: Site) -> str:
    base = site.settings.base_url or str(request.base_url)
    return f"{base.rstrip('/')}{PATH}/back"


def _sealed(site: Site, begun: SignInStart, following: str) -> str:
    told = json.dumps([*astuple(begun), following, time.time() + SECONDS])
    return base64.urlsafe_b64encode(site.vault.seal(told.encode())).decode()


def _opened(site: Site, cookie: str) -> tuple[SignInStart, str]:
    """Return what was sealed, where it is one of ours and young enough."""
    try:
        told = json.loads(site.vault.unseal(base64.urlsafe_b64decode(cookie.encode())))
        *begun, following, until = told
    except (ServiceError, ValueError) as error:
        raise _not_begun() from error
    if time.time() > until:
        raise _not_begun()
    return SignInStart(*begun), following


def _not_begun() -> NotSignedInError:
    return NotSignedInError("sign-in", "was started elsewhere or too long ago; start again")
