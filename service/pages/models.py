"""Pages about models: all of them, one with its versions, and two versions side by side."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from service.api._asking import Reading, Who, Writing, asks
from service.cases.audits import list_audits
from service.cases.comparing import compare
from service.cases.models import get_model, list_models, list_versions
from service.pages._forms import is_asked_again, waited
from service.pages._rendering import page
from service.pages._telling import facts_of
from service.people.permissions import Permission
from service.schemas.audits import Audit
from service.schemas.base import Id, Wanted

ROUTER = APIRouter(tags=["pages"])
MOST = 200
"""So many audits of a model are looked at for the newest of each version."""


@ROUTER.get("/models", **asks(Permission.READ))
def get_models(
    request: Request,
    who: Who,
    unit: Reading,
    name: Annotated[str, Query(max_length=200)] = "",
    cursor: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show all models, newest first, or those with some letters in their names."""
    found = list_models(unit, who, Wanted(cursor=cursor, limit=25), name.strip())
    newest = [each.latest.id for each in found.items if each.latest]
    verdicts = _newest(list_audits(unit, who, Wanted(limit=MOST)).items) if newest else {}
    return page(
        request,
        "models.html.j2",
        who,
        models=found.items,
        next=found.next,
        name=name.strip(),
        is_first=not cursor,
        verdicts=verdicts,
    )


@ROUTER.get("/models/{model_id}", **asks(Permission.READ))
def get_one(
    request: Request,
    who: Who,
    unit: Reading,
    model_id: Id,
    cursor: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show a model: its versions, what the newest publishes, its audits."""
    model = get_model(unit, who, model_id)
    versions = list_versions(unit, who, model_id, Wanted(cursor=cursor, limit=25))
    if is_asked_again(request):
        return waited(not any(each.state == "reading" for each in versions.items))
    audits = list_audits(unit, who, Wanted(limit=MOST), model_id=model_id).items
    return page(
        request,
        "model.html.j2",
        who,
        model=model,
        versions=versions.items,
        next=versions.next,
        is_first=not cursor,
        audits=audits,
        verdicts=_newest(audits),
        facts=facts_of(model.latest),
        is_waiting=any(each.state == "reading" for each in versions.items),
    )


@ROUTER.get("/models/{model_id}/compare", **asks(Permission.READ))
def get_comparison(
    request: Request,
    who: Who,
    unit: Writing,
    model_id: Id,
    from_version: Annotated[Id, Query(alias="from")],
    to_version: Annotated[Id, Query(alias="to")],
) -> Response:
    """Show what differs between two versions; the trees are compared by a worker when it is first asked for."""
    found = compare(unit, who, model_id, from_version, to_version)
    if is_asked_again(request):
        return waited(found.state != "reading")
    return page(
        request,
        "comparison.html.j2",
        who,
        model=get_model(unit, who, model_id),
        both=found,
        is_waiting=found.state == "reading",
        sides=(facts_of(found.from_version), facts_of(found.to_version)),
    )


def _newest(audits: tuple[Audit, ...]) -> dict[str, Audit]:
    """Return the newest audit of each version."""
    found: dict[str, Audit] = {}
    for each in audits:
        found.setdefault(each.model_version_id, each)
    return found
