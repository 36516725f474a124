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
from treewarden.service.use_cases import model_history, models

ROUTER = APIRouter(tags=["models"], route_class=Once)


@ROUTER.post("/models", status_code=201, **asks(Permission.SUBMIT))
def post_model(who: Who, unit: Writing, new: NewModel, response: Response) -> Model:
    """Make a model; its files are versions."""
    made = models.create_model(unit, who, new)
    response.headers["Location"] = f"/api/v1/models/{made.id}"
    return made


@ROUTER.get("/models", **reads(Permission.READ))
def get_models(who: Who, unit: Reading, wanted: Annotated[WantedModels, Query()]) -> Page[Model]:
    """Return models, those whose name holds a text where one is given."""
    return models.list_models(unit, who, wanted, wanted.name)


@ROUTER.get("/models/{model_id}", **reads(Permission.READ))
def get_model(who: Who, unit: Reading, model_id: Id) -> Model:
    """Return a model and its newest version."""
    return models.get_model(unit, who, model_id)


@ROUTER.post("/models/{model_id}/versions", status_code=202, **asks(Permission.SUBMIT))
def post_version(
    who: Who, unit: Writing, model_id: Id, new: NewVersion, response: Response
) -> Version:
    """Make an uploaded file a version; a worker reads it."""
    version = models.add_version(unit, who, model_id, new)
    response.headers["Location"] = f"/api/v1/models/{model_id}/versions/{version.id}"
    return version


@ROUTER.get("/models/{model_id}/versions", **reads(Permission.READ))
def get_versions(
    who: Who, unit: Reading, model_id: Id, wanted: Annotated[PageRequest, Query()]
) -> Page[Version]:
    """Return the versions of a model."""
    return models.list_versions(unit, who, model_id, wanted)


@ROUTER.get("/models/{model_id}/versions/{version_id}", **reads(Permission.READ))
def get_version(who: Who, unit: Reading, model_id: Id, version_id: Id) -> Version:
    """Return a version; ``summary`` says what its file publishes, once it was read."""
    return models.version_of(unit, who, model_id, version_id)


@ROUTER.get(
    "/models/{model_id}/versions/{version_id}/file",
    response_class=StreamingResponse,
    **reads(Permission.INTERNAL),
)
def get_file(who: Who, unit: Reading, model_id: Id, version_id: Id) -> StreamingResponse:
    """Return the file of a version, as it was uploaded or as a repair wrote it."""
    models.version_of(unit, who, model_id, version_id)
    version, chunks = models.model_file(unit, who, version_id)
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
    who: Who,
    unit: Writing,
    model_id: Id,
    from_version: Annotated[Id, Query(alias="from")],
    to_version: Annotated[Id, Query(alias="to")],
) -> Comparison:
    """Return what differs between two versions; ``trees`` is null until a worker has compared them."""
    return model_history.compare(unit, who, model_id, from_version, to_version)
