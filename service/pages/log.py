"""The page about the log: what was done, by whom, and whether anybody changed a row afterwards."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from treewarden.service.api._requests import Reading, Who, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.pages._forms import Words
from treewarden.service.pages._rendering import page
from treewarden.service.schemas.base import PageRequest
from treewarden.service.schemas.people import Sort
from treewarden.service.use_cases.log import check_log, list_log

ROUTER = APIRouter(tags=["pages"])
PLACES = {
    "model": "/models/{}",
    "audit": "/audits/{}",
    "release": "/releases/{}",
    "waiver": "/waivers/{}",
}
"""Where the things that rows tell of are shown."""


@ROUTER.get("/log", **reads(Permission.READ))
def get_log(
    request: Request,
    principal: Who,
    unit: Reading,
    text: Words = "",
    since: date | Literal[""] = "",
    until: date | Literal[""] = "",
    sort: Sort = "newest",
    cursor: Annotated[str, Query(max_length=200)] = "",
    check: bool = False,
) -> Response:
    """Show the log; ``check`` has the chain of digests recomputed, of all rows whichever are shown."""
    found = list_log(
        unit,
        principal,
        PageRequest(cursor=cursor, limit=50),
        text=text,
        since=since or None,
        until=until or None,
        sort=sort,
    )
    return page(
        request,
        "log.html.j2",
        principal,
        rows=found.items,
        next=found.next,
        text=text,
        since=since,
        until=until,
        sort=sort,
        shown_at=PLACES,
        checked=check_log(unit, principal) if check else None,
        is_first=not cursor,
    )
