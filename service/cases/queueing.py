"""Jobs as others ask for them: queued in the transaction of what they are about."""

from __future__ import annotations

from sqlalchemy import func, insert, select

from treewarden.service.database.tables import job, job_event
from treewarden.service.ids import new_id
from treewarden.service.site import Unit


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
