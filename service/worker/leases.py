"""Which worker does which job: claimed for a while, kept by a heartbeat, and fenced by the number of the attempt.

A worker that dies loses its lease, and another one claims the job with a higher attempt. A worker that comes back late
holds the lower number, and none of its writes finds a row any more. From a claimed job its order is made: read in one
transaction, keys unsealed last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from importlib import resources
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Row,
    and_,
    exists,
    func,
    nulls_first,
    or_,
    select,
    true,
    update,
)

from treewarden.service.database.run_tables import audit, audit_file, comparison, job
from treewarden.service.database.tables import (
    blob,
    data_table,
    model,
    model_version,
    organisation,
    pack_version,
)
from treewarden.service.errors import ConflictError
from treewarden.service.site import Unit
from treewarden.service.use_cases.blobs import most_of_table
from treewarden.service.use_cases.jobs import add_event
from treewarden.service.use_cases.tables import roots_of
from treewarden.service.use_cases.waivers import waivers_of
from treewarden.service.worker.orders import (
    FurtherFiles,
    JobOrder,
    PlainFile,
    SealedFile,
    SearchLimits,
)

MOST_ATTEMPTS = 5
"""How often a job is begun at all: one that takes its worker down with it must not take all of them."""
MOST_FAILURES = 2
"""How often the process of a job may die while its worker lives: it is tried once more."""


class Lease(StrEnum):
    """What became of a lease when it was to be renewed."""

    KEPT = "kept"
    CANCELLED = "cancelled"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class JobClaim:
    """A job in the hands of a worker: this attempt of it."""

    id: str
    organisation_id: str
    kind: str
    subject_id: str
    attempt: int
    failures: int


def claim(unit: Unit, worker: str, lease_seconds: float) -> JobClaim | None:
    """Claim a free job: one that is queued, or whose worker was not heard of for too long.

    Organisations take turns: next is the one that has fewest jobs running, then the one whose last job began longest
    ago; of an organisation, the job that waits longest. So nobody waits for all that somebody else has queued.
    """
    found = next(filter(None, (_free_job(unit, each) for each in _turns(unit))), None)
    if found is None:
        return None
    attempt = found.attempt + 1
    unit.connection.execute(
        update(job)
        .where(job.c.id == found.id)
        .values(
            state="running",
            attempt=attempt,
            worker=worker,
            lease_until=unit.now + timedelta(seconds=lease_seconds),
            started_at=unit.now,
        )
    )
    kind = "started" if attempt == 1 else "retried"
    add_event(unit, found.id, attempt, kind, f"begun by {worker}")
    return JobClaim(
        found.id, found.organisation_id, found.kind, found.subject_id, attempt, found.failures
    )


def _turns(unit: Unit) -> list[str]:
    """Return the organisations that have a free job, in the order of their turns."""
    of = job.c.organisation_id == organisation.c.id
    running = select(func.count()).where(
        of, job.c.state == "running", job.c.lease_until >= unit.now
    )
    last = select(func.max(job.c.started_at)).where(of).scalar_subquery()
    wanted = (
        select(organisation.c.id)
        .where(or_(*(exists().where(of, each) for each in _free(unit))))
        .order_by(running.scalar_subquery(), nulls_first(last), organisation.c.id)
    )
    return list(unit.connection.execute(wanted).scalars())


def _free_job(unit: Unit, organisation_id: str) -> Row[Any] | None:
    """Return the job that an organisation waits for longest, locked, but for those that others just claim."""
    for is_free in reversed(_free(unit)):
        found = unit.connection.execute(
            select(job)
            .where(job.c.organisation_id == organisation_id, is_free)
            .order_by(job.c.id)
            .limit(1)
            .with_for_update(skip_locked=True)
        ).first()
        if found is not None:
            return found
    return None


def _free(unit: Unit) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return what holds of jobs that are queued, and of those whose lease ran out: each is found by an index alone."""
    return (
        job.c.state == "queued",
        and_(job.c.state == "running", job.c.lease_until < unit.now),
    )


