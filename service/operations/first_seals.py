"""Seals for what was written before there were seals: of all that agrees with the log, and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Table, select, update

from treewarden.service.cases.contradictions import (
    contradicted_audits,
    contradicted_releases,
    seal_audit,
)
from treewarden.service.cases.log import check_log
from treewarden.service.database.tables import (
    audit,
    log_entry,
    organisation,
    release,
    review,
    waiver,
)
from treewarden.service.ledger.log import record, seal_head
from treewarden.service.ledger.seals import seal_of
from treewarden.service.operations.health import check_key
from treewarden.service.site import Site, Unit

FIRST_LEVEL = "0004"
"""The level that brought seals."""


def seal_older(site: Site, before: str | None) -> int:
    """Seal what a database of an older level holds, and return how many rows that are.

    An organisation whose log does not hold is left as it is: nothing of it passes a gate until it is audited anew.

    Raises:
        SetupError: the key file is not the one that this database began with.
    """
    if before is None or before >= FIRST_LEVEL:
        return 0
    check_key(site)
    number = 0
    with site.unit() as unit:
        for each in unit.connection.execute(select(organisation.c.id)).scalars().all():
            seal_head(unit, each)
            if check_log(unit, each).holds:
                sealed = _seal_rows(unit, each)
                record(unit, each, "database.sealed", "organisation", each, {"rows": sealed})
                number += sealed
    return number


def _seal_rows(unit: Unit, organisation_id: str) -> int:
    audits = _ids(unit, organisation_id, audit)
    for each in audits:
        seal_audit(unit, each)
    _seal_waivers(unit, organisation_id)
    for table in (release, review):
        for row in unit.connection.execute(
            select(table).where(table.c.organisation_id == organisation_id)
        ).all():
            seal = seal_of(unit.site, table.name, row._mapping)
            unit.connection.execute(update(table).where(table.c.id == row.id).values(seal=seal))
    releases = _ids(unit, organisation_id, release)
    for table, contradicted in (
        (audit, contradicted_audits(unit, audits)),
        (release, contradicted_releases(unit, releases)),
    ):
        its = table.c.id.in_(contradicted)
        unit.connection.execute(update(table).where(its).values(seal=None))
    return len(audits) + len(releases)


def _seal_waivers(unit: Unit, organisation_id: str) -> None:
    """Seal waivers whose state is the one that the log tells of last."""
    said = {
        row.object_id: row.action.removeprefix("waiver.")
        for row in unit.connection.execute(
            select(log_entry.c.object_id, log_entry.c.action)
            .where(
                log_entry.c.organisation_id == organisation_id,
                log_entry.c.object_kind == "waiver",
            )
            .order_by(log_entry.c.seq)
        )
    }
    its = waiver.c.organisation_id == organisation_id
    for row in unit.connection.execute(select(waiver).where(its)).all():
        if said.get(row.id) == row.state:
            seal = seal_of(unit.site, "waiver", row._mapping)
            unit.connection.execute(update(waiver).where(waiver.c.id == row.id).values(seal=seal))


def _ids(unit: Unit, organisation_id: str, table: Table) -> Sequence[str]:
    its = table.c.organisation_id == organisation_id
    if table is audit:
        its &= audit.c.state == "done"
    return unit.connection.execute(select(table.c.id).where(its)).scalars().all()
