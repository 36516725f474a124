"""One connection to another side: first its hello, then frames, each handed on as it comes."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import cast

from ppdm_models.vertical.faults import Fault
from ppdm_models.vertical.framing import HELLO_BYTES, Frame, Reading, Refused, Writing


class Hearing(ABC):
    """Whoever is told what comes on a connection; ``of`` is the number of the side at its other end."""

    @abstractmethod
    def heard(self, of: int, frame: Frame) -> None:
        """Take a frame."""

    @abstractmethod
    def refused(self, of: int, fault: Fault) -> None:
        """Hear that no more is read there, as what came is not taken."""

    @abstractmethod
    def lost(self, of: int) -> None:
        """Hear that the connection ended."""


class Line(asyncio.Protocol):
    """A connection under TLS.

    ``hello`` becomes the bytes of the other side's hello, or None where the connection ends first, for the reason
    ``why``. ``room`` says whether there is room for more to send, ``ended`` that no more is to come, ``closed`` that
    the connection is no more.
    """

    def __init__(self) -> None:
        self.hello: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self.room, self.ended, self.closed = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.room.set()
        self.why: Exception | None = None
        self._held = bytearray()
        self._joined: tuple[Hearing, int, Reading] | None = None
        self._writing: Writing | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._joined is not None:
            self._read(data)
            return
        self._held += data
        if len(self._held) >= HELLO_BYTES and not self.hello.done():
            # What comes behind the hello waits in the network until somebody takes part in it.
            self.transport.pause_reading()
            self.hello.set_result(bytes(self._held[:HELLO_BYTES]))

    def connection_lost(self, exc: Exception | None) -> None:
        self.why = exc
        if not self.hello.done():
            self.hello.set_result(None)
        for event in (self.room, self.ended, self.closed):
            event.set()
        if self._joined is not None:
            hearing, of, _ = self._joined
            hearing.lost(of)

    def pause_writing(self) -> None:
        self.room.clear()

    def resume_writing(self) -> None:
        self.room.set()

    def say(self, body: bytes) -> None:
        """Send bytes as they are."""
        if not self.transport.is_closing():
            self.transport.write(body)

    def join(self, hearing: Hearing, of: int, reading: Reading, writing: Writing) -> None:
        """Hand on all that comes behind the hello, to whoever takes part in the session with side ``of``."""
        self._joined, self._writing = (hearing, of, reading), writing
        waiting = bytes(self._held[HELLO_BYTES:])
        self._held.clear()
        if self.closed.is_set():
            hearing.lost(of)
            return
        self.transport.resume_reading()
        self._read(waiting)

    def frame(self, kind: int, node: int = 0, body: bytes = b"") -> None:
        """Send a frame."""
        if self._writing is not None:
            self.say(self._writing.frame(kind, node, body))

    async def close(self, seconds: float) -> None:
        """End the connection: in good order where the other end lets that be done in time."""
        self.transport.close()
        try:
            async with asyncio.timeout(seconds):
                await self.closed.wait()
        except TimeoutError:
            self.transport.abort()
            await self.closed.wait()

    def _read(self, data: bytes) -> None:
        if self._joined is None or self.ended.is_set():
            return
        hearing, of, reading = self._joined
        try:
            for frame in reading.feed(data):
                hearing.heard(of, frame)
        except Refused as error:
            self.ended.set()
            hearing.refused(of, error.fault)
