"""Models and their versions: a version is an uploaded file, and what was read from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Row, ScalarSelect, Select, Text, cast, func, insert, or_, select

from treewarden.service.auth.principal import Principal
from treewarden.service.database.run_tables import audit, comparison, finding
from treewarden.service.database.tables import account, blob, model, model_version
from treewarden.service.errors import ConflictError, GoneError, InvalidError, NotFoundError, new_id
from treewarden.service.ledger.log import record
from treewarden.service.schemas.base import Page, PageRequest
from treewarden.service.schemas.models import (
    Comparison,
    Difference,
    Model,
    NewModel,
    NewVersion,
    Version,
)
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
            f"a model {new.name!r} exists already; add a version to it, or choose another name"
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
        raise NotFoundError(f"model {model_id[:40]!r}", "nothing here has this id; check the id")
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
        problem = f"this is the file of version {newest.n}; submit that version"
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
        raise NotFoundError(
            f"version {version_id[:40]!r}", "nothing here has this id; check the id"
        )
    return _version(found)


def version_of(unit: Unit, principal: Principal, model_id: str, version_id: str) -> Version:
    """Return a version of a certain model.

    Raises:
        NotFoundError: the model has none of that id.
    """
    version = get_version(unit, principal, version_id)
    if version.model_id != model_id:
        raise NotFoundError(
            f"version {version_id[:40]!r}", "nothing here has this id; check the id"
        )
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


MOST = 12
"""So many versions are told of, the newest ones."""


@dataclass(frozen=True, slots=True)
class VersionVerdict:
    """The newest verdict about a version, and how many findings it rests on; ``worst`` is the clause with most of them.

    Findings that a waiver accepts are in ``accepted`` alone.
    """

    audit_id: str
    verdict: str
    policy: str
    failed: int
    undecided: int
    accepted: int
    worst: str


@dataclass(frozen=True, slots=True)
class Past:
    """A version: its number, the newest verdict, and the people in the smallest leaf as its file says.

    ``audited`` is None before there is a verdict, ``smallest_leaf`` where the file does not say or was not read.
    """

    n: int
    audited: VersionVerdict | None
    smallest_leaf: int | None


def model_history(unit: Unit, principal: Principal, model_id: str) -> tuple[Past, ...]:
    """Return the newest versions of a model, oldest first.

    Raises:
        NotFoundError: the organisation has no such model.
    """
    versions = list_versions(unit, principal, model_id, PageRequest(limit=MOST)).items
    audits = _newest_verdicts(unit, principal, [each.id for each in versions])
    found = _findings(unit, [row.id for row in audits.values()])
    return tuple(
        Past(
            n=version.n,
            audited=_audited(audits[version.id], found) if version.id in audits else None,
            smallest_leaf=_smallest_leaf(version),
        )
        for version in sorted(versions, key=lambda version: version.n)
    )


def _newest_verdicts(
    unit: Unit, principal: Principal, version_ids: Sequence[str]
) -> dict[str, Row[Any]]:
    """Return by version the newest audit with a verdict; that of a repair is about another file."""
    last = (
        select(func.max(audit.c.id))
        .where(
            audit.c.organisation_id == principal.organisation_id,
            audit.c.model_version_id.in_(version_ids),
            audit.c.kind == "audit",
            audit.c.state == "done",
        )
        .group_by(audit.c.model_version_id)
    )
    columns: tuple[Any, ...] = (
        audit.c.id,
        audit.c.model_version_id,
        audit.c.verdict,
        audit.c.pack_name,
    )
    rows = unit.connection.execute(select(*columns).where(audit.c.id.in_(last)))
    return {row.model_version_id: row for row in rows}


def _findings(unit: Unit, audit_ids: Sequence[str]) -> Sequence[Row[Any]]:
    """Return how many findings there are of each audit, clause and verdict, accepted or not."""
    is_open = or_(finding.c.accepted.is_(None), cast(finding.c.accepted, Text) == "null")
    kinds = (finding.c.audit_id, finding.c.clause, finding.c.verdict, is_open.label("is_open"))
    return unit.connection.execute(
        select(*kinds, func.count().label("number"))
        .where(finding.c.audit_id.in_(audit_ids))
        .group_by(*kinds)
        .order_by(finding.c.clause)
    ).all()


def _audited(row: Row[Any], findings: Sequence[Row[Any]]) -> VersionVerdict:
    own = [each for each in findings if each.audit_id == row.id]
    counting = [each for each in own if each.is_open]
    worst = max(
        counting, key=lambda counted: (counted.verdict == "FAIL", counted.number), default=None
    )
    return VersionVerdict(
        audit_id=row.id,
        verdict=row.verdict,
        policy=row.pack_name,
        failed=sum(_numbers(counting, "FAIL")),
        undecided=sum(_numbers(counting, "UNDETERMINED")),
        accepted=sum(each.number for each in own if not each.is_open),
        worst="" if worst is None else worst.clause,
    )


def _numbers(findings: Sequence[Row[Any]], verdict: str) -> Iterator[int]:
    return (each.number for each in findings if each.verdict == verdict)


def _smallest_leaf(version: Version) -> int | None:
    size = ((version.summary or {}).get("support") or {}).get("smallest_leaf")
    return int(size) if isinstance(size, int | float) else None


# Two versions of a model side by side: verdicts and findings as they are, trees by a job.


def compare_versions(
    unit: Unit, principal: Principal, model_id: str, from_version_id: str, to_version_id: str
) -> Comparison:
    """Return what differs between two versions; the first time, a job is queued that compares their trees.

    Raises:
        NotFoundError: the model has no such versions.
        InvalidError: both are the same.
    """
    old, new = (get_version(unit, principal, each) for each in (from_version_id, to_version_id))
    for version in (old, new):
        if version.model_id != model_id:
            raise NotFoundError(
                f"version {version.id!r}", "is not a version of this model; choose another"
            )
    if old.id == new.id:
        raise InvalidError("to", "is the same version; choose two different ones")
    of_trees = _of_trees(unit, principal, model_id, old.id, new.id)
    before, after = _newest_audit(unit, old.id), _newest_audit(unit, new.id)
    had, has = _compared_findings(unit, before), _compared_findings(unit, after)
    is_told = before is not None and after is not None
    return Comparison(
        from_version=old,
        to_version=new,
        state=of_trees.state,
        problem=of_trees.problem,
        trees=None if of_trees.trees is None else tuple(of_trees.trees),
        from_verdict=None if before is None else before.verdict,
        to_verdict=None if after is None else after.verdict,
        from_audit_id=None if before is None else before.id,
        to_audit_id=None if after is None else after.id,
        is_same_policy=before.pack_digest == after.pack_digest
        if before is not None and after is not None
        else None,
        new=tuple(difference for key, difference in has.items() if key not in had)
        if is_told
        else (),
        gone=tuple(difference for key, difference in had.items() if key not in has)
        if is_told
        else (),
        same=len(had.keys() & has.keys()) if is_told else 0,
    )


def _of_trees(unit: Unit, principal: Principal, model_id: str, old: str, new: str) -> Row[Any]:
    wanted = select(comparison).where(
        comparison.c.from_version_id == old, comparison.c.to_version_id == new
    )
    found = unit.connection.execute(wanted).first()
    if found is not None:
        return found
    made = new_id()
    row = insert(comparison).values(
        id=made,
        organisation_id=principal.organisation_id,
        model_id=model_id,
        from_version_id=old,
        to_version_id=new,
        state="reading",
        problem="",
        created_at=unit.now,
    )
    if was_added(unit, row):
        check_waiting(unit, principal)
        queue_job(unit, principal.organisation_id, "compare", made)
    return unit.connection.execute(wanted).one()


def _newest_audit(unit: Unit, version_id: str) -> Row[Any] | None:
    """Return the newest audit of a version that has a verdict; a repair's is about another file."""
    return unit.connection.execute(
        select(audit)
        .where(
            audit.c.model_version_id == version_id,
            audit.c.kind == "audit",
            audit.c.state == "done",
        )
        .order_by(audit.c.id.desc())
        .limit(1)
    ).first()


def _compared_findings(unit: Unit, audit_row: Row[Any] | None) -> dict[str, Difference]:
    if audit_row is None:
        return {}
    rows = unit.connection.execute(
        select(finding).where(finding.c.audit_id == audit_row.id).order_by(finding.c.n)
    )
    return {
        row.result_id: Difference(
            clause=row.clause,
            leaf=row.leaf,
            verdict=row.verdict,
            message=row.message,
            path=row.path,
        )
        for row in rows
    }
