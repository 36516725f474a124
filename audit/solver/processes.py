"""Does the jobs of a call over the pool's processes: one whose process dies is told from one that is done."""

from __future__ import annotations

import heapq
import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

from audit.solver.pool import Pool, Worker
from ppdm_models.errors import TreewardenError

Result = TypeVar("Result")

TRIES = 2
"""Processes that may die over one job before it is given up."""
LOOK_SECONDS = 0.02
"""How often to look whether a worker that is starting is ready."""


class Line:
    """The numbers of the jobs that wait, the largest first; more may come until the line is closed."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int]] = []
        self._changed = threading.Condition()
        self._is_closed = False

    @property
    def is_over(self) -> bool:
        """Whether no job waits and none will come."""
        return self._is_closed and not self._waiting

    @property
    def is_closed(self) -> bool:
        """Whether no job will come."""
        return self._is_closed

    def put(self, number: int, size: float) -> None:
        """Add a job."""
        with self._changed:
            heapq.heappush(self._waiting, (-size, number))
            self._changed.notify()

    def close(self, *, drop: bool = False) -> None:
        """Let no more jobs come; with ``drop``, forget those that wait."""
        with self._changed:
            self._is_closed = True
            if drop:
                self._waiting.clear()
            self._changed.notify_all()

    def take(self) -> int | None:
        """Return the next job, waiting for it where need be; None when it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            return heapq.heappop(self._waiting)[1] if self._waiting else None


class Call(Generic[Result]):
    """The jobs of one call, and the workers at work on them: whatever ends it early, as an interrupt does, ends them.

    Jobs go, the largest first and else in their order, to whoever is free. ``heard`` is told each job's number and what
    came of it at once, by whichever thread that is.
    """

    def __init__(
        self, pool: Pool, heard: Callable[[int, object], None] = lambda number, answer: None
    ) -> None:
        self.pool, self.heard = pool, heard
        self.jobs: list[Callable[[], Result]] = []
        self.answers: dict[int, Result | TreewardenError | None] = {}
        self.done: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.line = Line()
        self.threads: list[threading.Thread] = []
        self.workers: set[Worker] = set()
        self.is_dismissed = False
        self.lock = threading.Lock()

    def __enter__(self) -> Call[Result]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.dismiss()

    def add(self, job: Callable[[], Result], size: float = 0.0) -> None:
        """Let a job wait for whoever is free."""
        self.jobs.append(job)
        self.line.put(len(self.jobs) - 1, size)

    def hire(self) -> None:
        """Let one more worker take jobs."""
        self.threads.append(threading.Thread(target=self.serve, daemon=True))
        self.threads[-1].start()

    def work(self) -> None:
        """Do jobs in this process until none is left; an error that one raises ends the call."""
        self.line.close()
        while (number := self.line.take()) is not None:
            self.answers[number] = self.jobs[number]()
            self.heard(number, self.answers[number])

    def finish(self) -> list[Result | TreewardenError | None]:
        """Return what each job returns or refuses, in their order; None where its process died, twice."""
        self.line.close()
        for thread in self.threads:
            thread.join()
        return [self.answers.get(number) for number in range(len(self.jobs))]

    def serve(self) -> None:
        """Give jobs to one worker until none is left; a job whose worker dies is tried once more on a new one."""
        worker = self._entered(self.pool.take)
        while worker is not None:
            while not self.line.is_over and not worker.is_ready(LOOK_SECONDS):
                pass  # nobody waits for a worker: meanwhile others may take the jobs
            number = self.line.take()
            if number is None:
                self._let_go(worker)
                return
            for _ in range(TRIES):
                self.answers[number] = worker.ask(self.jobs[number])
                if self.answers[number] is not None:
                    break
                worker.end()
                self.workers.discard(worker)
                worker = self._entered(self.pool.start)
                if worker is None:
                    return
            self.heard(number, self.answers.get(number))
            self.done.put(number)

    def dismiss(self) -> None:
        """Kill all workers, idle ones too; none is started any more."""
        with self.lock:
            self.is_dismissed = True
            self.line.close(drop=True)
            for worker in tuple(self.workers):  # whose threads go on
                worker.kill()
            self.pool.stop()

    def _entered(self, start: Callable[[], Worker]) -> Worker | None:
        """Return a worker, known to be at work from now on; None once dismissed."""
        with self.lock:
            if self.is_dismissed:
                return None
            worker = start()
            self.workers.add(worker)
            return worker

    def _let_go(self, worker: Worker) -> None:
        """Give a worker back; once dismissed it is dead."""
        with self.lock:
            self.workers.discard(worker)
            if self.is_dismissed:
                worker.end()
            else:
                self.pool.give_back(worker)
