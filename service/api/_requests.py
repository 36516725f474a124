"""What a route gets handed: who asks, checked, and a transaction that ends before the answer is sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any

import structlog
from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.database.engine import KEPT_CONNECTIONS
from treewarden.service.errors import NotSignedInError, UnavailableError
from treewarden.service.settings import Settings
from treewarden.service.site import Site, Unit
from treewarden.service.use_cases.accounts.authentication import (
    PendingUse,
    by_session,
    by_token,
    note_use,
)

COOKIE = "treewarden_session"
BEARER = "bearer "
OPEN = "open"
"""What stands for a permission on a route that everybody may use."""
HOST = "__Host-"
"""Before the name of a cookie: browsers take it from this very host by TLS alone, and send it nowhere else."""
MOST_WRITING = 2
MOST_READING = KEPT_CONNECTIONS - MOST_WRITING
"""So many requests hold a connection from one step to the next; the others wait for their turn, and keep no thread.

Were there more, those who hold all connections could wait for a thread, and those with all threads for a connection.
"""


def cookie_name(settings: Settings, name: str) -> str:
    """Return what a cookie is called: bound to this host where it goes over TLS alone, else by its plain name."""
    return f"{HOST}{name}" if settings.is_secure else name


def the_site(request: Request) -> Site:
    """Return what this process holds."""
    site: Site = request.app.state.site
    return site


def the_principal(request: Request) -> Principal:
    """Return who asks; found once for each request.

    Raises:
        NotSignedInError: nobody that is known.
    """
    if _principal_or_none(request) is None:
        with the_site(request).reading() as unit:
            used = _recognise(request, unit)
        _note(request, used)
    principal: Principal = request.state.principal
    return principal


def _principal_or_none(request: Request) -> Principal | None:
    return getattr(request.state, "principal", None)


def _recognise(request: Request, unit: Unit) -> PendingUse | None:
    """Find out who asks, and return what use has yet to be written down, None for none."""
    authorization = request.headers.get("authorization", "")
    if authorization:
        if not authorization.lower().startswith(BEARER):
            raise NotSignedInError(
                "authorization",
                "is not of the form “Bearer TOKEN”; send “Authorization: Bearer TOKEN”",
            )
        principal, used = by_token(unit, authorization[len(BEARER) :].strip())
    elif cookie := request.cookies.get(cookie_name(unit.site.settings, COOKIE)):
        principal, used = by_session(unit, cookie)
    else:
        raise NotSignedInError("authorization", "is missing; send “Authorization: Bearer TOKEN”")
    request.state.principal = principal
    return used


def _note(request: Request, used: PendingUse | None) -> None:
    """Write down that a token or session is used, outside of any view that a use case has."""
    if used is not None:
        with suppress(UnavailableError):  # a database that is busy must not keep anybody out
            note_use(the_site(request), used)


# What waits for nothing is asynchronous, as anything else takes a thread of its own for each call.


async def _at_site(request: Request) -> Site:
    return the_site(request)


async def _principal(request: Request) -> Principal:
    principal = _principal_or_none(request)
    return principal if principal is not None else await run_in_threadpool(the_principal, request)


def _writing(request: Request, site: AtSite) -> Iterator[Unit]:
    with site.unit() as unit:
        request.state.unit = unit
        yield unit


def _reading(request: Request, site: AtSite) -> Iterator[Unit]:
    """Give a view; where nobody was recognised yet, that is done in it, which saves a second one."""
    used = None
    try:
        with site.reading() as unit:
            if _principal_or_none(request) is None:
                used = _recognise(request, unit)
            yield unit
    finally:
        _note(request, used)


AtSite = Annotated[Site, Depends(_at_site)]
Who = Annotated[Principal, Depends(_principal)]
Writing = Annotated[Unit, Depends(_writing, scope="function", max_concurrency=MOST_WRITING)]
"""A transaction; it is committed before the answer is sent, so that nobody hears of what may yet be undone."""
Reading = Annotated[Unit, Depends(_reading, scope="function", max_concurrency=MOST_READING)]


def asks(permission: Permission, **more: Any) -> dict[str, Any]:  # noqa: ANN401  # as FastAPI takes it
    """Return what a route is declared with: the permission that it needs, checked before anything else."""

    async def check(principal: Who) -> None:
        principal.check(permission)

    return {"dependencies": [Depends(check)], "openapi_extra": {"x-permission": permission}, **more}


def reads(permission: Permission, **more: Any) -> dict[str, Any]:  # noqa: ANN401  # as FastAPI takes it
    """Return the same for a route that takes ``Reading``: one view serves the check and all the rest."""

    async def check(_: Reading, principal: Who) -> None:
        principal.check(permission)

    return {"dependencies": [Depends(check)], "openapi_extra": {"x-permission": permission}, **more}


def is_open(**more: Any) -> dict[str, Any]:  # noqa: ANN401  # as FastAPI takes it
    """Return what a route is declared with that everybody may use."""
    return {"openapi_extra": {"x-permission": OPEN}, **more}


# Where a request came from: what a trusted proxy says of it, or the address that called.

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
                    "a proxy is not trusted, so all people behind it count as one address",
                    address=str(caller)[:LONGEST],
                    setting="TREEWARDEN_TRUSTED_PROXIES",
                )
        inner: Any = self._inner
        await inner(scope, receive, send)
