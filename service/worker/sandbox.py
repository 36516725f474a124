"""What the process of a job may not: outlive its parent, take all memory, write files, reach the network, gain rights.

It goes behind whatever else has work for a processor: somebody waits for a page, a worker's lease for its renewal.

What the kernel refuses to this user (a network namespace, say, in some containers) is left out: the limits that matter
most need no rights.

Starts the processes of jobs, and what they come from, with nothing in their environment that is secret.

A process keeps the block of variables that it was begun with, whatever it forgets later, and reads it again under
``/proc``. So the process that all those of jobs come from, and the one that tidies up after them, are begun with
variables that are known to hold no secret and with no others; what comes of them has no more. This process keeps its
own, as the password of a database or the keys of a bucket are needed again.
"""

from __future__ import annotations

import ctypes
import importlib
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
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
ALL_VARIABLES = threading.Lock()
"""Held while this process lacks variables, and by whoever needs them all: a driver reads a password from them."""
AUDITING = "treewarden.service.worker.auditing"
LOOK_SECONDS = 0.2


@dataclass(slots=True)
class _ForkserverUse:
    """The jobs in hand, when the last of them ended, and the number of the forkserver that has loaded everything."""

    jobs: int = 0
    last_used: float = 0.0
    loaded: int | None = None


_USE = _ForkserverUse()


def start_forkserver() -> None:
    """Start what processes of jobs come from, where it does not run."""
    with _LOCK:
        if not _is_running():
            with _without_secrets():
                forkserver.ensure_running()


def start_process(process: ForkServerProcess) -> None:
    """Start the process of a job; where what it comes from was ended meanwhile, that is begun anew, as clean."""
    start_forkserver()
    process.start()


def _end() -> None:
    """End a process that was begun for what it loads."""
    os._exit(0)


@contextmanager
def job_in_hand(check: Callable[[], None]) -> Iterator[None]:
    """Have processes begin at once, and the forkserver stay until the job is done.

    ``check`` is called again and again while everything is loaded, so that a lease does not run out; what it raises
    ends the job.
    """
    with _LOCK:
        _USE.jobs += 1
    try:
        if not (_is_running() and _USE.loaded == _forkserver_number()):
            loading = threading.Thread(target=_load, name="loading", daemon=True)
            loading.start()
            while loading.is_alive():
                loading.join(LOOK_SECONDS)
                check()
        yield
    finally:
        with _LOCK:
            _USE.jobs -= 1
            _USE.last_used = time.monotonic()


def end_idle_forkserver(seconds: float) -> bool:
    """End the forkserver where no job was in hand for so long; return whether it did. The next job begins it anew.

    It holds as much memory as a server and a worker together, and nothing that is not read again.
    """
    with _LOCK:
        number, idle = _forkserver_number(), time.monotonic() - _USE.last_used
        if _USE.jobs or idle < seconds or number is None or not _runs(number):
            return False
        os.kill(number, signal.SIGKILL)
        getattr(forkserver, "_forkserver")._stop()  # noqa: B009  # waits for it, and forgets it
        return True


def _load() -> None:
    """Return once the forkserver has loaded everything: it starts a process, which ends at once."""
    with suppress(OSError, EOFError):  # the job will tell
        process = multiprocessing.get_context("forkserver").Process(target=_end, daemon=True)
        start_process(process)
        number = _forkserver_number()
        process.join()
        _USE.loaded = number


def run_job(connection: Connection, limits: ProcessLimits) -> None:
    """Do the one job that is asked over a connection, in a process of its own; a worker itself never loads audits."""
    importlib.import_module(AUDITING).run(connection, limits)


def is_kept(name: str) -> bool:
    """Return whether a variable of the environment is for the processes of jobs too."""
    return name in KEPT or name.startswith(KEPT_BEGIN)


@contextmanager
def _without_secrets() -> Iterator[None]:
    """Take from the block that new processes are handed what is not for them; ``os.environ`` says what it said."""
    with ALL_VARIABLES:
        hidden = {
            name: value for name, value in os.environb.items() if not is_kept(os.fsdecode(name))
        }
        for name in hidden:
            os.unsetenv(name)
        try:
            yield
        finally:
            for name, value in hidden.items():
                os.putenv(name, value)


def _is_running() -> bool:
    """Return whether both processes run; the module that starts them tells of that in no other way."""
    tracker = getattr(resource_tracker, "_resource_tracker")  # noqa: B009
    return _runs(_forkserver_number()) and _runs(tracker._pid)


def _forkserver_number() -> int | None:
    server = getattr(forkserver, "_forkserver")  # noqa: B009
    number: int | None = server._forkserver_pid
    return number


def _runs(number: int | None) -> bool:
    """Return whether a child of this process runs; how it ended is left for who began it to ask."""
    if number is None:
        return False
    try:
        return os.waitid(os.P_PID, number, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446
_WRITES = 0b1111111110010
"""Rights of Landlock's first version that change something: writing, removing, and making entries of each kind."""
MOST_FILE = 2**30
"""Bytes of a file in memory, the only kind that is left to write."""
NICER = 10
"""So many steps behind other processes."""


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Bytes of address space, and seconds of processor time."""

    memory: int
    seconds: int


def confine(limits: ProcessLimits) -> None:
    """Confine this process; where whoever it works for is gone already, it ends at once."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None, use_errno=True)
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        library.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        if library.unshare(_NEW_NETWORK):
            library.unshare(_NEW_USER | _NEW_NETWORK)
        _write_no_files(library)
        # again, as some kernels forget it where credentials change
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _let_go_of_the_forkserver()
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        os._exit(1)
    os.nice(NICER)
    _limit(resource.RLIMIT_AS, limits.memory)
    _limit(resource.RLIMIT_CPU, limits.seconds)
    _limit(resource.RLIMIT_FSIZE, MOST_FILE)
    _limit(resource.RLIMIT_CORE, 0)


def hide_from_neighbours() -> None:
    """Let no other process of this user read this one's memory and variables: those of jobs run as the same user."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _let_go_of_the_forkserver() -> None:
    """Close the end of the pipe that keeps the parent alive, which every process that it starts is handed.

    It ends once nobody holds that end any more: with the worker, so, and not as late as this process does.
    """
    kept = getattr(forkserver, "_forkserver")  # noqa: B009  # the module tells of it in no other way
    held = getattr(kept, "_forkserver_alive_fd", None)
    if held is not None:
        os.close(held)
        kept._forkserver_alive_fd = None


def _write_no_files(library: ctypes.CDLL) -> None:
    """Refuse every change below any folder from now on; files in memory stay possible."""
    handled = ctypes.c_uint64(_WRITES)
    rules = library.syscall(_LANDLOCK_CREATE, ctypes.byref(handled), ctypes.sizeof(handled), 0)
    if rules >= 0:
        library.syscall(_LANDLOCK_RESTRICT, rules, 0)
        os.close(rules)


def _limit(kind: int, most: int) -> None:
    """Set a limit, no higher than the one that holds already."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(kind, (most, most))
