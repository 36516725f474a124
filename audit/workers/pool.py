"""The processes that do jobs for this one: started once, kept for the next call, and gone when this one ends.

Only this program's own records travel between the processes.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from treewarden.ppdm_models.errors import TreewardenError

# A job as it travels to another process: its own bytes, and what many jobs share, which goes there once.

Data = TypeVar("Data")
Result = TypeVar("Result")

HELD: dict[str, Any] = {}
"""What this process was given that jobs share, by key: all that the last job needs."""


class Common(Generic[Data]):
    """Data that many jobs carry: it goes to each process once, however many jobs of the call are done there."""

    def __init__(self, value: Data) -> None:
        self.value = value
        self.key = os.urandom(16).hex()

    @cached_property
    def data(self) -> bytes:
        """The bytes that travel."""
        return pickle.dumps(self.value, pickle.HIGHEST_PROTOCOL)


@dataclass(frozen=True, slots=True)
class Parcel:
    """A job's bytes, and those of what it shares with others, by key."""

    job: bytes
    common: Mapping[str, bytes]

    def without(self, keys: frozenset[str]) -> Parcel:
        """Return the same for a process that holds some of it already."""
        left = {key: data for key, data in self.common.items() if key not in keys}
        return Parcel(self.job, left)


def done(job: Callable[[], Result]) -> Result | TreewardenError:
    """Return what a job returns, or the error it raises."""
    try:
        return job()
    except TreewardenError as error:
        return error


def packed(job: Callable[[], object]) -> Parcel:
    """Return a job as it travels."""
    file = io.BytesIO()
    pickler = _Pickler(file, pickle.HIGHEST_PROTOCOL)
    pickler.dump(job)
    return Parcel(file.getvalue(), {common.key: common.data for common in pickler.common})


def unpacked(job: bytes, new: Mapping[str, bytes], keys: frozenset[str]) -> Callable[[], Any]:
    """Return the job that arrives with what is ``new`` of all the data it shares; no other data is held any longer."""
    for key in HELD.keys() - keys:
        del HELD[key]
    HELD.update({key: pickle.loads(data) for key, data in new.items()})
    found: Callable[[], Any] = pickle.loads(job)
    return found


class _Pickler(pickle.Pickler):
    """Writes a key in place of what jobs share, and notes it."""

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol)
        self.common: list[Common[Any]] = []

    def reducer_override(self, value: object) -> Any:  # noqa: ANN401  # as pickle says it
        if not isinstance(value, Common):
            return NotImplemented
        self.common.append(value)
        return _shared_data, (value.key,)


def _shared_data(key: str) -> Common[Any]:
    common: Common[Any] = Common(HELD[key])
    common.key = key
    return common


READY = b"\n"
"""What a worker writes once it can take jobs."""


