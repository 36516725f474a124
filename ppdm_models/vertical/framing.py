"""Messages as bytes on a stream: each with its length and number, measured before it is read."""

from __future__ import annotations

import asyncio
import struct

from ppdm_models.vertical.by_shares import MOST_WIDTH, ring_of
from ppdm_models.vertical.errors import ProtocolError, Reason
from ppdm_models.vertical.messages import Kind, Message
from ppdm_models.vertical.miner import MOST_BRANCHES
from ppdm_models.vertical.sealing import OVERHEAD
from ppdm_models.vertical.session import Session

MAGIC = b"treewarden-vertical/1\n"
_HELLO = struct.Struct(f"<{len(MAGIC)}sh32s")
_HEAD = struct.Struct("<IQBI")
_KINDS = tuple(Kind)
_IDEAL = {Kind.KEY, Kind.WINNER}
"""What only the ideal box of simulations says."""
MOST_BYTES = 1 << 30
SMALL = 1 << 16


def longest(session: Session) -> int:
    """Return how many bytes a message of a session can have at most."""
    ring, records = ring_of(session.records).itemsize, session.records
    bits = MOST_BRANCHES * len(session.parties) * (records // 8 + 2 + OVERHEAD)
    shares = MOST_BRANCHES * records * len(session.classes) * ring
    return SMALL + min(MOST_BYTES, max(bits, shares, records * MOST_WIDTH * ring))


def hello(own: int, digest: bytes) -> bytes:
    """Return what a side says first: the protocol, its number, and the digest of its session file."""
    return _HELLO.pack(MAGIC, own, digest)


async def check_hello(reader: asyncio.StreamReader, other: int, digest: bytes) -> None:
    """Read what the other side says first.

    Raises:
        ProtocolError: it speaks another protocol, is somebody else, or has another session file.
        OSError, EOFError: the connection ends.
    """
    magic, number, theirs = _HELLO.unpack(await reader.readexactly(_HELLO.size))
    if magic != MAGIC or number != other:
        raise ProtocolError(other, "does not speak this protocol", Reason.GARBAGE)
    if theirs != digest:
        raise ProtocolError(other, Reason.DIFFERS.words, Reason.DIFFERS)


def frame(message: Message, number: int) -> bytes:
    """Return a message as it goes over a stream, the ``number``th to this receiver."""
    head = _HEAD.pack(len(message.body), number, _KINDS.index(message.kind), message.node)
    return head + message.body


async def read_frame(
    reader: asyncio.StreamReader, sender: int, receiver: int, number: int, most: int
) -> Message:
    """Read the message that has to be the ``number``th of a sender.

    Raises:
        ProtocolError: it is too long, no kind that there is, or not that one.
        OSError, EOFError: the connection ends.
    """
    length, told, place, node = _HEAD.unpack(await reader.readexactly(_HEAD.size))
    if told != number:
        raise ProtocolError(sender, Reason.REPLAYED.words, Reason.REPLAYED)
    if place >= len(_KINDS) or _KINDS[place] in _IDEAL:
        raise ProtocolError(sender, Reason.GARBAGE.words, Reason.GARBAGE)
    if length > most:
        raise ProtocolError(sender, Reason.TOO_MUCH.words, Reason.TOO_MUCH)
    return Message(sender, receiver, _KINDS[place], node, await reader.readexactly(length))
