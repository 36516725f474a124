"""Starts the processes of jobs, and what they come from, with nothing in their environment that is secret.

A process keeps the block of variables that it was begun with, whatever it forgets later, and reads it again under
``/proc``. So the process that all those of jobs come from, and the one that tidies up after them, are begun with
variables that are known to hold no secret and with no others; what comes of them has no more. This process keeps its
own, as the password of a database or the keys of a bucket are needed again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerProcess

KEPT = frozenset(
    {
        "HOME",
        "LANG",
        "LANGUAGE",
        "LD_LIBRARY_PATH",
        "MPLCONFIGDIR",
        "PATH",
        "TEMP",
        "TMP",
        "TMPDIR",
        "TREEWARDEN_TABLE_MEMORY",
        "TREEWARDEN_TRACEBACK",
        "TZ",
        "VIRTUAL_ENV",
        "XDG_CACHE_HOME",
    }
)
"""What a job may need to find its programs, languages and limits."""
KEPT_BEGIN = ("LC_", "MKL_", "OMP_", "OPENBLAS_", "PYTHON", "TREEWARDEN_LIMIT_")
_LOCK = threading.Lock()


def start_forkserver() -> None:
    """Start what processes of jobs come from, where it does not run; best called before there are other threads."""
    with _LOCK:
        if not _is_running():
            with _without_secrets():
                forkserver.ensure_running()


def start_process(process: ForkServerProcess) -> None:
    """Start the process of a job; where what it comes from was ended meanwhile, that is begun anew, as clean."""
    start_forkserver()
    process.start()


def is_kept(name: str) -> bool:
    """Return whether a variable of the environment is for the processes of jobs too."""
    return name in KEPT or name.startswith(KEPT_BEGIN)


@contextmanager
def _without_secrets() -> Iterator[None]:
    """Take from the block that new processes are handed what is not for them; ``os.environ`` says what it said."""
    hidden = {name: value for name, value in os.environb.items() if not is_kept(os.fsdecode(name))}
    for name in hidden:
        os.unsetenv(name)
    try:
        yield
    finally:
        for name, value in hidden.items():
            os.putenv(name, value)


def _is_running() -> bool:
    """Return whether both processes run; the module that starts them tells of that in no other way."""
    server = getattr(forkserver, "_forkserver")  # noqa: B009
    tracker = getattr(resource_tracker, "_resource_tracker")  # noqa: B009
    return _runs(server._forkserver_pid) and _runs(tracker._pid)


def _runs(number: int | None) -> bool:
    """Return whether a child of this process runs; how it ended is left for who began it to ask."""
    if number is None:
        return False
    try:
        return os.waitid(os.P_PID, number, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False
