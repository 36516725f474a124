"""Sides that talk over connections grow the tree that they grow in one process, and say the same to each other."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.ppdm_models.methods.vertical.cases import TENNIS, dealt, table
from tests.ppdm_models.methods.vertical.meetings import all_told, meeting_of
from treewarden.ppdm_models.methods.vertical.messages import MINER, MessageKind
from treewarden.ppdm_models.methods.vertical.modes import Dealing, IdsView, SharedView
from treewarden.ppdm_models.methods.vertical.party_view import Holding
from treewarden.ppdm_models.methods.vertical.roles import KeyComparison, Miner, Party, Relaying
from treewarden.ppdm_models.methods.vertical.session import Mode
from treewarden.ppdm_models.methods.vertical.taking_part import play
from treewarden.ppdm_models.methods.vertical.transport import IDEAL, make_certificates


class Trusting(KeyComparison):
    """A comparison that protects nothing: parties tell the miner their keys."""

    def __init__(self, channel, parties):
        self._channel, self._parties = channel, parties

    async def give(self, node, key):
        await self._channel.send(MINER, MessageKind.COMPARING, node, key.to_bytes(8, "little"))

    async def winner(self, node):
        said = [
            await self._channel.receive(party, MessageKind.COMPARING, node)
            for party in range(self._parties)
        ]
        keys = [int.from_bytes(each, "little") for each in said]
        return keys.index(min(keys))


def bodies_of(session, holdings):
    """The bodies of all sides: the miner's returns the skeleton, the classes and the log, a party's its log."""

    async def mines(channel):
        helper = (Relaying if session.mode is Mode.IDS else Dealing)(session, channel)
        miner = Miner(session, channel, Trusting(channel, len(holdings)), helper)
        skeleton = await miner.grow()
        labels = await miner.classify(skeleton, session.records)
        await miner.end()
        return skeleton, labels.tolist(), channel.log

    def takes_part(holding):
        async def body(channel):
            kind = IdsView if session.mode is Mode.IDS else SharedView
            view = kind(session, holding, channel, b"k" * 32)
            comparison = Trusting(channel, len(holdings))
            await Party(session, holding, channel, comparison, view).run(
                Holding(holding.attributes)
            )
            return channel.log

        return body

    return {MINER: mines, **{own: takes_part(each) for own, each in enumerate(holdings)}}


def said(log):
    """How often who said what of which length to whom about what, but for comparisons and good-byes."""
    left_out = {*IDEAL, MessageKind.COMPARING, MessageKind.BYE}
    return Counter(
        (each.sender, each.receiver, each.kind, each.node, each.size)
        for each in log.entries
        if each.kind not in left_out
    )


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("owners", [[0, 0, 1, 1], [4, 2, 2, 0]])
def test_apart_or_in_one_process_the_same_is_grown_and_said(tmp_path, mode, owners):
    *attributes, label = table(TENNIS, ["outlook", "temp", "humidity", "windy", "play"])
    parties = max(owners) + 1
    session, holdings = dealt(attributes, label, owners, parties, mode=mode)
    session = replace(session, parties=tuple(f"p{party}" for party in range(parties)))
    make_certificates(tmp_path, ["miner", *session.parties])
    meeting = meeting_of(session, asked=session.records)
    found = all_told(meeting, tmp_path, bodies_of(session, holdings))
    skeleton, labels, log = found["miner"]
    played = play(session, holdings, [Holding(each.attributes) for each in holdings])
    assert (skeleton, labels) == (played.skeleton, played.labels.tolist())
    everybody = said(log)
    for own, name in enumerate(session.parties):
        everybody |= said(found[name])
        assert all(own in (each.sender, each.receiver) for each in found[name].entries)
    assert everybody == said(played.log)
