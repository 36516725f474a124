"""Two versions of a model side by side: verdicts and findings as they are, trees by a job."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, insert, select

from treewarden.service.cases.models import get_version
from treewarden.service.cases.queueing import queue_job
from treewarden.service.cases.quotas import check_waiting
from treewarden.service.cases.refusing import was_added
from treewarden.service.database.tables import audit, comparison, finding
from treewarden.service.errors import InvalidError, NotFoundError
from treewarden.service.ids import new_id
from treewarden.service.people.principal import Principal
from treewarden.service.schemas.models import Comparison, Difference
from treewarden.service.site import Unit


def compare(
    unit: Unit, who: Principal, model_id: str, from_version_id: str, to_version_id: str
) -> Comparison:
    """Return what differs between two versions; the first time, a job is queued that compares their trees.

    Raises:
        NotFoundError: the model has no such versions.
        InvalidError: both are the same.
    """
    old, new = (get_version(unit, who, each) for each in (from_version_id, to_version_id))
    for each in (old, new):
        if each.model_id != model_id:
            raise NotFoundError(f"version {each.id!r}", "is none of this model")
    if old.id == new.id:
        raise InvalidError("to", "is the same version; choose two")
    of_trees = _of_trees(unit, who, model_id, old.id, new.id)
    before, after = _audited(unit, old.id), _audited(unit, new.id)
    had, has = _findings(unit, before), _findings(unit, after)
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
        new=tuple(each for key, each in has.items() if key not in had) if is_told else (),
        gone=tuple(each for key, each in had.items() if key not in has) if is_told else (),
        same=len(had.keys() & has.keys()) if is_told else 0,
    )


def _of_trees(unit: Unit, who: Principal, model_id: str, old: str, new: str) -> Row[Any]:
    wanted = select(comparison).where(
        comparison.c.from_version_id == old, comparison.c.to_version_id == new
    )
    found = unit.connection.execute(wanted).first()
    if found is not None:
        return found
    made = new_id()
    row = insert(comparison).values(
        id=made,
        organisation_id=who.organisation_id,
        model_id=model_id,
        from_version_id=old,
        to_version_id=new,
        state="reading",
        problem="",
        created_at=unit.now,
    )
    if was_added(unit, row):
        check_waiting(unit, who)
        queue_job(unit, who.organisation_id, "compare", made)
    return unit.connection.execute(wanted).one()


def _audited(unit: Unit, version_id: str) -> Row[Any] | None:
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


def _findings(unit: Unit, of: Row[Any] | None) -> dict[str, Difference]:
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
