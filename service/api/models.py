"""Models and their versions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from treewarden.service.api._answers import Once
from treewarden.service.api._requests import Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.schemas.base import Id, Page, PageRequest
from treewarden.service.schemas.models import (
    Comparison,
    Model,
    NewModel,
    NewVersion,
    Version,
    WantedModels,
)
from treewarden.service.use_cases import models

ROUTER = APIRouter(tags=["models"], route_class=Once)


@ROUTER.post("/models", status_code=201, **asks(Permission.SUBMIT))
def post_model(principal: Who, unit: Writing, new: NewModel, response: Response) -> Model:
    """Make a model; its files are versions."""
    made = models.create_model(unit, principal, new)
    response.headers["Location"] = f"/api/v1/models/{made.id}"
    return made


@ROUTER.get("/models", **reads(Permission.READ))
def get_models(
    principal: Who, unit: Reading, query: Annotated[WantedModels, Query()]
) -> Page[Model]:
    """Return models, those whose name holds a text where one is given."""
    return models.list_models(unit, principal, query, query.name)


@ROUTER.get("/models/{model_id}", **reads(Permission.READ))
def get_model(principal: Who, unit: Reading, model_id: Id) -> Model:
    """Return a model and its newest version."""
    return models.get_model(unit, principal, model_id)


@ROUTER.post("/models/{model_id}/versions", status_code=202, **asks(Permission.SUBMIT))
def post_version(
    principal: Who, unit: Writing, model_id: Id, new: NewVersion, response: Response
) -> Version:
    """Make an uploaded file a version; a worker reads it."""
    version = models.add_version(unit, principal, model_id, new)
    response.headers["Location"] = f"/api/v1/models/{model_id}/versions/{version.id}"
    return version


@ROUTER.get("/models/{model_id}/versions", **reads(Permission.READ))
def get_versions(
    principal: Who, unit: Reading, model_id: Id, query: Annotated[PageRequest, Query()]
) -> Page[Version]:
    """Return the versions of a model."""
    return models.list_versions(unit, principal, model_id, query)


@ROUTER.get("/models/{model_id}/versions/{version_id}", **reads(Permission.READ))
def get_version(principal: Who, unit: Reading, model_id: Id, version_id: Id) -> Version:
    """Return a version; ``summary`` says what its file publishes, once it was read."""
    return models.version_of(unit, principal, model_id, version_id)


@ROUTER.get(
    "/models/{model_id}/versions/{version_id}/file",
    response_class=StreamingResponse,
    **reads(Permission.INTERNAL),
)
def get_file(principal: Who, unit: Reading, model_id: Id, version_id: Id) -> StreamingResponse:
    """Return the file of a version, as it was uploaded or as a repair wrote it."""
    models.version_of(unit, principal, model_id, version_id)
    version, chunks = models.model_file(unit, principal, version_id)
    name = "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in version.file_name)
    suffix = version.file_name.rpartition(".")[2]
    if suffix.isascii() and suffix.isalnum() and suffix != version.file_name:
        name = f"{name[: -len(suffix) - 1]}.{suffix}"
    return StreamingResponse(
        chunks,
        media_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@ROUTER.get("/models/{model_id}/compare", **asks(Permission.READ))
def get_comparison(
    principal: Who,
    unit: Writing,
    model_id: Id,
    from_version: Annotated[Id, Query(alias="from")],
    to_version: Annotated[Id, Query(alias="to")],
) -> Comparison:
    """Return what differs between two versions; ``trees`` is null until a worker has compared them."""
    return models.compare_versions(unit, principal, model_id, from_version, to_version)
