"""Requests with an Idempotency-Key: sent twice, they change things once, and get the same answer.

A refusal changes nothing and is not kept. An answer with a secret in it is never kept: where secrets are made, a key is
refused, so that nobody relies on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine
from typing import Any

from anyio.to_thread import run_sync
from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treewarden.service.api._asking import the_principal, the_site
from treewarden.service.cases.idempotent import (
    LONGEST,
    WHERE,
    KeyClaim,
    StoredAnswer,
    claim,
    give_back,
    keep,
)
from treewarden.service.errors import InvalidError
from treewarden.service.people.permissions import Permission
from treewarden.service.site import Site, Unit

KEPT = ("content-type", "location", "etag")
REFUSED = 400
BOUND = ("if-match", "content-type")
"""Headers that are part of what is asked."""
PARAMETER = {
    "name": WHERE,
    "in": "header",
    "required": False,
    "description": "The same request with the same key is answered the same, and not done twice.",
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
        raise InvalidError(WHERE, "is not taken here, as answers with secrets are not kept")


async def _once(request: Request, key: str, handler: Handler, needed: Permission) -> Response:
    who = await run_sync(the_principal, request)
    who.check(needed)  # what is kept is told to nobody who may not ask for it now
    site = the_site(request)
    digest = _hash(request, await request.body())
    found = await run_sync(claim, site, who, key, digest)
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
    told += [request.headers.get(name, "") for name in BOUND]
    return hashlib.sha256("\n".join(told).encode() + b"\n\n" + body).hexdigest()
