"""Training tables."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from treewarden.service.api._answers import Once
from treewarden.service.api._requests import AtSite, Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.schemas.base import Id, Page, PageRequest
from treewarden.service.schemas.models import NewShare, NewTable, TrainingTable
from treewarden.service.use_cases.retention import erase_files
from treewarden.service.use_cases.tables import (
    add_table,
    erase_table,
    get_table,
    list_tables,
    share_table,
    withdraw_table,
)

ROUTER = APIRouter(tags=["tables"], route_class=Once)


@ROUTER.post("/tables", status_code=202, **asks(Permission.SUBMIT))
def post_table(new: NewTable, principal: Who, unit: Writing, response: Response) -> TrainingTable:
    """Take an upload, or a file of the server below an allowed folder, as a table; it is read by a job."""
    training_table = add_table(unit, principal, new)
    response.headers["Location"] = f"/api/v1/tables/{training_table.id}"
    return training_table


@ROUTER.get("/tables", **reads(Permission.READ))
def get_tables(
    principal: Who, unit: Reading, query: Annotated[PageRequest, Query()]
) -> Page[TrainingTable]:
    """Return your tables and those shared with you, newest first, erased ones too: nothing else is kept of those."""
    return list_tables(unit, principal, query)


@ROUTER.get("/tables/{table_id}", **reads(Permission.READ))
def get_one_table(table_id: Id, principal: Who, unit: Reading) -> TrainingTable:
    """Return a table."""
    return get_table(unit, principal, table_id)


@ROUTER.delete("/tables/{table_id}", status_code=204, **asks(Permission.SUBMIT))
def delete_table(table_id: Id, principal: Who, site: AtSite) -> None:
    """Erase a table before its time: by who uploaded it, or an administrator.

    Audits that wait for it end with an error, and those that read it are cancelled.
    """
    with site.unit() as unit:
        erased = erase_table(unit, principal, table_id)
    erase_files(site, erased)


@ROUTER.post("/tables/{table_id}/shares", status_code=201, **asks(Permission.SUBMIT))
def post_share(table_id: Id, new: NewShare, principal: Who, unit: Writing) -> TrainingTable:
    """Share a table of yours with somebody of the organisation who may submit audits."""
    return share_table(unit, principal, table_id, new)


@ROUTER.delete("/tables/{table_id}/shares/{account_id}", **asks(Permission.SUBMIT))
def delete_share(table_id: Id, account_id: Id, principal: Who, unit: Writing) -> TrainingTable:
    """Share a table with somebody no more; what that person asked for with it ends."""
    return withdraw_table(unit, principal, table_id, account_id)
