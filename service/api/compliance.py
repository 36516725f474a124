"""The compliance report of an audit or a release, to be filed."""

from __future__ import annotations

from fastapi import APIRouter, Response

from treewarden.service.api._requests import Reading, Who, reads
from treewarden.service.api.audits import FRAMED
from treewarden.service.auth.principal import Permission
from treewarden.service.schemas.base import Id
from treewarden.service.use_cases.releases import Form, audit_compliance, release_compliance

ROUTER = APIRouter()
MEDIA_TYPES = {"html": "text/html; charset=utf-8", "pdf": "application/pdf"}


@ROUTER.get(
    "/audits/{audit_id}/compliance.{form}",
    tags=["audits"],
    response_class=Response,
    **reads(Permission.READ),
)
def get_audit_compliance(principal: Who, unit: Reading, audit_id: Id, form: Form) -> Response:
    """Return the compliance report as a page or a PDF; the full one needs the permission ``internal``."""
    return _file(audit_compliance(unit, principal, audit_id, form), audit_id, form)


@ROUTER.get(
    "/releases/{release_id}/reports/compliance.{form}",
    tags=["releases"],
    response_class=Response,
    **reads(Permission.READ),
)
def get_compliance(principal: Who, unit: Reading, release_id: Id, form: Form) -> Response:
    """Return the compliance report as a page or a PDF; the full one needs the permission ``internal``."""
    return _file(release_compliance(unit, principal, release_id, form), release_id, form)


def _file(data: bytes, of_id: str, form: Form) -> Response:
    name = f"compliance-{of_id[:12]}.{form}"
    headers = {"Content-Disposition": f'inline; filename="{name}"', "Cache-Control": "no-store"}
    if form == "html":
        headers["Content-Security-Policy"] = FRAMED
    return Response(data, media_type=MEDIA_TYPES[form], headers=headers)
