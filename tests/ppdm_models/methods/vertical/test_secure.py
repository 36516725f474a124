"""Keys compared as shares: who wins, who hears it, what is seen meanwhile, and who is named if it fails."""

import asyncio
import random
from collections import defaultdict
from itertools import combinations

import pytest

from tests.ppdm_models.methods.vertical.meetings import SESSION, all_told, meeting_of
from tests.ppdm_models.methods.vertical.randomness import elements, looks_random
from treewarden.ppdm_models.methods.vertical import secure_minimum
from treewarden.ppdm_models.methods.vertical.messages import (
    MINER,
    LocalNetwork,
    MessageKind,
    ProtocolError,
    Reason,
)
from treewarden.ppdm_models.methods.vertical.secure_minimum import (
    ComputingPlan,
    SecureComparison,
    threshold,
)
from treewarden.ppdm_models.methods.vertical.session import Session
from treewarden.ppdm_models.methods.vertical.transport import MessageLimits

BITS = 2


class Overheard(LocalNetwork):
    """A network that keeps what is said."""

    def __init__(self):
        super().__init__()
        self.said = []

    def carry(self, message):
        self.said.append(message)
        super().carry(message)


def session_of(parties):
    names = tuple(f"p{number}" for number in range(parties))
    ranks = tuple((2 * number, 2 * number + 1) for number in range(parties))
    return Session(names, ranks, 500, ("no", "yes"), 0)


def keys_at(node, session):
    """Return the keys of all parties at a node: small ones with ties, large ones, and those of parties with nothing."""
    drawn = random.Random(node)
    most = drawn.choice([2, 100, session.nothing])
    return [
        drawn.choice([drawn.randrange(most), session.nothing])
        if node % 2
        else drawn.randrange(most)
        for _ in session.parties
    ]


def compared(session, nodes):
    """Return the winners that the miner hears, and all that was said."""

    async def run():
        network = Overheard()
        sides = [SecureComparison(session, network.end(each)) for each in range(len(nodes[0]))]
        miner = SecureComparison(session, network.end(MINER))
        found = []
        for node, keys in enumerate(nodes):
            gives = (each.give(node, key) for each, key in zip(sides, keys, strict=True))
            winner, *nothing = await asyncio.gather(miner.winner(node), *gives)
            assert nothing == [None] * len(keys)
            found.append(winner)
        return found, network.said

    return asyncio.run(run())


@pytest.mark.parametrize("parties", [2, 3, 4, 5, 7, 10, 13])
def test_the_miner_hears_whose_key_is_smallest(parties):
    session = session_of(parties)
    nodes = [keys_at(node, session) for node in range(12)]
    found, said = compared(session, nodes)
    assert found == [keys.index(min(keys)) for keys in nodes]
    plan, limits = ComputingPlan(session), MessageLimits(session, 0)
    assert {each.receiver for each in said} == {*plan.computing, MINER}
    for each in said:
        assert (
            len(each.body)
            <= plan.most_bytes
            == limits.body_limit(each.kind, each.sender, each.receiver)
        )


def test_three_parties_or_more_need_no_miner_and_tell_it_one_index_in_shares():
    for parties in (3, 4, 5, 10):
        session = session_of(parties)
        plan = ComputingPlan(session)
        assert MINER not in plan.computing
        _, said = compared(session, [keys_at(0, session)])
        told = [each for each in said if each.receiver == MINER]
        assert sorted(each.sender for each in told) == list(range(threshold(parties) + 1))
        assert {len(each.body) for each in told} == {
            secure_minimum.size_of(plan.sharing.bits, parties)
        }


def test_there_are_never_enough_together_for_a_majority():
    for parties in range(2, 65):
        plan = ComputingPlan(session_of(parties))
        assert 1 <= 2 * threshold(parties) < len(plan.computing) == len(set(plan.computing))
        assert len(plan.opening) == threshold(parties) + 1


