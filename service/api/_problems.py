"""Refusals as an answer: problem+json for programs (RFC 9457), a page for people; nothing that was sent is repeated."""

from __future__ import annotations

import re
from html import escape
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from treewarden.reports.document.words import printable
from treewarden.service.errors import NotSignedInError, ServiceError, TooManyError

MEDIA_TYPE = "application/problem+json"
URN = "urn:treewarden:problem:"
BOUND = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
"""What an unexpected error is answered with: that answer is made outside of all that guards the others."""
SAFE_METHODS = ("GET", "HEAD")
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{title} · treewarden</title>
<link rel="stylesheet" href="/static/style.css"></head>
<body><header class="bar"><div class="inner"><a class="brand" href="/">treewarden</a></div></header>
<main><div class="head"><h1>{title}</h1></div><p>{detail}</p>
<div class="buttons"><a class="button" href="/">Back to the overview</a></div></main></body></html>
"""


def tell_problems(app: FastAPI) -> None:
    """Have an application answer every refusal and every error of its own in one form."""
    app.add_exception_handler(ServiceError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unknown)


def problem(
    path: str,
    status: int,
    title: str,
    detail: str,
    *,
    headers: dict[str, str] | None = None,
    errors: list[dict[str, Any]] | None = None,
) -> Response:
    """Return a refusal of what was asked at ``path``."""
    if not path.startswith("/api/"):
        told = PAGE.format(title=escape(title), detail=escape(printable(detail)))
        return HTMLResponse(told, status, headers)
    kind = URN + re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    body: dict[str, Any] = {"type": kind, "title": title, "status": status}
    body |= {"detail": detail, "instance": quote(path)}
    if errors is not None:
        body["errors"] = errors
    return JSONResponse(body, status, headers, media_type=MEDIA_TYPE)


def problem_of(path: str, error: ServiceError) -> Response:
    """Return a refusal of the service, with when to try again where that is known."""
    headers = {}
    if isinstance(error, TooManyError):
        headers["Retry-After"] = str(error.retry_seconds)
    if isinstance(error, NotSignedInError):
        headers["WWW-Authenticate"] = "Bearer"
    return problem(path, error.status, error.title, str(error), headers=headers)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, ServiceError)
    path = request.url.path
    is_page = not path.startswith("/api/") and request.method in SAFE_METHODS
    if isinstance(error, NotSignedInError) and is_page:
        return RedirectResponse(f"/sign-in?next={quote(path, safe='/')}", 303)
    return problem_of(path, error)


async def _invalid(request: Request, error: Exception) -> Response:
    """Say which fields cannot be; what stood in them stays with who sent it."""
    assert isinstance(error, RequestValidationError)
    errors = [
        {"field": ".".join(str(part)[:100] for part in each["loc"]), "kind": each["type"]}
        for each in error.errors()[:50]
    ]
    names = ", ".join(each["field"] for each in errors[:5])
    detail = f"{names}: cannot be; look at the fields in “errors”"
    if not request.url.path.startswith("/api/"):
        last = ", ".join(each["field"].rpartition(".")[2].replace("_", " ") for each in errors[:5])
        detail = f"{last}: cannot be; go back, and change or leave out what you gave"
    return problem(request.url.path, 422, "Invalid", detail, errors=errors)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = HTTPStatus(error.status_code).phrase
    headers = dict(error.headers or {})
    detail = f"request: {title.lower()}; look at /api/v1/openapi.json"
    return problem(request.url.path, error.status_code, title, detail, headers=headers)


async def _unknown(request: Request, error: Exception) -> Response:
    detail = "service: something went wrong; its log says what, under the request's id"
    headers = BOUND | {"X-Request-Id": getattr(request.state, "request_id", "")}
    return problem(request.url.path, 500, "Internal error", detail, headers=headers)
