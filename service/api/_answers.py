"""Answers that are refusals or repeats: problem+json for programs (RFC 9457), a page for people; kept under a key.

A refusal repeats nothing that was sent. Whoever asks twice under one idempotency key changes things once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from anyio.to_thread import run_sync
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from sqlalchemy import ColumnElement, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treewarden.reports.document.words import printable
from treewarden.service.api._requests import the_principal, the_site
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.database.run_tables import idempotency
from treewarden.service.errors import (
    ConflictError,
    InvalidError,
    NotSignedInError,
    ServiceError,
    TooManyError,
)
from treewarden.service.site import Site, Unit

LONGEST = 200
GIVEN_UP = timedelta(minutes=2)
"""After which a request without an answer is taken for dead, and its key may be used again."""
WHERE = "Idempotency-Key"


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What was answered."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """The right to answer under a key. Whoever takes a key over from a dead request has another ``at``."""

    who: Principal
    key: str
    at: datetime


def claim(site: Site, principal: Principal, key: str, request_hash: str) -> KeyClaim | StoredAnswer:
    """Return the answer that is kept under a key, or the right to make it.

    Raises:
        InvalidError: the key cannot be one, or another request was sent with it.
        ConflictError: the request is being answered just now.
    """
    if not (0 < len(key) <= LONGEST and key.isascii() and key.isprintable()):
        raise InvalidError(
            WHERE, f"must have 1 to {LONGEST} printable ASCII characters; choose another key"
        )
    try:
        with site.unit() as unit:
            return _claimed(unit, principal, key, request_hash)
    except IntegrityError as error:  # another request was faster by a hair
        raise _in_flight() from error


def _claimed(
    unit: Unit, principal: Principal, key: str, request_hash: str
) -> KeyClaim | StoredAnswer:
    found = unit.connection.execute(
        select(idempotency).where(*_is(principal, key)).with_for_update()
    ).first()
    if found is None:
        unit.connection.execute(
            insert(idempotency).values(
                organisation_id=principal.organisation_id,
                account_id=principal.account_id,
                key=key,
                request_hash=request_hash,
                created_at=unit.now,
            )
        )
        return KeyClaim(principal, key, unit.now)
    if found.request_hash != request_hash:
        raise InvalidError(WHERE, "was already used for a different request; use a new key")
    if found.status is not None:
        return StoredAnswer(found.status, dict(found.headers), found.body)
    if found.created_at + GIVEN_UP > unit.now:
        raise _in_flight()
    unit.connection.execute(
        update(idempotency).where(*_is(principal, key)).values(created_at=unit.now)
    )
    return KeyClaim(principal, key, unit.now)


def keep(unit: Unit, claimed: KeyClaim, answer: StoredAnswer) -> None:
    """Keep an answer, in the transaction of what it tells of: both are there, or neither.

    Raises:
        ConflictError: it took so long that the key was given to another request.
    """
    kept = unit.connection.execute(
        update(idempotency)
        .where(*_claim_holds(claimed))
        .values(status=answer.status, headers=answer.headers, body=answer.body)
    )
    if not kept.rowcount:
        raise _in_flight()


def give_back(site: Site, claimed: KeyClaim) -> None:
    """Free a key under which nothing was done."""
    with site.unit() as unit:
        unit.connection.execute(delete(idempotency).where(*_claim_holds(claimed)))


def _is(principal: Principal, key: str) -> tuple[ColumnElement[bool], ...]:
    return (
        idempotency.c.organisation_id == principal.organisation_id,
        idempotency.c.account_id == principal.account_id,
        idempotency.c.key == key,
    )


def _claim_holds(claimed: KeyClaim) -> tuple[ColumnElement[bool], ...]:
    return (
        *_is(claimed.who, claimed.key),
        idempotency.c.created_at == claimed.at,
        idempotency.c.status.is_(None),
    )


def _in_flight() -> ConflictError:
    return ConflictError(WHERE, "the same request is still being answered; ask again in a moment")


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
    detail = f"{names}: not valid; see the fields in “errors”"
    if not request.url.path.startswith("/api/"):
        last = ", ".join(each["field"].rpartition(".")[2].replace("_", " ") for each in errors[:5])
        detail = f"{last}: not valid; go back and correct or remove it"
    return problem(request.url.path, 422, "Invalid", detail, errors=errors)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = HTTPStatus(error.status_code).phrase
    headers = dict(error.headers or {})
    detail = f"request: {title.lower()}; see /api/v1/openapi.json"
    return problem(request.url.path, error.status_code, title, detail, headers=headers)


async def _unknown(request: Request, error: Exception) -> Response:
    detail = (
        "service: something went wrong; the administrator finds the cause in the "
        "log, under the id of this request"
    )
    headers = BOUND | {"X-Request-Id": getattr(request.state, "request_id", "")}
    return problem(request.url.path, 500, "Internal error", detail, headers=headers)


# Requests with an Idempotency-Key: sent twice, they change things once, and get the same answer.
#
# A refusal changes nothing and is not kept. An answer with a secret in it is never kept: where secrets are made, a key
# is refused, so that nobody relies on it.

KEPT = ("content-type", "location", "etag")
REFUSED = 400
ONCE_BOUND = ("if-match", "content-type")
"""Headers that are part of what is asked."""
PARAMETER = {
    "name": WHERE,
    "in": "header",
    "required": False,
    "description": (
        "The same request with the same key gets the same answer and is not carried out twice."
    ),
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST},
}

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Once(APIRoute):
    """A route that takes the header where it changes something with POST."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:  # noqa: ANN401  # as FastAPI calls it
        if "POST" in (more.get("methods") or ()):
            extra = dict(more.get("openapi_extra") or {})
            more["openapi_extra"] = extra | {"parameters": [PARAMETER]}
        super().__init__(path, endpoint, **more)

    def get_route_handler(self) -> Handler:
        """Return what answers; it runs before the transaction of the use case is committed."""
        handler = super().get_route_handler()
        needed = Permission((self.openapi_extra or {})["x-permission"])

        async def once(request: Request) -> Response:
            key = request.headers.get(WHERE)
            if key is None or request.method != "POST":
                return await handler(request)
            return await _once(request, key, handler, needed)

        return once


