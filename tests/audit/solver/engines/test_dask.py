"""Dask: the same answers as here; a worker that dies costs its own jobs, and a scheduler that does no answer at all."""

import operator
import os
import signal
import threading
import time
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from tests.audit.consistent_tables.side_by_side import FEW_WORLDS, made, said
from tests.audit.population.sent_over import FOREST, people, sent_by_others_too
from tests.audit.population.sent_over import said as said_of_trees
from tests.kit.cases import multiway_case
from tests.kit.clusters import dask_here
from tests.kit.processes import forever, wait_for_end
from treewarden.audit.consistent_tables import decide, portions
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.population import routing
from treewarden.audit.population.routing import sent
from treewarden.audit.solver import checkpoint
from treewarden.audit.system.system import build_system
from treewarden.audit.workers.clusters import dask
from treewarden.audit.workers.clusters.cluster import on_cluster
from treewarden.audit.workers.pool import WORKERS, Common, Pool, Worker, default_jobs
from treewarden.audit.workers.processes import each_done
from treewarden.policies.pack import load_pack
from treewarden.ppdm_models.errors import ClusterError, PolicyError

pytest.importorskip("distributed")
pytestmark = pytest.mark.cluster

EXIT = partial(os._exit, 1)


def nobody(text):
    raise AssertionError(text)


@pytest.fixture(scope="module")
def cluster():
    with dask_here(2) as found:
        yield found


@pytest.fixture
def pool():
    """Return a pool of its own, which no other test has jobs in."""
    found = Pool(Worker)
    yield found
    found.stop()


def squares(number):
    return [partial(pow, each, 2) for each in range(number)]


def test_each_worker_of_the_cluster_is_asked_and_answers_are_the_same(cluster, pool):
    with on_cluster(cluster.address, nobody, pool=pool):
        assert pool.size() == 2
        found = dict(each_done(squares(20), pool.size(), forever, pool))
    assert found == {each: each**2 for each in range(20)}
    assert not pool.is_elsewhere


def test_jobs_do_not_get_what_dask_sets_to_give_back_memory_at_once(cluster, pool):
    """It makes arrays nearly twice as slow."""
    with on_cluster(cluster.address, nobody, pool=pool):
        asked = [partial(os.getenv, name, "none") for name in ("MALLOC_TRIM_THRESHOLD_", "PATH")]
        found = dict(each_done(asked, 1, forever, pool))
    assert found == {0: "none", 1: os.environ["PATH"]}


def test_an_estimate_is_the_same_bytes_on_a_cluster(cluster, monkeypatch):
    monkeypatch.setattr(checkpoint, "WORTH_A_TASK", 0)
    monkeypatch.setattr(checkpoint, "WORTH_A_WORKER", 0)
    system = build_system(multiway_case(4, Knowledge(leaf="rates", split="entropy"), records=30))
    here, _ = estimate(system, AuditOptions(jobs=1))
    with on_cluster(cluster.address, nobody):
        assert default_jobs() == 2
        there, _ = estimate(system, AuditOptions())
    assert here.values.tobytes() == there.values.tobytes()
    assert not WORKERS.is_elsewhere


def test_what_went_wrong_in_dasks_own_tasks_is_not_told_after_the_end(cluster, caplog):
    engine = dask.connect(cluster.address)
    loop = engine.client.loop.asyncio_loop
    engine.close()
    loop.call_exception_handler({"message": "Task exception was never retrieved"})
    assert caplog.records == []


@pytest.mark.parametrize("case", [(2, "counts", "gini", 16, 300), (3, "counts", "gini", 12, 60)])
def test_what_whole_records_prove_is_the_same_bytes_on_a_cluster(cluster, monkeypatch, case):
    monkeypatch.setattr(decide, "PORTION_UNITS", 1e-9)
    ask = partial(reason, made(*case), budget_seconds=1000, tiers=FEW_WORLDS)
    here = said(ask())
    given = []
    each = portions.each_done
    monkeypatch.setattr(
        portions, "each_done", lambda jobs, *how: given.extend(jobs) or each(jobs, *how)
    )
    with on_cluster(cluster.address, nobody):
        there = said(ask(jobs=None))
    assert here == there
    assert len(given) > 10


def test_where_people_stop_in_a_forest_is_the_same_bytes_on_a_cluster(cluster, monkeypatch):
    monkeypatch.setattr(routing, "WORTH_A_WORKER", 0)
    monkeypatch.setattr(routing, "BATCH_STOPS", 1)
    crowd = people()
    here = said_of_trees(sent(FOREST, crowd))
    with on_cluster(cluster.address, nobody):
        there = said_of_trees(sent_by_others_too(crowd, None))
    assert here == there


def test_a_refusal_is_an_answer(cluster, pool, tmp_path):
    with on_cluster(cluster.address, nobody, pool=pool):
        jobs = [partial(load_pack, str(tmp_path / "none.toml"))]
        assert isinstance(dict(each_done(jobs, 2, forever, pool))[0], PolicyError)


