"""Sides in processes and on machines of their own: every two of them meet over TLS in which both show certificates.

Of two sides the one with the lower number listens, the miner first of all. Whatever goes wrong on one side ends all of
them: it says so to every other before it goes, and whoever hears nothing stops waiting by itself.
"""

from __future__ import annotations

import asyncio
import math
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.methods.vertical.messages import (
    MINER,
    Channel,
    Log,
    Message,
    MessageKind,
    ProtocolError,
    Reason,
    packed,
    role,
    unpacked,
)
from treewarden.ppdm_models.methods.vertical.session import Meeting
from treewarden.ppdm_models.methods.vertical.transport import (
    MessageLimits,
    bound,
    check_hello,
    context,
    drawn,
    first_number,
    frame,
    hello,
    read_frame,
    role_of,
)

PAUSE_SECONDS = 0.05
LEAVING_SECONDS = 3.0
LISTENING_SECONDS = 1.0
"""So long a side that leaves still listens for the others to leave too."""
HANDSHAKE_SECONDS = 10.0
BUFFERED = 1 << 22
"""So many bytes may lie here of a message that is not whole yet, before the other end is made to wait."""
MOST_WAITING = 256
"""So many messages of one side may lie here unread: more has only who does not keep to the order of the protocol."""


def patience(side: int, peer: int, seconds: int) -> float:
    """Return how many seconds a side waits for another; ``seconds`` is what the session file says.

    The miner waits a quarter longer, and parties twice as long for the miner, so that whoever waits for the late side
    itself is the first to say so.
    """
    if peer == MINER:
        return 2 * seconds
    return 1.25 * seconds if side == MINER else seconds


