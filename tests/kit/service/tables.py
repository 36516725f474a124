"""Uploads, tables and audits of them, as tests need them: rows and files that use cases would leave."""

import hashlib

import anyio
from sqlalchemy import insert, select, update

from treewarden.service.database.run_tables import audit, job
from treewarden.service.database.tables import model, model_version
from treewarden.service.errors import new_id
from treewarden.service.schemas.models import NewTable
from treewarden.service.use_cases.blobs import claim_blob, put_blob
from treewarden.service.use_cases.retention import erase_files, finish_with_tables
from treewarden.service.use_cases.tables import add_table

DATA = b"age,sick\n" + b"41,canary-7f3\n" * 9000


def digest(data):
    return hashlib.sha256(data).hexdigest()


def put(site, who, data=DATA, kind="table", said=None):
    async def chunks():
        for start in range(0, len(data), 1000):
            yield data[start : start + 1000]

    return anyio.run(put_blob, site, who, said or digest(data), kind, chunks())


def add(site, who, data=DATA):
    put(site, who, data)
    with site.unit() as unit:
        return add_table(unit, who, NewTable(digest=digest(data), file_name="people.csv"))


def files(site):
    return [path for path in site.vault.folder.rglob("*") if path.is_file()]


def rows(site, table):
    with site.reading() as unit:
        return unit.connection.execute(select(table).order_by(table.c.id)).all()


def finish(site, table_id):
    with site.unit() as unit:
        erased = finish_with_tables(unit, table_id)
    erase_files(site, erased)
    return erased


def an_audit(site, who, table_id, kind="audit", state="running"):
    """Write the rows of an audit of a table, and return the id of its job."""
    put(site, who, b"model", "model")
    made, version, audited, job_id = (new_id() for _ in range(4))
    with site.unit() as unit:
        kept = claim_blob(unit, who, digest(b"model"), "model")
        common = {"organisation_id": who.organisation_id, "created_at": unit.now}
        for table, values in (
            (model, {"id": made, "name": made, "created_by": who.account_id}),
            (
                model_version,
                {"id": version, "model_id": made, "n": 1, "blob_id": kept.id}
                | {"digest": kept.digest, "size": kept.size, "file_name": "m", "state": "ready"}
                | {"uploaded_by": who.account_id},
            ),
            (
                audit,
                {"id": audited, "kind": kind, "model_version_id": version}
                | {"data_table_id": table_id, "pack_name": "p", "pack_digest": "0" * 64}
                | {"options": {}, "waivers": [], "created_by": who.account_id, "state": state},
            ),
            (job, {"id": job_id, "kind": kind, "subject_id": audited, "state": state}),
        ):
            unit.connection.execute(insert(table).values(**common, **values))
    return job_id


def ended(site, job_id, state="done"):
    with site.unit() as unit:
        unit.connection.execute(update(job).where(job.c.id == job_id).values(state=state))
