"""Pages about models: all of them, one with its versions, and two versions side by side."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from treewarden.service.api._requests import Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.pages._chart import charted
from treewarden.service.pages._forms import is_asked_again, waited
from treewarden.service.pages._rendering import facts_of, page
from treewarden.service.schemas.base import Id, PageRequest
from treewarden.service.use_cases.audits import list_audits, newest_audits
from treewarden.service.use_cases.model_history import compare, model_history
from treewarden.service.use_cases.models import get_model, list_models, list_versions

ROUTER = APIRouter(tags=["pages"])
MOST = 200
"""So many audits of a model are shown."""


@ROUTER.get("/models", **reads(Permission.READ))
def get_models(
    request: Request,
    who: Who,
    unit: Reading,
    name: Annotated[str, Query(max_length=200)] = "",
    cursor: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show all models, newest first, or those with some letters in their names."""
    found = list_models(unit, who, PageRequest(cursor=cursor, limit=25), name.strip())
    newest = [each.latest.id for each in found.items if each.latest]
    return page(
        request,
        "models.html.j2",
        who,
        models=found.items,
        next=found.next,
        name=name.strip(),
        is_first=not cursor,
        verdicts=newest_audits(unit, who, newest),
    )


@ROUTER.get("/models/{model_id}", **reads(Permission.READ))
def get_one(
    request: Request,
    who: Who,
    unit: Reading,
    model_id: Id,
    cursor: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show a model: its versions, what the newest publishes, its audits."""
    model = get_model(unit, who, model_id)
    versions = list_versions(unit, who, model_id, PageRequest(cursor=cursor, limit=25))
    if is_asked_again(request):
        return waited(not any(version.state == "reading" for version in versions.items))
    audits = list_audits(unit, who, PageRequest(limit=MOST), model_id=model_id).items
    history = model_history(unit, who, model_id)
    return page(
        request,
        "model.html.j2",
        who,
        model=model,
        versions=versions.items,
        next=versions.next,
        is_first=not cursor,
        audits=audits,
        history=history,
        chart=charted(history) if len(history) > 1 else None,
        verdicts=newest_audits(unit, who, [version.id for version in versions.items]),
        facts=facts_of(model.latest),
        is_waiting=any(version.state == "reading" for version in versions.items),
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
    comparison = compare(unit, who, model_id, from_version, to_version)
    if is_asked_again(request):
        return waited(comparison.state != "reading")
    return page(
        request,
        "comparison.html.j2",
        who,
        model=get_model(unit, who, model_id),
        both=comparison,
        is_waiting=comparison.state == "reading",
        sides=(facts_of(comparison.from_version), facts_of(comparison.to_version)),
    )
