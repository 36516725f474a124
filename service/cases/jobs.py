"""Jobs as others end them: cancelled before or while they are done."""

from __future__ import annotations

from sqlalchemy import select, update

from service.cases.erasing import Erased, finish_with_table
from service.cases.queueing import add_event
from service.database.tables import audit, job
from service.errors import ConflictError
from service.ledger.events import Event, emit
from service.ledger.log import record
from service.site import Unit

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
            select(audit.c.data_table_id, audit.c.keeps_table).where(audit.c.id == found.subject_id)
        ).one()
        stays = asked.keeps_table and found.kind == "repair"
        table_id = None if stays else asked.data_table_id
        # The table's row is locked before the log is, as everybody does: else two could wait for each other.
        erased = () if table_id is None else finish_with_table(unit, table_id)
        cancel_audit(unit, found.organisation_id, found.subject_id)
        return erased
    if found.state != "running":
        raise ConflictError("audit", f"is {found.state} already; there is nothing to cancel")
    unit.connection.execute(update(job).where(job.c.id == job_id).values(cancel_requested=True))
    return ()


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