class GiveBack:
    """Frees the key of a request that was refused or failed, after its transaction and before its answer."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app, self.site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def seen(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= REFUSED:
                await self._free(scope)
            await send(message)

        try:
            await self.app(scope, receive, seen)
        except BaseException:
            await self._free(scope)
            raise

    async def _free(self, scope: Scope) -> None:
        claimed = scope.get("state", {}).pop("claimed", None)
        if claimed is not None:
            await run_sync(give_back, self.site, claimed)


def takes_no_key(request: Request) -> None:
    """Check that nobody relies on a key where an answer is shown only once.

    Raises:
        InvalidError: there is one.
    """
    if WHERE in request.headers and request.method == "POST":
        raise InvalidError(
            WHERE, "cannot be used here, because answers with secrets are not stored; leave it out"
        )


async def _once(request: Request, key: str, handler: Handler, needed: Permission) -> Response:
    principal = await run_sync(the_principal, request)
    principal.check(needed)  # what is kept is told to nobody who may not ask for it now
    site = the_site(request)
    digest = _hash(request, await request.body())
    found = await run_sync(claim, site, principal, key, digest)
    if isinstance(found, StoredAnswer):
        return Response(found.body, found.status, found.headers)
    request.state.claimed = found
    response = await handler(request)
    answer = StoredAnswer(
        response.status_code,
        {name: value for name, value in response.headers.items() if name in KEPT},
        bytes(response.body),
    )
    await run_sync(_keep, site, getattr(request.state, "unit", None), found, answer)
    return response


def _keep(site: Site, unit: Unit | None, claimed: KeyClaim, answer: StoredAnswer) -> None:
    if unit is not None:
        keep(unit, claimed, answer)
        return
    with site.unit() as own:
        keep(own, claimed, answer)


def _hash(request: Request, body: bytes) -> str:
    told = [request.method, request.url.path, request.url.query]
    told += [request.headers.get(name, "") for name in ONCE_BOUND]
    return hashlib.sha256("\n".join(told).encode() + b"\n\n" + body).hexdigest()


# Answers that name their state (ETag), and are left out where the caller has that state already (If-None-Match).

PREFIX = "/api/v1/"
OK, NOT_MODIFIED = 200, 304
SIGNS = 32
DROPPED = ("content-length", "content-type")


class Unchanged:
    """Tags whole JSON answers to GET; streams pass as they are."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_asked = scope["type"] == "http" and scope["method"] == "GET"
        if not is_asked or not scope["path"].startswith(PREFIX):
            await self.app(scope, receive, send)
            return
        wanted = Headers(scope=scope).get("if-none-match", "")
        starts: list[Message] = []

        async def tagged(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_whole(message):
                starts.append(message)
                return
            if not starts:
                await send(message)
                return
            start = starts.pop()
            body = message.get("body", b"")
            headers = MutableHeaders(scope=start)
            headers.setdefault("ETag", f'"{hashlib.sha256(body).hexdigest()[:SIGNS]}"')
            if _matches(wanted, headers["ETag"]):
                for name in DROPPED:
                    del headers[name]
                start["status"], message["body"] = NOT_MODIFIED, b""
            await send(start)
            await send(message)

        await self.app(scope, receive, tagged)


def _is_whole(start: Message) -> bool:
    """Return whether an answer is JSON that follows in one piece: what is streamed says no length."""
    headers = Headers(raw=start["headers"])
    is_json = headers.get("content-type", "").startswith("application/json")
    return start["status"] == OK and is_json and "content-length" in headers


def _matches(etags: str, tag: str) -> bool:
    told = (each.strip().removeprefix("W/") for each in etags.split(","))
    return any(each in ("*", tag) for each in told)
