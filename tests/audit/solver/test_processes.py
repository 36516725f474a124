"""Jobs in processes: the same results for any number, a process that dies is no result, and none is left behind."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from audit.solver.pool import WORKERS, Pool
from audit.solver.processes import Call


@pytest.fixture(autouse=True, scope="module")
def workers():
    """End the workers afterwards."""
    yield
    WORKERS.stop()


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
        "from audit.solver.stream import each_done\n"
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
