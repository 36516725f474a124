"""Does the jobs of a call over the pool's slots: one whose process dies is told from one that is done.

Order, tries and interruption are decided here alone, wherever the slots are.
"""

from __future__ import annotations

import heapq
import math
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, TypeVar

from treewarden.audit.workers.pool import WORKERS, Pool, Slot, done
from treewarden.ppdm_models.errors import TreewardenError

Result = TypeVar("Result")

TRIES = 3
"""Processes that may die over one job before it is given up."""
LOOK_SECONDS = 0.02
"""How often to look whether a worker that is starting is ready."""
QUICKEST = 0.001
"""Seconds that any job is taken to need at least."""


class JobQueue:
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

    def beside(self, most: float, sharing: int) -> list[int]:
        """Return jobs that wait of no more than this size together, and of no more than an equal share of all of it.

        What has no size is not among them.
        """
        found: list[int] = []
        with self._changed:
            room = min(most, -sum(size for size, _ in self._waiting) / max(sharing, 1))
            while self._waiting and 0 < -self._waiting[0][0] <= room:
                size, number = heapq.heappop(self._waiting)
                found.append(number)
                room += size
        return found

    def unknown(self, most: int, sharing: int) -> list[int]:
        """Return up to so many jobs that wait and have no size, and no more than an equal share of all that wait."""
        found: list[int] = []
        with self._changed:
            most = min(most, len(self._waiting) // max(sharing, 1))
            while len(found) < most and self._waiting and not self._waiting[0][0]:
                found.append(heapq.heappop(self._waiting)[1])
        return found

    def take(self) -> int | None:
        """Return the next job, waiting for it where need be; None when it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            return heapq.heappop(self._waiting)[1] if self._waiting else None


@dataclass(frozen=True, slots=True)
class JobBundle:
    """Small jobs that travel as one, as asking costs more than they do."""

    jobs: tuple[Callable[[], Any], ...]
    seconds: float = math.inf
    """When no more of them are begun: the first answers wait for the last."""

    def __call__(self) -> tuple[Any, ...]:
        """Do them one after the other; one that refuses does not keep the others from being done."""
        until = time.monotonic() + self.seconds
        answers = [done(job) for job in self.jobs[:1]]
        for job in self.jobs[1:]:
            if time.monotonic() >= until:
                break
            answers.append(done(job))
        return tuple(answers)


class Call(Generic[Result]):
    """The jobs of one call, and the slots at work on them: whatever ends it early, as an interrupt does, ends them.

    Jobs go, the largest first and else in their order, to whoever is free. ``heard`` is told each job's number and what
    came of it at once, by whichever thread that is.
    """

    def __init__(
        self, pool: Pool, heard: Callable[[int, object], None] = lambda number, answer: None
    ) -> None:
        self.pool, self.heard = pool, heard
        self.jobs: list[Callable[[], Result]] = []
        self.sizes: list[float] = []
        self.answers: dict[int, Result | TreewardenError | None] = {}
        self.done: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.line = JobQueue()
        self.threads: list[threading.Thread] = []
        self.workers: set[Slot] = set()
        self.failure: TreewardenError | None = None
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
        self.sizes.append(size)
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
        """Return what each job returns or refuses, in their order; None where its process died, each time.

        Raises:
            TreewardenError: there is nobody any more who could do them.
        """
        self.line.close()
        for thread in self.threads:
            thread.join()
        if self.failure is not None:
            raise self.failure
        return [self.answers.get(number) for number in range(len(self.jobs))]

    def serve(self) -> None:
        """Give jobs to one slot until none is left; where there can be none any more, that ends the call."""
        try:
            self._serve()
        except TreewardenError as error:
            self.failure = error
            self.line.close(drop=True)

    def _serve(self) -> None:
        worker, pace = self._entered(self.pool.take), math.inf
        while worker is not None:
            while not self.line.is_over and not worker.is_ready(LOOK_SECONDS):
                pass  # nobody waits for a worker: meanwhile others may take the jobs
            number = self.line.take()
            if number is None:
                self._let_go(worker)
                return
            numbers = [number, *self._beside(worker, number, pace)]
            begun = time.monotonic()
            worker = self._done(worker, numbers)
            answered = sum(number in self.answers for number in numbers)
            pace = (time.monotonic() - begun) / max(answered, 1)

    def _beside(self, worker: Slot, number: int, pace: float) -> list[int]:
        """Return the jobs that travel with one: of some size, or as many as the last one's pace lets end in time."""
        sharing = 2 * len(self.threads)
        if self.sizes[number]:
            return self.line.beside(worker.batch - self.sizes[number], sharing)
        return self.line.unknown(int(worker.batch_seconds / max(pace, QUICKEST)) - 1, sharing)

    def _done(self, slot: Slot, numbers: list[int]) -> Slot | None:
        """Have jobs done, and return who takes the next. Where a process dies over several, each is tried alone."""
        worker: Slot | None = slot
        tries = TRIES
        if len(numbers) > 1:
            seconds = math.inf if self.sizes[numbers[0]] else slot.batch_seconds
            jobs = JobBundle(tuple(self.jobs[number] for number in numbers), seconds)
            found, worker = self._tried(worker, jobs, 1)
            if found is not None:
                for number, answer in zip(numbers, found, strict=False):
                    self._answer(number, answer)
                for number in numbers[len(found) :]:  # its time was up: whoever is free may do it
                    self.line.put(number, self.sizes[number])
                return worker
            tries -= 1
        for number in numbers:
            found, worker = self._tried(worker, self.jobs[number], tries)
            if worker is None:
                return None
            self._answer(number, found)
        return worker

    def _tried(
        self, worker: Slot | None, job: Callable[[], Any], tries: int
    ) -> tuple[Any, Slot | None]:
        """Return what comes of a job, and who takes the next: a new one where one died, none once dismissed."""
        for _ in range(tries):
            if worker is None:
                break
            found = worker.ask(job)
            if found is not None:
                return found, worker
            worker.end()
            self.workers.discard(worker)
            worker = self._entered(self.pool.start)
        return None, worker

    def _answer(self, number: int, result: Result | TreewardenError | None) -> None:
        self.answers[number] = result
        self.heard(number, result)
        self.done.put(number)

    def dismiss(self) -> None:
        """Kill all workers, idle ones too; none is started any more."""
        with self.lock:
            self.is_dismissed = True
            self.line.close(drop=True)
            for worker in tuple(self.workers):  # whose threads go on
                worker.kill()
            self.pool.stop()

    def _entered(self, start: Callable[[], Slot]) -> Slot | None:
        """Return a worker, known to be at work from now on; None once dismissed."""
        with self.lock:
            if self.is_dismissed:
                return None
            worker = start()
            self.workers.add(worker)
            return worker

    def _let_go(self, worker: Slot) -> None:
        """Give a worker back; once dismissed it is dead."""
        with self.lock:
            self.workers.discard(worker)
            if self.is_dismissed:
                worker.end()
            else:
                self.pool.give_back(worker)


# Does jobs over the pool's processes as they come up, until the time is up; each answer is there once it is done.

STREAM_LOOK_SECONDS = 1.0
"""How often to look whether anybody is left who could answer."""


def each_done(
    jobs: Iterable[Callable[[], Result]],
    processes: int,
    left: Callable[[], float],
    pool: Pool = WORKERS,
    *,
    ahead: int = 0,
) -> Generator[tuple[int, Result | TreewardenError | None], None, None]:
    """Yield each job's number with what it returns or refuses, as they are done; None where all its processes died.

    The next job is asked for only when a process is free for it, or so many ``ahead``: of those that wait, short ones
    travel together to where asking costs something. When no seconds are ``left``, and when whoever listens
    stops, the processes are ended and nothing more comes.

    Raises:
        TreewardenError: there is nobody any more who could do them.
    """
    waiting = iter(jobs)
    with Call[Result](pool) as call:
        given = done = 0
        while True:
            while given - done < processes + ahead and (job := next(waiting, None)) is not None:
                call.add(job)
                given += 1
                if len(call.threads) < min(processes, given):
                    call.hire()
            if given == done:
                call.finish()
                return
            number = _next(call, left)
            if number is None:
                call.dismiss()
                if call.failure is not None:
                    raise call.failure
                return
            done += 1
            yield number, call.answers[number]


def _next(call: Call[Result], left: Callable[[], float]) -> int | None:
    """Return the number of the next job that is done; None once the time is up."""
    while (seconds := left()) > 0:
        try:
            return call.done.get(timeout=min(seconds, STREAM_LOOK_SECONDS))
        except queue.Empty:
            if call.failure is not None or not any(thread.is_alive() for thread in call.threads):
                return None
    return None
