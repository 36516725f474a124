"""MPyC, which shares secrets among sides, kept from all that is not its own.

When it is imported it would read our arguments, set up logs on standard output and choose an event loop; it prints
tracebacks, stops the event loop when something goes wrong, and reads arrays by pickle. Here it does none of that. It
has one runtime per process.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import hashlib
import importlib
import logging
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ppdm_models.errors import PartyError

SECURITY_BITS = 40
"""What is opened of a difference of keys tells more than nothing with a chance of 2 to the minus so many."""
MODULES = ("asyncoro", "sectypes")
"""Those of MPyC's modules used here that each have the runtime as a global variable."""
QUIET = {"READTHEDOCS": "True", "MPYC_NONUMPY": "1"}
"""With the first it does nothing when it is imported, with the second it cannot read arrays."""


def settings(sides: int, threshold: int, *, has_seeds: bool) -> argparse.Namespace:
    """Return MPyC's options; with ``has_seeds`` sides make common random numbers of seeds instead of messages."""
    unknown_parts = math.comb(sides, threshold) if has_seeds else threshold + 1
    return argparse.Namespace(
        threshold=threshold,
        no_prss=not has_seeds,
        # a mask is a sum of so many parts, all but one of which the others may know
        sec_param=SECURITY_BITS + unknown_parts.bit_length(),
        bit_length=32,
        no_log=True,
        no_async=False,
        no_barrier=True,
        mix32_64bit=True,
    )


class Engine:
    """One side's runtime, of those of the whole computation; ``failed`` hears of steps that fail.

    Raises:
        PartyError: MPyC is not installed.
        ValueError: there is one in this process already.
    """

    def __init__(
        self,
        own: int,
        sides: int,
        options: argparse.Namespace,
        failed: Callable[[BaseException], None],
    ) -> None:
        self.own = own
        self._library = library()
        if self._library.failed is not None:
            raise ValueError("a process compares keys in one session at a time")
        loop = asyncio.get_running_loop()
        handler = loop.get_exception_handler()
        parties = [self._library.runtime.Party(pid) for pid in range(sides)]
        self.runtime: Any = self._library.runtime.Runtime(own, parties, options)
        loop.set_exception_handler(handler)  # the runtime has put its own in, which prints
        self._library.failed = failed
        self._library.use(self.runtime)

    @property
    def version(self) -> str:
        """The version of MPyC."""
        return str(self._library.package.__version__)

    def connect(self, lanes: Mapping[int, object]) -> None:
        """Have the runtime speak with all other sides."""
        for pid, lane in lanes.items():
            self.runtime.parties[pid].protocol = lane

    def seeds_for(self, pid: int) -> bytes:
        """Return the seeds that another side has to share with this one: those made by the first who has them."""
        if self.runtime.options.no_prss or pid < self.own:
            return b""
        return b"".join(self.runtime._prss_keys_to_peer(pid))  # noqa: SLF001  # the only door

    def take_seeds(self, pid: int, seeds: bytes) -> bool:
        """Take another side's seeds; return whether there are as many as there have to be."""
        if self.runtime.options.no_prss or pid > self.own:
            return not seeds
        if len(seeds) != self.runtime._prss_keys_from_peer(pid):  # noqa: SLF001  # the only door
            return False
        self.runtime._prss_keys_from_peer(pid, seeds)  # noqa: SLF001  # the only door
        return True

    def close(self) -> None:
        """Leave the process without a runtime, and nothing of it waiting."""
        if self._library.failed is None:
            return
        self._library.failed = None
        self._library.use(None)
        for task in asyncio.all_tasks():
            if hasattr(task, "f_back"):  # so MPyC marks its own
                task.cancel()


class _Library:
    """The package, imported."""

    def __init__(self) -> None:
        with _alone():
            self.package: Any = importlib.import_module("mpyc")
            self.runtime: Any = importlib.import_module("mpyc.runtime")
            self._steps = vars(importlib.import_module("mpyc.asyncoro"))
        # neither arrays nor objects are sent here; should they be, pickle must never read a stranger's bytes
        vars(self.runtime)["pickle"] = None
        self._steps["_hop"] = _hop
        self._steps["_reconcile"] = self._reconcile
        self.failed: Callable[[BaseException], None] | None = None

    def use(self, runtime: object) -> None:
        """Make a runtime the one of this process, as each of its modules has it."""
        for name in MODULES:
            vars(importlib.import_module(f"mpyc.{name}"))["runtime"] = runtime

    def _reconcile(self, declared: object, task: asyncio.Task[object]) -> None:
        """Put what a step has found where others wait for it; MPyC's own would stop the event loop at an error."""
        if task.cancelled():
            return
        error = task.exception()
        if error is None and declared is not None:
            self._steps["__reconcile"](declared, task.result())
        elif error is not None and self.failed is not None:
            self.failed(error)


@functools.cache
def library() -> _Library:
    """Return the package.

    Raises:
        PartyError: it is not installed.
    """
    try:
        return _Library()
    except ImportError as error:
        problem = "is not installed, and keys are compared by it; pip install 'treewarden[mpc]'"
        raise PartyError("mpyc", problem) from error


@contextmanager
def _alone() -> Iterator[None]:
    """Keep a library from our logs and settings while it is imported."""
    before = {name: os.environ.get(name) for name in QUIET}
    os.environ.update(QUIET)
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)  # what is logged where there is no handler would bring one to stay
    try:
        yield
    finally:
        root.removeHandler(handler)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _hop(counter: list[int]) -> int:
    """Return the number of a step inside a step: the same on all platforms."""
    digest = hashlib.sha256(str(counter).encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)
