"""Counts each request and writes one line about it: which route, who, how it ended; nothing that was sent."""

from __future__ import annotations

import time

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treewarden.service.operations.metrics import NOWHERE, Metrics

LOG = structlog.get_logger("treewarden.service.requests")
QUIET = ("/healthz", "/readyz", "/metrics", "/static/{name:path}")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Watching:
    """Stands before all else; what it says of a request was found out by those behind it."""

    def __init__(self, app: ASGIApp, metrics: Metrics, prefix: str) -> None:
        self.app, self.metrics, self.prefix = app, metrics, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope.setdefault("state", {})
        started, status = time.monotonic(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except Exception:
            LOG.exception("a mistake in treewarden itself", **self._told(scope))
            raise
        finally:
            seconds = time.monotonic() - started
            told = self._told(scope)
            self.metrics.count(told["method"], told["route"], status, seconds)
            log = LOG.debug if told["route"] in QUIET else LOG.info
            log("request", **told, status=status, seconds=round(seconds, 4))

    def _told(self, scope: Scope) -> dict[str, str]:
        state, who = scope["state"], scope["state"].get("principal")
        method = scope["method"] if scope["method"] in METHODS else NOWHERE
        route = getattr(scope.get("route"), "path", NOWHERE)
        if scope["path"].startswith(f"{self.prefix}/") and route.startswith("/"):
            # a route of a router may or may not know what was put before it
            route = self.prefix + route.removeprefix(self.prefix)
        return {
            "request": state.get("request_id", ""),
            "method": method,
            "route": route,
            "account": "" if who is None else who.account_id,
        }