@pytest.mark.parametrize("parties", [2, 3])
def test_all_that_a_curious_side_sees_is_random(parties):
    """Were a product of shares opened, or passed on, as it is, one side that sees it could take it apart."""
    session = session_of(parties)
    keys = [session.nothing, 5, 5][:parties]
    _, said = compared(session, [keys] * 250)
    heard, turns = defaultdict(list), defaultdict(int)
    for each in said:
        way = each.sender, each.receiver, each.node
        heard[each.receiver, each.sender, turns[way]].append(each.body)
        turns[way] += 1
    seen = {}
    for (receiver, sender, turn), bodies in heard.items():
        lanes = lanes_said(session, sender, receiver)[turn]
        shares = [secure_minimum.of_bytes(body, BITS, lanes) for body in bodies]
        step = turn + (sender == MINER)
        seen[receiver, sender, step] = [e for each in shares for e in elements(each, lanes)]
    for place, found in seen.items():
        assert looks_random(found, BITS), place
    for first, second in combinations(seen, 2):  # nor do the shares of two others fit each other
        if (first[0], first[2]) == (second[0], second[2]):
            sums = [a ^ b for a, b in zip(seen[first], seen[second], strict=True)]
            assert looks_random(sums, BITS), (first, second)


def lanes_said(session, sender, receiver):
    """Return how many elements each message has, in turn: keys, digits, these put together, beating all, the index."""
    plan, parties = ComputingPlan(session), len(session.parties)
    pairs = parties * (parties - 1) // 2
    inner = [16 * pairs, 8 * pairs, 4 * pairs, pairs, *([3] if parties == 3 else [])]
    before = [] if sender == MINER else [plan.smallest.lanes]
    after = [parties] if receiver == MINER else []
    if receiver not in plan.computing:
        return after
    return [*before, *inner, *after]


NODES = 4


def bodies_with(bobbys):
    """The bodies of all sides that compare keys at some nodes; bobby does something else at the last."""

    async def mines(channel):
        comparison = SecureComparison(SESSION, channel)
        return [await comparison.winner(node) for node in range(NODES)]

    def gives(key):
        async def body(channel):
            comparison = SecureComparison(SESSION, channel)
            for node in range(NODES - 1):
                await comparison.give(node, key)
            if key == 1:
                await bobbys(channel, comparison)
            else:
                await comparison.give(NODES - 1, key)

        return body

    return {MINER: mines, 0: gives(2), 1: gives(1), 2: gives(3)}


async def follows(_, comparison):
    await comparison.give(NODES - 1, 1)


async def says_nothing(channel, _):
    await channel.following(0)
    await asyncio.Event().wait()


async def dies(channel, _):
    for writer in channel._writers.values():
        writer.transport.abort()
    await asyncio.Event().wait()


async def talks_garbage(channel, _):
    for other in (0, 2):
        channel.post(other, MessageKind.COMPARING, NODES - 1, b"\xff" * 7)
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("bobbys", "seconds", "reason"),
    [
        (says_nothing, 1, "did not answer"),
        (dies, 30, "ended its connection"),
        (talks_garbage, 30, "sent something that is not"),
    ],
)
def test_whoever_stops_dies_or_talks_garbage_is_named_by_all_others(
    certificates, bobbys, seconds, reason
):
    found = all_told(meeting_of(seconds=seconds), certificates, bodies_with(bobbys))
    for side in ("miner", "alice", "carol"):
        assert found[side].startswith(f"bobby: {reason}"), found


def test_over_connections_it_is_the_same(certificates):
    found = all_told(meeting_of(), certificates, bodies_with(follows))
    assert found == {"miner": [1] * NODES, "alice": None, "bobby": None, "carol": None}


@pytest.mark.parametrize("body", [b"", b"\xff" * 5_000], ids=["too short", "too long"])
def test_what_is_no_share_is_the_fault_of_who_sent_it(body):
    async def run():
        network = LocalNetwork()
        network.end(1).post(0, MessageKind.COMPARING, 0, body)
        with pytest.raises(ProtocolError) as caught:
            await SecureComparison(SESSION, network.end(0)).give(0, 5)
        return caught.value.who, caught.value.reason

    assert asyncio.run(run()) == (1, Reason.GARBAGE)


def test_shares_of_nobody_being_the_smallest_are_found_out():
    async def run():
        network = LocalNetwork()
        for party in (0, 1):
            network.end(party).post(MINER, MessageKind.COMPARING, 0, b"\0")
        with pytest.raises(ProtocolError, match="not shares of keys") as caught:
            await SecureComparison(SESSION, network.end(MINER)).winner(0)
        return caught.value.reason

    assert asyncio.run(run()) is Reason.TROUBLE


def test_a_key_above_all_keys_is_a_mistake_of_ours():
    async def run():
        comparison = SecureComparison(SESSION, LocalNetwork().end(0))
        with pytest.raises(ValueError, match="does not belong to this session"):
            await comparison.give(0, SESSION.nothing + 1)

    asyncio.run(run())
