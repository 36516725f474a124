"""What a route gets handed: who asks, checked, and a transaction that ends before the answer is sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any

from fastapi import Depends, Request

from service.cases.recognising import by_session, by_token, is_use_noted, note_use
from service.errors import NotSignedInError, UnavailableError
from service.people.permissions import Permission
from service.people.principal import Principal
from service.site import Site, Unit

COOKIE = "treewarden_session"
BEARER = "bearer "
OPEN = "open"
"""What stands for a permission on a route that everybody may use."""


def the_site(request: Request) -> Site:
    """Return what this process holds."""
    site: Site = request.app.state.site
    return site


def the_principal(request: Request) -> Principal:
    """Return who asks; found once for each request.

    Raises:
        NotSignedInError: nobody that is known.
    """
    known: Principal | None = getattr(request.state, "principal", None)
    if known is not None:
        return known
    authorization = request.headers.get("authorization", "")
    site, is_noted = the_site(request), True
    with site.reading() as unit:
        if authorization:
            if not authorization.lower().startswith(BEARER):
                raise NotSignedInError("authorization", "is no “Bearer TOKEN”")
            found = by_token(unit, authorization[len(BEARER) :].strip())
            is_noted = found.token_id is None or is_use_noted(unit, found.token_id)
        elif cookie := request.cookies.get(COOKIE):
            found = by_session(unit, cookie)
        else:
            raise NotSignedInError(
                "authorization", "is missing; send “Authorization: Bearer TOKEN”"
            )
    if found.token_id is not None and not is_noted:
        with suppress(UnavailableError):  # a database that is busy must not keep anybody out
            note_use(site, found.token_id)
    request.state.principal = found
    return found


def _writing(request: Request, site: AtSite) -> Iterator[Unit]:
    with site.unit() as unit:
        request.state.unit = unit
        yield unit


def _reading(site: AtSite) -> Iterator[Unit]:
    with site.reading() as unit:
        yield unit


AtSite = Annotated[Site, Depends(the_site)]
Who = Annotated[Principal, Depends(the_principal)]
Writing = Annotated[Unit, Depends(_writing, scope="function")]
"""A transaction; it is committed before the answer is sent, so that nobody hears of what may yet be undone."""
Reading = Annotated[Unit, Depends(_reading, scope="function")]


def asks(permission: Permission, **more: Any) -> dict[str, Any]:  # noqa: ANN401  # as FastAPI takes it
    """Return what a route is declared with: the permission that it needs, checked before anything else."""

    def check(who: Who) -> None:
        who.check(permission)

    return {"dependencies": [Depends(check)], "openapi_extra": {"x-permission": permission}, **more}


def is_open(**more: Any) -> dict[str, Any]:  # noqa: ANN401  # as FastAPI takes it
    """Return what a route is declared with that everybody may use."""
    return {"openapi_extra": {"x-permission": OPEN}, **more}
