"""The page on which an administrator says which policy every release should be judged by at least."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response
from pydantic import ValidationError

from treewarden.service.api._requests import AtSite, Reading, Who, asks, reads
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.errors import ServiceError
from treewarden.service.pages._forms import LEAST_POLICY, refusal, see, status_of
from treewarden.service.pages._rendering import page
from treewarden.service.schemas.people import LeastPack
from treewarden.service.site import Unit
from treewarden.service.use_cases.accounts.people import get_organisation, set_least_pack
from treewarden.service.use_cases.policies import list_packs

ROUTER = APIRouter(tags=["pages"])
NONE = ("", "none: reviewers decide")


@ROUTER.get("/administration/least-policy", **reads(Permission.ADMIN))
def get_least_policy(
    request: Request, principal: Who, unit: Reading, saved: bool = False
) -> Response:
    """Show the least policy, and what can be chosen."""
    return _render_page(
        request, principal, unit, get_organisation(unit, principal).least_pack or "", saved=saved
    )


@ROUTER.post("/administration/least-policy", **asks(Permission.ADMIN))
def post_least_policy(
    request: Request,
    principal: Who,
    site: AtSite,
    pack: Annotated[str, Form(max_length=300)] = "",
) -> Response:
    """Choose the least policy, or none."""
    try:
        with site.unit() as unit:
            set_least_pack(unit, principal, LeastPack(pack=pack or None))
    except (ServiceError, ValidationError) as error:
        with site.reading() as unit:
            return _render_page(request, principal, unit, pack, error=error)
    return see("/administration/least-policy?saved=true")


def _render_page(
    request: Request,
    principal: Principal,
    unit: Unit,
    chosen: str,
    *,
    saved: bool = False,
    error: ServiceError | ValidationError | None = None,
) -> Response:
    names = [
        pack.name if pack.is_shipped else f"{pack.name}@{pack.n}"
        for pack in list_packs(unit, principal)
    ]
    if chosen and chosen not in names and not error:
        names.append(chosen)  # an older version that was chosen stays until another one is
    return page(
        request,
        "least_policy.html.j2",
        principal,
        status=status_of(error) if error else 200,
        options=[NONE, *((name, name) for name in names)],
        chosen=chosen,
        saved=saved,
        refused=refusal(error, LEAST_POLICY) if error else "",
    )
