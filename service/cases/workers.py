"""The processes that do jobs, and whether they were heard of lately."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import select

from treewarden.service.database.tables import job, worker
from treewarden.service.schemas.telling import Worker
from treewarden.service.site import Unit

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
