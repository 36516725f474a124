"""What goes between the miner and the parties, and the log of it: who sent what to whom and how much, never what."""

from __future__ import annotations

import asyncio
import hashlib
import json
import struct
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

MINER = -1
BOX = -2
"""The ideal box of simulations, which compares keys and is nobody."""


class MessageKind(StrEnum):
    """What a message is for."""

    GROUP_KEY = "group key"
    HIDDEN_IDS = "hidden ids"
    COMMON_IDS = "places of common ids"
    LABELS = "labels"
    WIDTH = "width"
    SEED = "seed"
    MASKED_TABLE = "masked table"
    SHARE = "share"
    CORRECTION = "correction"
    SUMS = "sums"
    SUM = "sum"
    TOKEN = "token"
    LEAF = "leaf"
    SPLIT = "split"
    SCORE = "score"
    MASKED_SHARE = "masked share"
    COUNTS = "counts"
    COMPARING = "comparing (shares)"
    KEY = "key, in clear (ideal box: no protection)"
    WINNER = "winner (ideal box)"
    WON = "won"
    BRANCHES = "branches"
    MEMBERS = "members"
    RELAY = "relay"
    RELAYED = "relayed"
    MASKED_BRANCHES = "masked branches"
    ASK = "ask"
    BRANCH = "branch"
    END = "end"
    BYE = "bye"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class Message:
    """One message; ``node`` is the number of the node it is about, 0 for the root and for none."""

    sender: int
    receiver: int
    kind: MessageKind
    node: int
    body: bytes


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What the log keeps of a message."""

    sender: int
    receiver: int
    kind: MessageKind
    node: int
    size: int
    sha256: str


class Log:
    """Every message in the order in which it was sent."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []

    def add(self, message: Message) -> None:
        """Keep who, what, how much and a digest."""
        digest = hashlib.sha256(message.body).hexdigest()
        self.entries.append(
            LogEntry(
                message.sender,
                message.receiver,
                message.kind,
                message.node,
                len(message.body),
                digest,
            )
        )

    def lines(self, names: tuple[str, ...]) -> Iterator[str]:
        """Yield the entries as lines of JSON; ``names`` are those of the parties."""
        for number, log_entry in enumerate(self.entries):
            said = {
                "number": number,
                "sender": role(log_entry.sender, names),
                "receiver": role(log_entry.receiver, names),
                "kind": str(log_entry.kind),
                "node": log_entry.node,
                "bytes": log_entry.size,
                "sha256": log_entry.sha256,
            }
            yield json.dumps(said, ensure_ascii=False)


def role(number: int, names: tuple[str, ...]) -> str:
    """Return what a side is called."""
    return {MINER: "miner", BOX: "ideal box"}.get(number) or names[number]


# Errors between the sides of a session, without a word about anybody's data.


class Reason(IntEnum):
    """Why a session ends, as sides tell each other; more they do not."""

    BREAKS = 1
    LATE = 2
    GONE = 3
    GARBAGE = 4
    TOO_MUCH = 5
    REPLAYED = 6
    TWICE = 7
    DIFFERS = 8
    STOPPED = 9
    TROUBLE = 10

    @property
    def words(self) -> str:
        """What it means, said of a side."""
        return _WORDS[self]


_WORDS = {
    Reason.BREAKS: "broke the protocol",
    Reason.LATE: "did not answer in time",
    Reason.GONE: "ended its connection",
    Reason.GARBAGE: "sent something that is not a message",
    Reason.TOO_MUCH: "sent a message longer than any can be",
    Reason.REPLAYED: "sent a message again, or left one out",
    Reason.TWICE: "came twice: two sides have its name",
    Reason.DIFFERS: "has another session file; give all sides the same one",
    Reason.STOPPED: "was stopped there",
    Reason.TROUBLE: "could not go on; the reason is said there",
}


