"""Many processes: the same answers for any number, two retries for a worker that dies, none left behind."""

import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np
import pytest

from tests.kit.cases import curved_tasks, multiway_case
from treewarden.audit import run_tree
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.entropy.problem import blocks
from treewarden.audit.entropy.search import BEGINNING, EntropySearch
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.solver import checkpoint
from treewarden.audit.solver.block_solver import joined, solve_task
from treewarden.audit.solver.checkpoint import solve_all
from treewarden.audit.solver.task import SolverTask, TaskOutcome, no_answer
from treewarden.audit.system.system import build_system
from treewarden.audit.workers import pool
from treewarden.audit.workers.pool import WORKERS, Pool, Worker, done
from treewarden.audit.workers.processes import Call, JobBundle, JobQueue, each_done
from treewarden.ppdm_models.errors import SolverError


class _Recorder(EntropySearch):
    """Keeps the tasks that a search asks for."""

    def ask(self, asked):
        seen = list(asked)
        self.seen = [*getattr(self, "seen", []), *seen]
        return [solve_task(task) for task in seen]


def tasks() -> list[SolverTask]:
    found = []
    for seed in (0, 2, 4, 6):
        system = build_system(
            multiway_case(seed, Knowledge(leaf="rates", split="none", marginal=True), records=40)
        )
        search = _Recorder(system, AuditOptions(jobs=1))
        search.solve(blocks(system, tuple(search.knowledge), ()), BEGINNING)
        found += search.seen
    return found


@pytest.fixture
def workers(monkeypatch):
    """Let even small tasks go to workers, and end them afterwards."""
    monkeypatch.setattr(checkpoint, "WORTH_A_WORKER", 0)
    yield
    WORKERS.stop()


def test_answers_do_not_depend_on_the_number_of_processes(workers):
    asked = tasks()
    alone, shared = solve_all(asked, 1), solve_all(asked, 3)
    assert [one.z.tobytes() for one in alone] == [one.z.tobytes() for one in shared]
    assert all(one.is_accepted for one in alone)


def test_an_estimate_is_the_same_bytes_for_any_number_of_jobs(workers):
    system = build_system(multiway_case(4, Knowledge(leaf="rates", split="entropy"), records=30))
    one, _ = estimate(system, AuditOptions(jobs=1))
    three, _ = estimate(system, AuditOptions(jobs=3))
    assert one.values.tobytes() == three.values.tobytes()


def test_a_task_done_in_parts_has_the_answer_of_the_whole(monkeypatch):
    tasks = [*curved_tasks("gini"), *curved_tasks("entropy")]
    monkeypatch.setattr(import_module("treewarden.audit.solver.task"), "WORTH_HALVES", 0)
    for whole in tasks:
        small, large = replace(whole, share=0.5), replace(whole, share=0.51)
        assert (len(small.parts(2)), len(large.parts(1))) == (1, 1)
        one, parts = solve_task(large), [solve_task(part) for part in large.parts(2)]
        found = joined(large, parts)
        assert found.z.tobytes() == one.z.tobytes()
        assert (found.floor, found.outcome) == (one.floor, one.outcome)
        assert np.isinf(parts[0].floor)
        assert not parts[1].split.any()


@pytest.mark.parametrize("failed", [0, 1])
def test_where_a_part_fails_the_whole_is_solved(monkeypatch, failed):
    whole = replace(curved_tasks("gini")[0], share=1.0)
    monkeypatch.setattr(import_module("treewarden.audit.solver.task"), "WORTH_HALVES", 0)
    parts = [solve_task(part) for part in whole.parts(2)]
    parts[failed] = no_answer(whole, TaskOutcome.NOT_CONVERGED)
    assert joined(whole, parts).z.tobytes() == solve_task(whole).z.tobytes()


class _Here(Worker):
    """Does jobs in this process, and as `Worker` starts none; notes that it was asked."""

    def __init__(self):
        self.is_asked = threading.Event()

    def is_ready(self, wait_seconds=0.0):
        return True

    def ask(self, job):
        self.is_asked.set()
        return done(job)

    def end(self):
        pass


