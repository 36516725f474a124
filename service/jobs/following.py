"""When a worker ends: told by a signal, or with the server that it was begun beside, in whatever way that ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from contextlib import suppress

_PR_SET_PDEATHSIG = 1


def stop_at_signals() -> threading.Event:
    """Return what is set once this process is told to stop: by SIGTERM or Ctrl-C.

    A handler runs between any two steps of the main thread. One that set an event itself would wait for ever where it
    comes while the main thread holds that event's lock; so it writes a byte, and a thread that reads it does the rest.
    """
    stop = threading.Event()
    heard, told = os.pipe()
    os.set_blocking(told, False)

    def tell(*_: object) -> None:
        with suppress(BlockingIOError):  # told often enough
            os.write(told, b".")

    def listen() -> None:
        os.read(heard, 1)
        stop.set()

    threading.Thread(target=listen, name="signals", daemon=True).start()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, tell)
    return stop


def follow(parent: int) -> bool:
    """Have this process told to stop when its parent is gone; return whether the parent is still there.

    The kernel tells it (on Linux), so that it holds for a parent that was killed too.
    """
    if sys.platform == "linux":
        library = ctypes.CDLL(None, use_errno=True)
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    return os.getppid() == parent
