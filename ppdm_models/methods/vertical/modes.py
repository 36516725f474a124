"""The two modes of joint training: who knows which records are at a node.

By ids, the mode of the paper, every party knows it, and hears it through the miner, sealed. All parties send sealed
bitmaps of one size for every branch, and only the winner's are meant: who listens to the miner's connections does not
see who won. The miner is told by the protocol, and parties see whose bitmaps are meant. The class is known to all.

By shares nobody knows it: who is there, with which class, is added up from one share per party. Each share by itself
is random numbers. Products of a party's own column with everybody's shares are taken with numbers that the miner deals
beforehand (Beaver 1991): it sees no data, and must not collude with a party. Parties send what is masked to each other
directly, never through the miner, who knows the masks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

from treewarden.ppdm_models.methods.vertical.messages import (
    MINER,
    Channel,
    MessageKind,
    ProtocolError,
    array,
    cut,
    packed,
    unpacked,
)
from treewarden.ppdm_models.methods.vertical.party_view import Codes, Holding, Stack, View, crossed
from treewarden.ppdm_models.methods.vertical.roles import Helper
from treewarden.ppdm_models.methods.vertical.session import Session

# What parties say to each other through the miner, who must not read it, and streams of random numbers from a seed.

KEY_BYTES = 32
OVERHEAD = 28
"""Bytes that a sealed message has more than what is in it: a nonce and a tag."""


def new_key() -> bytes:
    """Return a key, or a seed, that nobody can guess."""
    return os.urandom(KEY_BYTES)


class MessageSealer:
    """Seals for whoever holds the same key; each message is bound to who sent it, about which node and slot."""

    def __init__(self, key: bytes) -> None:
        self._cipher = ChaCha20Poly1305(key)

    def seal(self, body: bytes, sender: int, node: int, slot: int) -> bytes:
        """Return a body sealed; all bodies of one length become messages of one length."""
        nonce = os.urandom(12)
        return nonce + self._cipher.encrypt(nonce, body, _bound(sender, node, slot))

    def unseal(self, sealed: bytes, sender: int, node: int, slot: int) -> bytes:
        """Return what was sealed.

        Raises:
            ProtocolError: it was changed, cut, or is about something else.
        """
        try:
            return self._cipher.decrypt(sealed[:12], sealed[12:], _bound(sender, node, slot))
        except (InvalidTag, ValueError) as error:
            raise ProtocolError(sender, "what it sent through the miner does not open") from error


def stream(seed: bytes, use: int, shape: tuple[int, ...], ring: np.dtype[Any]) -> NDArray[Any]:
    """Return random numbers of a ring, the same for whoever has the seed; each ``use`` of it has its own."""
    count = int(np.prod(shape)) * ring.itemsize
    nonce = (0).to_bytes(4, "little") + use.to_bytes(12, "little")
    drawn = Cipher(ChaCha20(seed, nonce), mode=None).encryptor().update(bytes(count))
    return np.frombuffer(drawn, ring).reshape(shape)


def _bound(sender: int, node: int, slot: int) -> bytes:
    return b"".join(part.to_bytes(8, "little", signed=True) for part in (sender, node, slot))


Ring = NDArray[Any]
PADDED = 8
"""Columns are filled up to a multiple of so many, so that nobody counts a party's categories exactly."""
MOST_WIDTH = 1 << 16
TABLE, SHARES, BRANCHES, PARTS, COUNTS = range(5)
"""What a stream of a seed is used for; counts are one use for each party that they go to."""


def ring_of(records: int) -> np.dtype[Any]:
    """Return the smallest ring in which counts of so many records do not run over."""
    return np.dtype("<u2" if records < 1 << 16 else "<u4")


def product(left: Ring, right: Ring) -> Ring:
    """Return the matrix product in the ring: through exact floats where they can hold it, which is fast."""
    ring = left.dtype
    if ring.itemsize == 2 and left.shape[1] < 1 << 20:
        found = left.astype(np.float64) @ right.astype(np.float64)
        return (found.astype(np.int64) & 0xFFFF).astype(ring)
    return left @ right


class SeedUse:
    """Numbers the streams of seeds: no two are the same."""

    def __init__(self, session: Session) -> None:
        self._many = COUNTS + len(session.parties)

    def number_of(self, what: int, node: int = 0, party: int = 0) -> int:
        """Return the number of a use; that of the table comes once."""
        return 0 if what == TABLE else 1 + node * self._many + what + party


