"""A worker process: reads tasks from its parent, solves them, writes the answers back; ends when the parent does."""

from __future__ import annotations

import os
import pickle
import signal
import sys

from audit.block_solver import Answer, Task, solve_task
from audit.parallel import READY
from ppdm_models.errors import TreewardenError


def main() -> None:
    """Serve until the input ends. Whatever a solver prints goes to standard error, not among the answers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(os.dup(1), "wb") as answers:
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


def _answered(task: Task) -> Answer | TreewardenError:
    """Return the answer, or the error that the parent is to raise."""
    try:
        return solve_task(task)
    except TreewardenError as error:
        return error


if __name__ == "__main__":
    main()
