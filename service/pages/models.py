"""Pages about models: all of them, one with its versions, and two versions side by side.

The history of a model as a chart: where each bar and point stands, in pixels; the template draws it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from treewarden.service.api._requests import Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.pages._forms import is_asked_again, waited
from treewarden.service.pages._rendering import facts_of, page
from treewarden.service.schemas.base import Id, PageRequest
from treewarden.service.use_cases.audits import list_audits, newest_audits
from treewarden.service.use_cases.models import (
    Past,
    compare_versions,
    get_model,
    list_models,
    list_versions,
    model_history,
)

LEFT = 112
"""The words beside the rows stand here; sizes are pixels, as a chart that is made smaller could not be read."""
STEP = 64
HIGHEST = 96
TOP = 22
VERDICTS = TOP + HIGHEST + 12
POINTS = VERDICTS + 72
LOWEST = 56


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a bar: findings of one verdict."""

    tone: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """A version on the chart; ``total`` stands above its bar, ``size`` above its point. None where there is none."""

    x: float
    n: int
    verdict: str
    bars: tuple[Bar, ...]
    total: int | None
    top: float
    size: int | None
    y: float


@dataclass(frozen=True, slots=True)
class Chart:
    """All versions, and the lines between the points of those that follow each other."""

    width: int
    columns: tuple[ChartColumn, ...]
    lines: tuple[tuple[ChartColumn, ChartColumn], ...]
    has_points: bool


def charted(history: Sequence[Past]) -> Chart:
    """Return where each version stands: findings as bars of one scale, smallest leaves on a scale of logarithms."""
    most = max((_total(past) or 0 for past in history), default=0)
    largest = max((past.smallest_leaf or 0 for past in history), default=0)
    columns = tuple(_column(number, past, most, largest) for number, past in enumerate(history))
    lines = tuple(
        (before, after)
        for before, after in zip(columns, columns[1:], strict=False)
        if before.size is not None and after.size is not None
    )
    return Chart(
        width=LEFT + STEP * len(history) + 8,
        columns=columns,
        lines=lines,
        has_points=any(column.size is not None for column in columns),
    )


def _total(past: Past) -> int | None:
    return None if past.audited is None else past.audited.failed + past.audited.undecided


def _column(number: int, past: Past, most: int, largest: int) -> ChartColumn:
    bars = tuple(_bars(past, most))
    share = math.log1p(past.smallest_leaf or 0) / (math.log1p(largest) or 1.0)
    return ChartColumn(
        x=LEFT + STEP * (number + 0.5),
        n=past.n,
        verdict=past.audited.verdict if past.audited else "",
        bars=bars,
        total=_total(past),
        top=min((bar.y for bar in bars), default=TOP + HIGHEST),
        size=past.smallest_leaf,
        y=round(POINTS + LOWEST * (1 - share), 1),
    )


def _bars(past: Past, most: int) -> Iterator[Bar]:
    """Yield what a bar is made of, failures below."""
    if past.audited is None:
        return
    y = float(TOP + HIGHEST)
    for tone, count in (("fail", past.audited.failed), ("undetermined", past.audited.undecided)):
        if count:
            height = max(2.0, round(HIGHEST * count / most, 1))
            y -= height
            yield Bar(tone, round(y, 1), height)


ROUTER = APIRouter(tags=["pages"])
MOST = 200
"""So many audits of a model are shown."""


@ROUTER.get("/models", **reads(Permission.READ))
def get_models(
    request: Request,
    principal: Who,
    unit: Reading,
    name: Annotated[str, Query(max_length=200)] = "",
    cursor: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show all models, newest first, or those with some letters in their names."""
    found = list_models(unit, principal, PageRequest(cursor=cursor, limit=25), name.strip())
    newest = [each.latest.id for each in found.items if each.latest]
    return page(
        request,
        "models.html.j2",
        principal,
        models=found.items,
        next=found.next,
        name=name.strip(),
        is_first=not cursor,
        verdicts=newest_audits(unit, principal, newest),
    )


@ROUTER.get("/models/{model_id}", **reads(Permission.READ))
def get_one(
    request: Request,
    principal: Who,
    unit: Reading,
    model_id: Id,
    cursor: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show a model: its versions, what the newest publishes, its audits."""
    model = get_model(unit, principal, model_id)
    versions = list_versions(unit, principal, model_id, PageRequest(cursor=cursor, limit=25))
    if is_asked_again(request):
        return waited(not any(version.state == "reading" for version in versions.items))
    audits = list_audits(unit, principal, PageRequest(limit=MOST), model_id=model_id).items
    history = model_history(unit, principal, model_id)
    return page(
        request,
        "model.html.j2",
        principal,
        model=model,
        versions=versions.items,
        next=versions.next,
        is_first=not cursor,
        audits=audits,
        history=history,
        chart=charted(history) if len(history) > 1 else None,
        verdicts=newest_audits(unit, principal, [version.id for version in versions.items]),
        facts=facts_of(model.latest),
        is_waiting=any(version.state == "reading" for version in versions.items),
    )


@ROUTER.get("/models/{model_id}/compare", **asks(Permission.READ))
def get_comparison(
    request: Request,
    principal: Who,
    unit: Writing,
    model_id: Id,
    from_version: Annotated[Id, Query(alias="from")],
    to_version: Annotated[Id, Query(alias="to")],
) -> Response:
    """Show what differs between two versions; the trees are compared by a worker when it is first asked for."""
    comparison = compare_versions(unit, principal, model_id, from_version, to_version)
    if is_asked_again(request):
        return waited(comparison.state != "reading")
    return page(
        request,
        "comparison.html.j2",
        principal,
        model=get_model(unit, principal, model_id),
        both=comparison,
        is_waiting=comparison.state == "reading",
        sides=(facts_of(comparison.from_version), facts_of(comparison.to_version)),
    )
