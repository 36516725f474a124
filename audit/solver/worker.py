"""A worker process: reads jobs from its parent, does them, writes the answers back; ends when the parent does."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys

from audit.solver import block_solver  # noqa: F401  # nearly all jobs need it: so it is there before they come
from audit.solver.pool import READY, done


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
                job = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            pickle.dump(done(job), answers)
            answers.flush()


if __name__ == "__main__":
    main()
