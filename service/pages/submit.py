"""The way to an audit, in two steps: the files, then who is who in the table and what is asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, NamedTuple

from anyio import to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError

from treewarden.service.api._requests import AtSite, Reading, Who, asks, reads
from treewarden.service.api._uploading import FileField, UploadForm, receive_form
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.errors import InvalidError, ServiceError
from treewarden.service.pages._forms import FILES, refusal, see, status_of
from treewarden.service.pages._rendering import address, page
from treewarden.service.schemas.audits import MOST_OUTPUTS
from treewarden.service.schemas.base import Id, PageRequest
from treewarden.service.schemas.models import (
    Holds,
    Model,
    NewModel,
    NewTable,
    NewVersion,
    Version,
)
from treewarden.service.site import Site, Unit
from treewarden.service.use_cases.models import (
    add_version,
    create_model,
    get_model,
    get_version,
    list_models,
)
from treewarden.service.use_cases.tables import add_table, roots_of

ROUTER = APIRouter(tags=["pages"])
FILE_FIELDS = {
    "model_file": FileField("model"),
    "table_file": FileField("table"),
    "output_files": FileField("table", "output", most_files=MOST_OUTPUTS),
    "dictionary_file": FileField("table", "dictionary"),
}
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


class SentFile(NamedTuple):
    """A further file that was uploaded, by its digest, and what it is called."""

    digest: str
    file_name: str


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
    outputs: tuple[SentFile, ...] = ()
    dictionary: SentFile | None = None

    @property
    def kept_outputs(self) -> str:
        """The outputs in one text, which the form sends again."""
        return "/".join(f"{file.digest}/{file.file_name}" for file in self.outputs)

    @property
    def kept_dictionary(self) -> str:
        """The dictionary likewise."""
        file = self.dictionary
        return "" if file is None else f"{file.digest}/{file.file_name}"


@ROUTER.get("/submit", **reads(Permission.SUBMIT))
def get_submit(
    request: Request,
    principal: Who,
    unit: Reading,
    model: Annotated[Id | None, Query()] = None,
    version: Annotated[Id | None, Query()] = None,
) -> Response:
    """Show where the files go: a new model, a new version of one, or a table for a version that is there."""
    return _render_page(
        request, principal, unit, SubmittedForm(model_id=model or "", version_id=version or "")
    )


@ROUTER.post("/submit", **asks(Permission.SUBMIT))
async def post_submit(request: Request, principal: Who, site: AtSite) -> Response:
    """Take the files, streamed into the vault, and lead on to what is asked."""
    submitted_form = SubmittedForm()
    try:
        form = await receive_form(request, site, principal, FILE_FIELDS)
        submitted_form = _sent(form)
        return see(await to_thread.run_sync(partial(_taken, site, principal, submitted_form)))
    except (ServiceError, ValidationError) as error:
        return await to_thread.run_sync(
            partial(_again, request, site, principal, submitted_form, error)
        )


def _sent(form: UploadForm) -> SubmittedForm:
    told = {name: form.fields.get(name, "").strip() for name in TEXTS}
    for field, name in (("model_file", "model"), ("table_file", "table")):
        if (file := form.file(field)) is not None:
            told |= {f"{name}_digest": file.digest, f"{name}_name": file.file_name}
    dictionaries = _sent_files(form, "dictionary_file") or _kept_files(form, "kept_dictionary")
    return SubmittedForm(
        **told,
        has_table=form.fields.get("has_table", "yes") == "yes",
        outputs=_sent_files(form, "output_files") or _kept_files(form, "kept_outputs"),
        dictionary=next(iter(dictionaries), None),
    )


def _sent_files(form: UploadForm, field: str) -> tuple[SentFile, ...]:
    return tuple(SentFile(file.digest, file.file_name) for file in form.files.get(field, ()))


def _kept_files(form: UploadForm, field: str) -> tuple[SentFile, ...]:
    """Return files that were uploaded before, as ``SubmittedForm`` writes them: no name holds a slash."""
    parts = form.fields.get(field, "").split("/")
    return tuple(map(SentFile, parts[::2], parts[1::2]))


def _taken(site: Site, principal: Principal, sent: SubmittedForm) -> str:
    """Make what was sent, all of it or nothing, and return where it goes on."""
    with site.unit() as unit:
        version_id = sent.version_id or _new_version(unit, principal, sent)
        table_id = None
        if sent.has_table:
            if sent.table_path:
                new = NewTable(path=sent.table_path)
            elif sent.table_digest:
                new = NewTable(digest=sent.table_digest, file_name=sent.table_name)
            else:
                raise InvalidError(
                    "table_file", "no file was chosen; choose one, or continue without a table"
                )
            table_id = add_table(unit, principal, new).id
        outputs = [_further_file(unit, principal, file, "output") for file in sent.outputs]
        dictionary = (
            ""
            if sent.dictionary is None
            else _further_file(unit, principal, sent.dictionary, "dictionary")
        )
    return address(
        f"/submit/{version_id}", table=table_id, outputs=",".join(outputs), dictionary=dictionary
    )


def _further_file(unit: Unit, principal: Principal, file: SentFile, holds: Holds) -> str:
    new = NewTable(digest=file.digest, file_name=file.file_name, holds=holds)
    return add_table(unit, principal, new).id


def _new_version(unit: Unit, principal: Principal, sent: SubmittedForm) -> str:
    if not sent.model_digest:
        raise InvalidError(
            "model_file", "no file was chosen; choose the file as it would be published"
        )
    model_id = sent.model_id
    if not model_id:
        if not sent.name:
            raise InvalidError(
                "name", "is missing; give the model a name that your colleagues know"
            )
        model_id = create_model(
            unit, principal, NewModel(name=sent.name, description=sent.description)
        ).id
    new = NewVersion(digest=sent.model_digest, file_name=sent.model_name)
    version: Version = add_version(unit, principal, model_id, new)
    return version.id


def _again(
    request: Request,
    site: Site,
    principal: Principal,
    sent: SubmittedForm,
    error: ServiceError | ValidationError,
) -> Response:
    with site.reading() as unit:
        return _render_page(request, principal, unit, sent, error)


def _render_page(
    request: Request,
    principal: Principal,
    unit: Unit,
    sent: SubmittedForm,
    error: ServiceError | ValidationError | None = None,
) -> Response:
    version: Version | None = (
        get_version(unit, principal, sent.version_id) if sent.version_id else None
    )
    model_id = version.model_id if version else sent.model_id
    model: Model | None = get_model(unit, principal, model_id) if model_id else None
    return page(
        request,
        "submit.html.j2",
        principal,
        status=status_of(error) if error else 200,
        sent=sent,
        version=version,
        model=model,
        models=() if model else list_models(unit, principal, PageRequest(limit=MOST)).items,
        has_roots=bool(roots_of(unit, principal.organisation_id)),
        refused=refusal(error, FILES) if error else "",
    )
