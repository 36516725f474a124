"""Jobs in processes: the same results for any number, a process that dies is no result, and none is left behind."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from treewarden.audit.workers import processes
from treewarden.audit.workers.pool import WORKERS, Pool, done
from treewarden.audit.workers.processes import Call, JobBundle, JobQueue


@pytest.fixture(autouse=True, scope="module")
def workers():
    """End the workers afterwards."""
    yield
    WORKERS.stop()


def test_once_dismissed_no_process_is_left_and_none_is_started(endless):
    call = Call(Pool())
    for _ in range(3):
        call.add(partial(Path.read_bytes, endless))
    call.hire()
    with endless.open("wb"):  # opens once a worker reads
        (worker,) = call.workers
        call.dismiss()
        assert call.finish() == [None] * 3
    assert worker.process.poll() is not None
    assert not call.workers


def test_an_interrupt_ends_all_processes(endless):
    code = (
        "import functools, pathlib, signal\n"
        # What a shell starts in the background ignores interrupts, and so would this.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from treewarden.audit.workers.pool import Pool, Worker\n"
        "from treewarden.audit.workers.processes import each_done\n"
        "def told():\n"
        "    worker = Worker()\n"
        "    print(worker.process.pid, flush=True)\n"
        "    return worker\n"
        f"job = functools.partial(pathlib.Path.read_bytes, pathlib.Path({str(endless)!r}))\n"
        "list(each_done([job] * 4, 2, lambda: 3600.0, Pool(told)))\n"
    )
    said = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        process_group=0,
    )
    assert said.stdout is not None
    pids = [int(said.stdout.readline()) for _ in range(2)]
    os.killpg(said.pid, signal.SIGINT)
    assert said.wait() != 0
    said.stdout.close()
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


class Far:
    """Does jobs here, as if they came from afar: one that exits is its end."""

    batch, batch_seconds = 0.0, 60.0

    def __init__(self, asked):
        self.asked = asked

    def is_ready(self, wait_seconds=0.0):
        return True

    def ask(self, job):
        self.asked.append(job)
        jobs = job.jobs if isinstance(job, JobBundle) else (job,)
        return None if any(each.func is os._exit for each in jobs) else done(job)

    def kill(self):
        pass

    def end(self):
        pass


def far(jobs, kind=Far):
    """Have jobs of no size done afar, and return their answers and what was asked."""
    asked = []
    call = Call(Pool(lambda: kind(asked)))
    for job in jobs:
        call.add(job)
    call.hire()
    return call.finish(), asked


@pytest.fixture
def moment(monkeypatch):
    """Return the moment that calls look at: it passes while slow jobs are done."""
    found = [0.0]
    monkeypatch.setattr(processes, "time", SimpleNamespace(monotonic=lambda: found[0]))
    return found


def slow(moment, number):
    moment[0] += 0.2
    return number


def test_after_a_quick_one_jobs_of_no_size_travel_together_an_equal_share_of_them_at_most():
    answers, asked = far([partial(abs, -number) for number in range(9)])
    assert answers == list(range(9))
    assert [len(each.jobs) for each in asked if isinstance(each, JobBundle)] == [4, 2]
    assert len(asked) == 5


def test_after_a_slow_one_they_travel_alone(moment):
    class Hurried(Far):
        batch_seconds = 0.1

    jobs = [partial(slow, moment, number) for number in range(4)]
    assert far(jobs, Hurried) == (list(range(4)), jobs)


def test_of_jobs_that_travel_together_none_is_begun_after_their_time_and_all_are_done(moment):
    assert JobBundle((partial(abs, -1), partial(abs, -2)), seconds=0.0)() == (1,)

    class Hurried(Far):
        batch_seconds = 0.1

    jobs = [
        partial(abs, -1),
        partial(slow, moment, 2),
        *[partial(abs, -number) for number in range(3, 9)],
    ]
    answers, asked = far(jobs, Hurried)
    assert answers == list(range(1, 9))
    assert asked[1].jobs == tuple(jobs[1:5])
    assert asked[2] is jobs[2]


def test_one_that_kills_its_process_costs_those_that_travel_with_it_no_answer():
    deadly = partial(os._exit, 0)
    answers, asked = far([partial(abs, -1), deadly, *[partial(abs, -2)] * 6])
    assert answers == [1, None, *[2] * 6]
    assert isinstance(asked[1], JobBundle)
    assert asked.count(deadly) == 2


def test_jobs_of_some_size_do_not_travel_with_those_of_none():
    line = JobQueue()
    for number, size in enumerate((0.0, 0.0, 9.0)):
        line.put(number, size)
    assert line.unknown(5, 1) == []
    assert line.take() == 2
    assert line.unknown(5, 1) == [0, 1]
