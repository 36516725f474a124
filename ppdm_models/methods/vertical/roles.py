"""The roles of a session: parties, which answer the miner and keep notes of their nodes; and the miner, who leads."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.methods.vertical.messages import (
    BOX,
    MINER,
    Channel,
    Log,
    Message,
    MessageKind,
    ProtocolError,
    array,
    packed,
    unpacked,
)
from treewarden.ppdm_models.methods.vertical.party_view import (
    LEAF,
    Codes,
    Holding,
    Skeleton,
    SkeletonNode,
    Stack,
    View,
    is_settled,
)
from treewarden.ppdm_models.methods.vertical.session import Session, majority, score

# Whose key is the smallest: opened to the miner, and nothing else to anybody.


class KeyComparison(ABC):
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

    def end(self, side: int) -> KeyComparison:
        """Return the part of one side."""
        return _End(side, self)

    def take(self, party: int, node: int, key: int) -> None:
        """Take a key; the last one decides."""
        self._log.add(Message(party, BOX, MessageKind.KEY, node, key.to_bytes(16, "little")))
        keys = self._keys[node]
        keys[party] = key
        if len(keys) == self._parties:
            least = min(keys, key=lambda party: (keys[party], party))
            self._log.add(
                Message(BOX, MINER, MessageKind.WINNER, node, least.to_bytes(2, "little"))
            )
            self.waited(node).set_result(least)

    def waited(self, node: int) -> asyncio.Future[int]:
        """Return what will hold the winner of a node."""
        if node not in self._winners:
            self._winners[node] = asyncio.get_running_loop().create_future()
        return self._winners[node]


class _End(KeyComparison):
    def __init__(self, side: int, box: IdealBox) -> None:
        self._own, self._box = side, box

    async def give(self, node: int, key: int) -> None:
        self._box.take(self._own, node, key)

    async def winner(self, node: int) -> int:
        return await self._box.waited(node)


SAME_VERSION = "update treewarden on all sides, and start the session again"
RECORD = np.dtype("<u4")
BRANCH = np.dtype("<i2")


@dataclass(frozen=True, slots=True)
class _Path:
    """What the party remembers of the way to a node: its own attributes tested, and the label of the node above."""

    used: frozenset[int] = frozenset()
    label: int = 0


@dataclass(frozen=True, slots=True)
class _Best:
    """The best own attribute at the node that was scored last, and the label of that node."""

    node: int
    attribute: int
    label: int


class Party:
    """One party of a session. ``notes`` are the attributes of its own nodes by serial number, from 1."""

    def __init__(
        self,
        session: Session,
        holding: Holding,
        channel: Channel,
        comparison: KeyComparison,
        view: View,
    ) -> None:
        self.notes: dict[int, int] = {}
        self._session, self._holding = session, holding
        self._channel, self._comparison, self._view = channel, comparison, view
        self._paths = Stack(_Path())
        self._best: _Best | None = None
        self._won: int | None = None

    async def run(self, queried: Holding | None = None) -> None:
        """Take part until the miner ends the session; ``queried`` holds records to classify, by their numbers.

        Raises:
            ProtocolError: another side breaks the protocol.
        """
        await self._view.begin()
        while True:
            message = await self._channel.following(MINER)
            if message.kind is MessageKind.END:
                return
            await self._answer(message, queried)

    async def _answer(self, message: Message, queried: Holding | None) -> None:
        node, body = message.node, message.body
        try:
            match message.kind:
                case MessageKind.SUMS:
                    await self._view.offer_sums(node)
                case MessageKind.TOKEN:
                    await self._token(node, body)
                case MessageKind.SCORE:
                    await self._score(node)
                case MessageKind.WON:
                    await self._win(node)
                case MessageKind.MEMBERS:
                    await self._part(node, body)
                case MessageKind.ASK:
                    await self._say(node, body, queried)
                case _:
                    raise ProtocolError(MINER, f"sent {message.kind!s}, which nobody waits for")
        except LookupError as error:
            raise ProtocolError(MINER, f"asked about node {node}, which is not to come") from error

    async def _token(self, node: int, body: bytes) -> None:
        (is_full,) = unpacked("B", body[:1], MINER)
        totals = self._view.totals(node, body[1:])
        if is_full or is_settled(totals, self._session.stops):
            label = majority(totals) if totals.sum() else self._paths.at(node).label
            await self._channel.send(MINER, MessageKind.LEAF, node, packed("H", label))
        else:
            await self._channel.send(MINER, MessageKind.SPLIT, node)

    async def _score(self, node: int) -> None:
        used = self._paths.at(node).used
        counts = await self._view.counts(node)
        own, session = self._channel.own, self._session
        keys = {
            session.key(own, number, score(each)): number
            for number, each in enumerate(counts)
            if number not in used
        }
        key = min(keys, default=session.nothing)
        self._best = None
        if keys:
            self._best = _Best(node, keys[key], majority(counts[keys[key]].sum(axis=0)))
        await self._comparison.give(node, key)

    async def _win(self, node: int) -> None:
        if self._best is None or self._best.node != node:
            raise ProtocolError(
                MINER, f"said that this party won node {node}, where it has nothing"
            )
        serial = len(self.notes) + 1
        self.notes[serial] = self._best.attribute
        self._won = node
        branches = len(self._holding.attributes[self._best.attribute].categories)
        await self._channel.send(MINER, MessageKind.BRANCHES, node, packed("IH", serial, branches))

    async def _part(self, node: int, body: bytes) -> None:
        first, slots = unpacked("IH", body, MINER)
        best, path = self._best, self._paths.at(node)
        branches: Codes | None = None
        below = path
        if self._won == node and best is not None:
            attribute = self._holding.attributes[best.attribute]
            if slots != len(attribute.categories):
                raise ProtocolError(
                    MINER,
                    f"made {slots} branches at a node that needs {len(attribute.categories)}; {SAME_VERSION}",
                )
            branches = attribute.codes
            below = _Path(path.used | {best.attribute}, best.label)
        self._won = None
        await self._view.part(node, first, slots, branches)
        self._paths.part(node, first, [below] * slots)

    async def _say(self, serial: int, body: bytes, queried: Holding | None) -> None:
        """Say which branch records take at an own node; -1 where it has none for their value."""
        if queried is None or serial not in self.notes:
            raise ProtocolError(
                MINER,
                f"asked this party for the branches of a node that another party owns; {SAME_VERSION}",
            )
        rows = array(body, RECORD, (len(body) // RECORD.itemsize,), MINER).astype(np.int64)
        attribute = self.notes[serial]
        known = self._holding.attributes[attribute].categories
        party_attribute = queried.attributes[attribute]
        places = [
            known.index(category) if category in known else LEAF
            for category in party_attribute.categories
        ]
        if len(rows) and rows.max() >= len(party_attribute.codes):
            raise ProtocolError(
                MINER, f"asked about a record that this party does not have; {SAME_VERSION}"
            )
        found = np.array([*places, LEAF], BRANCH)[party_attribute.codes[rows]]
        await self._channel.send(MINER, MessageKind.BRANCH, serial, found.tobytes())


# The miner: leads the session, and learns the skeleton of the tree, no attribute, no record and no count.

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
        self, session: Session, channel: Channel, comparison: KeyComparison, helper: Helper
    ) -> None:
        self._session, self._channel = session, channel
        self._comparison, self._helper = comparison, helper
        self._places: list[SkeletonNode] = []
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
                await self._channel.send(place.owner, MessageKind.ASK, place.serial, asked)
                body = await self._channel.receive(place.owner, MessageKind.BRANCH, place.serial)
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
            await self._channel.send(party, MessageKind.END)

    async def _visit(self, node: int, depth: int, holder: int) -> int:
        """Grow what is at a node and below; return the number of its place."""
        number = len(self._places)
        self._places.append(SkeletonNode())
        is_full = depth >= self._session.deepest
        body = packed("B", is_full) + await self._helper.offered(node)
        await self._channel.send(holder, MessageKind.TOKEN, node, body)
        answer = await self._channel.following(holder)
        if answer.node != node or answer.kind not in (MessageKind.LEAF, MessageKind.SPLIT):
            raise ProtocolError(holder, f"answered the token with {answer.kind!s}")
        if answer.kind is MessageKind.LEAF:
            (label,) = unpacked("H", answer.body, holder)
            if label >= len(self._session.classes):
                raise ProtocolError(holder, "sent a class that does not exist")
            self._places[number] = SkeletonNode(label=label)
            return number
        if is_full:
            raise ProtocolError(holder, "would split where no attribute is left")
        await self._helper.score(node)
        winner = await self._comparison.winner(node)
        await self._channel.send(winner, MessageKind.WON, node)
        body = await self._channel.receive(winner, MessageKind.BRANCHES, node)
        serial, slots = unpacked("IH", body, winner)
        if not 1 <= slots <= MOST_BRANCHES:
            raise ProtocolError(winner, f"has {slots:,} branches; 1 to {MOST_BRANCHES:,} can be")
        first = self._nodes
        self._nodes += slots
        await self._helper.part(node, first, slots)
        below = [await self._visit(first + slot, depth + 1, winner) for slot in range(slots)]
        self._places[number] = SkeletonNode(winner, serial, tuple(below))
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
            await self._channel.send(party, MessageKind.SCORE, node)

    async def part(self, node: int, first: int, slots: int) -> None:
        for party in self._parties:
            await self._channel.send(party, MessageKind.MEMBERS, node, packed("IH", first, slots))
        bodies = [
            await self._channel.receive(party, MessageKind.RELAY, node) for party in self._parties
        ]
        for party in self._parties:
            await self._channel.send(party, MessageKind.RELAYED, node, b"".join(bodies))
