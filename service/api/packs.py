"""Policy packs."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Response

from treewarden.service.api._answers import Once
from treewarden.service.api._requests import Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.schemas.base import Page
from treewarden.service.schemas.releases import NewPack, Pack, PackDifference
from treewarden.service.use_cases import policies

ROUTER = APIRouter(tags=["policies"], route_class=Once)
TOML = "application/toml"
Named = Annotated[str, Query(min_length=1, max_length=220)]


@ROUTER.get("/packs", **reads(Permission.READ))
def get_packs(principal: Who, unit: Reading) -> Page[Pack]:
    """Return the newest version of each pack: the organisation's own, and those that ship."""
    return Page(items=policies.list_packs(unit, principal))


@ROUTER.post("/packs", status_code=201, **asks(Permission.POLICIES))
def post_pack(principal: Who, unit: Writing, new: NewPack, response: Response) -> Pack:
    """Add a version of a pack; its own name says of which."""
    pack = policies.add_pack(unit, principal, new)
    response.headers["Location"] = f"/api/v1/packs/{quote(pack.name, safe='')}@{pack.n}"
    return pack


@ROUTER.get("/packs-difference", **reads(Permission.READ))
def get_difference(
    principal: Who,
    unit: Reading,
    old: Annotated[Named, Query(alias="from")],
    new: Annotated[Named, Query(alias="to")],
) -> PackDifference:
    """Return clause by clause which of two packs is stricter."""
    return policies.diff_packs(unit, principal, old, new)


@ROUTER.get("/packs/{name}", **reads(Permission.READ))
def get_pack(principal: Who, unit: Reading, name: str) -> Pack:
    """Return a pack, or a version of it by ``name@2``, in sentences and as TOML."""
    return policies.get_pack(unit, principal, name)


@ROUTER.get(
    "/packs/{name}/toml",
    response_class=Response,
    responses={200: {"content": {TOML: {}}}},
    **reads(Permission.READ),
)
def get_toml(principal: Who, unit: Reading, name: str) -> Response:
    """Return a pack, or a version of it by ``name@2``, as a file that ``--policy`` reads.

    It is whole: what it takes from packs that it extends stands in it.
    """
    pack = policies.get_pack(unit, principal, name)
    file = quote(f"{name}.toml", safe="")
    named = {"Content-Disposition": f"attachment; filename*=UTF-8''{file}"}
    return Response(pack.toml, media_type=TOML, headers=named)
