"""Processes that a test did not start itself, and waiting for their end without asking again and again."""

from __future__ import annotations

import os
import select
from contextlib import suppress

SECONDS = 60
"""After so long, a process that should have ended is taken to go on."""


def wait_for_end(*pids: int) -> None:
    """Wait until processes have ended, whoever has to be told of it."""
    for pid in pids:
        with suppress(ProcessLookupError):
            watched = os.pidfd_open(pid)
            try:
                ended, _, _ = select.select([watched], [], [], SECONDS)
            finally:
                os.close(watched)
            assert ended, f"process {pid} goes on"


def forever() -> float:
    """Return how long may be waited for jobs that are done elsewhere: for as long as it takes."""
    return float("inf")
