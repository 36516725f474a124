"""Jobs in processes: the same results for any number, a process that dies is no result, and none is left behind."""

import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from audit.solver.processes import _Crew, do_all
from ppdm_models.errors import SolverError
from ppdm_models.errors import TreewardenError as Refusal


def refuses():
    raise SolverError("IPOPT", "no such door")


@pytest.mark.parametrize("processes", [1, 2])
def test_results_stand_in_the_order_of_the_jobs(processes):
    jobs = [partial(pow, 2, power) for power in range(5)]
    assert do_all(jobs, processes) == [1, 2, 4, 8, 16]


@pytest.mark.parametrize("processes", [1, 2])
def test_what_a_job_refuses_is_its_result(processes):
    made, refused = do_all([partial(pow, 2, 3), partial(SolverError, "a", "b")], processes)
    assert (made, str(refused)) == (8, "a: b")


def test_a_refusal_that_is_raised_is_a_result_too():
    assert isinstance(do_all([refuses], 1)[0], Refusal)


def test_a_job_whose_process_dies_has_no_result_and_the_others_have_theirs():
    jobs = [partial(pow, 2, 1), partial(os._exit, 0), partial(pow, 2, 2)]
    assert do_all(jobs, 2) == [2, None, 4]


@pytest.fixture
def endless(tmp_path):
    """Return a pipe that nobody writes into: reading it is a job without an end."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_once_dismissed_no_process_is_left_and_none_is_started(endless):
    crew = _Crew([partial(Path.read_bytes, endless)] * 3)
    thread = threading.Thread(target=crew.serve)
    thread.start()
    with endless.open("wb"):  # opens once a worker reads
        (worker,) = crew.workers
        crew.dismiss()
        thread.join()
    assert worker.poll() is not None
    assert not crew.workers
    assert crew.answers == [None] * 3


def test_an_interrupt_ends_all_processes(endless):
    code = (
        "import functools, pathlib\n"
        "from audit.solver import processes\n"
        "start = processes._Crew._started\n"
        "def told(crew):\n"
        "    worker = start(crew)\n"
        "    print(worker.pid, flush=True)\n"
        "    return worker\n"
        "processes._Crew._started = told\n"
        f"job = functools.partial(pathlib.Path.read_bytes, pathlib.Path({str(endless)!r}))\n"
        "processes.do_all([job] * 4, 2)\n"
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
