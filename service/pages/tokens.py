"""The page about tokens: one's own, and for administrators everybody's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response
from pydantic import ValidationError

from treewarden.service.api._requests import AtSite, Who, asks
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.errors import ServiceError
from treewarden.service.pages._forms import TOKEN, Typed, refusal, see, status_of
from treewarden.service.pages._rendering import page
from treewarden.service.schemas.base import Id, PageRequest
from treewarden.service.schemas.people import MadeToken, NewToken
from treewarden.service.site import Site
from treewarden.service.use_cases.accounts.authentication import (
    create_token,
    list_tokens,
    revoke_token,
)

ROUTER = APIRouter(tags=["pages"])
MEANINGS = {
    Permission.GATE: "ask whether a version may be released; enough for a pipeline",
    Permission.READ: "read models, audits, public reports, releases and waivers",
    Permission.INTERNAL: "read internal reports, where they are kept",
    Permission.SUBMIT: "upload, audit, and ask for waivers and releases",
    Permission.REVIEW: "decide about waivers and releases",
    Permission.POLICIES: "write policy packs",
    Permission.ADMIN: "people, webhooks, retention and workers",
}


@ROUTER.get("/tokens", **asks(Permission.READ))
def get_tokens(request: Request, principal: Who, site: AtSite) -> Response:
    """Show tokens, and the form for a new one."""
    return _render_page(request, principal, site)


@ROUTER.post("/tokens", **asks(Permission.READ))
def post_token(
    request: Request,
    principal: Who,
    site: AtSite,
    name: Annotated[Typed, Form()] = "",
    permissions: Annotated[tuple[str, ...], Form()] = (),
    days: Annotated[Typed, Form()] = "90",
) -> Response:
    """Make a token, and show it; it is in this answer and nowhere else."""
    typed = {"name": name, "permissions": permissions, "days": days}
    try:
        new_token = NewToken.model_validate({**typed, "days": days or None})
        with site.unit() as unit:
            made_token = create_token(unit, principal, new_token)
    except (ServiceError, ValidationError) as error:
        return _render_page(request, principal, site, typed=typed, error=error)
    return _render_page(request, principal, site, made=made_token)


@ROUTER.post("/tokens/{token_id}/revoke", **asks(Permission.READ))
def post_revoke(request: Request, principal: Who, site: AtSite, token_id: Id) -> Response:
    """Have a token let nobody in any more."""
    try:
        with site.unit() as unit:
            revoke_token(unit, principal, token_id)
    except ServiceError as error:
        return _render_page(request, principal, site, error=error)
    return see("/tokens")


def _render_page(
    request: Request,
    principal: Principal,
    site: Site,
    *,
    made: MadeToken | None = None,
    typed: Mapping[str, object] | None = None,
    error: ServiceError | ValidationError | None = None,
) -> Response:
    with site.reading() as unit:
        found = list_tokens(unit, principal, PageRequest(limit=200))
        now = unit.now
    return page(
        request,
        "tokens.html.j2",
        principal,
        status=status_of(error) if error else 200,
        tokens=found.items,
        now=now,
        meanings=[
            (permission, told) for permission, told in MEANINGS.items() if principal.may(permission)
        ],
        made=made,
        typed=typed or {"name": "", "permissions": ("gate",), "days": "90"},
        refused=refusal(error, TOKEN) if error else "",
    )
