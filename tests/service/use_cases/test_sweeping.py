import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta

import pytest
from sqlalchemy import insert, select, update

from tests.kit.service.tables import add, an_audit, ended, files, finish, put, rows
from treewarden.service.database.run_tables import audit, idempotency, job, log_entry, report
from treewarden.service.database.tables import blob, organisation, session, sign_in_failure
from treewarden.service.errors import ConflictError, NotFoundError, new_id
from treewarden.service.site import Site
from treewarden.service.use_cases.retention import (
    UNWRITTEN_SECONDS,
    erase_files,
    finish_with_tables,
    sweep,
)
from treewarden.service.use_cases.tables import claim_table


def test_files_without_a_row_go_when_they_are_old(site, ann):
    put(site, ann)
    stored = site.vault.put([b"whose transaction never ended"], 100)
    path = site.vault.path(stored.id, stored.digest)
    assert sweep(site).files == 0
    past = time.time() - UNWRITTEN_SECONDS - 1
    for each in files(site):
        os.utime(each, (past, past))
    assert sweep(site).files == 1
    assert not path.exists()
    assert len(files(site)) == 1


def test_a_file_whose_key_is_gone_goes_at_once(site, ann):
    table = add(site, ann)
    with site.unit() as unit:
        assert finish_with_tables(unit, table.id)
    assert len(files(site)) == 1
    assert sweep(site).files == 1
    assert not files(site)


def test_no_file_of_the_database_holds_a_key_that_was_erased(site, ann, tmp_path):
    if site.engine.dialect.name != "sqlite":
        pytest.skip("PostgreSQL keeps its files to itself")
    table = add(site, ann)
    key = rows(site, blob)[0].sealed_key
    assert any(key in path.read_bytes() for path in tmp_path.glob("treewarden.db*"))
    finish(site, table.id)
    sweep(site)
    assert not any(key in path.read_bytes() for path in tmp_path.glob("treewarden.db*"))


def test_reports_go_when_they_are_older_than_is_wanted(site, ann):
    an_audit(site, ann, None)
    for days in (29, 31):
        stored = site.vault.put([b"report %d" % days], 100)
        with site.unit() as unit:
            audited = unit.connection.execute(select(audit.c.id)).scalar_one()
            at = unit.now - timedelta(days=days)
            common = {"organisation_id": ann.organisation_id, "created_at": at}
            row = {"id": stored.id, "digest": stored.digest, "size": stored.size}
            row |= {"kind": "report", "sealed_key": stored.sealed_key}
            unit.connection.execute(insert(blob).values(**common, **row))
            row = {"id": new_id(), "audit_id": audited, "kind": "public", "form": str(days)}
            unit.connection.execute(insert(report).values(**common, **row, blob_id=stored.id))
    assert sweep(site).reports == 1
    assert [row.form for row in rows(site, report)] == ["29"]
    assert len(files(site)) == 2
    with site.unit() as unit:  # as long as can be said
        unit.connection.execute(update(organisation).values(report_days=2**31 - 1))
    assert sweep(site).reports == 0


def test_sessions_and_answers_and_failures_have_their_time(site, ann):
    with site.unit() as unit:
        for age in (timedelta(minutes=5), timedelta(hours=25)):
            at, one = unit.now - age, str(age.days) * 20
            row = {"id": new_id(), "hash": one, "account_id": ann.account_id, "created_at": at}
            until = at + timedelta(hours=12)
            unit.connection.execute(insert(session).values(**row, expires_at=until))
            row = {"id": new_id(), "name_hash": one, "created_at": at}
            unit.connection.execute(insert(sign_in_failure).values(**row))
            row = {"organisation_id": ann.organisation_id, "account_id": ann.account_id}
            row |= {"key": one, "request_hash": "", "created_at": at}
            unit.connection.execute(insert(idempotency).values(**row))
    sweep(site)
    with site.reading() as unit:
        for column in (session.c.hash, sign_in_failure.c.name_hash, idempotency.c.key):
            assert unit.connection.execute(select(column)).scalars().all() == ["0" * 20]


def test_an_organisation_is_told_in_its_log_what_went(site, ann):
    finish(site, add(site, ann).id)
    told = [row.action for row in rows_of_log(site)]
    assert told == ["blob.uploaded", "table.added", "table.erased"]


def rows_of_log(site):
    with site.reading() as unit:
        return unit.connection.execute(select(log_entry).order_by(log_entry.c.seq)).all()


def test_many_may_upload_finish_and_sweep_at_once(site, ann):
    """Neither a row nor a file is left with half of what belongs to it, and nobody waits for another in a circle."""
    eager = Site(site.settings.model_copy(update={"table_hours": 1e-7}), site.engine, site.vault)

    def one(n):
        if n % 4 == 0:
            sweep(site)
            return
        table = None
        while table is None:
            with suppress(NotFoundError):  # another audit of the same bytes has just ended
                table = add(site, ann, b"the same %d" % (n % 2))
        if n % 4 == 1:
            put(eager, ann, b"late %d" % (n % 2))
        with site.unit() as unit:
            erased = finish_with_tables(unit, table.id)
        erase_files(site, erased)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(one, range(48)))
    with site.unit() as unit:
        unit.connection.execute(update(blob).values(expires_at=unit.now - timedelta(hours=1)))
    sweep(site)
    assert not files(site)
    assert all(row.sealed_key is None for row in rows(site, blob))


def test_an_audit_that_ends_twice_erases_once(site, ann):
    table = add(site, ann)
    ended(site, an_audit(site, ann, table.id))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: finish(site, table.id), range(4)))
    assert sorted(map(len, found)) == [0, 0, 0, 1]


def test_a_table_that_an_audit_is_asked_for_is_not_erased_by_one_that_ends(site, ann):
    """Whichever comes first, the other one sees it."""

    def asked_for(job_id, table_id):
        try:
            with site.unit() as unit:
                claim_table(unit, ann, table_id)
                unit.connection.execute(
                    update(job).where(job.c.id == job_id).values(state="queued")
                )
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        for n in range(12):
            table = add(site, ann, b"table %d" % n)
            job_id = an_audit(site, ann, table.id)
            ended(site, job_id)
            asking = pool.submit(asked_for, job_id, table.id)
            finishing = pool.submit(finish, site, table.id)
            assert asking.result() != bool(finishing.result())
