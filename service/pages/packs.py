"""Pages about policy packs: all of them, one in sentences, two side by side, and a new version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError

from treewarden.service.api._requests import AtSite, Reading, Who, asks, reads
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.errors import ServiceError
from treewarden.service.pages._forms import PACK, Typed, refusal, see, status_of
from treewarden.service.pages._rendering import page, paragraphs
from treewarden.service.schemas.releases import NewPack, Pack
from treewarden.service.use_cases.policies import add_pack, diff_packs, get_pack, list_packs

ROUTER = APIRouter(tags=["pages"])
Named = Annotated[str, Query(max_length=220)]


@ROUTER.get("/packs", **reads(Permission.READ))
def get_packs(request: Request, principal: Who, unit: Reading) -> Response:
    """Show all packs: the organisation's own, and those that ship."""
    packs = list_packs(unit, principal)
    own = [pack for pack in packs if not pack.is_shipped]
    shipped = [pack for pack in packs if pack.is_shipped]
    options = _options(packs)
    return page(request, "packs.html.j2", principal, own=own, shipped=shipped, options=options)


@ROUTER.get("/packs/new", **reads(Permission.POLICIES))
def get_new(
    request: Request,
    principal: Who,
    unit: Reading,
    begin: Annotated[Named, Query(alias="from")] = "",
) -> Response:
    """Show the form for a new version; it begins with the text of another one."""
    toml = get_pack(unit, principal, begin).toml if begin else ""
    return _new(request, principal, toml, "", begin)


@ROUTER.post("/packs", **asks(Permission.POLICIES))
def post_pack(
    request: Request,
    principal: Who,
    site: AtSite,
    toml: Annotated[str, Form(max_length=300_000)] = "",
    note: Annotated[Typed, Form()] = "",
    begin: Annotated[str, Form(max_length=220)] = "",
) -> Response:
    """Add a version of a pack, and lead on to it."""
    text = toml.replace("\r\n", "\n")
    try:
        new_pack = NewPack(toml=text, note=note)
        with site.unit() as unit:
            pack = add_pack(unit, principal, new_pack)
    except (ServiceError, ValidationError) as error:
        return _new(request, principal, text, note, begin, error)
    return see(f"/packs/{quote(_named(pack), safe='@')}")


@ROUTER.get("/packs/compare", **reads(Permission.READ))
def get_difference(
    request: Request,
    principal: Who,
    unit: Reading,
    first: Annotated[Named, Query(alias="from")],
    second: Annotated[Named, Query(alias="to")],
) -> Response:
    """Show what differs between two packs, or two versions of one."""
    return page(
        request,
        "packs_compare.html.j2",
        principal,
        both=diff_packs(unit, principal, first, second),
        options=_options(list_packs(unit, principal), first, second),
        first=first,
        second=second,
    )


@ROUTER.get("/packs/{name}", **reads(Permission.READ))
def get_one(request: Request, principal: Who, unit: Reading, name: str) -> Response:
    """Show a version of a pack, in sentences; the newest where the name says no version."""
    pack = get_pack(unit, principal, name)
    others = [f"{pack.name}@{n}" for n in range(pack.n - 1, 0, -1)] if not pack.is_shipped else []
    return page(
        request,
        "pack.html.j2",
        principal,
        pack=pack,
        told=paragraphs(pack.plain),
        named=_named(pack),
        others=others,
    )


def _options(packs: Iterable[Pack], *more: str) -> list[tuple[str, str]]:
    """Return all versions of packs, as options of a choice; ``more`` are names that were asked for."""
    found = set(more)
    for pack in packs:
        numbers = range(1, pack.n + 1)
        found |= {pack.name} if pack.is_shipped else {f"{pack.name}@{n}" for n in numbers}
    return [(name, name) for name in sorted(found)]


def _named(pack: Pack) -> str:
    """Return what a version of a pack is asked for by."""
    return pack.name if pack.is_shipped else f"{pack.name}@{pack.n}"


def _new(
    request: Request,
    principal: Principal,
    toml: str,
    note: str,
    begin: str,
    error: ServiceError | ValidationError | None = None,
) -> Response:
    return page(
        request,
        "pack_new.html.j2",
        principal,
        status=status_of(error) if error else 200,
        toml=toml,
        note=note,
        begin=begin,
        refused=refusal(error, PACK) if error else "",
    )
