"""Solves many tasks over processes: the same answers for any number of them, and none left behind.

Workers are started once and kept for the next call. The calling process works too and never waits for a worker
to start: tasks go, the largest first, to whoever is free. Only this program's own records travel between the processes.
"""

from __future__ import annotations

import atexit
import contextlib
import heapq
import os
import pickle
import select
import subprocess
import threading
from collections.abc import Iterable

from audit.solver.block_solver import joined, solve_task
from audit.solver.processes import READY, TRIES, end_worker, start_worker
from audit.solver.task import Answer, Outcome, Task, no_answer
from ppdm_models.errors import TreewardenError

WORTH_A_WORKER = 1500
"""Variables in all tasks together below which one process is faster than two, of which one must start."""
WORTH_A_TASK = 300
"""The same where a worker is ready."""
LOOK_SECONDS = 0.02
"""How often to look whether a worker that is starting is ready."""

_idle: list[subprocess.Popen[bytes]] = []
_ready: set[int] = set()


def default_jobs() -> int:
    """Return the number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start_ahead(jobs: int) -> None:
    """Start what is missing of ``jobs - 1`` workers and return at once: getting ready takes them about a second."""
    # An interrupt is raised in the main thread, so it cannot come between a start and the entry of what was started.
    # No join: in Python 3.11, one that is interrupted takes the thread for ended, and the exit no longer waits for it.
    done = threading.Event()
    threading.Thread(target=_start_missing, args=(jobs, done)).start()
    done.wait()


def _start_missing(jobs: int, done: threading.Event) -> None:
    with contextlib.suppress(OSError):  # then whoever needs a worker says so
        while len(_idle) < jobs - 1:
            _idle.append(start_worker())
    done.set()


class Line:
    """The numbers of the tasks that wait, the largest first; more may come until the line is closed."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int]] = []
        self._changed = threading.Condition()
        self._is_closed = False

    @property
    def is_over(self) -> bool:
        """Whether no task waits and none will come."""
        return self._is_closed and not self._waiting

    def put(self, number: int, size: float) -> None:
        """Add a task."""
        with self._changed:
            heapq.heappush(self._waiting, (-size, number))
            self._changed.notify()

    def close(self, *, drop: bool = False) -> None:
        """Let no more tasks come; with ``drop``, forget those that wait."""
        with self._changed:
            self._is_closed = True
            if drop:
                self._waiting.clear()
            self._changed.notify_all()

    def take(self) -> int | None:
        """Return the next task, waiting for it where need be; None when it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            return heapq.heappop(self._waiting)[1] if self._waiting else None


def solve_all(tasks: Iterable[Task], jobs: int) -> list[Answer]:
    """Return the answer to each task, in their order; workers start on the first while the others are being made."""
    call, size, worth = _Call(), 0, _worth()
    whole: list[tuple[Task, range]] = []
    threads: list[threading.Thread] = []
    try:
        for task in tasks:
            parts = task.parts(jobs)
            whole.append((task, range(len(call.tasks), len(call.tasks) + len(parts))))
            for part in parts:
                call.add(part)
            size += task.work
            while size >= worth and len(threads) < min(jobs, len(call.tasks)) - 1:
                threads.append(threading.Thread(target=call.serve, daemon=True))
                threads[-1].start()
        call.line.close()
        while (number := call.line.take()) is not None:
            call.answers[number] = solve_task(call.tasks[number])
        for thread in threads:
            thread.join()
    except BaseException:
        call.dismiss()
        raise
    answers = [_or_raised(call.answers[number]) for number in range(len(call.tasks))]
    return [joined(task, [answers[number] for number in numbers]) for task, numbers in whole]


def _worth() -> int:
    """Return how many variables must be to solve before a helper is any help."""
    return WORTH_A_TASK if any(worker.pid in _ready for worker in _idle) else WORTH_A_WORKER


def _or_raised(answer: Answer | TreewardenError) -> Answer:
    if isinstance(answer, TreewardenError):
        raise answer
    return answer


class _Call:
    """The tasks of one call, and the workers at work on them; once dismissed, no worker is started any more."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.line = Line()
        self.answers: dict[int, Answer | TreewardenError] = {}
        self.workers: set[subprocess.Popen[bytes]] = set()
        self.is_dismissed = False
        self.lock = threading.Lock()

    def add(self, task: Task) -> None:
        """Let a task wait for whoever is free."""
        self.tasks.append(task)
        self.line.put(len(self.tasks) - 1, task.work)

    def serve(self) -> None:
        """Give tasks to one worker until none is left; a task whose worker dies is tried once more on a new one."""
        worker = self._taken(_idle)
        while worker is not None:
            _wait_until_ready(worker, self.line)
            number = self.line.take()
            if number is None:
                self._give_back(worker)
                return
            answer = None
            for _ in range(TRIES):
                answer = _asked(worker, self.tasks[number])
                if answer is not None:
                    break
                self.workers.discard(worker)
                worker = self._taken([])
                if worker is None:
                    return
            self.answers[number] = answer or no_answer(self.tasks[number], Outcome.LOST)

    def dismiss(self) -> None:
        """Kill all workers, idle ones too."""
        with self.lock:
            self.is_dismissed = True
            self.line.close(drop=True)
            for worker in (*self.workers, *_idle):
                worker.kill()
                worker.wait()

    def _taken(self, idle: list[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes] | None:
        """Return an idle worker or a new one; None once dismissed."""
        with self.lock:
            if self.is_dismissed:
                return None
            worker = idle.pop() if idle else start_worker()
            self.workers.add(worker)
            return worker

    def _give_back(self, worker: subprocess.Popen[bytes]) -> None:
        with self.lock:
            self.workers.discard(worker)
            _idle.append(worker)


def _wait_until_ready(worker: subprocess.Popen[bytes], line: Line) -> None:
    """Return once a worker can take a task, or once there is none left for it."""
    assert worker.stdout is not None
    while not line.is_over and worker.pid not in _ready:
        if select.select([worker.stdout], [], [], LOOK_SECONDS)[0]:
            worker.stdout.read(len(READY))  # nothing where it died: asking it then shows that
            _ready.add(worker.pid)


def _asked(worker: subprocess.Popen[bytes], task: Task) -> Answer | TreewardenError | None:
    """Return a worker's answer, or None where it died."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        pickle.dump(task, worker.stdin)
        worker.stdin.flush()
        if worker.pid not in _ready:
            worker.stdout.read(len(READY))
            _ready.add(worker.pid)
        answer = pickle.load(worker.stdout)
    except (OSError, EOFError, pickle.UnpicklingError, ValueError):
        _end(worker)
        return None
    return answer if isinstance(answer, Answer | TreewardenError) else None


@atexit.register
def stop() -> None:
    """End the idle workers."""
    while _idle:
        _end(_idle.pop())


def _end(worker: subprocess.Popen[bytes]) -> None:
    _ready.discard(worker.pid)
    end_worker(worker)
