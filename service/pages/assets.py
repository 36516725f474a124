"""What pages are made of besides HTML: style, scripts and the signs, the same for everybody."""

from __future__ import annotations

import mimetypes
from functools import cache

from fastapi import APIRouter
from fastapi.responses import Response

from treewarden.service.api._requests import is_open
from treewarden.service.errors import NotFoundError
from treewarden.service.pages._rendering import STATIC

ROUTER = APIRouter(tags=["pages"])
KINDS = (".css", ".js", ".svg", ".txt")
LONG = "public, max-age=31536000, immutable"
"""The address of a file changes with its content, so nobody has to ask again."""


@ROUTER.get("/static/{name:path}", **is_open())
def get_asset(name: str) -> Response:
    """Return a file of the folder ``static``."""
    found = _assets().get(name)
    if found is None:
        raise NotFoundError("static", "there is no such file; check the address")
    data, kind = found
    return Response(data, media_type=kind, headers={"Cache-Control": LONG})


@cache
def _assets() -> dict[str, tuple[bytes, str]]:
    """Return all files by name, so that nothing of a request ever becomes a path."""
    found = {}
    for folder in (STATIC, STATIC / "vendor"):
        for each in folder.iterdir():
            if each.is_file() and each.name.endswith(KINDS):
                name = each.name if folder == STATIC else f"vendor/{each.name}"
                kind = mimetypes.guess_type(each.name)[0] or "text/plain"
                found[name] = (each.read_bytes(), kind)
    return found
