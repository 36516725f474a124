"""A Dask cluster on this machine, of processes of its own, to be killed at will."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory


@dataclass(frozen=True, slots=True)
class DaskHere:
    """A scheduler, and the process that keeps its workers alive."""

    address: str
    scheduler: subprocess.Popen[bytes]
    keeper: subprocess.Popen[bytes]

    def workers(self) -> list[int]:
        """Return the processes of the workers that run now; Dask starts another for each that dies."""
        threads = Path(f"/proc/{self.keeper.pid}/task").glob("*/children")
        found = [pid for each in threads for pid in each.read_text().split()]
        return [int(pid) for pid in found if b"spawn_main" in _command(pid)]


@contextmanager
def dask_here(workers: int) -> Iterator[DaskHere]:
    """Start a scheduler and so many workers of one thread each; all of it ends with the context."""
    with TemporaryDirectory() as name:
        log, running = Path(name, "log"), []
        try:
            where = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
            running.append(_started(log, "dask_scheduler", *where))
            address = _said(log, r"Scheduler at:\s+(\S+)", 1)[0]
            how = ("--nworkers", str(workers), "--nthreads", "1", "--memory-limit", "0")
            words = (*how, "--no-dashboard", "--local-directory", name)
            running.append(_started(log, "dask_worker", address, *words))
            _said(log, r"Registered to:", workers)
            yield DaskHere(address, *running)
        finally:
            for process in reversed(running):
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _started(log: Path, module: str, *words: str) -> subprocess.Popen[bytes]:
    with log.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *words],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )


def _said(log: Path, pattern: str, times: int) -> list[str]:
    """Return what a log says, once it does."""
    for _ in range(1200):
        found = re.findall(pattern, log.read_text())
        if len(found) >= times:
            return found
        time.sleep(0.05)
    raise RuntimeError(f"the cluster did not start: {log.read_text()}")


def _command(pid: str) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
