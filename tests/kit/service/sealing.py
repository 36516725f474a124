"""Seals what a test wrote into a database by itself, as if the service had written it."""

from sqlalchemy import select, update

from treewarden.service.database.run_tables import audit
from treewarden.service.database.tables import release, review, waiver
from treewarden.service.ledger.log import record, seal_of
from treewarden.service.use_cases.contradictions import seal_audit


def seal_all(site):
    """Seal every verdict, release, review and waiver as it stands, and have the log tell of it."""
    with site.unit() as unit:
        for table in (review, waiver, release):
            for row in unit.connection.execute(select(table)).all():
                seal = seal_of(site, table.name, row._mapping)
                of = update(table).where(table.c.id == row.id)
                unit.connection.execute(of.values(seal=seal))
                if table is release:
                    action = f"release.{'opened' if row.state == 'open' else row.state}"
                    record(unit, row.organisation_id, action, "release", row.id, {"seal": seal})
        for row in unit.connection.execute(select(audit).where(audit.c.state == "done")).all():
            logged = {"verdict": row.verdict, "seal": seal_audit(unit, row.id)}
            record(unit, row.organisation_id, f"{row.kind}.done", "audit", row.id, logged)
