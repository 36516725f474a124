"""One side's whole run of a real session: it meets the others, they agree on a key and an order, and play."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from treewarden.ppdm_models.vertical.aligning import aligned, group_key
from treewarden.ppdm_models.vertical.channel import Channel
from treewarden.ppdm_models.vertical.holding import Codes, Holding
from treewarden.ppdm_models.vertical.messages import MINER, Log
from treewarden.ppdm_models.vertical.miner import Miner
from treewarden.ppdm_models.vertical.modes import helper_of, view_of
from treewarden.ppdm_models.vertical.party import Party
from treewarden.ppdm_models.vertical.secure import SecureComparison
from treewarden.ppdm_models.vertical.session_file import Meeting
from treewarden.ppdm_models.vertical.skeleton import Skeleton
from treewarden.ppdm_models.vertical.streams import met


@dataclass(frozen=True, slots=True)
class Brought:
    """Records that a party brings: their ids, None where all parties have them in one order already.

    ``holding_of`` returns its columns of some of its records, by their row numbers; where a holding is given, with the
    categories of that.
    """

    ids: Sequence[str] | None
    holding_of: Callable[[Codes, Holding | None], Holding]


@dataclass(frozen=True, slots=True)
class Kept:
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
    meeting: Meeting, own: int, certificates: Path, records: Brought, asked: Brought | None
) -> Kept:
    """Be a party.

    Raises:
        ProtocolError: another side cannot be reached, breaks the protocol, or is late.
        PartyError: the own certificates or records do not fit, or a package is missing.
    """
    session = meeting.session
    async with met(meeting, own, certificates) as channel:
        parties = len(session.parties)
        key = await group_key(channel, parties)
        rows = await _ordered(channel, parties, records, session.records)
        holding = records.holding_of(rows, None)
        rows_asked, holding_asked = None, None
        if asked is not None:
            rows_asked = await _ordered(channel, parties, asked, meeting.asked)
            holding_asked = asked.holding_of(rows_asked, holding)
        view = view_of(session, holding, channel, key)
        comparison = SecureComparison(session, channel)
        party = Party(session, holding, channel, comparison, view)
        await party.run(holding_asked)
        return Kept(party.notes, holding, channel.log, rows_asked, view.blocks)


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


async def _ordered(channel: Channel, parties: int, of: Brought, records: int) -> Codes:
    if of.ids is None:
        return np.arange(records)
    return await aligned(channel, parties, of.ids, records)
