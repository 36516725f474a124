import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, event, select, text, update
from sqlalchemy.pool import NullPool

from tests.kit.processes import wait_for_end
from tests.kit.service import children
from tests.kit.service import work_to_do as make
from tests.kit.service.serving import until
from treewarden.service.database.run_tables import (
    audit,
    finding,
    job_event,
    log_entry,
    proposal,
    report,
)
from treewarden.service.database.tables import blob, data_table, model, model_version
from treewarden.service.errors import UnavailableError
from treewarden.service.schemas.audits import Taking
from treewarden.service.schemas.models import NewVersion
from treewarden.service.use_cases.models import add_version
from treewarden.service.use_cases.repairs import take_proposal
from treewarden.service.use_cases.retention import sweep
from treewarden.service.worker.leases import MOST_ATTEMPTS, Lease, claim, renew
from treewarden.service.worker.orders import JobAnswer, KeptFile, Proposed
from treewarden.service.worker.store_results import commit, store
from treewarden.service.worker.supervising import supervise

ANSWER = JobAnswer(
    verdict="PASS", headline="all is well", kept=(KeptFile(kind="public", form="html"),)
)
FILES = (b"<p>all is well</p>",)
REPAIRED = JobAnswer(
    verdict="PASS",
    kept=(KeptFile(kind="repaired", form="1"),),
    proposals=(
        Proposed(
            name="prune",
            title="prune",
            remedies=("prune",),
            verdict="PASS",
            is_recommended=True,
            cost={},
            failing=(),
            problem="",
            file_name="illness-repaired.pmml",
        ),
    ),
)
WORKER = """
import sys
from treewarden.service.worker.working import stop_at_signals
from treewarden.service.worker.leases import claim
from treewarden.service.worker.supervising import supervise
from treewarden.service.settings import Settings
from treewarden.service.site import open_site
from tests.kit.processes import wait_for_end
from tests.kit.service import children

if __name__ == "__main__":
    stop = stop_at_signals()
    site = open_site(Settings(data_dir=sys.argv[1], database=sys.argv[2]))
    with site.unit() as unit:
        found = claim(unit, "test", 30)
    supervise(site, found, children.Instead(children.sleeps), stop)
"""


@pytest.fixture
def asked(site, ann):
    return make.queue_audit(site, ann, make.add_version(site, ann), make.add_upload(site, ann))


def claimed(site, lease=30.0, worker="one"):
    with site.unit() as unit:
        return claim(unit, worker, lease)


def files_of(site):
    return {path for path in site.vault.folder.rglob("*") if path.is_file()}


def rows_of(site, table):
    with site.reading() as unit:
        return unit.connection.execute(select(table)).all()


def gone(site, audit_id):
    """Whether the table of an audit is gone, with its key and its file."""
    table = make.read_row(site, data_table, make.read_row(site, audit, audit_id).data_table_id)
    kept = make.read_row(site, blob, table.blob_id)
    is_file = site.vault.path(kept.id, kept.digest).exists()
    return (table.state, kept.sealed_key, is_file) == ("erased", None, False)


def goes_in_time(site, audit_id):
    """Whether the table of an audit that ended in an error stays, and is gone after its hours."""
    if gone(site, audit_id):
        return False
    with site.unit() as unit:
        past = unit.now - timedelta(seconds=1)
        unit.connection.execute(update(data_table).values(expires_at=past))
    sweep(site)
    return gone(site, audit_id)


