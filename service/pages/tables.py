"""The page about tables: one's own and shared ones, with whom they are shared, and how they are erased."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError

from treewarden.service.api._requests import AtSite, Reading, Who, asks, reads
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.errors import ServiceError
from treewarden.service.pages._forms import SHARE, Typed, refusal, see, status_of
from treewarden.service.pages._rendering import page
from treewarden.service.schemas.base import Id, PageRequest
from treewarden.service.schemas.models import NewShare
from treewarden.service.site import Site, Unit
from treewarden.service.use_cases.retention import erase_files
from treewarden.service.use_cases.tables import (
    erase_table,
    list_tables,
    share_table,
    withdraw_table,
)

ROUTER = APIRouter(tags=["pages"])
SHOWN = 50


@ROUTER.get("/tables", **reads(Permission.SUBMIT))
def get_tables(
    request: Request,
    principal: Who,
    unit: Reading,
    cursor: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show tables, newest first."""
    return _render_page(request, principal, unit, cursor)


@ROUTER.post("/tables/{table_id}/share", **asks(Permission.SUBMIT))
def post_share(
    request: Request,
    principal: Who,
    site: AtSite,
    table_id: Id,
    name: Annotated[Typed, Form()] = "",
) -> Response:
    """Share a table with somebody."""

    def do(unit: Unit) -> object:
        return share_table(unit, principal, table_id, NewShare(name=name))

    return _done(request, principal, site, do)


@ROUTER.post("/tables/{table_id}/withdraw", **asks(Permission.SUBMIT))
def post_withdraw(
    request: Request, principal: Who, site: AtSite, table_id: Id, account_id: Annotated[Id, Form()]
) -> Response:
    """Share a table with somebody no more."""
    return _done(
        request, principal, site, lambda unit: withdraw_table(unit, principal, table_id, account_id)
    )


@ROUTER.post("/tables/{table_id}/erase", **asks(Permission.SUBMIT))
def post_erase(request: Request, principal: Who, site: AtSite, table_id: Id) -> Response:
    """Erase a table."""

    def do(unit: Unit) -> None:
        erased = erase_table(unit, principal, table_id)
        unit.afterwards.append(partial(erase_files, site, erased))

    return _done(request, principal, site, do)


def _done(
    request: Request, principal: Principal, site: Site, do: Callable[[Unit], object]
) -> Response:
    """Do it in a transaction of its own, and lead back; a refusal undoes all, and is shown."""
    try:
        with site.unit() as unit:
            do(unit)
    except (ServiceError, ValidationError) as error:
        with site.reading() as unit:
            return _render_page(request, principal, unit, "", error)
    return see("/tables")


def _render_page(
    request: Request,
    principal: Principal,
    unit: Unit,
    cursor: str,
    error: ServiceError | ValidationError | None = None,
) -> Response:
    found = list_tables(unit, principal, PageRequest(cursor=cursor, limit=SHOWN))
    return page(
        request,
        "tables.html.j2",
        principal,
        status=status_of(error) if error else 200,
        tables=found.items,
        next=found.next,
        is_first=not cursor,
        refused=refusal(error, SHARE) if error else "",
    )
