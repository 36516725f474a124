"""The cluster that this process's jobs are done on, if any; where it is gone, this machine's processes take over.

A cluster's worker hands each job to a process of this program, which works as on any machine. So solvers that are not
thread-safe never share a process, what a job does to its process leaves the cluster's worker alone, and a job that
nobody waits for any more can be ended.
"""

from __future__ import annotations

import importlib
import platform
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from typing import Any

from treewarden.audit.workers.clusters import ClusterEngine, ClusterGoneError, Seat
from treewarden.audit.workers.pool import WORKERS, Parcel, Pool, Worker, packed, processors
from treewarden.ppdm_models.errors import ClusterError

ENGINES = {
    "tcp": "treewarden.audit.workers.clusters.dask",
    "tls": "treewarden.audit.workers.clusters.dask",
    "ws": "treewarden.audit.workers.clusters.dask",
    "wss": "treewarden.audit.workers.clusters.dask",
    "ray": "treewarden.audit.workers.clusters.ray",
}
"""Which engine an address is of, by how it begins."""
BATCH = 1500.0
"""Variables of small programs that travel together: about a second's work, beside which asking costs nothing."""
BATCH_SECONDS = 1.0
"""The same of jobs whose size nobody knows: as long as answers may wait for others that came with them."""
LOOK_SECONDS = 0.2


@contextmanager
def on_cluster(
    address: str | None,
    tell: Callable[[str], object],
    *,
    is_required: bool = False,
    pool: Pool = WORKERS,
) -> Iterator[None]:
    """Have jobs done on a cluster inside the context; with no address, on this machine as ever.

    It is connected to when there is work for it; one that ``is_required`` at once. Where one that is not is gone,
    ``tell`` hears of it once, and processes of this machine take over.

    Raises:
        ClusterError: the address is of no engine; or the cluster is required, and is not there.
    """
    if not address:
        if is_required:
            raise ClusterError("--cluster-required", "no cluster is named; add --cluster ADDRESS")
        yield
        return
    cluster = Cluster(address, tell, is_required=is_required)
    if is_required:
        cluster.engine()
    pool.use(lambda: SeatOrHere(cluster), cluster.size, is_elsewhere=True)
    try:
        yield
    finally:
        pool.use(Worker)
        cluster.close()


def module_of(address: str) -> str:
    """Return the engine that an address is of.

    Raises:
        ClusterError: it is of none.
    """
    found = re.match(r"([a-z]+)://.", address)
    if found is None or found[1] not in ENGINES:
        problem = (
            "not the address of a cluster; give tcp://HOST:PORT or tls://HOST:PORT for Dask, "
            "ray://HOST:PORT or ray://auto for Ray"
        )
        raise ClusterError("--cluster", problem)
    return ENGINES[found[1]]


class Cluster:
    """An address, the engine once it is connected, and whether it is given up."""

    def __init__(self, address: str, tell: Callable[[str], object], *, is_required: bool) -> None:
        self.address, self.tell, self.is_required = address, tell, is_required
        self.module = module_of(address)
        self.is_given_up = False
        self.here = Pool()
        self.turns = threading.Semaphore(processors())
        self._engine: ClusterEngine | None = None
        self._failure: ClusterError | None = None
        self._lock = threading.Lock()

    def engine(self) -> ClusterEngine | None:
        """Return the engine, connected; None where it is given up.

        Raises:
            ClusterError: it is required and not there, or cannot be used.
        """
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self.is_given_up:
                return None
            if self._engine is None:
                self._connect()
            return self._engine

    def size(self) -> int:
        """Return how many jobs can be done side by side."""
        try:
            engine = self.engine()
            return processors() if engine is None else engine.size()
        except ClusterGoneError as error:
            self.give_up(error)
            return processors()

    def give_up(self, error: ClusterGoneError) -> None:
        """Go on with this machine's processes.

        Raises:
            ClusterError: the cluster is required.
        """
        with self._lock:
            self._give_up(error)

    def close(self) -> None:
        """End all that was begun."""
        self.is_given_up = True
        self.here.stop()
        if self._engine is not None:
            self._engine.close()

    def _connect(self) -> None:
        try:
            self._engine = importlib.import_module(self.module).connect(self.address)
        except ClusterGoneError as error:
            self._give_up(error)
        except ClusterError as error:
            self._failure = error
            raise

    def _give_up(self, error: ClusterGoneError) -> None:
        if self.is_required:
            problem = f"{error}; start the cluster, or remove --cluster-required"
            self._failure = self._failure or ClusterError("the cluster", problem)
            raise self._failure
        if not self.is_given_up:
            self.tell(
                f"warning: the cluster cannot be used ({error}). This machine is used instead"
            )
        self.is_given_up = True


class SeatOrHere:
    """A slot: a seat on the cluster, or a turn at a process of this machine where that is given up."""

    batch, batch_seconds = BATCH, BATCH_SECONDS

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.is_ended = False
        self._seat: Seat | None = None
        self._worker: Any = None

    def is_ready(self, wait_seconds: float = 0.0) -> bool:
        """Return whether it can take a job, waiting so long for that."""
        try:
            seat = self._open_seat()
            if seat is None or seat.is_ready():
                return True
        except ClusterGoneError as error:
            self.cluster.give_up(error)
        threading.Event().wait(wait_seconds)
        return False

    def ask(self, job: Callable[[], object]) -> Any:  # noqa: ANN401  # what the job returns
        """Return what a job returns or refuses; None where its process died, or once it is ended.

        Raises:
            ClusterError: the cluster is required, and is gone; or it cannot be used.
        """
        while not self.is_ended:
            try:
                seat = self._open_seat()
                return self._here(job) if seat is None else seat.send(packed(job))
            except ClusterGoneError as error:
                self.cluster.give_up(error)
        return None

    def kill(self) -> None:
        """End what runs there, and take no more."""
        self.is_ended = True
        if self._seat is not None:
            self._seat.stop()
        if self._worker is not None:
            self._worker.kill()

    def end(self) -> None:
        """Let the seat go for good."""
        self.kill()

    def _open_seat(self) -> Seat | None:
        engine = self.cluster.engine()
        if engine is not None and self._seat is None:
            self._seat = engine.seat()
        return None if engine is None else self._seat

    def _here(self, job: Callable[[], object]) -> Any:  # noqa: ANN401  # what the job returns
        """Have a job done by a process of this machine, when it is its turn."""
        while not self.cluster.turns.acquire(timeout=LOOK_SECONDS):
            if self.is_ended:
                return None
        try:
            self._worker = self.cluster.here.take()
            found = None if self.is_ended else self._worker.ask(job)
            if found is None:
                self._worker.end()
            else:
                self.cluster.here.give_back(self._worker)
            return found
        finally:
            self._worker = None
            self.cluster.turns.release()


# What must be the same on every machine that takes part, as answers depend on it.

PACKAGES = (
    "treewarden",
    "numpy",
    "scipy",
    "pyomo",
    "casadi",
    "ortools",
    "qdldl",
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
    ticket: str,
    expected_versions: Mapping[str, str],
    job: bytes,
    keys: Sequence[str],
    *common: bytes,
) -> tuple[Any, ...]:
    """Return the answer to a job in a tuple; an empty one where its process died, the versions here where they differ.

    ``common`` is what it shares with other jobs, by ``keys``. Whoever has the ``ticket`` can end it.
    """
    if dict(expected_versions) != dict(versions()):
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
