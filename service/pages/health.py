"""What machines ask of a server: whether it lives, whether it can work, and its figures."""

from __future__ import annotations

import hmac

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from treewarden.service.api._requests import AtSite, is_open
from treewarden.service.operations.observability import GOOD, Metrics, readiness

ROUTER = APIRouter(tags=["operations"])
REFUSED = "authorization: this is not the token for metrics; see the setting metrics_token\n"
CLOSED = "metrics: not open; set TREEWARDEN_METRICS_TOKEN, or TREEWARDEN_METRICS_OPEN=true\n"
"""Told as it is: what reads figures does not sign in by a page."""


@ROUTER.get("/healthz", **is_open())
def get_health() -> JSONResponse:
    """Return that this process answers."""
    return JSONResponse({"status": GOOD})


@ROUTER.get("/readyz", **is_open())
def get_readiness(site: AtSite) -> JSONResponse:
    """Return whether database, level and vault can be used; 503 where one cannot."""
    found = readiness(site)
    is_ready = all(said == GOOD for said in found.values())
    told = {"status": GOOD if is_ready else "not ready", "checks": found}
    return JSONResponse(told, 200 if is_ready else 503)


@ROUTER.get("/metrics", **is_open())
def get_metrics(request: Request, site: AtSite) -> Response:
    """Return the figures of the service to whoever has the token for them, to everybody where that is set."""
    token = site.settings.metrics_token.get_secret_value()
    said = request.headers.get("authorization", "")
    if token and not hmac.compare_digest(said.encode(), f"Bearer {token}".encode()):
        return PlainTextResponse(REFUSED, 401, {"WWW-Authenticate": "Bearer"})
    if not token and not site.settings.metrics_open:
        return PlainTextResponse(CLOSED, 403)
    metrics: Metrics = request.app.state.metrics
    return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)
