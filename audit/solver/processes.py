"""Does long jobs in processes of their own: a job whose process dies is told from one that is done, and none is left.

Only this program's own records travel between the processes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from ppdm_models.errors import TreewardenError

Result = TypeVar("Result")

READY = b"\n"
"""What a worker writes once it can take tasks."""
TRIES = 2
"""Processes that may die over one job before it is given up."""


def do_all(
    jobs: Sequence[Callable[[], Result]], processes: int
) -> list[Result | TreewardenError | None]:
    """Return what each job returns or refuses, in their order; None where its process died, twice.

    With one process the jobs are done in this one. Jobs and results must be picklable.
    """
    if processes == 1:
        return [done(job) for job in jobs]
    crew = _Crew(jobs)
    threads = [
        threading.Thread(target=crew.serve, daemon=True) for _ in range(min(processes, len(jobs)))
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        crew.dismiss()
    return crew.answers


def done(job: Callable[[], Result]) -> Result | TreewardenError:
    """Return what a job returns, or the error it raises."""
    try:
        return job()
    except TreewardenError as error:
        return error


class _Crew(Generic[Result]):
    """The jobs, and the processes at work on them; once dismissed, no process is started any more."""

    def __init__(self, jobs: Sequence[Callable[[], Result]]) -> None:
        self.jobs = jobs
        self.pending = deque(range(len(jobs)))
        self.answers: list[Result | TreewardenError | None] = [None] * len(jobs)
        self.workers: set[subprocess.Popen[bytes]] = set()
        self.is_dismissed = False
        self.lock = threading.Lock()

    def serve(self) -> None:
        """Give jobs to one worker, replaced where it dies, until none is left."""
        worker = None
        with contextlib.suppress(IndexError):  # no job is left
            while True:
                number = self.pending.popleft()
                for _ in range(TRIES):
                    worker = worker or self._started()
                    if worker is None:
                        return
                    self.answers[number] = _asked(worker, self.jobs[number])
                    if self.answers[number] is not None:
                        break
                    self._end(worker)
                    worker = None
        if worker is not None:
            self._end(worker)

    def dismiss(self) -> None:
        """Kill all workers."""
        with self.lock:
            self.is_dismissed = True
            for worker in self.workers:
                worker.kill()
                worker.wait()

    def _started(self) -> subprocess.Popen[bytes] | None:
        """Start a worker and wait until it can take a job; None where it did not get so far."""
        with self.lock:
            if self.is_dismissed:
                return None
            worker = start_worker()
            self.workers.add(worker)
        assert worker.stdout is not None
        worker.stdout.read(len(READY))  # nothing where it died: asking it then shows that
        return worker

    def _end(self, worker: subprocess.Popen[bytes]) -> None:
        with self.lock:
            self.workers.discard(worker)
        end_worker(worker)


def start_worker() -> subprocess.Popen[bytes]:
    """Start a worker, its linear algebra on one thread: the jobs are what runs side by side.

    It is in a session of its own, so that Ctrl-C reaches the parent alone; the parent's end ends the worker.
    """
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, "-m", "audit.solver.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )


def end_worker(worker: subprocess.Popen[bytes]) -> None:
    """Kill a worker and close its pipes."""
    worker.kill()
    worker.wait()
    for stream in (worker.stdin, worker.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _asked(worker: subprocess.Popen[bytes], job: Callable[[], Result]) -> Any:  # noqa: ANN401  # what the job returns
    """Return a worker's answer, or None where it died."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        pickle.dump(job, worker.stdin)
        worker.stdin.flush()
        return pickle.load(worker.stdout)
    except (OSError, EOFError, pickle.UnpicklingError, ValueError):
        return None