class _Dead(_Here):
    """Has died before it answers."""

    def ask(self, job):
        return None


@pytest.mark.parametrize(("deaths", "outcome"), [(2, TaskOutcome.SOLVED), (3, TaskOutcome.LOST)])
def test_a_worker_that_dies_is_replaced_twice_and_then_reported(deaths, outcome):
    task, started = tasks()[0], iter([*[_Dead] * deaths, *[_Here] * 2])
    call = Call(Pool(lambda: next(started)()))
    call.add(partial(solve_task, task))
    call.line.close()
    call.serve()
    assert checkpoint._answer(task, call.answers[0]).outcome is outcome


class _NeverReady(Worker):
    """Is no worker, but a process that waits for its input to end."""

    def __init__(self):
        super().__init__()
        self.end()
        command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_once_dismissed_no_worker_is_left_and_none_is_started():
    started = threading.Event()

    def start():
        started.set()
        return _NeverReady()

    call = Call(Pool(start))
    call.add(partial(solve_task, tasks()[0]))
    call.hire()
    assert started.wait(60), "no worker was started"
    with call.lock:  # held until the worker that was started is among them
        (worker,) = call.workers
    call.dismiss()
    assert call.finish() == [None]
    assert worker.process.poll() is not None
    assert call._entered(call.pool.start) is None


def test_nobody_waits_for_a_worker_that_never_gets_ready(workers):
    asked, pool = tasks(), Pool(_NeverReady)
    assert all(answer.is_accepted for answer in solve_all(asked, 2, pool))
    pool.stop()


def test_a_worker_killed_while_it_works_gives_no_answer():
    worker = Worker()
    threading.Timer(0.2, worker.kill).start()
    os.kill(worker.process.pid, signal.SIGSTOP)
    assert worker.ask(partial(solve_task, tasks()[0])) is None
    assert worker.process.wait() != 0
    worker.end()


def test_an_error_in_a_worker_is_raised_in_the_caller():
    error = SolverError("IPOPT", "return code 42 is not known; report this")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == "IPOPT: return code 42 is not known; report this"
    with pytest.raises(SolverError, match="return code 42"):
        checkpoint._answer(tasks()[0], copy)


def test_workers_that_did_whole_jobs_go_on_with_tasks(workers):
    started = []

    def start():
        started.append(Worker())
        return started[-1]

    asked, pool = tasks(), Pool(start)
    jobs = [partial(pow, 2, 1), partial(pow, 2, 2)]
    assert dict(each_done(jobs, 2, lambda: 3600.0, pool)) == {0: 2, 1: 4}
    before = len(started)
    assert all(answer.is_accepted for answer in solve_all(asked, 2, pool))
    assert len(started) == before
    pool.stop()
    assert all(worker.process.poll() is not None for worker in started)


def test_a_part_whose_processes_died_is_undecided_and_says_so(monkeypatch):
    pool = Pool(_Dead)
    monkeypatch.setattr(EntropySearch, "ask", lambda self, asked: _by_others(asked, pool))
    system = build_system(multiway_case(4, Knowledge(leaf="rates", split="entropy"), records=30))
    posterior, report = estimate(system, AuditOptions(jobs=2))
    assert report.status == "stalled"
    assert "three processes that solved it died" in report.reason
    assert not posterior.decided.all()


def _by_others(asked, pool):
    """Return the answers of workers alone: this process does nothing."""
    whole = list(asked)
    found = dict(each_done([partial(solve_task, each) for each in whole], 1, lambda: 9e9, pool))
    return [checkpoint._answer(task, found[number]) for number, task in enumerate(whole)]


def test_where_a_part_was_lost_the_whole_is_not_tried_in_this_process(monkeypatch):
    whole = replace(curved_tasks("gini")[0], share=1.0)
    monkeypatch.setattr(import_module("treewarden.audit.solver.task"), "WORTH_HALVES", 0)
    answers = [solve_task(whole), no_answer(whole, TaskOutcome.LOST)]
    for parts in (answers, answers[::-1]):
        assert joined(whole, parts).outcome is TaskOutcome.LOST


