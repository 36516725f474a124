"""A Dask or Ray cluster on this machine, of processes of its own, to be killed at will."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

SPARING = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
}
"""How docs/engineering/clusters.md starts Dask if its own processes share processors with the jobs."""


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
def dask_here(workers: int, certificates: Path | None = None) -> Iterator[DaskHere]:
    """Start a scheduler and so many workers of one thread each; all of it ends with the context.

    With ``certificates``, a folder with ``ca.pem``, ``ROLE.pem`` and ``ROLE.key``, they speak TLS.
    """
    with TemporaryDirectory() as name:
        log, running = Path(name, "log"), []
        try:
            where = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
            shown = _tls(certificates, "scheduler")
            running.append(_started(log, "distributed.cli.dask_scheduler", *where, *shown))
            address = _said(log, r"Scheduler at:\s+(\S+)", 1)[0]
            how = ("--nworkers", str(workers), "--nthreads", "1", "--memory-limit", "0")
            shown = _tls(certificates, "worker")
            words = (*how, "--no-dashboard", "--local-directory", name, *shown)
            running.append(_started(log, "distributed.cli.dask_worker", address, *words))
            _said(log, r"Registered to:", workers)
            yield DaskHere(address, *running)
        finally:
            for process in reversed(running):
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@dataclass(frozen=True, slots=True)
class RayHere:
    """A head with its client server; all its processes are told by their ``folder``."""

    address: str
    folder: str

    def kill(self) -> None:
        """End all of it at once."""
        for each in Path("/proc").glob("[0-9]*"):
            if self.folder.encode() in _command(each.name):
                with suppress(ProcessLookupError):
                    os.kill(int(each.name), signal.SIGKILL)


@contextmanager
def ray_here(workers: int) -> Iterator[RayHere]:
    """Start Ray with its client server, and room for so many jobs; all of it ends with the context."""
    with TemporaryDirectory(prefix="ray") as name:
        log, port = Path(name, "log"), _free_port()
        found = RayHere(f"ray://127.0.0.1:{port}", name)
        asked = {
            "port": "0",
            "ray-client-server-port": str(port),
            "node-ip-address": "127.0.0.1",
            "include-dashboard": "false",
            "num-cpus": str(workers),
            "object-store-memory": str(80 * 2**20),
            "temp-dir": f"{name}/ray",  # short: the names of sockets are
        }
        words = [f"--{option}={value}" for option, value in asked.items()]
        head = _started(log, "ray.scripts.scripts", "start", "--head", "--block", *words)
        try:
            _said(log, r"Ray runtime started", 1)
            _until_heard(port)
            yield found
        finally:
            found.kill()
            with suppress(ProcessLookupError):
                os.killpg(head.pid, signal.SIGKILL)
            head.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as heard:
        return int(heard.getsockname()[1])


def _until_heard(port: int) -> None:
    for _ in range(1200):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError("the client server does not listen")


def _tls(folder: Path | None, role: str) -> tuple[str, ...]:
    if folder is None:
        return ()
    files = ("--tls-ca-file", "ca.pem", "--tls-cert", f"{role}.pem", "--tls-key", f"{role}.key")
    named = [word if word.startswith("--") else str(folder / word) for word in files]
    return ("--protocol", "tls", *named)


def _started(log: Path, module: str, *words: str) -> subprocess.Popen[bytes]:
    with log.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            env={
                **os.environ,
                **SPARING,
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            },
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
