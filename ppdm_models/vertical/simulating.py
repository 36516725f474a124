"""All sides in one process: for study, tests and documents. What is ideal in it is marked in the log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from treewarden.ppdm_models.vertical.channel import LocalNetwork
from treewarden.ppdm_models.vertical.comparing import IdealBox
from treewarden.ppdm_models.vertical.holding import Codes, Holding
from treewarden.ppdm_models.vertical.messages import MINER, Log
from treewarden.ppdm_models.vertical.miner import Miner
from treewarden.ppdm_models.vertical.modes import helper_of, view_of
from treewarden.ppdm_models.vertical.party import Party
from treewarden.ppdm_models.vertical.sealing import new_key
from treewarden.ppdm_models.vertical.session import Session
from treewarden.ppdm_models.vertical.skeleton import LEAF, Known, Skeleton


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a session: what the miner has, each party's notes, what was said, and classes where asked for."""

    skeleton: Skeleton
    notes: tuple[dict[int, int], ...]
    log: Log
    labels: Codes | None = None

    def known(self, session: Session) -> Known:
        """Return the tree that all sides know together; attributes by their ranks."""
        tested = tuple(
            LEAF
            if place.is_leaf
            else session.ranks[place.owner][self.notes[place.owner][place.serial]]
            for place in self.skeleton.places
        )
        return Known(tested, self.skeleton)


def play(
    session: Session, holdings: Sequence[Holding], asked: Sequence[Holding] | None = None
) -> Played:
    """Play a session; ``asked`` are the columns of records to classify.

    Raises:
        ProtocolError: a side breaks the protocol.
    """
    return asyncio.run(_play(session, holdings, asked))


async def _play(
    session: Session, holdings: Sequence[Holding], asked: Sequence[Holding] | None
) -> Played:
    network = LocalNetwork()
    box = IdealBox(len(holdings), network.log)
    key = new_key()
    parties = [
        Party(session, own, end, box.end(number), view_of(session, own, end, key))
        for number, own in enumerate(holdings)
        for end in (network.end(number),)
    ]
    end = network.end(MINER)
    miner = Miner(session, end, box.end(MINER), helper_of(session, end))
    async with asyncio.TaskGroup() as group:
        for number, each in enumerate(parties):
            group.create_task(each.run(asked[number] if asked else None))
        skeleton = await miner.grow()
        labels = None
        if asked:
            records = (len(each.attributes[0].codes) for each in asked if each.attributes)
            labels = await miner.classify(skeleton, max(records, default=0))
        await miner.end()
    return Played(skeleton, tuple(each.notes for each in parties), network.log, labels)
