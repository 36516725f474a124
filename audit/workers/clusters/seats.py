"""What runs on a cluster's worker: hands each job to a process of this program, which works as on any machine.

So solvers that are not thread-safe never share a process, what a job does to its process leaves the cluster's worker
alone, and a job that nobody waits for any more can be ended.
"""

from __future__ import annotations

import platform
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import metadata
from typing import Any

from treewarden.audit.workers.pool import Parcel, Worker
from treewarden.ppdm_models.errors import ClusterError

# What must be the same on every machine that takes part, as answers depend on it.

PACKAGES = (
    "treewarden",
    "numpy",
    "scipy",
    "pyomo",
    "casadi",
    "ortools",
    "pandas",
    "pyarrow",
    "duckdb",
)
ABSENT = "not installed"


@cache
def versions() -> Mapping[str, str]:
    """Return the versions here, by name."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ABSENT
    return found


def check_same(theirs: Iterable[Mapping[str, str]]) -> None:
    """Check that all who take part have the versions of this process.

    Raises:
        ClusterError: they differ; both versions are told.
    """
    ours = versions()
    for their in theirs:
        differ = [
            f"{name} {their.get(name, ABSENT)} there, {version} here"
            for name, version in ours.items()
            if their.get(name, ABSENT) != version
        ]
        if differ:
            raise ClusterError(
                "the cluster",
                (
                    f"versions differ ({'; '.join(differ)}), so results could differ; install the same on "
                    "both"
                ),
            )


MOST_IDLE = 64
"""Processes that wait for the next job; a worker has no more threads that ask."""
OF_THE_CLUSTER = ("MALLOC_TRIM_THRESHOLD_",)
"""What clusters set for their own workers: Dask has them give all memory back at once, which makes arrays slow."""

_LOCK = threading.Lock()
_IDLE: list[Worker] = []
_BUSY: dict[str, Worker] = {}
_STOPPED: set[str] = set()


def keep_shared(data: bytes) -> bytes:
    """Return data that jobs share: it stays where it is, and goes from worker to worker as it is needed."""
    return data


def carried(
    ticket: str, asked: Mapping[str, str], job: bytes, keys: Sequence[str], *common: bytes
) -> tuple[Any, ...]:
    """Return the answer to a job in a tuple; an empty one where its process died, the versions here where they differ.

    ``common`` is what it shares with other jobs, by ``keys``. Whoever has the ``ticket`` can end it.
    """
    if dict(asked) != dict(versions()):
        return (None, dict(versions()))
    worker = _taken(ticket)
    if worker is None:
        return ()
    found = worker.send(Parcel(job, dict(zip(keys, common, strict=True))))
    _given_back(ticket, worker, is_alive=found is not None)
    return () if found is None else (found,)


def stop(ticket: str) -> None:
    """End a job, or never begin it."""
    with _LOCK:
        _STOPPED.add(ticket)
        if ticket in _BUSY:
            _BUSY[ticket].kill()


def begin() -> None:
    """Start a process where there is none: getting ready takes it about a second, and jobs are still being made."""
    with _LOCK:
        if not _IDLE and not _BUSY:
            _IDLE.append(Worker(without=OF_THE_CLUSTER))


def leave() -> None:
    """End the processes that wait."""
    with _LOCK:
        while _IDLE:
            _IDLE.pop().end()


def _taken(ticket: str) -> Worker | None:
    with _LOCK:
        if ticket in _STOPPED:
            _STOPPED.discard(ticket)
            return None
        _BUSY[ticket] = _IDLE.pop() if _IDLE else Worker(without=OF_THE_CLUSTER)
        return _BUSY[ticket]


def _given_back(ticket: str, worker: Worker, *, is_alive: bool) -> None:
    with _LOCK:
        del _BUSY[ticket]
        was_stopped = ticket in _STOPPED
        _STOPPED.discard(ticket)
        if is_alive and not was_stopped and len(_IDLE) < MOST_IDLE:
            _IDLE.append(worker)
            return
    worker.end()
