"""The page about the log: what was done, by whom, and whether anybody changed a row afterwards."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from service.api._asking import Reading, Who, reads
from service.cases.log import check_log, list_log
from service.pages._rendering import page
from service.people.permissions import Permission
from service.schemas.base import Wanted

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
    who: Who,
    unit: Reading,
    cursor: Annotated[str, Query(max_length=200)] = "",
    check: bool = False,
) -> Response:
    """Show the log, newest first; ``check`` has the chain of digests recomputed."""
    found = list_log(unit, who, Wanted(cursor=cursor, limit=50))
    return page(
        request,
        "log.html.j2",
        who,
        rows=found.items,
        next=found.next,
        shown_at=PLACES,
        checked=check_log(unit, who) if check else None,
        is_first=not cursor,
    )