class SharedView(View):
    """A party that holds shares; ``key`` is known to all parties and not to the miner."""

    def __init__(self, session: Session, holding: Holding, channel: Channel, key: bytes) -> None:
        self._session, self._holding, self._channel = session, holding, channel
        self._sealer, self._uses = MessageSealer(key), SeedUse(session)
        self._ring = ring_of(session.records)
        self._shape = session.records, len(session.classes)
        self._others = [each for each in range(len(session.parties)) if each != channel.own]
        self._own = _one_hot(holding, session.records, self._ring)
        self._seed = b""
        self._mask = self._own[:, :0]
        self._tables: dict[int, Ring] = {}
        self._shares: Stack[Ring] = Stack(np.zeros((0, 0), self._ring))
        self._masked: Ring = self._own[:, :0]

    async def begin(self) -> None:
        channel, records = self._channel, self._session.records
        await channel.send(MINER, MessageKind.WIDTH, body=packed("I", self._own.shape[1]))
        self._seed = await channel.receive(MINER, MessageKind.SEED)
        if len(self._seed) != KEY_BYTES:
            raise ProtocolError(MINER, "sent a seed of another length")
        self._mask = stream(self._seed, self._uses.number_of(TABLE), self._own.shape, self._ring)
        for other in self._others:
            await channel.send(
                other, MessageKind.MASKED_TABLE, body=(self._own - self._mask).tobytes()
            )
        for other in self._others:
            body = await channel.receive(other, MessageKind.MASKED_TABLE)
            width = len(body) // (records * self._ring.itemsize)
            self._tables[other] = array(body, self._ring, (records, width), other)
        self._shares = Stack(await self._first_share())

    async def offer_sums(self, node: int) -> None:
        body = self._shares.at(node).sum(axis=0, dtype=self._ring).tobytes()
        sealed = self._sealer.seal(body, self._channel.own, node, 0)
        await self._channel.send(MINER, MessageKind.SUM, node, sealed)

    def totals(self, node: int, offered: bytes) -> Codes:
        parties, classes = len(self._session.parties), self._shape[1]
        size = classes * self._ring.itemsize + OVERHEAD
        total = np.zeros(classes, self._ring)
        for party, piece in enumerate(cut(offered, parties, size, MINER)):
            opened = self._sealer.unseal(piece, party, node, 0)
            total = total + array(opened, self._ring, (classes,), party)
        return total.astype(np.int64)

    async def counts(self, node: int) -> Sequence[Codes]:
        own, share, uses = self._channel.own, self._shares.at(node), self._uses
        hidden = share - stream(self._seed, uses.number_of(SHARES, node), self._shape, self._ring)
        for other in self._others:
            await self._channel.send(other, MessageKind.MASKED_SHARE, node, hidden.tobytes())
        masked = np.zeros(self._shape, self._ring)
        for other in self._others:
            body = await self._channel.receive(other, MessageKind.MASKED_SHARE, node)
            masked = masked + array(body, self._ring, self._shape, other)
        self._masked = masked
        for other in self._others:
            table = self._tables[other]
            cover = self._cover(node, other, table.shape[1])
            body = (product(table.T, share) + cover).tobytes()
            await self._channel.send(other, MessageKind.COUNTS, node, body)
        shape = self._own.shape[1], self._shape[1]
        found = product(self._own.T, share) + product(self._mask.T, masked)
        for other in self._others:
            body = await self._channel.receive(other, MessageKind.COUNTS, node)
            found = found + array(body, self._ring, shape, other)
        body = await self._channel.receive(MINER, MessageKind.CORRECTION, node)
        found = (found + array(body, self._ring, shape, MINER)).astype(np.int64)
        if found.sum() > self._session.records * len(self._holding.attributes):
            raise ProtocolError(
                own,
                "the counts do not add up, so one party sent wrong data; check that all parties use the same "
                "version of treewarden and the same session file",
            )
        ends = np.cumsum([len(attribute.categories) for attribute in self._holding.attributes])
        return np.split(found, ends)[:-1] if len(ends) else []

    async def part(self, node: int, first: int, slots: int, branches: Codes | None) -> None:
        share, uses, ring = self._shares.at(node), self._uses, self._ring
        records = self._session.records
        chosen = np.zeros((records, slots), ring)
        if branches is not None:
            chosen[np.arange(records), branches] = 1
        mask = stream(self._seed, uses.number_of(BRANCHES, node), chosen.shape, ring)
        hidden = (chosen - mask).tobytes()
        for other in self._others:
            await self._channel.send(other, MessageKind.MASKED_BRANCHES, node, hidden)
        factors = chosen.copy()
        for other in self._others:
            body = await self._channel.receive(other, MessageKind.MASKED_BRANCHES, node)
            factors = factors + array(body, ring, chosen.shape, other)
        shape = slots, *self._shape
        if self._channel.own == 0:
            body = await self._channel.receive(MINER, MessageKind.CORRECTION, node)
            rest = array(body, ring, shape, MINER)
        else:
            rest = stream(self._seed, uses.number_of(PARTS, node), shape, ring)
        below = [
            share * factors[:, slot, None] + self._masked * mask[:, slot, None] + rest[slot]
            for slot in range(slots)
        ]
        self._shares.part(node, first, below)

    async def _first_share(self) -> Ring:
        """Return the own share of everybody's class: the party that holds it gives random numbers to the others."""
        labelled = self._session.labelled
        if self._channel.own != labelled:
            body = await self._channel.receive(labelled, MessageKind.SHARE)
            return array(body, self._ring, self._shape, labelled)
        if self._holding.classes is None:
            raise ProtocolError(labelled, "does not hold the class")
        left = np.zeros(self._shape, self._ring)
        left[np.arange(self._shape[0]), self._holding.classes] = 1
        for other in self._others:
            given = stream(new_key(), 0, self._shape, self._ring)
            await self._channel.send(other, MessageKind.SHARE, body=given.tobytes())
            left = left - given
        return left

    def _cover(self, node: int, owner: int, width: int) -> Ring:
        use = self._uses.number_of(COUNTS, node, owner)
        return stream(self._seed, use, (width, self._shape[1]), self._ring)


