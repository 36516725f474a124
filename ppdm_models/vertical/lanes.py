"""What sides say to each other while they compute together: pieces, each of a step, many of them in one message."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable

from ppdm_models.vertical.errors import ProtocolError, Reason

MOST_EARLY = 1 << 12
"""So many pieces of one side may be here before their turn; more are no part of any computation."""
_HEAD = struct.Struct("<qI")


class Sizes:
    """How long pieces have to be: all of one step are of one length, and so as long as one's own."""

    def __init__(self, share_bytes: int) -> None:
        self._share_bytes = share_bytes
        self._own: dict[int, int] = {}

    def sent(self, pc: int, size: int) -> None:
        """Remember how long an own piece is."""
        self._own[pc] = size

    def fits(self, pc: int, size: int) -> bool:
        """Return whether a piece can be one of a step."""
        return size == self._own.get(pc, size) and size > 0 and size % self._share_bytes == 0

    def clear(self) -> None:
        """Forget the steps that are over."""
        self._own.clear()


class Lane:
    """Between this side and another: what MPyC takes for a connection.

    ``post`` sends a message there; ``who`` is the other side's number, ``heard`` the time when it last said something.
    """

    def __init__(self, who: int, sizes: Sizes, post: Callable[[bytes], None]) -> None:
        self.who, self.heard = who, 0.0
        self._sizes, self._post = sizes, post
        self._loop = asyncio.get_running_loop()
        self._parts: list[bytes] = []
        self._here: dict[int, bytes] = {}
        self._due: dict[int, asyncio.Future[bytes]] = {}

    @property
    def is_waited_for(self) -> bool:
        """Whether something has to come from there."""
        return bool(self._due)

    def send(self, pc: int, payload: bytes) -> None:
        """Send a piece soon, together with what else is sent until then."""
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._sizes.sent(pc, len(payload))
        self._parts += (_HEAD.pack(pc, len(payload)), payload)

    def flush(self) -> None:
        """Send at once what is still to be sent."""
        if self._parts:
            body, self._parts = b"".join(self._parts), []
            self._post(body)

    def receive(self, pc: int) -> bytes | asyncio.Future[bytes]:
        """Return the other side's piece of a step, or what will hold it.

        Raises:
            ProtocolError: it has another length than all pieces of that step.
        """
        if pc in self._here:
            return self._fitting(pc, self._here.pop(pc))
        self._due[pc] = self._loop.create_future()
        return self._due[pc]

    def take(self, body: bytes) -> None:
        """Take a message of the other side.

        Raises:
            ProtocolError: it is not made of pieces of a computation that goes on.
        """
        self.heard = self._loop.time()
        at = 0
        while at < len(body):
            at = self._piece(body, at)

    def _piece(self, body: bytes, at: int) -> int:
        """Take the piece at a place, and return where the next one is."""
        start = at + _HEAD.size
        if start > len(body):
            raise self._garbage()
        pc, size = _HEAD.unpack_from(body, at)
        if start + size > len(body) or pc in self._here:
            raise self._garbage()
        payload = body[start : start + size]
        if pc in self._due:
            due = self._due.pop(pc)
            if not due.done():
                due.set_result(self._fitting(pc, payload))
        elif len(self._here) < MOST_EARLY:
            self._here[pc] = payload
        else:
            raise ProtocolError(self.who, Reason.TOO_MUCH.words, Reason.TOO_MUCH)
        return start + len(payload)

    def _fitting(self, pc: int, payload: bytes) -> bytes:
        if not self._sizes.fits(pc, len(payload)):
            raise self._garbage()
        return payload

    def _garbage(self) -> ProtocolError:
        return ProtocolError(self.who, "sent what is no share of a key", Reason.GARBAGE)
