"""Two audits side by side."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from treewarden.service.api._requests import Reading, Who, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.schemas.audits import AuditComparison
from treewarden.service.schemas.base import Id
from treewarden.service.use_cases.show_audit import compare_audits

ROUTER = APIRouter(tags=["audits"])


@ROUTER.get("/audits/{audit_id}/compare", **reads(Permission.READ))
def get_comparison(
    principal: Who, unit: Reading, audit_id: Id, to: Annotated[Id, Query()]
) -> AuditComparison:
    """Return what differs between an audit and another one, of the same model or of another."""
    return compare_audits(unit, principal, audit_id, to)
