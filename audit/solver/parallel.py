"""Solves many tasks over processes: the same answers for any number of them.

The calling process works too and never waits for a worker to start.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from treewarden.audit.solver.block_solver import joined, solve_task
from treewarden.audit.solver.kept import KEPT
from treewarden.audit.solver.pool import WORKERS, Pool
from treewarden.audit.solver.pool import (
    default_jobs as default_jobs,  # where those who solve ask for it
)
from treewarden.audit.solver.processes import Call
from treewarden.audit.solver.task import Answer, Outcome, Task, no_answer
from treewarden.audit.stages import Share
from treewarden.ppdm_models.errors import TreewardenError

WORTH_A_WORKER = 1500
"""Variables in all tasks together below which one process is faster than two, of which one must start."""
WORTH_A_TASK = 300
"""The same where a worker is ready."""


def start_ahead(jobs: int) -> None:
    """Start what is missing of the workers that help this process, and return at once."""
    WORKERS.start_ahead(WORKERS.helpers(jobs))


def solve_all(
    tasks: Iterable[Task], jobs: int, pool: Pool = WORKERS, share: Share | None = None
) -> list[Answer]:
    """Return the answer to each task, in their order; workers start on the first while the others are being made.

    ``share`` is told how many parts are done, once it is known how many there are.

    Raises:
        TreewardenError: what a task raises.
    """
    size, worth, kept = 0, WORTH_A_TASK if pool.is_ready else WORTH_A_WORKER, KEPT.get()
    asked: list[Task] = []
    done: list[int] = []

    def heard(number: int, answer: object) -> None:
        done.append(number)
        if share is not None and call.line.is_closed:
            share(len(done), len(asked), "parts")
        if kept is not None:
            kept.answered(asked[number], answer)

    whole: list[tuple[Task, tuple[Task, ...]]] = []
    with Call[Answer](pool, heard) as call:
        for task in tasks:
            whole.append((task, task.parts(jobs)))
            for part in whole[-1][1]:
                asked.append(part if kept is None else kept.asked(part))
                call.add(partial(solve_task, asked[-1]), part.work)
            size += task.work
            while size >= worth and len(call.threads) < min(pool.helpers(jobs), len(call.jobs) - 1):
                call.hire()
        if share is not None:
            share(0, len(asked), "parts")
        call.work()
        found = iter(call.finish())
    return [joined(task, [_answer(part, next(found)) for part in parts]) for task, parts in whole]


def _answer(task: Task, found: Answer | TreewardenError | None) -> Answer:
    if isinstance(found, TreewardenError):
        raise found
    return no_answer(task, Outcome.LOST) if found is None else replace(found, tape=None)
