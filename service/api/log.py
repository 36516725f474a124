"""The log of what was done."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from treewarden.service.api._requests import AtSite, Reading, Who, asks, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.schemas.base import Page, PageRequest
from treewarden.service.schemas.people import LogCheck, LogEntry
from treewarden.service.use_cases import log

ROUTER = APIRouter(tags=["log"])


@ROUTER.get("/audit-log", **reads(Permission.READ))
def get_log(
    principal: Who, unit: Reading, query: Annotated[PageRequest, Query()]
) -> Page[LogEntry]:
    """Return rows of the log, newest first."""
    return log.list_log(unit, principal, query)


@ROUTER.get("/audit-log/check", **reads(Permission.READ))
def get_check(principal: Who, unit: Reading) -> LogCheck:
    """Recompute the chain of digests, and say where it breaks."""
    return log.check_log(unit, principal)


@ROUTER.get("/audit-log.json", response_class=StreamingResponse, **asks(Permission.READ))
def get_json(principal: Who, site: AtSite) -> StreamingResponse:
    """Return the whole log as JSON, oldest row first."""
    return StreamingResponse(log.exported_json(site, principal), media_type="application/json")


@ROUTER.get("/audit-log.csv", response_class=StreamingResponse, **asks(Permission.READ))
def get_csv(principal: Who, site: AtSite) -> StreamingResponse:
    """Return the whole log as CSV, oldest row first."""
    return StreamingResponse(
        log.exported_csv(site, principal), media_type="text/csv; charset=utf-8"
    )
