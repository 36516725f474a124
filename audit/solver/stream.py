"""Does jobs over the pool's processes as they come up, until the time is up; each answer is there once it is done."""

from __future__ import annotations

import queue
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

from treewarden.audit.solver.pool import WORKERS, Pool
from treewarden.audit.solver.processes import Call
from treewarden.ppdm_models.errors import TreewardenError

Result = TypeVar("Result")

LOOK_SECONDS = 1.0
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
            return call.done.get(timeout=min(seconds, LOOK_SECONDS))
        except queue.Empty:
            if call.failure is not None or not any(each.is_alive() for each in call.threads):
                return None
    return None
