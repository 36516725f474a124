"""Who does which job: claimed for a while, kept by a heartbeat, and fenced by the number of the attempt.

A worker that dies loses its lease, and another one claims the job: with a higher attempt. Whoever comes back late holds
the lower number, and none of its writes finds a row any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

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

from treewarden.service.database.run_tables import job
from treewarden.service.database.tables import organisation
from treewarden.service.site import Unit
from treewarden.service.use_cases.jobs import add_event

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


def renew(unit: Unit, of: JobClaim, lease_seconds: float) -> Lease:
    """Say that the job is still being done; whoever has lost it stops."""
    found = unit.connection.execute(
        update(job)
        .where(job.c.id == of.id, job.c.attempt == of.attempt, job.c.state == "running")
        .values(lease_until=unit.now + timedelta(seconds=lease_seconds))
        .returning(job.c.cancel_requested)
    ).first()
    if found is None:
        return Lease.LOST
    return Lease.CANCELLED if found.cancel_requested else Lease.KEPT


def end(unit: Unit, of: JobClaim, state: str, problem: str = "") -> bool:
    """End a job, and return whether it was still this attempt's: if not, nothing in this transaction may stay.

    One that is to be cancelled finds nothing any more: it may rest on a table whose owner has erased it.
    """
    is_wanted = ~job.c.cancel_requested if state == "done" else true()
    ended = unit.connection.execute(
        update(job)
        .where(job.c.id == of.id, job.c.attempt == of.attempt, job.c.state == "running", is_wanted)
        .values(state=state, problem=problem, finished_at=unit.now, lease_until=None)
    )
    return ended.rowcount == 1


def give_back(unit: Unit, of: JobClaim, why: str, *, is_failure: bool = True) -> bool:
    """Queue a job once more, and return whether it was still this attempt's; a process that died is a failure."""
    queued = unit.connection.execute(
        update(job)
        .where(job.c.id == of.id, job.c.attempt == of.attempt, job.c.state == "running")
        .values(
            state="queued", failures=job.c.failures + int(is_failure), lease_until=None, worker=None
        )
    )
    if queued.rowcount == 1:
        add_event(unit, of.id, of.attempt, "retried", why)
    return queued.rowcount == 1
