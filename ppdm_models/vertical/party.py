"""A party: answers the miner, talks to other parties where the mode asks for that, and keeps notes of its own nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.vertical.channel import Channel
from treewarden.ppdm_models.vertical.comparing import Comparison
from treewarden.ppdm_models.vertical.errors import ProtocolError
from treewarden.ppdm_models.vertical.holding import Codes, Holding
from treewarden.ppdm_models.vertical.messages import MINER, Kind, Message
from treewarden.ppdm_models.vertical.packing import array, packed, unpacked
from treewarden.ppdm_models.vertical.plain import is_settled
from treewarden.ppdm_models.vertical.scores import majority, score
from treewarden.ppdm_models.vertical.session import Session
from treewarden.ppdm_models.vertical.skeleton import LEAF
from treewarden.ppdm_models.vertical.view import Stack, View

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
        comparison: Comparison,
        view: View,
    ) -> None:
        self.notes: dict[int, int] = {}
        self._session, self._holding = session, holding
        self._channel, self._comparison, self._view = channel, comparison, view
        self._paths = Stack(_Path())
        self._best: _Best | None = None
        self._won: int | None = None

    async def run(self, asked: Holding | None = None) -> None:
        """Take part until the miner ends the session; ``asked`` holds records to classify, by their numbers.

        Raises:
            ProtocolError: another side breaks the protocol.
        """
        await self._view.begin()
        while True:
            message = await self._channel.following(MINER)
            if message.kind is Kind.END:
                return
            await self._answer(message, asked)

    async def _answer(self, message: Message, asked: Holding | None) -> None:
        node, body = message.node, message.body
        try:
            match message.kind:
                case Kind.SUMS:
                    await self._view.offer_sums(node)
                case Kind.TOKEN:
                    await self._token(node, body)
                case Kind.SCORE:
                    await self._score(node)
                case Kind.WON:
                    await self._win(node)
                case Kind.MEMBERS:
                    await self._part(node, body)
                case Kind.ASK:
                    await self._say(node, body, asked)
                case _:
                    raise ProtocolError(MINER, f"sent {message.kind!s}, which nobody waits for")
        except LookupError as error:
            raise ProtocolError(MINER, f"asked about node {node}, which is not to come") from error

    async def _token(self, node: int, body: bytes) -> None:
        (is_full,) = unpacked("B", body[:1], MINER)
        totals = self._view.totals(node, body[1:])
        if is_full or is_settled(totals, self._session.stops):
            label = majority(totals) if totals.sum() else self._paths.at(node).label
            await self._channel.send(MINER, Kind.LEAF, node, packed("H", label))
        else:
            await self._channel.send(MINER, Kind.SPLIT, node)

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
        await self._channel.send(MINER, Kind.BRANCHES, node, packed("IH", serial, branches))

    async def _part(self, node: int, body: bytes) -> None:
        first, slots = unpacked("IH", body, MINER)
        best, path = self._best, self._paths.at(node)
        branches: Codes | None = None
        below = path
        if self._won == node and best is not None:
            attribute = self._holding.attributes[best.attribute]
            if slots != len(attribute.categories):
                raise ProtocolError(MINER, f"made {slots} branches of another number")
            branches = attribute.codes
            below = _Path(path.used | {best.attribute}, best.label)
        self._won = None
        await self._view.part(node, first, slots, branches)
        self._paths.part(node, first, [below] * slots)

    async def _say(self, serial: int, body: bytes, asked: Holding | None) -> None:
        """Say which branch records take at an own node; -1 where it has none for their value."""
        if asked is None or serial not in self.notes:
            raise ProtocolError(MINER, "asked for branches where there are none to tell")
        rows = array(body, RECORD, (len(body) // RECORD.itemsize,), MINER).astype(np.int64)
        attribute = self.notes[serial]
        known = self._holding.attributes[attribute].categories
        given = asked.attributes[attribute]
        places = [known.index(each) if each in known else LEAF for each in given.categories]
        if len(rows) and rows.max() >= len(given.codes):
            raise ProtocolError(MINER, "asked about a record that is not there")
        found = np.array([*places, LEAF], BRANCH)[given.codes[rows]]
        await self._channel.send(MINER, Kind.BRANCH, serial, found.tobytes())