class Dealing(Helper):
    """The miner of the mode with shares: deals numbers that cancel out, from one seed per party."""

    def __init__(self, session: Session, channel: Channel) -> None:
        self._session, self._channel, self._uses = session, channel, SeedUse(session)
        self._parties = range(len(session.parties))
        self._ring = ring_of(session.records)
        self._shape = session.records, len(session.classes)
        self._seeds = [new_key() for _ in self._parties]
        self._masks: list[Ring] = []

    async def begin(self) -> None:
        for party in self._parties:
            (width,) = unpacked("I", await self._channel.receive(party, MessageKind.WIDTH), party)
            if width > MOST_WIDTH:
                raise ProtocolError(
                    party,
                    f"has {width:,} categories, and the limit is {MOST_WIDTH:,}; merge categories",
                )
            shape = self._session.records, width
            self._masks.append(
                stream(self._seeds[party], self._uses.number_of(TABLE), shape, self._ring)
            )
        for party in self._parties:
            await self._channel.send(party, MessageKind.SEED, body=self._seeds[party])

    async def offered(self, node: int) -> bytes:
        for party in self._parties:
            await self._channel.send(party, MessageKind.SUMS, node)
        sums = [
            await self._channel.receive(party, MessageKind.SUM, node) for party in self._parties
        ]
        return b"".join(sums)

    async def score(self, node: int) -> None:
        for party in self._parties:
            await self._channel.send(party, MessageKind.SCORE, node)
        shares = self._of_shares(node)
        everybody = np.sum(shares, axis=0, dtype=self._ring)
        for party, mask in enumerate(self._masks):
            correction = product(mask.T, everybody - shares[party])
            for other in self._parties:
                if other == party:
                    continue
                use = self._uses.number_of(COUNTS, node, party)
                shape = mask.shape[1], self._shape[1]
                correction = correction - stream(self._seeds[other], use, shape, self._ring)
            await self._channel.send(party, MessageKind.CORRECTION, node, correction.tobytes())

    async def part(self, node: int, first: int, slots: int) -> None:
        for party in self._parties:
            await self._channel.send(party, MessageKind.MEMBERS, node, packed("IH", first, slots))
        shares, ring = self._of_shares(node), self._ring
        everybody = np.sum(shares, axis=0, dtype=ring)
        correction = np.zeros((slots, *self._shape), ring)
        for party, seed in enumerate(self._seeds):
            shape = self._session.records, slots
            mask = stream(seed, self._uses.number_of(BRANCHES, node), shape, ring)
            others = everybody - shares[party]
            correction = correction + mask.T[:, :, None] * others[None]
            if party:
                use = self._uses.number_of(PARTS, node)
                correction = correction - stream(seed, use, correction.shape, ring)
        await self._channel.send(0, MessageKind.CORRECTION, node, correction.tobytes())

    def _of_shares(self, node: int) -> list[Ring]:
        use = self._uses.number_of(SHARES, node)
        return [stream(seed, use, self._shape, self._ring) for seed in self._seeds]


def _one_hot(holding: Holding, records: int, ring: np.dtype[Any]) -> Ring:
    """Return every category as a column of zeros and ones, filled up; shape (records, width)."""
    width = sum(len(attribute.categories) for attribute in holding.attributes)
    found = np.zeros((records, -(-width // PADDED) * PADDED), ring)
    start = 0
    for party_attribute in holding.attributes:
        found[np.arange(records), start + party_attribute.codes] = 1
        start += len(party_attribute.categories)
    return found


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
        raise ProtocolError(MINER, "asked for sums, which this mode does not have")

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
