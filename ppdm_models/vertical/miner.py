"""The miner: leads the session, and learns the skeleton of the tree, no attribute, no record and no count."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from treewarden.ppdm_models.vertical.channel import Channel
from treewarden.ppdm_models.vertical.comparing import Comparison
from treewarden.ppdm_models.vertical.errors import ProtocolError
from treewarden.ppdm_models.vertical.holding import Codes
from treewarden.ppdm_models.vertical.messages import Kind
from treewarden.ppdm_models.vertical.packing import array, packed, unpacked
from treewarden.ppdm_models.vertical.party import BRANCH, RECORD
from treewarden.ppdm_models.vertical.session import Session
from treewarden.ppdm_models.vertical.skeleton import LEAF, Place, Skeleton

MOST_BRANCHES = 1_000
"""More categories than that have no attribute that tells anything; a party that says so is mistaken."""


class Helper(ABC):
    """What the miner does for the parties in one mode; none of it tells it anything."""

    @abstractmethod
    async def begin(self) -> None:
        """Do what comes before the root."""

    @abstractmethod
    async def offered(self, node: int) -> bytes:
        """Return what the token's holder needs to know the class totals of a node."""

    @abstractmethod
    async def score(self, node: int) -> None:
        """Have all parties score a node."""

    @abstractmethod
    async def part(self, node: int, first: int, slots: int) -> None:
        """Have all parties make the nodes below a node."""


class Miner:
    """The miner of one session."""

    def __init__(
        self, session: Session, channel: Channel, comparison: Comparison, helper: Helper
    ) -> None:
        self._session, self._channel = session, channel
        self._comparison, self._helper = comparison, helper
        self._places: list[Place] = []
        self._nodes = 1

    async def grow(self) -> Skeleton:
        """Return the skeleton of the tree that plain ID3 grows on the joined table.

        Raises:
            ProtocolError: a party breaks the protocol.
        """
        await self._helper.begin()
        await self._visit(0, 0, self._session.labelled)
        return Skeleton(tuple(self._places))

    async def classify(self, skeleton: Skeleton, records: int) -> Codes:
        """Return the class of each record, -1 where a party has no branch for its value; shape (records,)."""
        found = np.full(records, LEAF, np.int64)
        waiting = [(0, np.arange(records))]
        while waiting:
            number, rows = waiting.pop()
            place = skeleton.places[number]
            if place.is_leaf:
                found[rows] = place.label
            elif len(rows):
                asked = rows.astype(RECORD).tobytes()
                await self._channel.send(place.owner, Kind.ASK, place.serial, asked)
                body = await self._channel.receive(place.owner, Kind.BRANCH, place.serial)
                branches = array(body, BRANCH, (len(rows),), place.owner)
                if len(branches) and branches.max() >= len(place.children):
                    raise ProtocolError(place.owner, "named a branch that is not there")
                waiting += [
                    (child, rows[branches == slot]) for slot, child in enumerate(place.children)
                ]
        return found

    async def end(self) -> None:
        """Tell all parties that the session is over."""
        for party in range(len(self._session.parties)):
            await self._channel.send(party, Kind.END)

    async def _visit(self, node: int, depth: int, holder: int) -> int:
        """Grow what is at a node and below; return the number of its place."""
        number = len(self._places)
        self._places.append(Place())
        is_full = depth >= self._session.deepest
        body = packed("B", is_full) + await self._helper.offered(node)
        await self._channel.send(holder, Kind.TOKEN, node, body)
        answer = await self._channel.following(holder)
        if answer.node != node or answer.kind not in (Kind.LEAF, Kind.SPLIT):
            raise ProtocolError(holder, f"answered the token with {answer.kind!s}")
        if answer.kind is Kind.LEAF:
            (label,) = unpacked("H", answer.body, holder)
            if label >= len(self._session.classes):
                raise ProtocolError(holder, "named a class that is none")
            self._places[number] = Place(label=label)
            return number
        if is_full:
            raise ProtocolError(holder, "would split where no attribute is left")
        await self._helper.score(node)
        winner = await self._comparison.winner(node)
        await self._channel.send(winner, Kind.WON, node)
        body = await self._channel.receive(winner, Kind.BRANCHES, node)
        serial, slots = unpacked("IH", body, winner)
        if not 1 <= slots <= MOST_BRANCHES:
            raise ProtocolError(winner, f"has {slots:,} branches; 1 to {MOST_BRANCHES:,} can be")
        first = self._nodes
        self._nodes += slots
        await self._helper.part(node, first, slots)
        below = [await self._visit(first + slot, depth + 1, winner) for slot in range(slots)]
        self._places[number] = Place(winner, serial, tuple(below))
        return number


class Relaying(Helper):
    """The miner of the paper's mode: passes sealed bitmaps on."""

    def __init__(self, session: Session, channel: Channel) -> None:
        self._parties, self._channel = range(len(session.parties)), channel

    async def begin(self) -> None:
        return

    async def offered(self, node: int) -> bytes:
        return b""

    async def score(self, node: int) -> None:
        for party in self._parties:
            await self._channel.send(party, Kind.SCORE, node)

    async def part(self, node: int, first: int, slots: int) -> None:
        for party in self._parties:
            await self._channel.send(party, Kind.MEMBERS, node, packed("IH", first, slots))
        bodies = [await self._channel.receive(party, Kind.RELAY, node) for party in self._parties]
        for party in self._parties:
            await self._channel.send(party, Kind.RELAYED, node, b"".join(bodies))
