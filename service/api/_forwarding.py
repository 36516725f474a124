"""Where a request came from: what a trusted proxy says of it, or the address that called."""

from __future__ import annotations

from typing import Any

import structlog
from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from treewarden.service.settings import Settings

LOG = structlog.get_logger(__name__)
LONGEST = 64


def address_of(request: Request) -> str:
    """Return the address that a request came from; "" where nobody says."""
    return request.client.host[:LONGEST] if request.client else ""


class Forwarded:
    """Takes ``X-Forwarded-For`` and ``-Proto`` from trusted proxies alone; tells once of one that is not."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        inner: Any = app  # the server's own types say the same in other words
        self._inner = ProxyHeadersMiddleware(inner, list(settings.trusted_proxies))
        self._is_told = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_told:
            caller = (scope.get("client") or ("",))[0]
            names_another = "x-forwarded-for" in Headers(scope=scope)
            if names_another and caller not in self._inner.trusted_hosts:
                self._is_told = True
                LOG.warning(
                    "a proxy is not trusted: everybody behind it counts as one address",
                    address=str(caller)[:LONGEST],
                    setting="TREEWARDEN_TRUSTED_PROXIES",
                )
        inner: Any = self._inner
        await inner(scope, receive, send)