def renew(unit: Unit, job_claim: JobClaim, lease_seconds: float) -> Lease:
    """Say that the job is still being done; whoever has lost it stops."""
    found = unit.connection.execute(
        update(job)
        .where(
            job.c.id == job_claim.id, job.c.attempt == job_claim.attempt, job.c.state == "running"
        )
        .values(lease_until=unit.now + timedelta(seconds=lease_seconds))
        .returning(job.c.cancel_requested)
    ).first()
    if found is None:
        return Lease.LOST
    return Lease.CANCELLED if found.cancel_requested else Lease.KEPT


def end(unit: Unit, job_claim: JobClaim, state: str, problem: str = "") -> bool:
    """End a job, and return whether it was still this attempt's: if not, nothing in this transaction may stay.

    One that is to be cancelled finds nothing any more: it may rest on a table whose owner has erased it.
    """
    is_wanted = ~job.c.cancel_requested if state == "done" else true()
    ended = unit.connection.execute(
        update(job)
        .where(
            job.c.id == job_claim.id,
            job.c.attempt == job_claim.attempt,
            job.c.state == "running",
            is_wanted,
        )
        .values(state=state, problem=problem, finished_at=unit.now, lease_until=None)
    )
    return ended.rowcount == 1


def give_back(unit: Unit, job_claim: JobClaim, why: str, *, is_failure: bool = True) -> bool:
    """Queue a job once more, and return whether it was still this attempt's; a process that died is a failure."""
    queued = unit.connection.execute(
        update(job)
        .where(
            job.c.id == job_claim.id, job.c.attempt == job_claim.attempt, job.c.state == "running"
        )
        .values(
            state="queued", failures=job.c.failures + int(is_failure), lease_until=None, worker=None
        )
    )
    if queued.rowcount == 1:
        add_event(unit, job_claim.id, job_claim.attempt, "retried", why)
    return queued.rowcount == 1


SEARCH_SHARE = 0.8
"""Part of the time of a job after which a repair ends its search, so that what it has found is not lost with it."""
ANOTHER = "is not the table of the audit; name that table, or submit a separate repair"
GONE = "was erased before the audit began; upload it again and submit a new audit"


def order_of(unit: Unit, job_claim: JobClaim) -> JobOrder:
    """Return what the process of a job is asked.

    Raises:
        ConflictError: something that it needs was erased.
        UnavailableError: a key cannot be unsealed.
    """
    return ORDERS[job_claim.kind](unit, job_claim.subject_id)


def _inspect_model(unit: Unit, version_id: str) -> JobOrder:
    return JobOrder(kind="inspect_model", model=_version(unit, version_id))


INSPECTING: Mapping[str, Literal["inspect_table", "inspect_output", "inspect_dictionary"]] = {
    "records": "inspect_table",
    "output": "inspect_output",
    "dictionary": "inspect_dictionary",
}
"""What is asked of a process, by what the file of a table holds."""


def _inspect_table(unit: Unit, table_id: str) -> JobOrder:
    holds = unit.connection.execute(
        select(data_table.c.holds).where(data_table.c.id == table_id)
    ).scalar_one()
    return JobOrder(kind=INSPECTING[holds], table=_table(unit, table_id))


def _compare(unit: Unit, comparison_id: str) -> JobOrder:
    found = unit.connection.execute(
        select(comparison).where(comparison.c.id == comparison_id)
    ).one()
    return JobOrder(
        kind="compare",
        model=_version(unit, found.from_version_id),
        other=_version(unit, found.to_version_id),
    )


def _audit(unit: Unit, audit_id: str) -> JobOrder:
    found = unit.connection.execute(
        select(audit, model.c.name.label("model_name"), organisation.c.keeps_profiles)
        .join(model_version, model_version.c.id == audit.c.model_version_id)
        .join(model, model.c.id == model_version.c.model_id)
        .join(organisation, organisation.c.id == audit.c.organisation_id)
        .where(audit.c.id == audit_id)
    ).one()
    _check_same_table(unit, found)
    return JobOrder(
        kind=found.kind,
        model=_version(unit, found.model_version_id),
        table=None if found.data_table_id is None else _table(unit, found.data_table_id),
        further=_further_files(unit, found),
        model_name=found.model_name,
        pack=_pack(unit, found),
        pack_name=found.pack_name,
        knowledge=found.knowledge,
        waivers=waivers_of(unit, found.waivers).decode() if found.waivers else "",
        options=found.options,
        purpose=found.purpose,
        today=unit.now.date().isoformat(),
        is_internal=found.keeps_profiles,
        limits=SearchLimits(
            seconds=unit.site.settings.child_seconds * SEARCH_SHARE,
            tries_all=bool(found.tries_all),
        ),
    )


