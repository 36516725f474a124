"""The mode of the paper: every party knows which records are at a node, and hears that through the miner, sealed.

All parties send sealed bitmaps of one size for every branch, and only the winner's are meant: who listens to the
miner's connections does not see who won. The miner is told by the protocol, and parties see whose bitmaps are meant.
The class is known to all parties.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.ppdm_models.methods.vertical.by_shares import OVERHEAD, MessageSealer
from treewarden.ppdm_models.methods.vertical.messages import (
    MINER,
    Channel,
    MessageKind,
    ProtocolError,
    array,
    cut,
)
from treewarden.ppdm_models.methods.vertical.party_view import Codes, Holding, Stack, View, crossed
from treewarden.ppdm_models.methods.vertical.session import Session

LABEL = np.dtype("<u2")
MEANT, DUMMY = b"\x01", b"\x00"


class IdsView(View):
    """A party that sees the record numbers of every node; ``key`` is known to all parties and not to the miner."""

    def __init__(self, session: Session, holding: Holding, channel: Channel, key: bytes) -> None:
        self._session, self._holding, self._channel = session, holding, channel
        self._sealer = MessageSealer(key)
        self._rows = Stack(np.arange(session.records))
        self._classes = holding.classes

    async def begin(self) -> None:
        session, own = self._session, self._channel.own
        if own == session.labelled:
            body = self._known_classes().astype(LABEL).tobytes()
            for other in range(len(session.parties)):
                if other != own:
                    await self._channel.send(other, MessageKind.LABELS, body=body)
            return
        body = await self._channel.receive(session.labelled, MessageKind.LABELS)
        found = array(body, LABEL, (session.records,), session.labelled).astype(np.int64)
        if len(found) and found.max() >= len(session.classes):
            raise ProtocolError(session.labelled, "sent a class that is none")
        self._classes = found

    async def offer_sums(self, node: int) -> None:
        raise ProtocolError(MINER, "asked for sums, which this mode has none of")

    def totals(self, node: int, offered: bytes) -> Codes:
        here = self._known_classes()[self._rows.at(node)]
        return np.bincount(here, minlength=len(self._session.classes))

    async def counts(self, node: int) -> Sequence[Codes]:
        rows = self._rows.at(node)
        classes, count = self._known_classes()[rows], len(self._session.classes)
        return [
            crossed(attribute.codes[rows], len(attribute.categories), classes, count)
            for attribute in self._holding.attributes
        ]

    async def part(self, node: int, first: int, slots: int, branches: Codes | None) -> None:
        own, rows, records = self._channel.own, self._rows.at(node), self._session.records
        sets = (
            [rows[branches[rows] == slot] for slot in range(slots)] if branches is not None else []
        )
        bodies = [
            self._sealer.seal(MEANT + _bits(each, records), own, node, slot)
            for slot, each in enumerate(sets)
        ] or [
            self._sealer.seal(DUMMY + _bits(rows[:0], records), own, node, slot)
            for slot in range(slots)
        ]
        await self._channel.send(MINER, MessageKind.RELAY, node, b"".join(bodies))
        relayed = await self._channel.receive(MINER, MessageKind.RELAYED, node)
        if branches is None:
            sets = self._unsealed(node, slots, relayed)
            self.blocks += len(rows)
        self._rows.part(node, first, sets)

    def _unsealed(self, node: int, slots: int, relayed: bytes) -> list[Codes]:
        """Return the sets of the one party that means them."""
        parties, records = len(self._session.parties), self._session.records
        size = 1 + len(_bits(np.arange(0), records)) + OVERHEAD
        pieces = cut(relayed, parties * slots, size, MINER)
        found: list[list[Codes]] = []
        for party in range(parties):
            opened = [
                self._sealer.unseal(pieces[party * slots + slot], party, node, slot)
                for slot in range(slots)
            ]
            if all(each[:1] == MEANT for each in opened):
                found.append([_numbers(each[1:], records) for each in opened])
        if len(found) != 1:
            raise ProtocolError(MINER, f"relayed the branches of {len(found)} parties, not of one")
        return found[0]

    def _known_classes(self) -> Codes:
        if self._classes is None:
            raise ProtocolError(self._session.labelled, "sent no classes")
        return self._classes


def _bits(rows: Codes, records: int) -> bytes:
    flags = np.zeros(records, np.bool_)
    flags[rows] = True
    return np.packbits(flags).tobytes()


def _numbers(bits: bytes, records: int) -> Codes:
    return np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), count=records))
