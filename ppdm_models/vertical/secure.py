"""Whose key is the smallest, by MPyC: keys are shared among all sides, compared as shares, and one index is opened.

The parties and the miner compute together, so that two parties are enough: no more than a threshold of them learn
anything by putting their heads together. MPyC takes over the event loop it runs in, may stop it, and has one runtime
per process; it gets a thread of its own, and its messages go over the session's channel like all others.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import hashlib
import importlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ppdm_models.vertical.channel import Channel
from ppdm_models.vertical.comparing import Comparison
from ppdm_models.vertical.errors import ProtocolError, Reason
from ppdm_models.vertical.messages import MINER, Kind, Message
from ppdm_models.vertical.session import Session

SECURITY_BITS = 40
"""A share tells more than nothing with a chance of 2 to the minus so many."""
MANY = 8
"""From so many sides on, common seeds for random numbers cost more than they save."""
MOST_OPEN = 1 << 14
"""So many messages of one side may be here before their turn; more are no part of any comparison."""
MOST_BYTES = 1 << 20
MODULES = (
    "asyncoro",
    "sectypes",
    "mpctools",
    "seclists",
    "secpols",
    "secgroups",
    "random",
    "statistics",
)


def threshold(parties: int) -> int:
    """Return how many of the parties and the miner together learn nothing from their shares."""
    return max(1, (parties - 1) // 2)


class SecureComparison(Comparison):
    """One side's part; to be closed when the session ends. ``seconds`` is how long it waits for others at a node."""

    def __init__(self, session: Session, channel: Channel, seconds: float) -> None:
        self._channel, self._seconds = channel, seconds
        self._main = asyncio.get_running_loop()
        self._miner = len(session.parties)
        self._engine = _Engine(self, session, self._pid(channel.own))
        self._waiting: asyncio.Future[int | None] | None = None
        self._broken: ProtocolError | None = None
        self._node = 0
        self._engine.start()
        channel.divert(Kind.COMPARING, self._take)

    async def give(self, node: int, key: int) -> None:
        await self._compare(node, key)

    async def winner(self, node: int) -> int:
        found = await self._compare(node, None)
        if found is None or not 0 <= found < self._miner:
            raise ProtocolError(MINER, "compared keys, and nobody's is the smallest")
        return found

    def close(self) -> None:
        """End the thread."""
        self._engine.stop()

    def post(self, pid: int, body: bytes) -> None:
        """Send what the engine says; called in its thread."""
        to = MINER if pid == self._miner else pid
        self._call(lambda: self._channel.post(to, Kind.COMPARING, self._node, body))

    def done(self, found: int | None) -> None:
        """Take the result; called in the engine's thread."""
        self._call(lambda: self._finish(found))

    def broken(self, pid: int | None) -> None:
        """Hear that it cannot go on, and by whose fault, if that is known; called in the engine's thread."""
        who = self._channel.own if pid is None else MINER if pid == self._miner else pid
        words = "sent what is no share of a key" if pid is not None else "could not compare keys"
        self._call(lambda: self._break(ProtocolError(who, words, Reason.GARBAGE)))

    async def _compare(self, node: int, key: int | None) -> int | None:
        if self._broken is not None:
            raise self._broken
        self._node = node
        self._waiting = self._main.create_future()
        self._engine.compare(key)
        try:
            async with asyncio.timeout(self._seconds):
                return await self._waiting
        except TimeoutError as error:
            late = self._engine.late()
            who = MINER if late in (None, self._miner) else late
            problem = f"did not compare keys for {self._seconds:g} seconds"
            raise ProtocolError(who, problem, Reason.LATE) from error

    def _take(self, message: Message) -> None:
        self._engine.take(self._pid(message.sender), message.body)

    def _pid(self, number: int) -> int:
        return self._miner if number == MINER else number

    def _call(self, what: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the session is over, and its loop closed
            self._main.call_soon_threadsafe(what)

    def _finish(self, found: int | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(found)

    def _break(self, error: ProtocolError) -> None:
        self._broken = error
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)


class _Engine:
    """MPyC's runtime in its thread: what the others call, they call from the thread of the session."""

    def __init__(self, side: SecureComparison, session: Session, own: int) -> None:
        self._side, self._own = side, own
        self._parties = len(session.parties)
        self._bits = session.nothing.bit_length() + 1
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="comparing", daemon=True)
        self._lanes: dict[int, Any] = {}
        self._runtime: Any = None
        self._ready: asyncio.Future[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, whatever is being compared."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def take(self, pid: int, body: bytes) -> None:
        """Take what another side's engine says."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._heard, pid, body)

    def compare(self, key: int | None) -> None:
        """Compare keys; the miner has none."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._begin, key)

    def late(self) -> int | None:
        """Return a side that is waited for."""
        for pid, lane in list(self._lanes.items()):
            if any(isinstance(each, asyncio.Future) for each in list(lane.buffers.values())):
                return pid
        return None

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        stopped = self._loop.create_task(self._open())
        self._tasks.add(stopped)
        try:
            self._loop.run_forever()
        finally:
            self._side.broken(None)  # after the end of the session nobody hears that
            self._loop.set_exception_handler(_quiet)
            for each in asyncio.all_tasks(self._loop):
                each.cancel()
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.close()

    async def _open(self) -> None:
        """Make the runtime, and a lane to each other side."""
        library, sides = _library(), self._parties + 1
        options = library.options(threshold(self._parties), no_prss=sides >= MANY)
        parties = map(library.runtime.Party, range(sides))
        runtime = library.runtime.Runtime(self._own, parties, options)
        library.use(runtime)
        exchanger = library.asyncoro.MessageExchanger
        self._loop.set_exception_handler(self._failed)
        runtime.parties[self._own].protocol = self._ready = self._loop.create_future()
        self._runtime = runtime
        for pid in range(sides):
            if pid == self._own:
                continue
            # of two sides the one with the lower number says who it is, and which seeds they share
            lane = exchanger(runtime, pid) if pid > self._own else exchanger(runtime)
            self._lanes[pid] = lane
            lane.connection_made(_Lane(self, self._loop, pid))

    def said(self, pid: int, body: bytes) -> None:
        """Send what the runtime says to another side."""
        self._side.post(pid, body)

    def _heard(self, pid: int, body: bytes) -> None:
        lane = self._lanes.get(pid)
        if lane is None:  # not open yet: it comes again once it is
            self._loop.call_soon(self._heard, pid, body)
            return
        try:
            lane.data_received(body)
        except Exception:  # whatever a stranger's bytes lead to in a library
            self._side.broken(pid)
            return
        is_odd = lane.peer_pid not in (None, pid)
        if is_odd or len(lane.buffers) > MOST_OPEN or len(lane.bytes) > MOST_BYTES:
            self._side.broken(pid)

    def _begin(self, key: int | None) -> None:
        task = self._loop.create_task(self._compared(key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _compared(self, key: int | None) -> None:
        while self._ready is None:
            await asyncio.sleep(0.001)
        await self._ready
        runtime = self._runtime
        number = runtime.SecInt(self._bits)
        keys = runtime.input(number(key or 0), senders=list(range(self._parties)))
        place, _ = runtime.argmin(keys)
        found = await runtime.output(place, receivers=[self._parties])
        self._side.done(None if found is None else int(found))

    def _failed(self, _: asyncio.AbstractEventLoop, __: dict[str, Any]) -> None:
        self._side.broken(None)


class _Lane:
    """What the library takes for a connection; what is written in one go is one message."""

    def __init__(self, engine: _Engine, loop: asyncio.AbstractEventLoop, pid: int) -> None:
        self._engine, self._loop, self._pid = engine, loop, pid
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send bytes soon, together with what is written until then."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(bytes(data))

    def writelines(self, several: list[bytes]) -> None:
        """Send several pieces."""
        self.write(b"".join(several))

    def close(self) -> None:
        """Do nothing: the channel is closed by the session."""

    def _flush(self) -> None:
        body, self._parts = b"".join(self._parts), []
        self._engine.said(self._pid, body)


class _Library:
    """MPyC as it is used here: it gets no arguments of ours, writes no log, and unpickles nothing."""

    def __init__(self) -> None:
        with _alone():
            self.package = importlib.import_module("mpyc")
            self.runtime = importlib.import_module("mpyc.runtime")
            self.asyncoro = importlib.import_module("mpyc.asyncoro")
        # arrays would go by pickle, which must never read a stranger's bytes
        vars(self.runtime)["pickle"] = None
        vars(self.asyncoro)["_hop"] = _hop  # the one that all platforms agree on

    def options(self, most: int, *, no_prss: bool) -> argparse.Namespace:
        """Return its options; arrays in its messages would be pickled if platforms were not said to be mixed."""
        found: argparse.Namespace = self.package._get_arg_parser().parse_args([])  # noqa: SLF001  # the only door
        found.threshold, found.no_prss, found.sec_param = most, no_prss, SECURITY_BITS
        found.no_log = found.no_barrier = found.mix32_64bit = True
        return found

    def use(self, runtime: object) -> None:
        """Make a runtime the one of this process, as each of its modules has it."""
        for name in MODULES:
            vars(importlib.import_module(f"mpyc.{name}"))["runtime"] = runtime


_library = functools.cache(_Library)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Keep a library that reads arguments and sets up logs when it is imported from ours."""
    root = logging.getLogger()
    arguments, handlers, level = sys.argv, root.handlers[:], root.level
    os.environ.setdefault("MPYC_NOUVLOOP", "1")
    sys.argv = [*arguments[:1], "--no-log"]
    try:
        yield
    finally:
        sys.argv = arguments
        root.handlers[:] = handlers
        root.setLevel(level)


def _hop(counter: list[int]) -> int:
    digest = hashlib.sha256(str(counter).encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)


def _quiet(_: asyncio.AbstractEventLoop, __: dict[str, Any]) -> None:
    """Say nothing of what was cut off at the end."""
