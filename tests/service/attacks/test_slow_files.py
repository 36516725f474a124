"""Files that would keep a worker, and so everybody, waiting; and organisations that take more than their part."""

import hashlib
import multiprocessing
import threading
import time
from itertools import count
from types import SimpleNamespace

import pytest
from sqlalchemy import func, select, update

from tests.kit.service import sites, work_to_do
from tests.kit.service.children import Instead
from treewarden.service.database.run_tables import job
from treewarden.service.database.tables import blob, data_table
from treewarden.service.errors import new_id
from treewarden.service.settings import Settings
from treewarden.service.worker import supervising
from treewarden.service.worker.leases import claim
from treewarden.service.worker.orders import READ, receive, send
from treewarden.service.worker.sandbox import confine
from treewarden.service.worker.supervising import supervise


def reads_for_ever(connection, limits):
    """Be a process that never gets to the end of a file."""
    confine(limits)
    receive(connection)
    time.sleep(600)


@pytest.fixture(params=sites.KINDS)
def impatient(request, tmp_path):
    with sites.make_site(request.param, tmp_path, read_seconds=1, poll_seconds=0.1) as found:
        yield found


@pytest.fixture(params=sites.KINDS)
def small(request, tmp_path):
    with sites.make_site(
        request.param, tmp_path, max_waiting=2, max_tables=1, max_stored=1000
    ) as found:
        yield found


def claimed(site):
    with site.unit() as unit:
        return claim(unit, "test", 30.0)


def begun_by(site, who, kind):
    """Queue and claim a job of a kind, and return the claim and what it is about."""
    table = work_to_do.add_upload(site, who, state="reading")
    subject = table
    if kind == "inspect_table":
        with site.unit() as unit:
            work_to_do.queue_job(unit, who.organisation_id, kind, table)
    else:
        subject = work_to_do.queue_audit(site, who, work_to_do.add_version(site, who), table)
    return claimed(site), subject


@pytest.mark.parametrize("kind", ["inspect_table", "audit"])
def test_a_file_that_is_read_for_too_long_is_let_go_at_once_and_for_good(impatient, kind):
    who = sites.add_account(impatient, sites.add_organisation(impatient), "ann")
    found, subject = begun_by(impatient, who, kind)
    supervise(impatient, found, Instead(reads_for_ever), threading.Event())
    (ended,) = work_to_do.read_jobs(impatient, subject)
    assert ended.state == "error"
    assert "reading took longer than the limit of 1 seconds" in ended.problem
    assert "CSV or Parquet" in ended.problem


@pytest.mark.parametrize(("said", "is_let_go"), [(READ, False), ("reading the table", True)])
def test_what_was_read_in_time_may_take_as_long_as_an_audit(
    impatient, monkeypatch, said, is_let_go
):
    who = sites.add_account(impatient, sites.add_organisation(impatient), "ann")
    found, _ = begun_by(impatient, who, "audit")
    ours, theirs = multiprocessing.Pipe()
    send(theirs, {"stage": said})
    send(theirs, {"answer": {"problem": "the end"}})
    monkeypatch.setattr(supervising, "time", SimpleNamespace(monotonic=count(0, 0.3).__next__))
    lease = supervising._LeaseKeeper(impatient, found, threading.Event())
    ended = supervising._watched(impatient, found, None, ours, lease)
    assert (ended.answer is None) == is_let_go


def test_an_audit_of_a_table_that_was_refused_is_not_begun(site):
    who = sites.add_account(site, sites.add_organisation(site), "ann")
    found, subject = begun_by(site, who, "audit")
    with site.unit() as unit:
        unit.connection.execute(
            update(data_table).values(state="refused", problem="it is too slow")
        )
    supervise(site, found, Instead(reads_for_ever), threading.Event())
    (ended,) = work_to_do.read_jobs(site, subject)
    assert "cannot be read: it is too slow" in ended.problem


