"""Python's garbage collector, kept from looking again and again through many records that are no garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Collect nothing: for making millions of records that hold no cycles, which would be walked over repeatedly."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def spared() -> Iterator[None]:
    """Spare what stands now: for work beside many records that will stay, while its own garbage is collected.

    Where something is spared already, nothing more is, and it stays so: whoever began that has not ended it.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
