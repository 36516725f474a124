"""The compliance report of a release, to be filed."""

from __future__ import annotations

from fastapi import APIRouter, Response

from treewarden.service.api._requests import Reading, Who, reads
from treewarden.service.api.audits import FRAMED
from treewarden.service.auth.principal import Permission
from treewarden.service.schemas.base import Id
from treewarden.service.use_cases.releases import Form, compliance_report

ROUTER = APIRouter(tags=["releases"])
MEDIA_TYPES = {"html": "text/html; charset=utf-8", "pdf": "application/pdf"}


@ROUTER.get(
    "/releases/{release_id}/reports/compliance.{form}",
    response_class=Response,
    **reads(Permission.READ),
)
def get_compliance(who: Who, unit: Reading, release_id: Id, form: Form) -> Response:
    """Return the compliance report as a page or a PDF; the full one needs the permission ``internal``."""
    name = f"compliance-{release_id[:12]}.{form}"
    headers = {"Content-Disposition": f'inline; filename="{name}"', "Cache-Control": "no-store"}
    if form == "html":
        headers["Content-Security-Policy"] = FRAMED
    data = compliance_report(unit, who, release_id, form)
    return Response(data, media_type=MEDIA_TYPES[form], headers=headers)