class Streams(Channel):
    """One side's end of a session; ``log`` holds what it sent and received."""

    def __init__(self, meeting: Meeting, side: int) -> None:
        super().__init__(side)
        self.log = Log()
        self._meeting = meeting
        self._names = meeting.session.parties
        self._limits = MessageLimits(meeting.session, meeting.asked)
        self._opened: list[asyncio.StreamWriter] = []
        self._writers: dict[int, asyncio.StreamWriter] = {}
        self._sent: dict[int, int] = defaultdict(int)
        self._queues: dict[int, asyncio.Queue[Message]] = defaultdict(asyncio.Queue)
        self._unread: dict[int, int] = defaultdict(int)
        self._most_unread = {each: self._limits.unread(each, side) for each in self.others}
        self._readers: list[asyncio.Task[None]] = []
        self._servers: list[asyncio.Server] = []
        self._coming: set[asyncio.Task[None]] = set()
        self._body = asyncio.current_task()
        self._failure: ProtocolError | None = None
        self._all_there = asyncio.Event()
        self._was_refused = False
        self._has_parted = False

    @property
    def others(self) -> set[int]:
        """The numbers of all other sides."""
        return {MINER, *range(len(self._names))} - {self.own}

    def post(self, to: int, kind: MessageKind, node: int = 0, body: bytes = b"") -> None:
        message = Message(self.own, to, kind, node, body)
        self.log.add(message)
        if not self._writers[to].is_closing():  # who reads there no more is told of by the reader
            self._writers[to].write(frame(message, self._sent[to]))
        self._sent[to] += 1

    async def send(self, to: int, kind: MessageKind, node: int = 0, body: bytes = b"") -> None:
        self.post(to, kind, node, body)
        try:
            async with asyncio.timeout(patience(self.own, to, self._meeting.seconds)):
                await self._writers[to].drain()
        except TimeoutError as error:
            raise ProtocolError(to, Reason.LATE.words, Reason.LATE) from error
        except OSError as error:
            raise ProtocolError(to, Reason.GONE.words, Reason.GONE) from error

    async def following(self, peer: int) -> Message:
        message = await self._next(peer)
        self._unread[peer] -= len(message.body)
        if message.kind is MessageKind.BYE:
            raise ProtocolError(peer, Reason.GONE.words, Reason.GONE)
        return message

    async def _next(self, peer: int) -> Message:
        queue = self._queues[peer]
        if not queue.empty():  # most often it is there, and needs no alarm clock
            return queue.get_nowait()
        seconds = patience(self.own, peer, self._meeting.seconds)
        try:
            async with asyncio.timeout(seconds):
                return await queue.get()
        except TimeoutError as error:
            problem = f"did not answer for {math.ceil(seconds):,} seconds"
            raise ProtocolError(peer, problem, Reason.LATE) from error

    def fail(self, error: ProtocolError) -> None:
        """End the session here, whatever this side is waiting for; the first reason is the one that is told."""
        if self._failure is None and self._body is not None:
            self._failure = error
            self._body.cancel()

    def failure(self) -> ProtocolError | None:
        """Return why the session was ended from outside, if it was, and count that as heard."""
        if self._failure is not None and self._body is not None:
            self._body.uncancel()
        return self._failure

    async def meet(self, certificates: Path) -> None:
        """Meet all other sides; who might come again is listened for until the end.

        Raises:
            PartyError: the own certificate cannot be used, or the own address not be listened on.
            ProtocolError: a side is not there in time, shows another certificate, or has another session file.
        """
        name = role(self.own, self._names)
        calling = context(certificates, name, is_server=False)
        await self._listen(context(certificates, name, is_server=True))
        lower = sorted(each for each in self.others if each < self.own)
        try:
            async with asyncio.timeout(self._meeting.seconds):
                for other in lower:
                    await self._call(other, calling)
                if self.others - set(self._writers):
                    await self._all_there.wait()
        except TimeoutError as error:
            raise self._nobody() from error

    async def part(self, error: BaseException | None) -> None:
        """Say good-bye to all sides, or what ends the session, and close."""
        if error is None:
            kind, body = MessageKind.BYE, b""
        else:
            who, reason = _error_notice(error, self.own)
            kind, body = MessageKind.ABORT, packed("hB", who, reason)
        self._body = None
        for server in self._servers:
            server.close()
        for to, writer in self._writers.items():
            if not writer.is_closing():
                with suppress(OSError, RuntimeError):
                    self.post(to, kind, 0, body)
        # Closed while something is on its way here, a connection is reset, and the last word lost at the other end.
        last = {*self._readers, *self._coming}
        if last:
            await asyncio.wait(last, timeout=LISTENING_SECONDS)
        for each in last:
            each.cancel()
        self._has_parted = True
        await asyncio.gather(*map(_closed, self._opened))

    async def _listen(self, by: ssl.SSLContext) -> None:
        if not any(each > self.own for each in self.others):
            return
        at = self._meeting.addresses[self.own]
        for each in await bound(at.host, at.port):
            server = await asyncio.start_server(
                self._came,
                sock=each,
                ssl=by,
                limit=BUFFERED,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
                ssl_shutdown_timeout=LEAVING_SECONDS,
            )
            self._servers.append(server)

    def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._has_parted:
            writer.transport.abort()
            return
        self._opened.append(writer)
        task = asyncio.create_task(self._take_in(reader, writer))
        self._coming.add(task)
        task.add_done_callback(self._coming.discard)

    async def _take_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take in a side that called."""
        try:
            name = role_of(writer.get_extra_info("peercert"))
            other = self._names.index(name)
        except (PartyError, ValueError):
            self._was_refused = True
            writer.close()
            return
        try:
            if other <= self.own:
                raise ProtocolError(other, "called where it has to be called", Reason.BREAKS)
            if other in self._writers:
                raise ProtocolError(other, Reason.TWICE.words, Reason.TWICE)
            await self._greet(other, reader, writer)
        except ProtocolError as error:
            self.fail(error)
            if error.reason is Reason.TWICE:
                await self._turn_away(other, reader, writer)
            await _closed(writer)
        except (OSError, EOFError):
            writer.close()

    async def _turn_away(
        self, peer: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Tell the second side of a name that it has no place here; which of them is the right one nobody knows."""
        random = drawn()
        writer.write(hello(self.own, self._meeting.digest, random))
        try:
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                theirs = await check_hello(reader, peer, self._meeting.digest)
        except (ProtocolError, TimeoutError):
            writer.close()
            return
        body = packed("hB", peer, Reason.TWICE)
        abort = Message(self.own, peer, MessageKind.ABORT, 0, body)
        writer.write(frame(abort, first_number(random, theirs)))
        await _closed(writer)

    async def _call(self, peer: int, by: ssl.SSLContext) -> None:
        """Call a side until it answers."""
        at = self._meeting.addresses[peer]
        while True:
            try:
                reader, writer = await asyncio.open_connection(
                    at.host,
                    at.port,
                    ssl=by,
                    limit=BUFFERED,
                    server_hostname=role(peer, self._names),
                    ssl_handshake_timeout=HANDSHAKE_SECONDS,
                    ssl_shutdown_timeout=LEAVING_SECONDS,
                )
                self._opened.append(writer)
                break
            except ssl.SSLCertVerificationError as error:
                problem = "shows a certificate that is not its own, or of another authority"
                raise ProtocolError(peer, problem, Reason.BREAKS) from error
            except (OSError, TimeoutError):
                await asyncio.sleep(PAUSE_SECONDS)
        try:
            await self._greet(peer, reader, writer)
        except ssl.SSLError as error:
            problem = "does not take the certificate of this side; look where it was made"
            raise ProtocolError(peer, problem, Reason.BREAKS) from error
        except (OSError, EOFError) as error:
            problem = "ended the connection at once: it does not take this side's certificate, or has stopped"
            raise ProtocolError(peer, problem, Reason.GONE) from error

    async def _greet(
        self, peer: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        random = drawn()
        writer.write(hello(self.own, self._meeting.digest, random))
        try:
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                theirs = await check_hello(reader, peer, self._meeting.digest)
        except TimeoutError as error:
            raise ProtocolError(peer, Reason.LATE.words, Reason.LATE) from error
        if peer in self._writers:
            raise ProtocolError(peer, Reason.TWICE.words, Reason.TWICE)
        # A connection that is reset is at its end, and no error: what came before, the last word too, is still read.
        vars(reader)["set_exception"] = lambda _: reader.feed_eof()
        self._writers[peer] = writer
        self._sent[peer] = first_number(random, theirs)
        number = first_number(theirs, random)
        self._readers.append(asyncio.create_task(self._read(peer, reader, number)))
        if not self.others - set(self._writers):
            self._all_there.set()

    async def _read(self, peer: int, reader: asyncio.StreamReader, number: int) -> None:
        """Sort what a side says, until it says good-bye."""
        try:
            while True:
                message = await read_frame(reader, peer, self.own, number, self._limits.body_limit)
                number += 1
                self.log.add(message)
                if message.kind is MessageKind.BYE:
                    self._queues[peer].put_nowait(message)  # whoever waits for more is told
                    return
                if message.kind is MessageKind.ABORT:
                    raise self._heard(message)
                self._keep(message)
        except ProtocolError as error:
            self.fail(error)
        except (OSError, EOFError):
            self.fail(ProtocolError(peer, Reason.GONE.words, Reason.GONE))

    def _keep(self, message: Message) -> None:
        """Keep a message until it is its turn."""
        of = message.sender
        self._unread[of] += len(message.body)
        is_much = self._unread[of] > self._most_unread[of]
        if is_much or self._queues[of].qsize() >= MOST_WAITING:
            raise ProtocolError(of, "sent more than can wait to be read", Reason.TOO_MUCH)
        self._queues[of].put_nowait(message)

    def _heard(self, message: Message) -> ProtocolError:
        """Return what a side says ends the session."""
        who, number = unpacked("hB", message.body, message.sender)
        try:
            reason = Reason(number)
        except ValueError:
            return ProtocolError(message.sender, Reason.GARBAGE.words, Reason.GARBAGE)
        if who not in self.others | {self.own}:
            who = message.sender
        said = "" if who == message.sender else f", says {role(message.sender, self._names)}"
        return ProtocolError(who, f"{reason.words}{said}", reason)

    def _nobody(self) -> ProtocolError:
        """Return who did not come."""
        missing = sorted(self.others - set(self._writers))
        refused = (
            "; a connection was refused because of its certificate" if self._was_refused else ""
        )
        also = f"; nor {', '.join(role(each, self._names) for each in missing[1:])}"
        problem = f"was not there within {self._meeting.seconds} seconds{also if missing[1:] else ''}{refused}"
        return ProtocolError(missing[0], problem, Reason.LATE)


@asynccontextmanager
async def met(meeting: Meeting, side: int, certificates: Path) -> AsyncIterator[Streams]:
    """Meet all other sides of a session, and part in the end; whatever ends it here ends it there too.

    Raises:
        PartyError: the own certificate cannot be used, or the own address not be listened on.
        ProtocolError: another side is not there, is late, goes, or says what it may not.
    """
    asyncio.get_running_loop().set_exception_handler(_quiet)
    streams = Streams(meeting, side)
    ended: BaseException | None = None
    try:
        await streams.meet(certificates)
        yield streams
        await asyncio.sleep(0)  # what ended it meanwhile is raised here, and no later
    except asyncio.CancelledError as error:
        ended = streams.failure() or error
        if ended is error:
            raise
        raise ended from None
    except BaseException as error:
        ended = error
        raise
    finally:
        await streams.part(ended)


def _error_notice(error: BaseException, side: int) -> tuple[int, Reason]:
    """Return what other sides are told of an error: whose it is and of which sort."""
    if isinstance(error, ProtocolError):
        return error.who, error.reason
    is_stopped = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
    return side, Reason.STOPPED if is_stopped else Reason.TROUBLE


async def _closed(writer: asyncio.StreamWriter) -> None:
    """Close a connection once what was said has gone out; one that cannot be closed so is dropped."""
    try:
        async with asyncio.timeout(LEAVING_SECONDS):
            await writer.drain()
            writer.close()
            await writer.wait_closed()
    except (OSError, TimeoutError, RuntimeError):
        writer.transport.abort()


def _quiet(_: asyncio.AbstractEventLoop, __: dict[str, object]) -> None:
    """Say nothing of handshakes that failed: who shows a wrong certificate is told so, and not in a traceback."""
