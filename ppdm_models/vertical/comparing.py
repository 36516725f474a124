"""Whose key is the smallest: opened to the miner, and nothing else to anybody."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import defaultdict

from treewarden.ppdm_models.vertical.messages import BOX, MINER, Kind, Log, Message


class Comparison(ABC):
    """One side's part in comparing keys, node by node."""

    @abstractmethod
    async def give(self, node: int, key: int) -> None:
        """Put a party's own key in."""

    @abstractmethod
    async def winner(self, node: int) -> int:
        """Return the party with the smallest key: to the miner."""


class IdealBox:
    """What a secure comparison would do, done by a box that everybody trusts: for simulations, no protection at all."""

    def __init__(self, parties: int, log: Log) -> None:
        self._parties, self._log = parties, log
        self._keys: dict[int, dict[int, int]] = defaultdict(dict)
        self._winners: dict[int, asyncio.Future[int]] = {}

    def end(self, own: int) -> Comparison:
        """Return the part of one side."""
        return _End(own, self)

    def take(self, party: int, node: int, key: int) -> None:
        """Take a key; the last one decides."""
        self._log.add(Message(party, BOX, Kind.KEY, node, key.to_bytes(16, "little")))
        keys = self._keys[node]
        keys[party] = key
        if len(keys) == self._parties:
            least = min(keys, key=lambda each: (keys[each], each))
            self._log.add(Message(BOX, MINER, Kind.WINNER, node, least.to_bytes(2, "little")))
            self.waited(node).set_result(least)

    def waited(self, node: int) -> asyncio.Future[int]:
        """Return what will hold the winner of a node."""
        if node not in self._winners:
            self._winners[node] = asyncio.get_running_loop().create_future()
        return self._winners[node]


class _End(Comparison):
    def __init__(self, own: int, box: IdealBox) -> None:
        self._own, self._box = own, box

    async def give(self, node: int, key: int) -> None:
        self._box.take(self._own, node, key)

    async def winner(self, node: int) -> int:
        return await self._box.waited(node)