def test_a_deadline_travels_as_the_seconds_that_are_left():
    task = replace(tasks()[0], deadline=time.monotonic() + 1e6)
    left = pickle.loads(pickle.dumps(task)).deadline - time.monotonic()
    assert 0 < left <= 1e6
    assert pickle.loads(pickle.dumps(replace(task, deadline=np.inf))).deadline == np.inf


class _Takes(_Here):
    """Takes several jobs at once, and dies over those that would exit."""

    batch = 10.0

    def __init__(self, asked):
        super().__init__()
        self.asked = asked

    def ask(self, job):
        self.asked.append(job)
        jobs = job.jobs if isinstance(job, JobBundle) else (job,)
        return None if any(each.func is os._exit for each in jobs) else done(job)


def test_small_jobs_travel_together_and_one_that_kills_costs_no_other_its_answer():
    asked, deadly = [], partial(os._exit, 0)
    call = Call(Pool(lambda: _Takes(asked)))
    for job in [partial(abs, -1), deadly, *[partial(abs, -3)] * 7]:
        call.add(job, size=1.0)
    call.threads = [threading.current_thread()]
    call.line.close()
    call.serve()
    assert call.answers == {0: 1, 1: None} | dict.fromkeys(range(2, 9), 3)
    assert deadly in asked[0].jobs
    assert len(asked[0].jobs) > 2
    assert asked.count(deadly) == 2


def test_jobs_of_unknown_or_large_size_travel_alone():
    line = JobQueue()
    for number, size in enumerate((0.0, 0.0, 9.0, 2.0, 1.0)):
        line.put(number, size)
    assert line.beside(5.0, 1) == []
    assert line.take() == 2
    assert line.beside(2.5, 1) == [3]
    assert line.beside(5.0, 2) == []


def test_what_ran_out_of_time_is_undecided_and_says_so():
    system = build_system(multiway_case(4, Knowledge(leaf="rates", split="gini"), records=30))
    posterior, report = estimate(system, AuditOptions(time_limit=1e-9))
    assert report.status == "stalled"
    assert "out of time" in report.reason
    assert not posterior.decided.all()


def test_no_answer_is_never_accepted():
    task = tasks()[0]
    assert not any(
        no_answer(task, outcome).is_accepted
        for outcome in TaskOutcome
        if outcome is not TaskOutcome.SOLVED
    )


def test_workers_end_with_their_parent():
    code = (
        "from treewarden.audit.workers.pool import Worker\n"
        "worker = Worker()\n"
        "print(worker.process.pid, flush=True)\n"
        "import os; os._exit(0)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    with suppress(ProcessLookupError):  # it has ended already
        worker = os.pidfd_open(int(said.stdout))
        ended = select.select([worker], [], [], 60)[0]  # it can be read once the process is over
        os.close(worker)
        assert ended


def test_a_task_survives_the_way_to_a_worker():
    task = tasks()[0]
    copy = pickle.loads(pickle.dumps(task))
    np.testing.assert_array_equal(copy.program.rows.toarray(), task.program.rows.toarray())


def test_the_largest_task_that_waits_goes_first():
    line = JobQueue()
    for number, size in ((0, 3), (1, 9), (2, 3)):
        line.put(number, size)
    line.close()
    assert [line.take() for _ in range(4)] == [1, 0, 2, None]
    assert line.is_over


def test_a_worker_starts_while_tasks_are_still_being_made(workers):
    worker, asked = _Here(), tasks()[:3]

    def made():
        yield from asked[:2]
        assert worker.is_asked.wait(60), "no worker got a task before all were made"
        yield asked[2]

    assert len(solve_all(made(), 2, Pool(lambda: worker))) == len(asked)


@pytest.mark.parametrize(("share", "started"), [(1, [2]), (10**6, [])])
def test_workers_start_before_the_table_is_read_where_the_tree_is_large(
    monkeypatch, share, started
):
    asked: list[int] = []
    monkeypatch.setattr(pool, "start_ahead", asked.append)
    monkeypatch.setattr(run_tree, "MANY_SHARES", share)
    tree = multiway_case(0, Knowledge(split="none")).tree
    run_tree.start_early(tree, AuditOptions(jobs=2))
    assert asked == started