def test_organisations_take_turns_however_much_one_of_them_has_queued(site):
    people = [
        sites.add_account(site, sites.add_organisation(site, name), name)
        for name in ("big", "small")
    ]
    with site.unit() as unit:
        for number in (5, 2):
            who = people[0] if number == 5 else people[1]
            for _ in range(number):
                work_to_do.queue_job(unit, who.organisation_id, "inspect_table", new_id())
    order = [claimed(site).organisation_id for _ in range(7)]
    big, small = (who.organisation_id for who in people)
    assert set(order[:2]) == set(order[2:4]) == {big, small}
    assert order[4:] == [big] * 3


def test_who_has_a_job_running_lets_others_go_first(site):
    big = sites.add_account(site, sites.add_organisation(site, "big"), "bob")
    small = sites.add_account(site, sites.add_organisation(site, "small"), "sue")
    with site.unit() as unit:
        for who in (big, big, small):
            work_to_do.queue_job(unit, who.organisation_id, "inspect_table", new_id())
    first = claimed(site)
    assert claimed(site).organisation_id != first.organisation_id
    assert claimed(site).organisation_id == big.organisation_id
    assert claimed(site) is None


def test_a_job_whose_worker_is_gone_is_claimed_by_turns_too(site):
    who = sites.add_account(site, sites.add_organisation(site), "ann")
    with site.unit() as unit:
        for _ in range(2):
            work_to_do.queue_job(unit, who.organisation_id, "inspect_table", new_id())
    first = claimed(site)
    with site.unit() as unit:
        unit.connection.execute(
            update(job)
            .where(job.c.id == first.id)
            .values(lease_until=unit.now.replace(year=unit.now.year - 1))
        )
    again = claimed(site)
    assert (again.id, again.attempt) == (first.id, 2)


def test_jobs_that_wait_are_counted_by_organisation(small):
    who = sites.add_account(small, sites.add_organisation(small), "ann")
    other = sites.add_account(small, sites.add_organisation(small, "Other"), "eve")
    version = work_to_do.add_version(small, who)
    asked = {"model_version_id": version, "pack": "accurate", "options": {"sensitive": "illness"}}
    client = sites.open_client(small, who)
    assert [client.post("/api/v1/audits", json=asked).status_code for _ in range(2)] == [202, 202]
    refused = client.post("/api/v1/audits", json=asked)
    assert refused.status_code == 429
    assert "wait until some are done, or cancel audits" in refused.json()["detail"]
    mine = asked | {"model_version_id": work_to_do.add_version(small, other)}
    assert sites.open_client(small, other).post("/api/v1/audits", json=mine).status_code == 202


def test_tables_that_are_not_erased_are_counted_by_organisation(small):
    who = sites.add_account(small, sites.add_organisation(small), "ann")
    client = sites.open_client(small, who)
    digest = sent(client, b"place\nnorth\n").json()["digest"]
    assert client.post("/api/v1/tables", json={"digest": digest}).status_code == 202
    refused = client.post("/api/v1/tables", json={"digest": digest})
    assert refused.status_code == 429
    assert "erase some" in refused.json()["detail"]


def sent(client, data):
    digest = hashlib.sha256(data).hexdigest()
    return client.put(f"/api/v1/blobs/{digest}?kind=table", content=data)


@pytest.mark.parametrize("before", [0, 600])
def test_bytes_are_counted_by_organisation_and_nothing_of_more_is_kept(small, before):
    who = sites.add_account(small, sites.add_organisation(small), "ann")
    if before:
        work_to_do.put_blob(small, who, "report", bytes(before))
    client = sites.open_client(small, who)
    assert sent(client, bytes(1001 - before)).status_code == 413
    assert sent(client, bytes(1000 - before)).status_code == 201
    refused = sent(client, b"more")
    assert refused.status_code == 413
    assert "your organisation may store 0 more bytes, of 1,000" in refused.json()["detail"]
    with small.reading() as unit:
        kept = unit.connection.execute(select(func.sum(blob.c.size))).scalar_one()
    assert kept == 1000
    assert sum(len(page) for page in small.vault.store.files()) == 1 + bool(before)


def test_there_is_a_slot_for_each_processor_where_nothing_is_said(monkeypatch):
    monkeypatch.setattr("treewarden.service.settings.processors", lambda: 3)
    assert Settings().slots == 3
    monkeypatch.setattr("treewarden.service.settings.processors", lambda: 64)
    assert Settings().slots == 8
