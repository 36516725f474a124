"""The way to an audit, in two steps: the files, then who is who in the table and what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError

from treewarden.service.api._requests import AtSite, Reading, Who, asks, reads
from treewarden.service.api._uploading import receive_form
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.errors import InvalidError, ServiceError
from treewarden.service.pages._forms import FILES, refusal, see, status_of
from treewarden.service.pages._rendering import address, page
from treewarden.service.schemas.base import Id, PageRequest
from treewarden.service.schemas.models import Model, NewModel, NewTable, NewVersion, Version
from treewarden.service.site import Site, Unit
from treewarden.service.use_cases.blobs import Kind
from treewarden.service.use_cases.models import (
    add_version,
    create_model,
    get_model,
    get_version,
    list_models,
)
from treewarden.service.use_cases.tables import add_table, roots_of

ROUTER = APIRouter(tags=["pages"])
KINDS: dict[str, Kind] = {"model_file": "model", "table_file": "table"}
"""The fields of the form that hold files, and what each is."""
TEXTS = (
    "model_id",
    "version_id",
    "name",
    "description",
    "model_digest",
    "model_name",
    "table_digest",
    "table_name",
    "table_path",
)
MOST = 200
"""So many models are offered to choose from; the others have a button on their own pages."""


@dataclass(frozen=True, slots=True)
class SubmittedForm:
    """What was typed and uploaded; what is uploaded needs not be sent again when something else was refused.

    ``model_id`` and ``version_id`` say what is there already; both "" for a new model.
    """

    model_id: str = ""
    version_id: str = ""
    name: str = ""
    description: str = ""
    model_digest: str = ""
    model_name: str = ""
    table_digest: str = ""
    table_name: str = ""
    table_path: str = ""
    has_table: bool = True


@ROUTER.get("/submit", **reads(Permission.SUBMIT))
def get_submit(
    request: Request,
    who: Who,
    unit: Reading,
    model: Annotated[Id | None, Query()] = None,
    version: Annotated[Id | None, Query()] = None,
) -> Response:
    """Show where the files go: a new model, a new version of one, or a table for a version that is there."""
    return _render_page(
        request, who, unit, SubmittedForm(model_id=model or "", version_id=version or "")
    )


@ROUTER.post("/submit", **asks(Permission.SUBMIT))
async def post_submit(request: Request, who: Who, site: AtSite) -> Response:
    """Take the files, streamed into the vault, and lead on to what is asked."""
    submitted_form = SubmittedForm()
    try:
        form = await receive_form(request, site, who, KINDS)
        submitted_form = _sent(form.fields)
        for field, uploaded_file in form.files.items():
            if field == "model_file":
                submitted_form = replace(
                    submitted_form,
                    model_digest=uploaded_file.digest,
                    model_name=uploaded_file.file_name,
                )
            else:
                submitted_form = replace(
                    submitted_form,
                    table_digest=uploaded_file.digest,
                    table_name=uploaded_file.file_name,
                )
        return see(await to_thread.run_sync(partial(_taken, site, who, submitted_form)))
    except (ServiceError, ValidationError) as error:
        return await to_thread.run_sync(partial(_again, request, site, who, submitted_form, error))


def _sent(fields: Mapping[str, str]) -> SubmittedForm:
    told = {name: fields.get(name, "").strip() for name in TEXTS}
    return SubmittedForm(**told, has_table=fields.get("has_table", "yes") == "yes")


def _taken(site: Site, who: Principal, sent: SubmittedForm) -> str:
    """Make what was sent, all of it or nothing, and return where it goes on."""
    with site.unit() as unit:
        version_id = sent.version_id or _new_version(unit, who, sent)
        table_id = None
        if sent.has_table:
            if sent.table_path:
                new = NewTable(path=sent.table_path)
            elif sent.table_digest:
                new = NewTable(digest=sent.table_digest, file_name=sent.table_name)
            else:
                raise InvalidError("table_file", "no file was chosen; choose one, or go on without")
            table_id = add_table(unit, who, new).id
    return address(f"/submit/{version_id}", table=table_id)


def _new_version(unit: Unit, who: Principal, sent: SubmittedForm) -> str:
    if not sent.model_digest:
        raise InvalidError(
            "model_file", "none was chosen; choose the file as it would be published"
        )
    model_id = sent.model_id
    if not model_id:
        if not sent.name:
            raise InvalidError("name", "is missing; give the model one that your colleagues know")
        model_id = create_model(
            unit, who, NewModel(name=sent.name, description=sent.description)
        ).id
    new = NewVersion(digest=sent.model_digest, file_name=sent.model_name)
    version: Version = add_version(unit, who, model_id, new)
    return version.id


def _again(
    request: Request,
    site: Site,
    who: Principal,
    sent: SubmittedForm,
    error: ServiceError | ValidationError,
) -> Response:
    with site.reading() as unit:
        return _render_page(request, who, unit, sent, error)


def _render_page(
    request: Request,
    who: Principal,
    unit: Unit,
    sent: SubmittedForm,
    error: ServiceError | ValidationError | None = None,
) -> Response:
    version: Version | None = get_version(unit, who, sent.version_id) if sent.version_id else None
    model_id = version.model_id if version else sent.model_id
    model: Model | None = get_model(unit, who, model_id) if model_id else None
    return page(
        request,
        "submit.html.j2",
        who,
        status=status_of(error) if error else 200,
        sent=sent,
        version=version,
        model=model,
        models=() if model else list_models(unit, who, PageRequest(limit=MOST)).items,
        has_roots=bool(roots_of(unit, who.organisation_id)),
        refused=refusal(error, FILES) if error else "",
    )
