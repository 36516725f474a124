"""A worker process: reads jobs from its parent, does them, writes the answers back; ends when the parent does."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import time

from treewarden.audit.solver import block_solver  # noqa: F401  # nearly all jobs need it: so it is there before they come
from treewarden.audit.workers.pool import READY, done, unpacked

LOOK_SECONDS = 1.0
"""How often to look whether the parent is still there while a job runs."""


def main() -> None:
    """Serve until the input ends. Whatever a solver prints goes to standard error, not among the answers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    # Where the parent has ended, nobody reads the answers.
    with contextlib.suppress(BrokenPipeError), os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        answers.write(READY)
        answers.flush()
        while True:
            try:
                job = unpacked(*pickle.load(sys.stdin.buffer))
            except EOFError:
                return
            pickle.dump(done(job), answers)
            answers.flush()


def _end_with(parent: int) -> None:
    """End this process soon after its parent: also where that was killed in the middle of a job."""
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    main()
