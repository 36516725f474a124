"""A worker process: reads tasks from its parent, does them, writes the answers back; ends when the parent does."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
from collections.abc import Callable
from functools import partial

from audit.solver.block_solver import solve_task
from audit.solver.processes import READY, done
from audit.solver.task import Task


def main() -> None:
    """Serve until the input ends. Whatever a solver prints goes to standard error, not among the answers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Where the parent has ended, nobody reads the answers.
    with contextlib.suppress(BrokenPipeError), os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        answers.write(READY)
        answers.flush()
        while True:
            try:
                task = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            pickle.dump(_answered(task), answers)
            answers.flush()


def _answered(task: Task | Callable[[], object]) -> object:
    """Return the answer, or the error that the parent is to raise."""
    return done(partial(solve_task, task) if isinstance(task, Task) else task)


if __name__ == "__main__":
    main()
