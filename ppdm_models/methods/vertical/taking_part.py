"""One side's whole run of a real session: it meets the others, they agree on a key and an order, and play."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.methods.vertical.messages import (
    MINER,
    Channel,
    LocalNetwork,
    Log,
    MessageKind,
    ProtocolError,
    array,
)
from treewarden.ppdm_models.methods.vertical.modes import (
    KEY_BYTES,
    Dealing,
    IdsView,
    SharedView,
    new_key,
)
from treewarden.ppdm_models.methods.vertical.party_view import (
    LEAF,
    Codes,
    Holding,
    Skeleton,
    View,
    WholeTree,
)
from treewarden.ppdm_models.methods.vertical.roles import Helper, IdealBox, Miner, Party, Relaying
from treewarden.ppdm_models.methods.vertical.secure_minimum import SecureComparison
from treewarden.ppdm_models.methods.vertical.session import Meeting, Mode, Session
from treewarden.ppdm_models.methods.vertical.streams import met

# Records in one order on all sides, by ids that all hold, without showing the others an id that they lack.
#
# Each party hides its ids behind a secret number of its own (Diffie & Hellman on Curve25519: hidden by all, in whatever
# order, the same id becomes the same value; Meadows 1986). The ids of each party go round all others, until everybody's
# number is on them, and only then does party 0 compare them. It tells each party which of its own are common, no more.
#
# What is learnt: by each party which of its ids all others have too, and how many ids each party has; by party 0 also
# which of its ids each other party has, and how many ids any of them have in common. With hashes under a common key,
# every party could have tried out guessed ids on all others; here it would need everybody's number.

POINT_BYTES = 32
PLACE = np.dtype("<u4")
FIRST = 0
"""The party that compares."""


async def group_key(channel: Channel, parties: int) -> bytes:
    """Return a key that all parties have and the miner has not: the first one draws it.

    Raises:
        ProtocolError: it is none.
    """
    if channel.own != FIRST:
        key = await channel.receive(FIRST, MessageKind.GROUP_KEY)
        if len(key) != KEY_BYTES:
            raise ProtocolError(FIRST, "sent a key of another length")
        return key
    key = new_key()
    for other in range(1, parties):
        await channel.send(other, MessageKind.GROUP_KEY, body=key)
    return key


async def aligned(channel: Channel, parties: int, ids: Sequence[str], records: int) -> Codes:
    """Return the row numbers of the own records that all parties have, in the order of the session.

    Raises:
        PartyError: ids are there twice, or all parties have another number of them in common than ``records``.
        ProtocolError: a party sends what makes no sense.
    """
    twice = len(ids) - len(set(ids))
    if twice:
        problem = f"{twice:,} records have an id that another one has too"
        raise PartyError("--id", f"{problem}; leave one of each on this side")
    own, hand = channel.own, X25519PrivateKey.generate()
    order = list(range(len(ids)))
    random.SystemRandom().shuffle(order)
    points = [hashlib.sha256(ids[row].encode()).digest() for row in order]
    after, before = (own + 1) % parties, (own - 1) % parties
    batch = await asyncio.to_thread(_hidden, points, hand, own)
    hidden = {}
    for step in range(1, parties):
        origin = (own - step) % parties
        await channel.send(after, MessageKind.HIDDEN_IDS, (origin + 1) % parties, b"".join(batch))
        body = await channel.receive(before, MessageKind.HIDDEN_IDS, origin)
        batch = await asyncio.to_thread(_hidden, _cut(body, before), hand, before)
    finished = (own + 1) % parties
    if own == FIRST:
        hidden[finished] = batch
        for other in range(1, parties):
            body = await channel.receive(other, MessageKind.HIDDEN_IDS, parties + other)
            hidden[(other + 1) % parties] = _cut(body, other)
        places = await _tell(channel, hidden)
    else:
        await channel.send(FIRST, MessageKind.HIDDEN_IDS, parties + own, b"".join(batch))
        body = await channel.receive(FIRST, MessageKind.COMMON_IDS)
        places = array(body, PLACE, (len(body) // PLACE.itemsize,), FIRST)
    if len(places) and places.max() >= len(ids):
        raise ProtocolError(FIRST, "sent the place of an id that this table lacks")
    if len(places) != records:
        problem = f"{len(places):,} ids occur at all parties, but the session file says {records:,} records"
        advice = "correct 'records' in the session file of every party, or check the id column"
        raise PartyError("--id", f"{problem}; {advice}")
    return np.array(order, np.int64)[places]


async def _tell(channel: Channel, hidden: dict[int, list[bytes]]) -> Codes:
    """Tell each other party which of its ids all have, and return the own places of these."""
    common = list(set.intersection(*map(set, hidden.values())))
    random.SystemRandom().shuffle(common)
    own = np.zeros(0, np.int64)
    for party, points in hidden.items():
        at = {point: place for place, point in enumerate(points)}
        places = np.array([at[point] for point in common], PLACE)
        if party == FIRST:
            own = places.astype(np.int64)
        else:
            await channel.send(party, MessageKind.COMMON_IDS, body=places.tobytes())
    return own


def _hidden(points: Sequence[bytes], hand: X25519PrivateKey, sender: int) -> list[bytes]:
    """Return points with the own secret number on them."""
    try:
        return [hand.exchange(X25519PublicKey.from_public_bytes(point)) for point in points]
    except ValueError as error:  # a point that whoever hides it makes nothing of
        raise ProtocolError(sender, "sent an id that is none") from error


def _cut(body: bytes, sender: int) -> list[bytes]:
    if len(body) % POINT_BYTES:
        raise ProtocolError(sender, f"sent {len(body):,} bytes, which are no ids")
    return [body[at : at + POINT_BYTES] for at in range(0, len(body), POINT_BYTES)]


# What each side needs for the mode of a session.


def view_of(session: Session, holding: Holding, channel: Channel, key: bytes) -> View:
    """Return what a party knows the nodes by; ``key`` is that of all parties."""
    if session.mode is Mode.IDS:
        return IdsView(session, holding, channel, key)
    return SharedView(session, holding, channel, key)


def helper_of(session: Session, channel: Channel) -> Helper:
    """Return what the miner does for the parties."""
    return Relaying(session, channel) if session.mode is Mode.IDS else Dealing(session, channel)


@dataclass(frozen=True, slots=True)
class Brought:
    """Records that a party brings: their ids, None where all parties have them in one order already.

    ``holding_of`` returns its columns of some of its records, by their row numbers; where a holding is given, with the
    categories of that.
    """

    ids: Sequence[str] | None
    holding_of: Callable[[Codes, Holding | None], Holding]


@dataclass(frozen=True, slots=True)
class PartyRecord:
    """What a party keeps: its notes, its columns in the order of the session, its log.

    ``asked`` are the row numbers of its records that were classified, in the order that the miner has them, ``blocks``
    the cells of others that it saw as unnamed blocks.
    """

    notes: dict[int, int]
    holding: Holding
    log: Log
    asked: Codes | None
    blocks: int


@dataclass(frozen=True, slots=True)
class Led:
    """What the miner keeps: the skeleton, the log, and the classes of the records that were asked about."""

    skeleton: Skeleton
    log: Log
    labels: Codes | None


async def take_part(
    meeting: Meeting, side: int, certificates: Path, records: Brought, queried: Brought | None
) -> PartyRecord:
    """Be a party.

    Raises:
        ProtocolError: another side cannot be reached, breaks the protocol, or is late.
        PartyError: the own certificates or records do not fit, or a package is missing.
    """
    session = meeting.session
    async with met(meeting, side, certificates) as channel:
        parties = len(session.parties)
        key = await group_key(channel, parties)
        rows = await _ordered(channel, parties, records, session.records)
        holding = records.holding_of(rows, None)
        rows_asked, holding_asked = None, None
        if queried is not None:
            rows_asked = await _ordered(channel, parties, queried, meeting.asked)
            holding_asked = queried.holding_of(rows_asked, holding)
        view = view_of(session, holding, channel, key)
        comparison = SecureComparison(session, channel)
        party = Party(session, holding, channel, comparison, view)
        await party.run(holding_asked)
        return PartyRecord(party.notes, holding, channel.log, rows_asked, view.blocks)


async def lead(meeting: Meeting, certificates: Path) -> Led:
    """Be the miner.

    Raises:
        ProtocolError: a party cannot be reached, breaks the protocol, or is late.
        PartyError: the own certificates do not fit, or a package is missing.
    """
    session = meeting.session
    async with met(meeting, MINER, certificates) as channel:
        helper = helper_of(session, channel)
        miner = Miner(session, channel, SecureComparison(session, channel), helper)
        skeleton = await miner.grow()
        labels = await miner.classify(skeleton, meeting.asked) if meeting.asked else None
        await miner.end()
        return Led(skeleton, channel.log, labels)


async def _ordered(channel: Channel, parties: int, brought: Brought, records: int) -> Codes:
    if brought.ids is None:
        return np.arange(records)
    return await aligned(channel, parties, brought.ids, records)


# All sides in one process: for study, tests and documents. What is ideal in it is marked in the log.


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a session: what the miner has, each party's notes, what was said, and classes where asked for."""

    skeleton: Skeleton
    notes: tuple[dict[int, int], ...]
    log: Log
    labels: Codes | None = None

    def shared_tree(self, session: Session) -> WholeTree:
        """Return the tree that all sides know together; attributes by their ranks."""
        tested = tuple(
            LEAF
            if place.is_leaf
            else session.ranks[place.owner][self.notes[place.owner][place.serial]]
            for place in self.skeleton.places
        )
        return WholeTree(tested, self.skeleton)


def play(
    session: Session, holdings: Sequence[Holding], queried: Sequence[Holding] | None = None
) -> Played:
    """Play a session; ``queried`` are the columns of records to classify.

    Raises:
        ProtocolError: a side breaks the protocol.
    """
    return asyncio.run(_play(session, holdings, queried))


async def _play(
    session: Session, holdings: Sequence[Holding], queried: Sequence[Holding] | None
) -> Played:
    network = LocalNetwork()
    box = IdealBox(len(holdings), network.log)
    key = new_key()
    parties = [
        Party(session, holding, end, box.end(number), view_of(session, holding, end, key))
        for number, holding in enumerate(holdings)
        for end in (network.end(number),)
    ]
    end = network.end(MINER)
    miner = Miner(session, end, box.end(MINER), helper_of(session, end))
    async with asyncio.TaskGroup() as group:
        for number, party in enumerate(parties):
            group.create_task(party.run(queried[number] if queried else None))
        skeleton = await miner.grow()
        labels = None
        if queried:
            records = (
                len(holding.attributes[0].codes) for holding in queried if holding.attributes
            )
            labels = await miner.classify(skeleton, max(records, default=0))
        await miner.end()
    return Played(skeleton, tuple(each.notes for each in parties), network.log, labels)
