"""How sides find each other: of two the one with the lower number listens, the other calls until it is heard.

Who calls has to show a certificate of the session's authority for a role that is still missing; anybody else is
refused, and the session goes on. A side of the session with another session file ends it.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from ppdm_models.errors import PartyError
from ppdm_models.vertical.certificates import context, role_of
from ppdm_models.vertical.connected import Connected
from ppdm_models.vertical.faults import Fault, lasting, words
from ppdm_models.vertical.framing import Hello, Refused, hello
from ppdm_models.vertical.line import Line
from ppdm_models.vertical.messages import role

SHAKING = 10.0
"""Seconds that a caller has for TLS, and as many for its hello."""
CLOSING = 1.0
MOST_CALLERS = 128
TURNED_AWAY = 3
AGAIN = 0.1, 1.0
"""Seconds between two calls: at first, and at most."""
_log = logging.getLogger(__name__)


class Gathering:
    """One side's part in it; it goes on until the session ends, as a second side of one name is to be told so."""

    def __init__(self, sides: Connected, certificates: Path) -> None:
        meeting, own = sides.meeting, sides.own
        self._sides, self._own = sides, own
        self._name = role(own, meeting.session.parties)
        self._numbers = {role(each, meeting.session.parties): each for each in sides.others}
        self._server = context(certificates, self._name, is_server=True)
        self._client = context(certificates, self._name, is_server=False)
        self._refused: Counter[Fault] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._greeting: set[asyncio.Task[None]] = set()
        self._turned_away: Counter[int] = Counter()
        self._sockets: list[socket.socket] = []
        self._timer: asyncio.TimerHandle | None = None
        self._callers = asyncio.Semaphore(MOST_CALLERS)

    async def begin(self) -> None:
        """Listen for the sides behind this one in number, and call those before it.

        Raises:
            PartyError: this side's own address cannot be listened at.
        """
        loop, meeting = asyncio.get_running_loop(), self._sides.meeting
        if any(each > self._own for each in self._sides.others):
            address = meeting.addresses[self._own]
            self._sockets = await _listening(address.host, address.port, self._name)
        for listening in self._sockets:
            self._go(self._accept(listening))
        for of in sorted(self._sides.others):
            if of < self._own:
                self._go(self._call(of))
        self._timer = loop.call_later(meeting.seconds, self._is_over)

    async def end(self) -> None:
        """Neither listen nor call any more.

        Who was greeted already is heard out for a moment, so that it is not left without a word of why all end.
        """
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks - self._greeting:
            task.cancel()
        if self._greeting:
            await asyncio.wait(self._greeting.copy(), timeout=CLOSING)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, *self._closing, return_exceptions=True)
        for each in self._sockets:
            each.close()

    def _go(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._gone)

    def _gone(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._sides.trouble(error)

    def _is_over(self) -> None:
        """Say of the first side that is missing that it did not come."""
        missing = sorted(self._sides.others - self._sides.lines.keys())
        if not missing:
            return
        who, meeting = missing[0], self._sides.meeting
        problem = words(Fault.ABSENT, meeting.seconds)
        if who < self._own:
            address = meeting.addresses[who]
            problem = (
                f"nobody answered at {address.host}:{address.port} for {lasting(meeting.seconds)}"
            )
        elif self._refused:
            problem += f"; {self._refused.total():,} callers were refused"
        self._sides.fail(who, Fault.ABSENT, meeting.seconds, problem)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._callers.acquire()
            try:
                arrived, _ = await loop.sock_accept(listening)
            except ConnectionError:
                self._callers.release()
                continue
            self._go(self._meet(arrived))

    async def _meet(self, arrived: socket.socket) -> None:
        try:
            await self._welcome(arrived)
        finally:
            self._callers.release()

    async def _welcome(self, arrived: socket.socket) -> None:
        """Find out who calls; take it for its side of the session, or refuse it."""
        try:
            _, line = await asyncio.get_running_loop().connect_accepted_socket(
                Line,
                arrived,
                ssl=self._server,
                ssl_handshake_timeout=SHAKING,
                ssl_shutdown_timeout=CLOSING,
            )
        except OSError:
            arrived.close()
            self._note(Fault.STRANGER)
            return
        try:
            with self._in_greeting():
                await self._introduced(line)
        except Refused as error:
            self._note(error.fault)
            line.say(self._hello(error.fault).packed())
            self._send_off(line)
        except asyncio.CancelledError:
            line.transport.abort()
            raise

    async def _introduced(self, line: Line) -> None:
        of = self._shown(line)
        if of < self._own:
            raise Refused(Fault.STRANGER)
        try:
            async with asyncio.timeout(SHAKING):
                said = await line.hello
        except TimeoutError as error:
            raise Refused(Fault.LATE) from error
        if said is None:
            raise Refused(Fault.GONE)
        theirs = hello(said)
        if theirs.number != of:
            raise Refused(Fault.STRANGER)
        if theirs.digest != self._sides.meeting.digest:
            self._sides.fail(of, Fault.DIFFERS)
            raise Refused(Fault.DIFFERS)
        if of in self._sides.lines:
            raise Refused(Fault.TWICE)
        ours = self._hello()
        line.say(ours.packed())
        self._sides.join(of, line, ours, theirs)

    def _shown(self, line: Line) -> int:
        """Return the side whose certificate the other end shows."""
        try:
            found = self._numbers.get(role_of(line.transport.get_extra_info("peercert")))
        except PartyError as error:
            raise Refused(Fault.STRANGER) from error
        if found is None:
            raise Refused(Fault.STRANGER)
        return found

    def _note(self, fault: Fault) -> None:
        self._refused[fault] += 1
        _log.warning("a caller was refused: %s", words(fault, int(SHAKING)))

    @contextmanager
    def _in_greeting(self) -> Iterator[None]:
        """Mark that the running task waits for a hello."""
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._greeting.add(task)
        try:
            yield
        finally:
            self._greeting.discard(task)

    def _send_off(self, line: Line) -> None:
        """Close a connection that is none of the session, beside what else is done."""
        closing = asyncio.get_running_loop().create_task(line.close(CLOSING))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _hello(self, fault: Fault | None = None) -> Hello:
        return Hello(self._own, self._sides.meeting.digest, fault)

    async def _call(self, of: int) -> None:
        """Call a side until it answers or the time is over."""
        pause, longest = AGAIN
        while self._sides.failure is None and not await self._answered(of):
            await asyncio.sleep(pause)
            pause = min(2 * pause, longest)

    async def _answered(self, of: int) -> bool:
        """Call a side; return whether that settles whether it takes part."""
        meeting = self._sides.meeting
        address = meeting.addresses[of]
        try:
            _, line = await asyncio.get_running_loop().create_connection(
                Line,
                address.host,
                address.port,
                ssl=self._client,
                server_hostname=role(of, meeting.session.parties),
                ssl_handshake_timeout=SHAKING,
                ssl_shutdown_timeout=CLOSING,
            )
        except ssl.SSLCertVerificationError:
            self._sides.fail(of, Fault.STRANGER)
            return True
        except OSError:
            return False
        ours = self._hello()
        line.say(ours.packed())
        try:
            with self._in_greeting():
                said = await line.hello
            if said is None:
                return self._is_turned_away(of)
            self._settled(of, line, ours, said)
        except asyncio.CancelledError:
            if line is not self._sides.lines.get(of):
                line.transport.abort()
            raise
        return True

    def _is_turned_away(self, of: int) -> bool:
        """Tell whether the side called does not take this one's certificate.

        In TLS 1.3 it finds out after this end is done, and then ends the connection without a word; who is about to
        leave does that once, and then listens no more.
        """
        self._turned_away[of] += 1
        if self._turned_away[of] < TURNED_AWAY:
            return False
        self._sides.fail(self._own, Fault.STRANGER, teller=of)
        return True

    def _settled(self, of: int, line: Line, ours: Hello, said: bytes) -> None:
        try:
            theirs = hello(said)
            if theirs.digest != self._sides.meeting.digest:
                raise Refused(Fault.DIFFERS)
            if theirs.number != of or self._shown(line) != of:
                raise Refused(Fault.STRANGER)
        except Refused as error:
            self._sides.fail(of, error.fault)
            self._send_off(line)
            return
        if theirs.fault is not None:
            # What is refused is what this side is, or what it said.
            self._sides.fail(self._own, theirs.fault, teller=of)
            self._send_off(line)
            return
        self._sides.join(of, line, theirs, ours)


async def _listening(host: str, port: int, name: str) -> list[socket.socket]:
    """Return sockets that listen at all addresses of a host that this machine has.

    Raises:
        PartyError: it has none, or the port is taken.
    """
    loop = asyncio.get_running_loop()
    made: list[socket.socket] = []
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, address in dict.fromkeys(found):
            each = _bound(family, kind, protocol, address)
            if each is not None:
                made.append(each)
        if not made:
            raise OSError(errno.EADDRNOTAVAIL, "the machine has no such address")
    except OSError as error:
        for each in made:
            each.close()
        why = (error.strerror or "no such host").lower()
        problem = (
            f"cannot listen at {host}:{port} ({why}); give an address of this machine that is free"
        )
        raise PartyError(name, problem) from error
    return made


def _bound(
    family: int, kind: int, protocol: int, address: tuple[object, ...]
) -> socket.socket | None:
    """Return a socket that listens at one address; None where the machine does not have it."""
    try:
        made = socket.socket(family, kind, protocol)
    except OSError:
        return None
    try:
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        made.listen(MOST_CALLERS)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRNOTAVAIL:
            return None
        raise
    return made
