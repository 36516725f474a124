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


_is_spared = False
"""Whether something is spared already; to count what is takes as long as to look through it."""


@contextmanager
def spared() -> Iterator[None]:
    """Spare what stands now: for work beside many records that will stay, while its own garbage is collected.

    Where something is spared already, nothing more is, and it stays so: whoever began that has not ended it.
    """
    global _is_spared
    if _is_spared:
        yield
        return
    _is_spared = True
    if gc.get_freeze_count():  # by the program that we are part of, which is not asked again
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        _is_spared = False


SELDOM = 20_000
"""Records more than before after which Python looks for garbage, for a command that ends soon; it starts at 700."""


def collect_seldom() -> None:
    """Look for garbage less often: of a large audit that saves a fiftieth, and a command returns all memory soon."""
    gc.set_threshold(SELDOM, 20, 20)


def spare_all() -> None:
    """Spare all records for good: a process that ends would look through each of them, only to end."""
    gc.freeze()
