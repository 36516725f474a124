"""Records in one order on all sides, by ids that all hold, without showing the others an id that they lack.

Each party hides its ids behind a secret number of its own (Diffie & Hellman on Curve25519: hidden by all, in whatever
order, the same id becomes the same value; Meadows 1986). The ids of each party go round all others, until everybody's
number is on them, and only then does party 0 compare them. It tells each party which of its own are common, no more.

What is learnt: by each party which of its ids all others have too, and how many ids each party has; by party 0 also
which of its ids each other party has, and how many ids any of them have in common. With hashes under a common key,
every party could have tried out guessed ids on all others; here it would need everybody's number.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Sequence

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.vertical.channel import Channel
from treewarden.ppdm_models.vertical.errors import ProtocolError
from treewarden.ppdm_models.vertical.holding import Codes
from treewarden.ppdm_models.vertical.messages import Kind
from treewarden.ppdm_models.vertical.packing import array
from treewarden.ppdm_models.vertical.sealing import KEY_BYTES, new_key

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
        key = await channel.receive(FIRST, Kind.GROUP_KEY)
        if len(key) != KEY_BYTES:
            raise ProtocolError(FIRST, "sent a key of another length")
        return key
    key = new_key()
    for other in range(1, parties):
        await channel.send(other, Kind.GROUP_KEY, body=key)
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
        await channel.send(after, Kind.HIDDEN_IDS, (origin + 1) % parties, b"".join(batch))
        body = await channel.receive(before, Kind.HIDDEN_IDS, origin)
        batch = await asyncio.to_thread(_hidden, _cut(body, before), hand, before)
    finished = (own + 1) % parties
    if own == FIRST:
        hidden[finished] = batch
        for other in range(1, parties):
            body = await channel.receive(other, Kind.HIDDEN_IDS, parties + other)
            hidden[(other + 1) % parties] = _cut(body, other)
        places = await _tell(channel, hidden)
    else:
        await channel.send(FIRST, Kind.HIDDEN_IDS, parties + own, b"".join(batch))
        body = await channel.receive(FIRST, Kind.COMMON_IDS)
        places = array(body, PLACE, (len(body) // PLACE.itemsize,), FIRST)
    if len(places) and places.max() >= len(ids):
        raise ProtocolError(FIRST, "named an id that is not there")
    if len(places) != records:
        problem = f"all parties have {len(places):,} ids in common, and the session file says {records:,} records"
        raise PartyError("--id", f"{problem}; correct it on all sides")
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
            await channel.send(party, Kind.COMMON_IDS, body=places.tobytes())
    return own


def _hidden(points: Sequence[bytes], hand: X25519PrivateKey, sender: int) -> list[bytes]:
    """Return points with the own secret number on them."""
    try:
        return [hand.exchange(X25519PublicKey.from_public_bytes(each)) for each in points]
    except ValueError as error:  # a point that whoever hides it makes nothing of
        raise ProtocolError(sender, "sent an id that is none") from error


def _cut(body: bytes, sender: int) -> list[bytes]:
    if len(body) % POINT_BYTES:
        raise ProtocolError(sender, f"sent {len(body):,} bytes, which are no ids")
    return [body[at : at + POINT_BYTES] for at in range(0, len(body), POINT_BYTES)]
