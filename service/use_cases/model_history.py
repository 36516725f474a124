"""A model from version to version: verdicts, checks not met, the smallest leaf of each file; and two side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, Text, cast, func, insert, or_, select

from treewarden.service.auth.principal import Principal
from treewarden.service.database.run_tables import audit, comparison, finding
from treewarden.service.errors import InvalidError, NotFoundError, new_id
from treewarden.service.schemas.base import PageRequest
from treewarden.service.schemas.models import Comparison, Difference, Version
from treewarden.service.site import Unit
from treewarden.service.use_cases.accounts.attempts import was_added
from treewarden.service.use_cases.blobs import check_waiting
from treewarden.service.use_cases.jobs import queue_job
from treewarden.service.use_cases.models import get_version, list_versions

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
    worst = max(counting, key=lambda each: (each.verdict == "FAIL", each.number), default=None)
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


def compare(
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
            raise NotFoundError(f"version {version.id!r}", "is none of this model")
    if old.id == new.id:
        raise InvalidError("to", "is the same version; choose two")
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


def _compared_findings(unit: Unit, of: Row[Any] | None) -> dict[str, Difference]:
    if of is None:
        return {}
    rows = unit.connection.execute(
        select(finding).where(finding.c.audit_id == of.id).order_by(finding.c.n)
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
