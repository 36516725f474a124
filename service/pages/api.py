"""The page about the API: every route with its parameters, bodies and answers, and a line to copy."""

from __future__ import annotations

import shlex

from fastapi import APIRouter, Request
from fastapi.responses import Response

from treewarden.service.api._requests import Reading, Who, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.pages._described import described
from treewarden.service.pages._rendering import page

ROUTER = APIRouter(tags=["pages"])


@ROUTER.get("/api", **reads(Permission.READ))
def get_api(request: Request, who: Who, unit: Reading) -> Response:
    """Show what programs can ask, from the same description that they read."""
    server = unit.site.settings.base_url.rstrip("/") or str(request.base_url).rstrip("/")
    document = request.app.openapi()
    return page(
        request,
        "api.html.j2",
        who,
        api=described(document),
        version=document["info"]["version"],
        server=shlex.quote(server),
    )
