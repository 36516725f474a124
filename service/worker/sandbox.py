"""What the process of a job may not: outlive its parent, take all memory, write files, reach the network, gain rights.

It goes behind whatever else has work for a processor: somebody waits for a page, a worker's lease for its renewal.

What the kernel refuses to this user (a network namespace, say, in some containers) is left out: the limits that matter
most need no rights.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import resource
import signal
import sys
from dataclasses import dataclass
from multiprocessing import forkserver

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
