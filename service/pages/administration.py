"""Pages of administrators: people, what is kept how long, and the workers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response
from pydantic import ValidationError

from treewarden.service.api._requests import AtSite, Reading, Who, asks, reads
from treewarden.service.auth.principal import Permission, Principal, Role
from treewarden.service.errors import ServiceError
from treewarden.service.pages._forms import PERSON, RETENTION, Typed, refusal, see, status_of
from treewarden.service.pages._rendering import page
from treewarden.service.schemas.base import Id, PageRequest
from treewarden.service.schemas.people import Changed, Made, NewAccount, Retention
from treewarden.service.site import Site
from treewarden.service.use_cases.accounts.people import (
    change_account,
    create_account,
    get_organisation,
    list_accounts,
    new_password,
    set_retention,
)
from treewarden.service.use_cases.jobs import list_workers

ROUTER = APIRouter(tags=["pages"])


@ROUTER.get("/administration", **asks(Permission.ADMIN))
def get_people(request: Request, principal: Who, site: AtSite) -> Response:
    """Show who may sign in."""
    return _people(request, principal, site)


@ROUTER.post("/administration/people", **asks(Permission.ADMIN))
def post_person(
    request: Request,
    principal: Who,
    site: AtSite,
    name: Annotated[Typed, Form()] = "",
    role: Annotated[str, Form(max_length=40)] = "",
) -> Response:
    """Add somebody, and show the one-time password; it is in this answer and nowhere else."""
    try:
        new_account = NewAccount.model_validate({"name": name, "role": role})
        with site.unit() as unit:
            made = create_account(unit, principal, new_account)
    except (ServiceError, ValidationError) as error:
        return _people(request, principal, site, typed={"name": name, "role": role}, error=error)
    return _people(request, principal, site, made=made)


@ROUTER.post("/administration/people/{account_id}", **asks(Permission.ADMIN))
def post_change(
    request: Request,
    principal: Who,
    site: AtSite,
    account_id: Id,
    role: Annotated[Role | None, Form()] = None,
    is_disabled: Annotated[bool | None, Form()] = None,
) -> Response:
    """Change a role, or let somebody in no more, or again."""
    try:
        with site.unit() as unit:
            change_account(unit, principal, account_id, Changed(role=role, is_disabled=is_disabled))
    except ServiceError as error:
        return _people(request, principal, site, error=error)
    return see("/administration")


@ROUTER.post("/administration/people/{account_id}/password", **asks(Permission.ADMIN))
def post_password(request: Request, principal: Who, site: AtSite, account_id: Id) -> Response:
    """Make a new one-time password, and show it in this answer alone."""
    try:
        with site.unit() as unit:
            made = new_password(unit, principal, account_id)
    except ServiceError as error:
        return _people(request, principal, site, error=error)
    return _people(request, principal, site, made=made)


@ROUTER.get("/administration/retention", **asks(Permission.ADMIN))
def get_retention(request: Request, principal: Who, site: AtSite, saved: bool = False) -> Response:
    """Show what is kept, how long, and what reviewers tick off."""
    with site.reading() as unit:
        organisation = get_organisation(unit, principal)
    typed = {
        "keeps_profiles": organisation.keeps_profiles,
        "report_days": str(organisation.report_days),
        "checklist": "\n".join(organisation.checklist),
    }
    return page(request, "retention.html.j2", principal, typed=typed, refused="", saved=saved)


@ROUTER.post("/administration/retention", **asks(Permission.ADMIN))
def post_retention(
    request: Request,
    principal: Who,
    site: AtSite,
    keeps_profiles: Annotated[bool, Form()] = False,
    report_days: Annotated[Typed, Form()] = "",
    checklist: Annotated[str, Form(max_length=20_000)] = "",
) -> Response:
    """Change what is kept."""
    lines = [line.strip() for line in checklist.splitlines() if line.strip()]
    typed = {"keeps_profiles": keeps_profiles, "report_days": report_days, "checklist": checklist}
    try:
        retention = Retention.model_validate({**typed, "checklist": lines})
        with site.unit() as unit:
            set_retention(unit, principal, retention)
    except (ServiceError, ValidationError) as error:
        return page(
            request,
            "retention.html.j2",
            principal,
            status=status_of(error),
            typed=typed,
            refused=refusal(error, RETENTION),
            saved=False,
        )
    return see("/administration/retention?saved=true")


@ROUTER.get("/administration/workers", **reads(Permission.ADMIN))
def get_workers(request: Request, principal: Who, unit: Reading) -> Response:
    """Show the processes that do jobs."""
    return page(request, "workers.html.j2", principal, workers=list_workers(unit), now=unit.now)


def _people(
    request: Request,
    principal: Principal,
    site: Site,
    *,
    made: Made | None = None,
    typed: dict[str, str] | None = None,
    error: ServiceError | ValidationError | None = None,
) -> Response:
    with site.reading() as unit:
        found = list_accounts(unit, principal, PageRequest(limit=200))
    return page(
        request,
        "people.html.j2",
        principal,
        status=status_of(error) if error else 200,
        accounts=found.items,
        roles=[(role.value, role.value.replace("_", " ")) for role in Role],
        made=made,
        typed=typed or {},
        refused=refusal(error, PERSON) if error else "",
    )