def begun_process(site, job_id):
    """Wait for the process of a job to tell its number."""
    found = []

    def is_told():
        with site.reading() as unit:
            found[:] = unit.connection.execute(
                select(job_event.c.text).where(
                    job_event.c.job_id == job_id, job_event.c.kind == "stage"
                )
            ).scalars()
        return bool(found)

    until(is_told)
    return int(found[-1])


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def a_worker(site):
    url = site.engine.url.render_as_string(hide_password=False)
    return subprocess.Popen(  # nothing that it starts may hold the output of the tests
        [sys.executable, "-c", WORKER, str(site.settings.data_dir), url],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def test_a_lease_that_holds_is_nobody_elses(site, asked):
    assert claimed(site) is not None
    assert claimed(site) is None


def test_a_lost_lease_is_taken_over_and_the_late_result_is_fenced_off(site, asked):
    late, other = claimed(site, -1.0), claimed(site, worker="two")
    assert (late.id, late.attempt, other.attempt) == (other.id, 1, 2)
    with site.unit() as unit:
        assert renew(unit, late, 30.0) is Lease.LOST
    before, logged = files_of(site), rows_of(site, log_entry)
    kept = store(site, ANSWER, FILES)
    assert files_of(site) != before
    assert not commit(site, late, ANSWER, kept)
    assert files_of(site) == before
    assert rows_of(site, log_entry) == logged
    assert not rows_of(site, report) + rows_of(site, finding)
    assert make.read_row(site, audit, asked).state != "done"
    assert not gone(site, asked)
    assert commit(site, other, ANSWER, store(site, ANSWER, FILES))
    found = make.read_row(site, audit, asked)
    assert (found.state, found.verdict, found.result_attempt) == ("done", "PASS", 2)
    assert len(rows_of(site, report)) == 1
    assert gone(site, asked)


def test_a_result_that_was_taken_unheard_is_kept_once_with_its_files(site, asked):
    held = claimed(site)
    kept = store(site, ANSWER, FILES)
    assert commit(site, held, ANSWER, kept)
    before = files_of(site)
    assert commit(site, held, ANSWER, kept)  # as it is asked again by who lost the connection
    assert files_of(site) == before
    assert len(rows_of(site, report)) == 1


def test_a_connection_lost_at_commit_is_tried_again(site, asked):
    if site.engine.dialect.name != "postgresql":
        pytest.skip("SQLite has no connection to lose")
    held, left = claimed(site), [1]
    kept = store(site, ANSWER, FILES)

    @event.listens_for(site.engine, "commit")
    def lose(connection):
        if left:
            left.pop()
            own = connection.connection.dbapi_connection.info.backend_pid
            _terminate(site, own)

    with pytest.raises(UnavailableError):
        commit(site, held, ANSWER, kept)
    assert make.read_row(site, audit, asked).state == "queued"
    assert commit(site, held, ANSWER, kept)
    assert make.read_row(site, audit, asked).state == "done"
    assert gone(site, asked)


def _terminate(site, pid=None):
    engine = create_engine(site.engine.url, poolclass=NullPool)
    words = "pid = :pid" if pid else "datname = current_database() AND pid <> pg_backend_pid()"
    with engine.connect() as connection:
        connection.execute(
            text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {words}"),
            {"pid": pid} if pid else {},
        )


def test_connections_lost_during_an_audit_do_not_end_it(site, asked):
    if site.engine.dialect.name != "postgresql":
        pytest.skip("SQLite has no connection to lose")
    context = children.Instead(children.answers_when_told)
    thread = threading.Thread(target=make.do_next, args=(site, context))
    thread.start()
    pid = begun_process(site, make.read_jobs(site, asked)[0].id)
    _terminate(site)
    os.kill(pid, signal.SIGUSR1)
    thread.join()
    assert make.read_row(site, audit, asked).state == "done"


def test_a_job_that_takes_its_workers_down_ends_with_words(site, asked):
    for _ in range(MOST_ATTEMPTS):
        assert claimed(site, -1.0) is not None
    assert make.do_next(site)
    found = make.read_row(site, audit, asked)
    assert (found.state, found.verdict, found.exit_code) == ("error", None, 4)
    assert "its worker stopped responding 5 times" in found.problem
    assert goes_in_time(site, asked)


@pytest.mark.processes
def test_a_killed_worker_takes_the_process_of_its_job_along(site, asked):
    with a_worker(site) as worker:
        pid = begun_process(site, make.read_jobs(site, asked)[0].id)
        assert is_alive(pid)
        worker.kill()
        worker.wait()
    wait_for_end(pid)
    assert make.read_jobs(site, asked)[0].state == "running"  # until its lease runs out


@pytest.mark.processes
def test_a_stopped_worker_gives_its_job_back_and_no_failure_is_counted(site, asked):
    with a_worker(site) as worker:
        pid = begun_process(site, make.read_jobs(site, asked)[0].id)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait() == 0
    assert not is_alive(pid)
    found = make.read_jobs(site, asked)[0]
    assert (found.state, found.failures, found.attempt) == ("queued", 0, 1)
    assert not gone(site, asked)


def test_a_worker_stopped_while_it_holds_a_job_counts_nothing(site, asked):
    stop = threading.Event()
    stop.set()
    for _ in range(3):
        supervise(site, claimed(site), children.Instead(children.sleeps), stop)
    found = make.read_jobs(site, asked)[0]
    assert (found.state, found.failures, found.attempt) == ("queued", 0, 3)


def test_a_proposal_that_is_taken_waits_for_the_number_of_another_version(site, ann):
    if site.engine.dialect.name != "postgresql":
        pytest.skip("SQLite writes one transaction at a time")
    version, table = make.add_version(site, ann), make.add_upload(site, ann)
    asked = make.queue_audit(site, ann, version, table, "repair")
    assert commit(site, claimed(site), REPAIRED, store(site, REPAIRED, [b"<PMML/>"]))
    model_id = make.read_row(site, model_version, version).model_id
    _, digest = make.put_blob(
        site, ann, "model", make.write_tree({"north": (6, 6), "south": (3, 9)})
    )

    def take():
        with site.unit() as unit:
            return take_proposal(unit, ann, asked, 1, Taking(audits=False))

    with ThreadPoolExecutor() as pool:
        with site.unit() as unit:
            # as another one does that has begun to add a version, and is not through yet
            locked = select(model.c.id).where(model.c.id == model_id).with_for_update()
            unit.connection.execute(locked)
            taking = pool.submit(take)
            until(lambda: _waits(site))
            add_version(unit, ann, model_id, NewVersion(digest=digest, file_name="other.pmml"))
        assert taking.result().version.n == 3
    assert gone(site, asked)


def test_what_a_fenced_off_repair_proposes_is_not_kept(site, ann):
    version, table = make.add_version(site, ann), make.add_upload(site, ann)
    make.queue_audit(site, ann, version, table, "repair")
    before, late = files_of(site), claimed(site, lease=-1.0)
    assert commit(site, claimed(site), REPAIRED, store(site, REPAIRED, [b"<PMML/>"]))
    assert not commit(site, late, REPAIRED, store(site, REPAIRED, [b"<PMML>2</PMML>"]))
    assert len(rows_of(site, proposal)) == 1
    assert len(files_of(site) - before) == 1


def _waits(site):
    """Whether a connection to the database waits for what another has locked."""
    words = "datname = current_database() AND wait_event_type = 'Lock'"
    with site.reading() as unit:
        return unit.connection.execute(
            text(f"SELECT count(*) FROM pg_stat_activity WHERE {words}")
        ).scalar_one()
