"""Messages as bytes on a stream: each with its length and number, measured before it is read."""

from __future__ import annotations

import asyncio
import hashlib
import os
import struct
from collections.abc import Callable

from treewarden.ppdm_models.vertical.errors import ProtocolError, Reason
from treewarden.ppdm_models.vertical.messages import Kind, Message

MAGIC = b"treewarden-vertical/2\n"
RANDOM_BYTES = 16
_HELLO = struct.Struct(f"<{len(MAGIC)}s4sh32s{RANDOM_BYTES}s")
_HEAD = struct.Struct("<IQBI")
_KINDS = tuple(Kind)
_PLACES = {kind: place for place, kind in enumerate(_KINDS)}
_KINDS_TOLD = hashlib.sha256("\n".join(_KINDS).encode()).digest()[:4]
"""Kinds go over the wire as their places: sides that have other ones, or in another order, must not talk."""


def drawn() -> bytes:
    """Return what a side makes its hello to one other different by from all others."""
    return os.urandom(RANDOM_BYTES)


def first_number(sender: bytes, receiver: bytes) -> int:
    """Return the number of the first frame one way, from what both drew: none of another connection has it."""
    return int.from_bytes(hashlib.sha256(sender + receiver).digest()[:7], "little")


def hello(own: int, digest: bytes, random: bytes) -> bytes:
    """Return what a side says first: the protocol, its number, the digest of its session file, and what it drew."""
    return _HELLO.pack(MAGIC, _KINDS_TOLD, own, digest, random)


async def check_hello(reader: asyncio.StreamReader, other: int, digest: bytes) -> bytes:
    """Read what the other side says first; return what it drew.

    Raises:
        ProtocolError: it speaks another protocol, is somebody else, or has another session file.
        OSError, EOFError: the connection ends.
    """
    said = await reader.readexactly(_HELLO.size)
    magic, kinds, number, theirs, random = _HELLO.unpack(said)
    if magic != MAGIC or number != other:
        raise ProtocolError(other, "does not speak this protocol", Reason.GARBAGE)
    if kinds != _KINDS_TOLD:
        problem = "runs another version of treewarden; install the same one on all sides"
        raise ProtocolError(other, problem, Reason.BREAKS)
    if theirs != digest:
        raise ProtocolError(other, Reason.DIFFERS.words, Reason.DIFFERS)
    return bytes(random)


def frame(message: Message, number: int) -> bytes:
    """Return a message as it goes over a stream, the ``number``th to this receiver."""
    head = _HEAD.pack(len(message.body), number, _PLACES[message.kind], message.node)
    return head + message.body


async def read_frame(
    reader: asyncio.StreamReader,
    sender: int,
    receiver: int,
    number: int,
    most: Callable[[Kind, int, int], int],
) -> Message:
    """Read the message that has to be the ``number``th of a sender; ``most`` is ``Limits.of``.

    Raises:
        ProtocolError: it is too long, no kind that there is, or not that one.
        OSError, EOFError: the connection ends.
    """
    length, told, place, node = _HEAD.unpack(await reader.readexactly(_HEAD.size))
    if told != number:
        raise ProtocolError(sender, Reason.REPLAYED.words, Reason.REPLAYED)
    limit = most(_KINDS[place], sender, receiver) if place < len(_KINDS) else -1
    if limit < 0:
        raise ProtocolError(sender, Reason.GARBAGE.words, Reason.GARBAGE)
    if length > limit:
        raise ProtocolError(sender, Reason.TOO_MUCH.words, Reason.TOO_MUCH)
    return Message(sender, receiver, _KINDS[place], node, await reader.readexactly(length))
