"""How one side talks to the others: the same for all roles, whatever carries the messages."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import defaultdict

from treewarden.ppdm_models.vertical.errors import ProtocolError
from treewarden.ppdm_models.vertical.messages import Kind, Log, Message


class Channel(ABC):
    """One side's end; ``own`` is its number. Messages of one sender arrive in the order in which they were sent."""

    def __init__(self, own: int) -> None:
        self.own = own

    @abstractmethod
    def post(self, to: int, kind: Kind, node: int = 0, body: bytes = b"") -> None:
        """Send a message without waiting for room on its way."""

    async def send(self, to: int, kind: Kind, node: int = 0, body: bytes = b"") -> None:
        """Send a message; wait where too many are on their way."""
        self.post(to, kind, node, body)

    @abstractmethod
    async def following(self, of: int) -> Message:
        """Wait for the next message of a side."""

    async def receive(self, of: int, kind: Kind, node: int = 0) -> bytes:
        """Wait for the next message of a side, and return its body.

        Raises:
            ProtocolError: it is another one than has to come now.
        """
        found = await self.following(of)
        if (found.kind, found.node) != (kind, node):
            problem = f"sent {found.kind!s} about node {found.node} where {kind!s} about node {node} was due"
            raise ProtocolError(of, problem)
        return found.body


class LocalNetwork:
    """Channels between roles in one process, and one log of everything that is said."""

    def __init__(self) -> None:
        self.log = Log()
        self._queues: dict[tuple[int, int], asyncio.Queue[Message]] = defaultdict(asyncio.Queue)

    def end(self, own: int) -> Channel:
        """Return the end of one side."""
        return _LocalChannel(own, self)

    def carry(self, message: Message) -> None:
        """Take a message to where it goes."""
        self.log.add(message)
        self._queues[message.sender, message.receiver].put_nowait(message)

    async def following(self, of: int, to: int) -> Message:
        """Wait for the next message from one side to another."""
        return await self._queues[of, to].get()


class _LocalChannel(Channel):
    def __init__(self, own: int, network: LocalNetwork) -> None:
        super().__init__(own)
        self._network = network

    def post(self, to: int, kind: Kind, node: int = 0, body: bytes = b"") -> None:
        self._network.carry(Message(self.own, to, kind, node, body))

    async def following(self, of: int) -> Message:
        return await self._network.following(of, self.own)
