"""Uploads, streamed: the address is the SHA-256 of the bytes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from treewarden.service.api._requests import AtSite, Who, asks
from treewarden.service.api._uploading import plain_body
from treewarden.service.auth.principal import Permission
from treewarden.service.schemas.models import Uploaded
from treewarden.service.use_cases.blobs import Kind, most_of, put_blob

ROUTER = APIRouter(tags=["uploads"])
_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_ASKS = asks(Permission.SUBMIT)
_ASKS["openapi_extra"] |= _BODY


@ROUTER.put(
    "/blobs/{sha256}",
    status_code=201,
    responses={200: {"model": Uploaded, "description": "These bytes are stored already"}},
    **_ASKS,
)
async def put_bytes(
    request: Request,
    response: Response,
    site: AtSite,
    principal: Who,
    sha256: Annotated[str, Path(pattern="^[0-9a-f]{64}$")],
    kind: Annotated[Kind, Query()],
) -> Uploaded:
    """Keep the bytes of a model or a table, sealed; they expire unless a version or a table is made of them."""
    body = plain_body(request, most_of(site.settings, kind))
    upload = await put_blob(site, principal, sha256, kind, body)
    if upload.is_known:
        response.status_code = 200
    return Uploaded(digest=upload.digest, size=upload.size)
