"""Jobs in processes: the same results for any number, a process that dies is no result, and none is left behind."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from audit.solver.pool import WORKERS, Pool
from audit.solver.processes import Call, do_all
from ppdm_models.errors import SolverError
from ppdm_models.errors import TreewardenError as Refusal


@pytest.fixture(autouse=True, scope="module")
def workers():
    """End the workers afterwards."""
    yield
    WORKERS.stop()


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
        "import functools, pathlib\n"
        "from audit.solver.pool import Pool, Worker\n"
        "from audit.solver.processes import do_all\n"
        "def told():\n"
        "    worker = Worker()\n"
        "    print(worker.process.pid, flush=True)\n"
        "    return worker\n"
        f"job = functools.partial(pathlib.Path.read_bytes, pathlib.Path({str(endless)!r}))\n"
        "do_all([job] * 4, 2, Pool(told))\n"
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
