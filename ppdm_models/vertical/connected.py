"""A side's end of a session over connections: what the others say, how long they are waited for, and how all end."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import Callable

from ppdm_models.vertical.channel import Channel
from ppdm_models.vertical.errors import ProtocolError
from ppdm_models.vertical.faults import Fault, words
from ppdm_models.vertical.framing import (
    ABORT,
    BYE,
    KINDS,
    Abort,
    Frame,
    Hello,
    Reading,
    Refused,
    Writing,
    abort,
    first_place,
)
from ppdm_models.vertical.limits import Limits
from ppdm_models.vertical.line import Hearing, Line
from ppdm_models.vertical.messages import MINER, Kind, Log, Message, role
from ppdm_models.vertical.session_file import Meeting

LINGER = 2.0
"""Seconds a side that leaves waits for the others to leave too, so that its last word reaches them."""
OVERHEAD = 256
"""Bytes that a message takes that waits to be read, beside its body."""


def patience(own: int, of: int, seconds: int) -> float:
    """Return how many seconds a side waits for another.

    A party waits for a party as long as the session file says. The miner waits a quarter longer, and parties wait twice
    as long for the miner, so that who waits for the late side itself is the first to say so.
    """
    if MINER not in (own, of):
        return seconds
    return 1.25 * seconds if own == MINER else 2 * seconds


class Connected(Channel, Hearing):
    """The channel of one side. Whatever fails, here or elsewhere, ends the session on all sides, for one reason.

    ``log`` holds what this side sent and received. ``body`` is the task that is cancelled when the session fails while
    it waits for something else than another side's word.
    """

    def __init__(self, meeting: Meeting, own: int, body: asyncio.Task[object] | None) -> None:
        super().__init__(own)
        self.meeting, self.log = meeting, Log()
        self.failure: ProtocolError | None = None
        self.is_cancelled = False
        self.lines: dict[int, Line] = {}
        self.others = frozenset(meeting.addresses) - {own}
        self._body, self._limits = body, Limits(meeting.session, meeting.asked)
        self._unread = {of: deque[Message]() for of in self.others}
        self._bytes = dict.fromkeys(self.others, 0)
        self._most = {of: self._limits.unread(of, own) for of in self.others}
        self._word = {of: asyncio.Event() for of in self.others}
        self._together = asyncio.Event()
        self._taken: dict[Kind, Callable[[Message], None]] = {}
        self._asleep: set[asyncio.Task[object] | None] = set()
        self._left: set[int] = set()
        self._last_word = b""
        self._is_leaving = False

    def post(self, to: int, kind: Kind, node: int = 0, body: bytes = b"") -> None:
        self._hold()
        if to in self._left:
            self.fail(to, Fault.GONE)
            self._hold()
        if len(body) > self._limits.of(kind, self.own, to):
            raise ValueError(f"{len(body):,} bytes of {kind!s} are more than the session can need")
        self.log.add(Message(self.own, to, kind, node, body))
        self.lines[to].frame(KINDS.index(kind), node, body)

    async def send(self, to: int, kind: Kind, node: int = 0, body: bytes = b"") -> None:
        self.post(to, kind, node, body)
        room = self.lines[to].room
        if not room.is_set():
            await self._until(room, to)

    async def following(self, of: int) -> Message:
        self._hold()
        while not self._unread[of]:
            if of in self._left:
                self.fail(of, Fault.GONE)
                self._hold()
            self._word[of].clear()
            await self._until(self._word[of], of)
        found = self._unread[of].popleft()
        self._bytes[of] -= len(found.body) + OVERHEAD
        return found

    def divert(self, kind: Kind, take: Callable[[Message], None]) -> None:
        self._taken[kind] = take
        for of, unread in self._unread.items():
            waiting = [each for each in unread if each.kind is kind]
            self._unread[of] = deque(each for each in unread if each.kind is not kind)
            self._bytes[of] -= sum(len(each.body) + OVERHEAD for each in waiting)
            for each in waiting:
                asyncio.get_running_loop().call_soon(self._give, take, each)

    def join(self, of: int, line: Line, listener: Hello, caller: Hello) -> None:
        """Take a connection for that to a side, once both have said hello."""
        called = self.own < of
        reading = Reading(
            first_place(listener, caller, called=called),
            lambda kind: self._limits.of(kind, of, self.own),
        )
        self.lines[of] = line
        line.join(self, of, reading, Writing(first_place(listener, caller, called=not called)))
        if self.failure is not None:
            line.frame(ABORT, body=self._last_word)
        if len(self.lines) == len(self.others):
            self._together.set()

    async def together(self) -> None:
        """Wait until all sides are there.

        Raises:
            ProtocolError: a side did not come, or is not the one it should be.
        """
        task = asyncio.current_task()
        self._asleep.add(task)
        try:
            await self._together.wait()
        finally:
            self._asleep.discard(task)
        self._hold()

    def fail(
        self,
        who: int,
        fault: Fault,
        seconds: int = 0,
        problem: str | None = None,
        teller: int | None = None,
    ) -> None:
        """End the session because of a side: tell all others at once, and whoever waits here; the first reason counts.

        ``problem`` is what is said here instead of the fault's words, ``teller`` the side that this is known from.
        """
        if self.failure is not None or self._is_leaving:
            return
        said = problem or words(fault, seconds)
        if teller is not None and teller != who:
            said += f" (says {role(teller, self.meeting.session.parties)})"
        self.failure = ProtocolError(who, said)
        self._last_word = Abort(who, fault, seconds).packed()
        for line in self.lines.values():
            line.frame(ABORT, body=self._last_word)
            line.room.set()
        for event in (self._together, *self._word.values()):
            event.set()
        # Only a body that waits for no side's word has to be woken; one that runs now hears of it by what it called.
        running = asyncio.current_task() is self._body
        if self._body is not None and not running and self._body not in self._asleep:
            self.is_cancelled = self._body.cancel()

    def trouble(self, error: BaseException) -> None:
        """End the session because of an error in this side's own program."""
        self.fail(self.own, Fault.OWN)
        if self.failure is not None and self.failure.__cause__ is None:
            self.failure.__cause__ = error

    def heard(self, of: int, frame: Frame) -> None:
        if frame.kind == ABORT:
            self._told(of, abort(frame.body))
        elif frame.kind == BYE:
            self.lines[of].ended.set()
            self._leave(of)
        elif self.failure is None and not self._is_leaving:
            self._take(Message(of, self.own, KINDS[frame.kind], frame.node, frame.body))

    def refused(self, of: int, fault: Fault) -> None:
        self.fail(of, fault)

    def lost(self, of: int) -> None:
        if of not in self._left:
            self.fail(of, Fault.GONE)

    async def leave(self) -> None:
        """Say goodbye, wait a little for the others to go, and close all connections."""
        if self.failure is None:
            for line in self.lines.values():
                line.frame(BYE)
        self._is_leaving = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                for line in self.lines.values():
                    await line.ended.wait()
        await asyncio.gather(*(line.close(LINGER) for line in self.lines.values()))

    def _take(self, message: Message) -> None:
        self.log.add(message)
        take, of = self._taken.get(message.kind), message.sender
        if take is not None:
            self._give(take, message)
            return
        self._unread[of].append(message)
        self._bytes[of] += len(message.body) + OVERHEAD
        self._word[of].set()
        if self._bytes[of] > self._most[of]:
            raise Refused(Fault.TOO_MUCH)

    def _give(self, take: Callable[[Message], None], message: Message) -> None:
        try:
            take(message)
        except ProtocolError as error:
            self.fail(error.who, Fault.BREAKS, problem=error.problem)
        except Exception as error:  # nobody above would tell the other sides
            self.trouble(error)

    def _told(self, of: int, told: Abort) -> None:
        self.lines[of].ended.set()
        if told.who not in self.meeting.addresses:
            raise Refused(Fault.GARBAGE)
        self.fail(told.who, told.fault, told.seconds, teller=of)

    def _leave(self, of: int) -> None:
        """Note that a side left in good order: an error only for who still waits for a word of it."""
        self._left.add(of)
        self._word[of].set()

    async def _until(self, event: asyncio.Event, of: int) -> None:
        """Wait for a side as long as it may take.

        Raises:
            ProtocolError: it took longer, or the session failed.
        """
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        seconds = patience(self.own, of, self.meeting.seconds)
        timer = loop.call_later(seconds, self.fail, of, Fault.LATE, math.ceil(seconds))
        self._asleep.add(task)
        try:
            await event.wait()
        finally:
            timer.cancel()
            self._asleep.discard(task)
        self._hold()

    def _hold(self) -> None:
        """Stop here if the session failed."""
        if self.failure is not None:
            raise self.failure