def processors() -> int:
    """Return the number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_jobs() -> int:
    """Return how many jobs are done side by side where nobody says it: one on each processor, here or elsewhere."""
    return WORKERS.size()


class Slot(Protocol):
    """Where one job after the other is done, here or on another machine.

    ``batch`` is how much it takes at once, ``batch_seconds`` for how long of jobs whose size nobody knows.
    """

    batch: float
    batch_seconds: float

    def is_ready(self, wait_seconds: float = 0.0) -> bool:
        """Return whether it can take a job, waiting so long for that."""

    def ask(self, job: Callable[[], object]) -> Any:  # noqa: ANN401  # what the job returns
        """Return what a job returns or the error that it raises, or None where its process died over it."""

    def kill(self) -> None:
        """End what runs there; whoever waits for its answer is told that it died."""

    def end(self) -> None:
        """Let it go for good."""


class Worker:
    """A process that does one job after the other, its linear algebra on one thread: jobs are what runs side by side.

    It is in a session of its own, so that Ctrl-C reaches the parent alone; the parent's end ends the worker.
    """

    batch = batch_seconds = 0.0
    """One job at a time: asking costs next to nothing."""

    def __init__(self, without: Collection[str] = ()) -> None:
        """Start one in this process's environment, but for some of its variables."""
        self._is_ready = False
        self._holds: frozenset[str] = frozenset()
        environment = {name: value for name, value in os.environ.items() if name not in without}
        environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "treewarden.audit.solver.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )

    def is_ready(self, wait_seconds: float = 0.0) -> bool:
        """Return whether it can take a job, waiting so long for that."""
        assert self.process.stdout is not None
        if not self._is_ready and select.select([self.process.stdout], [], [], wait_seconds)[0]:
            self._hear()
        return self._is_ready

    def ask(self, job: Callable[[], object]) -> Any:  # noqa: ANN401  # what the job returns
        """Return what a job returns or the error that it raises, or None where the process died."""
        return self.send(packed(job))

    def send(self, parcel: Parcel) -> Any:  # noqa: ANN401  # what the job returns
        """Have a packed job done; what it shares with the job before is there already."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        keys, new = frozenset(parcel.common), parcel.without(self._holds)
        self._holds = keys
        try:
            pickle.dump((new.job, new.common, keys), self.process.stdin)
            self.process.stdin.flush()
            if not self._is_ready:
                self._hear()
            return pickle.load(self.process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError, ValueError):
            return None

    def kill(self) -> None:
        """End the process at once, and what it began; whoever waits for its answer is told that it died."""
        if self.process.poll() is None and hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(
                    self.process.pid, signal.SIGKILL
                )  # else a child would keep its pipes open
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """Kill the process and close its pipes."""
        self.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _hear(self) -> None:
        """Read that it is ready: nothing where it died, which asking it then shows."""
        assert self.process.stdout is not None
        self.process.stdout.read(len(READY))
        self._is_ready = True


class Pool:
    """The slots that wait for the next call; ``start`` makes another, and ``size`` is how many there is room for.

    Where ``is_elsewhere``, they are on other processors than this process.
    """

    def __init__(self, start: Callable[[], Slot] = Worker) -> None:
        self._idle: list[Slot] = []
        self.use(start)

    def use(
        self,
        start: Callable[[], Slot],
        size: Callable[[], int] = processors,
        *,
        is_elsewhere: bool = False,
    ) -> None:
        """Have jobs done by others from now on; those that wait are ended."""
        self.stop()
        self.start, self.size, self.is_elsewhere = start, size, is_elsewhere

    @property
    def is_ready(self) -> bool:
        """Whether a worker is known to be ready for a job."""
        return any(worker.is_ready() for worker in self._idle)

    def helpers(self, jobs: int) -> int:
        """Return how many others do jobs: this process is one of them, or beside them where they are elsewhere."""
        return jobs if self.is_elsewhere else jobs - 1

    def start_ahead(self, number: int) -> None:
        """Start what is missing of so many workers and return at once: getting ready takes them about a second."""
        # An interrupt is raised in the main thread: it cannot come between a start and the entry of what was started.
        # No join: in Python 3.11, an interrupted one takes the thread for ended, and the exit no longer waits for it.
        started = threading.Event()
        threading.Thread(target=self._start_missing, args=(number, started)).start()
        started.wait()

    def _start_missing(self, number: int, started: threading.Event) -> None:
        with contextlib.suppress(OSError):  # then whoever needs a worker says so
            while len(self._idle) < number:
                self._idle.append(self.start())
        started.set()

    def take(self) -> Slot:
        """Return a worker that was idle, or a new one."""
        return self._idle.pop() if self._idle else self.start()

    def give_back(self, worker: Slot) -> None:
        """Let a worker wait for the next call."""
        self._idle.append(worker)

    def stop(self) -> None:
        """End the idle workers."""
        while self._idle:
            self._idle.pop().end()


WORKERS = Pool()
"""The workers of this process."""
atexit.register(WORKERS.stop)


def start_ahead(jobs: int) -> None:
    """Start what is missing of the workers that help this process, and return at once."""
    WORKERS.start_ahead(WORKERS.helpers(jobs))
