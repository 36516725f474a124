"""Models, tables and audits as they are in the database, for tests of jobs to begin with."""

from __future__ import annotations

import json
import threading

from sqlalchemy import insert, select, update

from treewarden.service.database.run_tables import audit, job
from treewarden.service.database.tables import blob, data_table, model, model_version
from treewarden.service.errors import new_id
from treewarden.service.ledger.log import record
from treewarden.service.use_cases.contradictions import seal_audit
from treewarden.service.use_cases.jobs import queue_job
from treewarden.service.worker.leases import claim
from treewarden.service.worker.supervising import forking, supervise

CANARY = "canary-7f3a"


LEAVES = {"north": (6, 6), "south": (7, 5)}


def write_tree(leaves=LEAVES):
    """Return the bytes of a small model: one split on place, and counts of an illness in its leaves."""
    return _pmml(leaves)


def write_table(canary=CANARY, leaves=LEAVES):
    """Return the bytes of its table, with one column that nobody asked for."""
    rows = ["place,illness,remark"]
    for place, (yes, no) in leaves.items():
        rows += [f"{place},yes,{canary}"] * yes + [f"{place},no,{canary}"] * no
    return ("\n".join(rows) + "\n").encode()


def _pmml(leaves):
    parts = []
    total = [sum(counts[i] for counts in leaves.values()) for i in (0, 1)]
    for number, (place, (yes, no)) in enumerate(leaves.items(), start=1):
        score = "yes" if yes >= no else "no"
        parts.append(
            f'<Node id="{number}" score="{score}" recordCount="{yes + no}">'
            f'<SimplePredicate field="place" operator="equal" value="{place}"/>'
            f'<ScoreDistribution value="yes" recordCount="{yes}"/>'
            f'<ScoreDistribution value="no" recordCount="{no}"/></Node>'
        )
    values = "".join(f'<Value value="{place}"/>' for place in leaves)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary numberOfFields="2">'
        f'<DataField name="place" optype="categorical" dataType="string">{values}</DataField>'
        '<DataField name="illness" optype="categorical" dataType="string"><Value value="yes"/><Value value="no"/>'
        '</DataField></DataDictionary><TreeModel functionName="classification" splitCharacteristic="multiSplit">'
        '<MiningSchema><MiningField name="place"/><MiningField name="illness" usageType="target"/></MiningSchema>'
        f'<Node id="0" score="yes" recordCount="{sum(total)}"><True/>'
        f'<ScoreDistribution value="yes" recordCount="{total[0]}"/>'
        f'<ScoreDistribution value="no" recordCount="{total[1]}"/>{"".join(parts)}</Node></TreeModel></PMML>'
    ).encode()


def put_blob(site, who, kind, data):
    """Put bytes into the vault, and return the id of their blob and their digest."""
    stored = site.vault.put([data], 2**30)
    with site.unit() as unit:
        unit.connection.execute(
            insert(blob).values(
                id=stored.id,
                organisation_id=who.organisation_id,
                digest=stored.digest,
                size=stored.size,
                kind=kind,
                sealed_key=stored.sealed_key,
                created_at=unit.now,
            )
        )
    return stored.id, stored.digest


def add_version(site, who, data=None, name="illness.pmml"):
    """Return the id of a version of a new model, read already."""
    blob_id, digest = put_blob(site, who, "model", data or write_tree())
    made, of = new_id(), new_id()
    with site.unit() as unit:
        unit.connection.execute(
            insert(model).values(
                id=of,
                organisation_id=who.organisation_id,
                name=f"model {of}",
                created_by=who.account_id,
                created_at=unit.now,
            )
        )
        unit.connection.execute(
            insert(model_version).values(
                id=made,
                organisation_id=who.organisation_id,
                model_id=of,
                n=1,
                blob_id=blob_id,
                digest=digest,
                size=1,
                file_name=name,
                state="ready",
                uploaded_by=who.account_id,
                created_at=unit.now,
            )
        )
    return made


def add_upload(site, who, data=None, name="people.csv", state="ready"):
    """Return the id of a table that was uploaded."""
    blob_id, digest = put_blob(site, who, "table", data or write_table())
    made = new_id()
    with site.unit() as unit:
        unit.connection.execute(
            insert(data_table).values(
                id=made,
                organisation_id=who.organisation_id,
                kind="upload",
                blob_id=blob_id,
                file_name=name,
                digest=digest,
                state=state,
                uploaded_by=who.account_id,
                created_at=unit.now,
                expires_at=unit.now.replace(year=unit.now.year + 1),
            )
        )
    return made


def queue_audit(site, who, version_id, table_id, kind="audit", pack="accurate", **options):
    """Return the id of a queued audit."""
    made = new_id()
    with site.unit() as unit:
        unit.connection.execute(
            insert(audit).values(
                id=made,
                organisation_id=who.organisation_id,
                kind=kind,
                model_version_id=version_id,
                data_table_id=table_id,
                pack_name=pack,
                pack_digest="0" * 64,
                options={"sensitive": "illness", "worlds_budget": 1, **options},
                waivers=[],
                created_by=who.account_id,
                created_at=unit.now,
                state="queued",
            )
        )
        queue_job(unit, who.organisation_id, kind, made)
    return made


def end_audit(site, audit_id, verdict="PASS", **values):
    """End an audit with a verdict as a worker does: sealed, and in the log."""
    with site.unit() as unit:
        of = update(audit).where(audit.c.id == audit_id).returning(audit)
        values = {"state": "done", "verdict": verdict, "exit_code": 0, **values}
        found = unit.connection.execute(of.values(values)).one()
        logged = {"verdict": verdict, "seal": seal_audit(unit, audit_id)}
        record(unit, found.organisation_id, f"{found.kind}.done", "audit", audit_id, logged)
    return audit_id


def do_next(site, context=None):
    """Do the job that waits longest, as a worker would; return whether there was one."""
    with site.unit() as unit:
        found = claim(unit, "test", site.settings.lease_seconds)
    if found is None:
        return False
    supervise(site, found, context or forking(), threading.Event())
    return True


def do_all(site):
    """Do all jobs that wait, one after the other."""
    context = forking()
    while do_next(site, context):
        pass


def read_row(site, table, key):
    """Return a row by its id."""
    with site.reading() as unit:
        return unit.connection.execute(select(table).where(table.c.id == key)).one()


def read_jobs(site, subject_id):
    """Return the jobs about something."""
    with site.reading() as unit:
        return unit.connection.execute(select(job).where(job.c.subject_id == subject_id)).all()


def as_text(value):
    """Return a value as JSON, for a look at all of it."""
    return json.dumps(value, default=str)
