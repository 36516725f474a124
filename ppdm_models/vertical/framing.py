"""Messages as bytes on a connection, and back: what arrives is measured before it is read, and every frame is the next.

A connection begins with one ``Hello`` each way. A frame is its body's length, its place in the order, what it is, the
node it is about, and the body. Places are counted from a number that follows from both hellos, so that a frame of
another connection, one that comes twice, and one behind a lost one are all noticed.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ppdm_models.vertical.faults import Fault
from ppdm_models.vertical.messages import Kind

KINDS = tuple(Kind)
ABORT, BYE = 255, 254
"""What a frame can be besides a message: the session ends before its time, and a side leaves at its end."""
_CONTROLS = {ABORT: 7, BYE: 0}
MAGIC = b"treeward"
_FORMAT = 1
_HEADER = struct.Struct("<IQBI")
_HELLO = struct.Struct("<8sIBh32s16s")
_ABORT = struct.Struct("<hBI")
HELLO_BYTES = _HELLO.size
MOST_BODY = 2**32 - 1
RANDOM_BYTES = 16


class Refused(Exception):  # noqa: N818 - it is what becomes of the bytes, and never leaves the connection
    """Bytes that are not taken, and why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


def version() -> int:
    """Return the version of the protocol: sides whose messages have other kinds, or another order, are of another."""
    kinds = "\n".join([str(_FORMAT), *KINDS])
    return int.from_bytes(hashlib.sha256(kinds.encode()).digest()[:4], "little")


@dataclass(frozen=True, slots=True)
class Hello:
    """Who a side is, and of which session; with a ``fault`` it is a refusal."""

    number: int
    digest: bytes
    fault: Fault | None = None
    random: bytes = field(default_factory=lambda: os.urandom(RANDOM_BYTES))

    def packed(self) -> bytes:
        """Return the hello as bytes."""
        status = self.fault or 0
        return _HELLO.pack(MAGIC, version(), status, self.number, self.digest, self.random)


def hello(body: bytes) -> Hello:
    """Read a hello.

    Raises:
        Refused: it is none, or of another version of the protocol.
    """
    magic, spoken, status, number, digest, random = _HELLO.unpack(body)
    if magic != MAGIC:
        raise Refused(Fault.GARBAGE)
    if spoken != version():
        raise Refused(Fault.VERSION)
    return Hello(number, digest, _fault(status) if status else None, random)


@dataclass(frozen=True, slots=True)
class Abort:
    """The session ends because of a side; ``seconds`` is how long it was waited for, where that is why."""

    who: int
    fault: Fault
    seconds: int = 0

    def packed(self) -> bytes:
        """Return the body of its frame."""
        return _ABORT.pack(self.who, self.fault, self.seconds)


def abort(body: bytes) -> Abort:
    """Read why a session ends.

    Raises:
        Refused: it is for no reason that there is.
    """
    if len(body) != _ABORT.size:
        raise Refused(Fault.GARBAGE)
    who, fault, seconds = _ABORT.unpack(body)
    return Abort(who, _fault(fault), seconds)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame; ``kind`` is a place in ``KINDS``, ``ABORT`` or ``BYE``."""

    kind: int
    node: int
    body: bytes


def first_place(listener: Hello, caller: Hello, *, called: bool) -> int:
    """Return the place of the first frame one way: of the caller's (``called``), or of the listener's."""
    drawn = listener.random + caller.random + bytes([called])
    return int.from_bytes(hashlib.sha256(drawn).digest()[:8], "little")


class Writing:
    """Makes the frames of one way of a connection, one behind the other."""

    def __init__(self, place: int) -> None:
        self._place = place

    def frame(self, kind: int, node: int = 0, body: bytes = b"") -> bytes:
        """Return the next frame.

        Raises:
            ValueError: the body is too long for any frame.
        """
        if len(body) > MOST_BODY:
            raise ValueError(f"{len(body):,} bytes are more than a message can have")
        made = _HEADER.pack(len(body), self._place, kind, node) + body
        self._place = _next(self._place)
        return made


class Reading:
    """Takes bytes of one way of a connection as they come; ``most`` is how long the body of each kind may be."""

    def __init__(self, place: int, most: Callable[[Kind], int]) -> None:
        self._place, self._most = place, most
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that are whole now.

        Raises:
            Refused: the bytes are no frames, not the next ones, or of one that is too long; told before its body comes.
        """
        self._held += data
        while len(self._held) >= _HEADER.size:
            size, place, kind, node = _HEADER.unpack_from(self._held)
            if place != self._place:
                raise Refused(Fault.REPLAYED)
            if size > self._limit(kind):
                raise Refused(Fault.TOO_MUCH)
            end = _HEADER.size + size
            if len(self._held) < end:
                return
            with memoryview(self._held) as view:
                body = bytes(view[_HEADER.size : end])
            del self._held[:end]
            self._place = _next(self._place)
            yield Frame(kind, node, body)

    def _limit(self, kind: int) -> int:
        if kind in _CONTROLS:
            return _CONTROLS[kind]
        most = self._most(KINDS[kind]) if kind < len(KINDS) else -1
        if most < 0:
            raise Refused(Fault.GARBAGE)
        return most


def _next(place: int) -> int:
    return (place + 1) % 2**64


def _fault(number: int) -> Fault:
    try:
        return Fault(number)
    except ValueError as error:
        raise Refused(Fault.GARBAGE) from error
