"""Models and their versions: a version is an uploaded file, and what was read from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Row, ScalarSelect, Select, func, insert, select

from treewarden.service.auth.principal import Principal
from treewarden.service.database.tables import account, blob, model, model_version
from treewarden.service.errors import ConflictError, GoneError, NotFoundError, new_id
from treewarden.service.ledger.log import record
from treewarden.service.schemas.base import Page, PageRequest
from treewarden.service.schemas.models import Model, NewModel, NewVersion, Version
from treewarden.service.site import Unit
from treewarden.service.use_cases.accounts.attempts import was_added
from treewarden.service.use_cases.blobs import check_waiting, claim_blob
from treewarden.service.use_cases.jobs import queue_job
from treewarden.service.use_cases.paging import paged


def create_model(unit: Unit, principal: Principal, new: NewModel) -> Model:
    """Make a model, without a version yet.

    Raises:
        ConflictError: the organisation has one of that name.
    """
    made = new_id()
    row = insert(model).values(
        id=made,
        organisation_id=principal.organisation_id,
        name=new.name,
        description=new.description,
        created_by=principal.account_id,
        created_at=unit.now,
    )
    if not was_added(unit, row):
        problem = (
            f"there is a model {new.name!r} already; add a version to it, or choose another name"
        )
        raise ConflictError("name", problem)
    record(unit, principal, "model.created", "model", made, {"name": new.name})
    return get_model(unit, principal, made)


def list_models(
    unit: Unit, principal: Principal, page_request: PageRequest, name: str = ""
) -> Page[Model]:
    """Return models, those whose name holds a text where one is given."""
    statement = _models(principal)
    if name:
        statement = statement.where(model.c.name.icontains(name, autoescape=True))
    rows, following = paged(unit, statement, model.c.id, page_request)
    return Page(items=_all_shown(unit, principal, rows), next=following)


def get_model(unit: Unit, principal: Principal, model_id: str) -> Model:
    """Return a model.

    Raises:
        NotFoundError: the organisation has none of that id.
    """
    found = unit.connection.execute(_models(principal).where(model.c.id == model_id)).first()
    if found is None:
        raise NotFoundError(f"model {model_id[:40]!r}", "there is none of that id")
    return _all_shown(unit, principal, [found])[0]


def add_version(unit: Unit, principal: Principal, model_id: str, new: NewVersion) -> Version:
    """Make an uploaded file the newest version of a model; a job reads it.

    Raises:
        NotFoundError: there is no such model, or no such upload.
        ConflictError: the newest version is the same file, and was not refused.
        TooManyError: the organisation has as many jobs waiting as it may.
    """
    check_waiting(unit, principal)
    of = select(model.c.id).where(model.c.id == model_id)
    unit.connection.execute(of.with_for_update())  # numbers are given one at a time
    given = get_model(unit, principal, model_id)
    newest = given.latest
    if newest is not None and newest.state != "refused" and newest.digest == new.digest:
        problem = f"the file is that of version {newest.n} already; submit that one"
        raise ConflictError("digest", problem)
    kept = claim_blob(unit, principal, new.digest, "model")
    made = new_id()
    unit.connection.execute(
        insert(model_version).values(
            id=made,
            organisation_id=principal.organisation_id,
            model_id=model_id,
            n=given.versions + 1,
            blob_id=kept.id,
            digest=kept.digest,
            size=kept.size,
            file_name=new.file_name,
            state="reading",
            uploaded_by=principal.account_id,
            created_at=unit.now,
        )
    )
    queue_job(unit, principal.organisation_id, "inspect_model", made)
    record(unit, principal, "version.added", "version", made, {"digest": kept.digest})
    return get_version(unit, principal, made)


def list_versions(
    unit: Unit, principal: Principal, model_id: str, page_request: PageRequest
) -> Page[Version]:
    """Return the versions of a model.

    Raises:
        NotFoundError: the organisation has no such model.
    """
    get_model(unit, principal, model_id)
    statement = _versions(principal).where(model_version.c.model_id == model_id)
    rows, following = paged(unit, statement, model_version.c.id, page_request)
    return Page(items=tuple(_version(row) for row in rows), next=following)


def get_version(unit: Unit, principal: Principal, version_id: str) -> Version:
    """Return a version.

    Raises:
        NotFoundError: the organisation has none of that id.
    """
    found = unit.connection.execute(
        _versions(principal).where(model_version.c.id == version_id)
    ).first()
    if found is None:
        raise NotFoundError(f"version {version_id[:40]!r}", "there is none of that id")
    return _version(found)


def version_of(unit: Unit, principal: Principal, model_id: str, version_id: str) -> Version:
    """Return a version of a certain model.

    Raises:
        NotFoundError: the model has none of that id.
    """
    version = get_version(unit, principal, version_id)
    if version.model_id != model_id:
        raise NotFoundError(f"version {version_id[:40]!r}", "there is none of that id")
    return version


def model_file(
    unit: Unit, principal: Principal, version_id: str
) -> tuple[Version, Iterator[bytes]]:
    """Return a version and the bytes of its file.

    Raises:
        NotFoundError: the organisation has none of that id.
        GoneError: the file was erased, as that of a refused version is.
    """
    version = get_version(unit, principal, version_id)
    kept = unit.connection.execute(
        select(blob)
        .join(model_version, model_version.c.blob_id == blob.c.id)
        .where(model_version.c.id == version_id)
    ).one()
    if kept.sealed_key is None:
        raise GoneError(version.file_name, "was erased; upload the file again as a new version")
    return version, unit.site.vault.chunks(kept.id, kept.digest, kept.sealed_key)


def _models(principal: Principal) -> Select[Any]:
    return _every_model().where(model.c.organisation_id == principal.organisation_id)


def _versions(principal: Principal) -> Select[Any]:
    return _every_version().where(model_version.c.organisation_id == principal.organisation_id)


# Statements are put together once, as that takes longer than many a query.


@cache
def _every_model() -> Select[Any]:
    by = account.c.name.label("by")
    return select(model, by).join(account, account.c.id == model.c.created_by)


@cache
def _every_version() -> Select[Any]:
    return (
        select(model_version, model.c.name.label("model_name"), account.c.name.label("by"))
        .join(model, model.c.id == model_version.c.model_id)
        .join(account, account.c.id == model_version.c.uploaded_by)
    )


@cache
def _newest_number() -> ScalarSelect[Any]:
    """Return what selects the number of the newest version of a model."""
    every = model_version.alias("every")
    return select(func.max(every.c.n)).where(every.c.model_id == model.c.id).scalar_subquery()


def _all_shown(unit: Unit, principal: Principal, rows: Sequence[Row[Any]]) -> tuple[Model, ...]:
    """Return models as they are shown; their newest versions are looked up once."""
    newest = unit.connection.execute(
        _versions(principal).where(
            model.c.id.in_([row.id for row in rows]), model_version.c.n == _newest_number()
        )
    )
    latest = {row.model_id: _version(row) for row in newest}
    return tuple(_model(row, latest.get(row.id)) for row in rows)


def _model(row: Row[Any], latest: Version | None) -> Model:
    return Model(
        id=row.id,
        name=row.name,
        description=row.description,
        created_by=row.by,
        created_at=row.created_at,
        versions=0 if latest is None else latest.n,
        latest=latest,
    )


def _version(row: Row[Any]) -> Version:
    return Version(
        id=row.id,
        model_id=row.model_id,
        model_name=row.model_name,
        n=row.n,
        digest=row.digest,
        size=row.size,
        file_name=row.file_name,
        state=row.state,
        problem=row.problem,
        format=row.format,
        summary=row.summary,
        uploaded_by_id=row.uploaded_by,
        uploaded_by=row.by,
        created_at=row.created_at,
    )
