"""Jobs: queued in the transaction of what they are about, cancelled before or while they run; and the workers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Row, func, insert, select, update

from treewarden.service.database.run_tables import audit, job, job_event, worker
from treewarden.service.errors import ConflictError, new_id
from treewarden.service.ledger.log import Event, emit, record
from treewarden.service.schemas.people import Worker
from treewarden.service.site import Unit
from treewarden.service.use_cases.retention import (
    LIVE,
    Erased,
    finish_with_tables,
    tables_of_audit,
    uses_table,
)

# Queueing a job, in the transaction of what it is about.


def queue_job(unit: Unit, organisation_id: str, kind: str, subject_id: str) -> str:
    """Queue a job, and return its id; for the kinds, and what the subject is, see the table."""
    made = new_id()
    unit.connection.execute(
        insert(job).values(
            id=made,
            organisation_id=organisation_id,
            kind=kind,
            subject_id=subject_id,
            state="queued",
            created_at=unit.now,
        )
    )
    add_event(unit, made, 0, "queued", "waiting for a worker")
    return made


def add_event(unit: Unit, job_id: str, attempt: int, kind: str, text: str) -> None:
    """Write down what happened to a job, as its newest event."""
    last = unit.connection.execute(
        select(func.max(job_event.c.seq)).where(job_event.c.job_id == job_id)
    ).scalar()
    row = {"job_id": job_id, "seq": (last or 0) + 1, "attempt": attempt}
    unit.connection.execute(
        insert(job_event).values(**row, kind=kind, text=text[:500], at=unit.now)
    )


NO_AUDIT = 4


def cancel_job(unit: Unit, job_id: str) -> tuple[Erased, ...]:
    """Cancel a job: at once where it waits, else as soon as its worker hears of it; hand the result to ``erase_files``.

    Raises:
        ConflictError: it has ended already.
    """
    found = unit.connection.execute(select(job).where(job.c.id == job_id).with_for_update()).one()
    if found.state == "queued":
        unit.connection.execute(
            update(job)
            .where(job.c.id == job_id)
            .values(state="cancelled", cancel_requested=True, finished_at=unit.now)
        )
        add_event(unit, job_id, found.attempt, "cancelled", "cancelled before it began")
        if found.kind not in ("audit", "repair"):
            return ()
        asked = unit.connection.execute(
            select(audit.c.keeps_table).where(audit.c.id == found.subject_id)
        ).one()
        stays = asked.keeps_table and found.kind == "repair"
        # The tables' rows are locked before the log is, as everybody does: else two could wait for each other.
        erased = () if stays else finish_with_tables(unit, *tables_of_audit(unit, found.subject_id))
        cancel_audit(unit, found.organisation_id, found.subject_id)
        return erased
    if found.state != "running":
        raise ConflictError("audit", f"is {found.state} already, so it cannot be cancelled")
    unit.connection.execute(update(job).where(job.c.id == job_id).values(cancel_requested=True))
    return ()


def end_with_table(unit: Unit, table_id: str, account_id: str | None, why: str) -> tuple[str, ...]:
    """End the audits and repairs that wait for a table, and have those stopped that read it.

    Those are all, or what one account asked for. Those that waited end with an error, ``why``; those that run are
    cancelled, as nothing more may be read. Returns the ids of the audits that ended, for ``tell_ended``; the jobs are
    locked by ``lock_jobs_of`` before the table is.
    """
    ended = []
    for row in lock_jobs_of(unit, table_id):
        if account_id is not None and row.created_by != account_id:
            continue
        values: dict[str, Any] = {"problem": why}
        if row.state == "queued":
            values |= {"state": "error", "exit_code": NO_AUDIT, "finished_at": unit.now}
            of_job = {"state": "error", "problem": why, "finished_at": unit.now}
            add_event(unit, row.id, row.attempt, "error", why)
            ended.append(row.subject_id)
        else:
            of_job = {"cancel_requested": True}
        unit.connection.execute(update(job).where(job.c.id == row.id).values(**of_job))
        unit.connection.execute(update(audit).where(audit.c.id == row.subject_id).values(**values))
    return tuple(ended)


def tell_ended(unit: Unit, organisation_id: str, audit_ids: Iterable[str]) -> None:
    """Write into the log, and tell webhooks, that audits ended with an error; once all rows are locked."""
    for audit_id in audit_ids:
        told = {"state": "error", "verdict": None}
        record(unit, organisation_id, "audit.error", "audit", audit_id, told)
        emit(unit, organisation_id, Event.AUDIT_FINISHED, {"audit_id": audit_id, **told})


def lock_jobs_of(unit: Unit, table_id: str) -> Sequence[Row[Any]]:
    """Return the live jobs of the audits of a table, locked; jobs are always locked before tables are."""
    return unit.connection.execute(
        select(job, audit.c.created_by)
        .join(audit, audit.c.id == job.c.subject_id)
        .where(
            uses_table(table_id),
            job.c.state.in_(LIVE),
        )
        .order_by(job.c.id)
        .with_for_update(of=job)
    ).all()


def cancel_audit(unit: Unit, organisation_id: str, audit_id: str) -> None:
    """Write down that an audit was cancelled, so that there is none."""
    unit.connection.execute(
        update(audit)
        .where(audit.c.id == audit_id)
        .values(state="cancelled", exit_code=NO_AUDIT, finished_at=unit.now)
    )
    record(unit, organisation_id, "audit.cancelled", "audit", audit_id)
    payload = {"audit_id": audit_id, "state": "cancelled", "verdict": None}
    emit(unit, organisation_id, Event.AUDIT_FINISHED, payload)


# The workers, and whether they were heard of lately.

SILENT = 3
"""How many leases long a worker may be silent before it counts as gone."""


def list_workers(unit: Unit) -> tuple[Worker, ...]:
    """Return all workers, newest first; ``job`` names the kinds of jobs that one does now."""
    heard = unit.now - timedelta(seconds=SILENT * unit.site.settings.lease_seconds)
    doing: dict[str, list[str]] = {}
    for row in unit.connection.execute(
        select(job.c.worker, job.c.kind).where(job.c.state == "running").order_by(job.c.id)
    ):
        doing.setdefault(row.worker, []).append(row.kind)
    rows = unit.connection.execute(select(worker).order_by(worker.c.id.desc()))
    return tuple(
        Worker(
            id=row.id,
            name=row.name,
            slots=row.slots,
            version=row.version,
            started_at=row.started_at,
            seen_at=row.seen_at,
            is_alive=row.seen_at >= heard,
            job=", ".join(doing.get(row.name, [])),
        )
        for row in rows
    )