def _further_files(unit: Unit, audit_row: Row[Any]) -> FurtherFiles:
    """Return the files of an audit beside model and table."""
    rows = unit.connection.execute(
        select(audit_file.c.data_table_id, data_table.c.holds)
        .join(data_table, data_table.c.id == audit_file.c.data_table_id)
        .where(audit_file.c.audit_id == audit_row.id)
        .order_by(audit_file.c.n)
    ).all()
    files = [(row.holds, _table(unit, row.data_table_id)) for row in rows]
    return FurtherFiles(
        candidates=None if audit_row.register_id is None else _table(unit, audit_row.register_id),
        outputs=tuple(file for holds, file in files if holds == "output"),
        dictionary=next((file for holds, file in files if holds == "dictionary"), None),
        domain=audit_row.domain,
    )


def _check_same_table(unit: Unit, job_row: Row[Any]) -> None:
    """Refuse a repair of an audit with another table: what it says would be of other people."""
    if job_row.original_audit_id is None or job_row.data_table_id is None:
        return
    rows = unit.connection.execute(
        select(data_table.c.digest, data_table.c.file_name, audit.c.id)
        .join(audit, audit.c.data_table_id == data_table.c.id)
        .where(audit.c.id.in_((job_row.original_audit_id, job_row.id)))
    ).all()
    if len({row.digest for row in rows}) > 1:
        name = next(row.file_name for row in rows if row.id == job_row.id)
        raise ConflictError(name, ANOTHER)


def _version(unit: Unit, version_id: str) -> SealedFile:
    found = unit.connection.execute(
        select(
            blob,
            model_version.c.file_name,
            model_version.c.state.label("version_state"),
            model_version.c.problem,
        )
        .join(blob, blob.c.id == model_version.c.blob_id)
        .where(model_version.c.id == version_id)
    ).one()
    if found.version_state == "refused":
        raise ConflictError(found.file_name, f"cannot be read: {found.problem}")
    return _sealed(unit, found, found.file_name)


def _table(unit: Unit, table_id: str) -> SealedFile | PlainFile:
    found = unit.connection.execute(select(data_table).where(data_table.c.id == table_id)).one()
    settings = unit.site.settings
    if found.erased_at is not None:
        raise ConflictError(found.file_name, GONE)
    if found.state == "refused":
        raise ConflictError(found.file_name, f"cannot be read: {found.problem}")
    if found.kind == "path":
        return PlainFile(
            path=found.path,
            roots=roots_of(unit, found.organisation_id),
            most=most_of_table(settings, found.holds),
            name=found.file_name,
            digest=found.digest,
        )
    kept = unit.connection.execute(select(blob).where(blob.c.id == found.blob_id)).one()
    return _sealed(unit, kept, found.file_name)


def _sealed(unit: Unit, job_row: Row[Any], name: str) -> SealedFile:
    if job_row.sealed_key is None:
        raise ConflictError(name, GONE)
    return SealedFile(
        blob_id=job_row.id,
        key=unit.site.vault.unseal(job_row.sealed_key).hex(),
        name=name,
        digest=job_row.digest,
    )


def _pack(unit: Unit, job_row: Row[Any]) -> str:
    if job_row.pack_version_id is None:
        file = resources.files("treewarden.policies") / "packs" / f"{job_row.pack_name}.toml"
        return file.read_text("utf-8")
    return str(
        unit.connection.execute(
            select(pack_version.c.toml).where(pack_version.c.id == job_row.pack_version_id)
        ).scalar_one()
    )


ORDERS = {
    "inspect_model": _inspect_model,
    "inspect_table": _inspect_table,
    "compare": _compare,
    "audit": _audit,
    "repair": _audit,
}