def test_what_jobs_share_is_there_for_each(cluster, pool):
    common = Common(tuple(range(1000)))
    jobs = [partial(operator.attrgetter("value"), common)] * 4
    with on_cluster(cluster.address, nobody, pool=pool):
        found = dict(each_done(jobs, 2, forever, pool))
    assert found == dict.fromkeys(range(4), common.value)


def test_a_job_that_always_kills_its_process_is_lost_and_no_other_is(cluster, pool):
    jobs = [*squares(3), EXIT, *squares(3)]
    with on_cluster(cluster.address, nobody, pool=pool):
        found = dict(each_done(jobs, 2, forever, pool))
    assert found == {0: 0, 1: 1, 2: 4, 3: None, 4: 0, 5: 1, 6: 4}


def test_a_worker_killed_in_the_middle_of_its_job_loses_none(cluster, pool, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    jobs = [*squares(4), partial(pipe.read_bytes), *squares(4)]
    with (
        on_cluster(cluster.address, nobody, pool=pool),
        closing(each_done(jobs, 2, forever, pool)) as answers,
    ):
        found = dict([next(answers) for _ in range(8)])
        running, reading = cluster.workers(), processes_of_jobs(cluster)
        for pid in running:
            os.kill(pid, signal.SIGKILL)
        wait_for_end(*map(int, reading))
        writing = threading.Thread(target=pipe.write_bytes, args=(b"read",))
        writing.start()
        found |= dict(answers)
        writing.join()
    assert len(running) == 2
    assert found.pop(4) == b"read"
    assert len(found) == 8
    assert None not in found.values()


def command(pid):
    """Return the command of a process; nothing where it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def processes_of_jobs(cluster):
    """Return the processes on the cluster's workers that do jobs, or wait for one."""
    tasks = (task for pid in cluster.workers() for task in Path(f"/proc/{pid}/task").iterdir())
    children = (pid for task in tasks for pid in (task / "children").read_text().split())
    return [pid for pid in children if b"solver.worker" in command(pid)]


def test_when_nobody_listens_any_more_the_job_is_ended_on_its_worker(cluster, pool, tmp_path):
    said, began = tmp_path / "said", tmp_path / "began"
    shell = f"echo $$ > {said}; mv {said} {began}; exec sleep 60"
    jobs = [partial(abs, 1), partial(os.system, shell)]
    with on_cluster(cluster.address, nobody, pool=pool):
        until = time.monotonic() + 60
        left = lambda: 0.0 if began.exists() else until - time.monotonic()  # noqa: E731  # short
        assert 1 not in dict(each_done(jobs, 2, left, pool))
        asked = time.monotonic()
        assert dict(each_done(squares(4), 2, forever, pool))[3] == 9  # both workers are free again
        assert time.monotonic() - asked < 30  # the job would have gone on for longer
    assert b"sleep" not in command(began.read_text().strip())


def test_a_process_is_started_on_each_worker_before_a_job_comes(cluster, pool):
    with on_cluster(cluster.address, nobody, is_required=True, pool=pool):
        until = time.monotonic() + 60
        while len(processes_of_jobs(cluster)) < 2 and time.monotonic() < until:
            time.sleep(0.1)  # a process is called otherwise until it runs its own program
        assert len(processes_of_jobs(cluster)) == 2
        assert dict(each_done(squares(4), 2, forever, pool))[3] == 9
        assert len(processes_of_jobs(cluster)) == 2


def test_no_process_waits_on_the_cluster_for_who_has_left(cluster, pool):
    with on_cluster(cluster.address, nobody, pool=pool):
        assert dict(each_done(squares(4), 2, forever, pool))[3] == 9
        assert processes_of_jobs(cluster)
    assert not processes_of_jobs(cluster)


@pytest.mark.parametrize("is_required", [False, True])
def test_where_the_scheduler_goes_this_machine_takes_over_unless_a_cluster_is_required(
    pool, is_required
):
    told = []
    with (
        dask_here(1) as mine,
        on_cluster(mine.address, told.append, is_required=is_required, pool=pool),
    ):
        answers = each_done(squares(60), 2, forever, pool)
        found = dict([next(answers)])
        mine.scheduler.kill()
        if is_required:
            with pytest.raises(ClusterError, match="scheduler no longer answers"):
                list(answers)
        else:
            found |= dict(answers)
            assert found == {each: each**2 for each in range(60)}
            assert [mine.address in text for text in told] == [False]
            assert "This machine is used instead" in told[0]


def test_where_there_is_no_worker_for_long_this_machine_takes_over(cluster, pool, monkeypatch):
    monkeypatch.setattr(dask, "NO_WORKER_SECONDS", 0.5)
    monkeypatch.setattr(dask.Dask, "workers", lambda self: {})
    told = []
    with on_cluster(cluster.address, told.append, pool=pool):
        found = dict(each_done(squares(6), pool.size(), forever, pool))
    assert found == {each: each**2 for each in range(6)}
    assert len(told) == 1
    assert "no worker for 0.5 s" in told[0]