class ProtocolError(Exception):
    """A side said what it may not say now, or what makes no sense; ``who`` is its number."""

    def __init__(self, side: int, problem: str, reason: Reason = Reason.BREAKS) -> None:
        super().__init__(side, problem)
        self.who = side
        self.problem = problem
        self.reason = reason


# How one side talks to the others: the same for all roles, whatever carries the messages.


class Channel(ABC):
    """One side's end; ``own`` is its number. Messages of one sender arrive in the order in which they were sent."""

    def __init__(self, side: int) -> None:
        self.own = side

    @abstractmethod
    def post(self, to: int, kind: MessageKind, node: int = 0, body: bytes = b"") -> None:
        """Send a message without waiting for room on its way."""

    async def send(self, to: int, kind: MessageKind, node: int = 0, body: bytes = b"") -> None:
        """Send a message; wait where too many are on their way."""
        self.post(to, kind, node, body)

    @abstractmethod
    async def following(self, peer: int) -> Message:
        """Wait for the next message of a side."""

    async def receive(self, peer: int, kind: MessageKind, node: int = 0) -> bytes:
        """Wait for the next message of a side, and return its body.

        Raises:
            ProtocolError: it is another one than has to come now.
        """
        message = await self.following(peer)
        if (message.kind, message.node) != (kind, node):
            problem = f"sent {message.kind!s} about node {message.node} where {kind!s} about node {node} was due"
            raise ProtocolError(peer, problem)
        return message.body


class LocalNetwork:
    """Channels between roles in one process, and one log of everything that is said."""

    def __init__(self) -> None:
        self.log = Log()
        self._queues: dict[tuple[int, int], asyncio.Queue[Message]] = defaultdict(asyncio.Queue)

    def end(self, side: int) -> Channel:
        """Return the end of one side."""
        return _LocalChannel(side, self)

    def carry(self, message: Message) -> None:
        """Take a message to where it goes."""
        self.log.add(message)
        self._queues[message.sender, message.receiver].put_nowait(message)

    async def following(self, peer: int, to: int) -> Message:
        """Wait for the next message from one side to another."""
        return await self._queues[peer, to].get()


class _LocalChannel(Channel):
    def __init__(self, side: int, network: LocalNetwork) -> None:
        super().__init__(side)
        self._network = network

    def post(self, to: int, kind: MessageKind, node: int = 0, body: bytes = b"") -> None:
        self._network.carry(Message(self.own, to, kind, node, body))

    async def following(self, peer: int) -> Message:
        return await self._network.following(peer, self.own)


# Numbers and arrays as bytes, and back; what arrives is measured before it is believed.


def packed(form: str, *numbers: int) -> bytes:
    """Return numbers as bytes, in a form of ``struct`` without its byte order."""
    return struct.pack(f"<{form}", *numbers)


def unpacked(form: str, body: bytes, side: int) -> tuple[int, ...]:
    """Return the numbers in a body.

    Raises:
        ProtocolError: it has another length.
    """
    try:
        return struct.unpack(f"<{form}", body)
    except struct.error as error:
        raise ProtocolError(side, f"sent {len(body):,} bytes that cannot be read") from error


def array(body: bytes, kind: np.dtype[Any], shape: tuple[int, ...], side: int) -> NDArray[Any]:
    """Return the array in a body.

    Raises:
        ProtocolError: it has another length.
    """
    if len(body) != int(np.prod(shape)) * kind.itemsize:
        raise ProtocolError(side, f"sent {len(body):,} bytes where an array of {shape} was due")
    return np.frombuffer(body, kind).reshape(shape)


def cut(body: bytes, pieces: int, size: int, side: int) -> list[bytes]:
    """Return a body in pieces of one size.

    Raises:
        ProtocolError: it is not made of so many.
    """
    if len(body) != pieces * size:
        raise ProtocolError(side, f"sent {len(body):,} bytes where {pieces:,} x {size:,} were due")
    return [body[at : at + size] for at in range(0, len(body), size)]
