"""Records in one order by ids that all hold: odd ids, and sides that say what makes no sense."""

import asyncio

import pytest

from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.methods.vertical.messages import (
    LocalNetwork,
    MessageKind,
    ProtocolError,
)
from treewarden.ppdm_models.methods.vertical.taking_part import aligned


def rows_of(sides, records):
    """Return the rows of each side in the common order."""

    async def run():
        network = LocalNetwork()
        found = (
            aligned(network.end(own), len(sides), ids, records) for own, ids in enumerate(sides)
        )
        return await asyncio.gather(*found, return_exceptions=True), network.log

    return asyncio.run(run())


@pytest.mark.parametrize(
    "sides",
    [
        (["a", "b", "c"], ["c", "a", "x"]),
        (["1", "01", "1.0", " 1"], [" 1", "1", "1.0"], ["1.0", "1"]),
        (["", "é", "e\u0301", "\0"], ["e\u0301", "", "\0\0"], ["", "e\u0301"]),
        (["a"], ["a"], ["a"], ["a"]),
    ],
)
def test_all_sides_have_the_common_ids_in_one_order_and_no_others(sides):
    common = set.intersection(*map(set, sides))
    found, _ = rows_of(sides, len(common))
    orders = [[ids[row] for row in rows] for ids, rows in zip(sides, found, strict=True)]
    assert all(order == orders[0] for order in orders)
    assert set(orders[0]) == common


def test_no_id_in_common_and_another_number_of_them_are_said_by_all():
    found, _ = rows_of((["a", "b"], ["c"]), 2)
    assert all("0 ids occur at all parties" in str(each) for each in found)
    found, _ = rows_of((["a", "b"], ["b", "a"]), 3)
    assert all(
        "2 ids occur at all parties, but the session file says 3" in str(each) for each in found
    )


def test_an_id_that_is_there_twice_is_refused_before_anything_is_said():
    async def run():
        network = LocalNetwork()
        with pytest.raises(PartyError, match="1 records have an id that another one has too"):
            await aligned(network.end(0), 2, ["a", "b", "a"], 2)
        return network.log.entries

    assert asyncio.run(run()) == []


def test_hidden_ids_have_one_length_whatever_they_are():
    _, log = rows_of((["a" * 500, "b"], ["b", ""]), 1)
    assert {each.size for each in log.entries if each.kind is MessageKind.HIDDEN_IDS} == {64}


@pytest.mark.parametrize(
    ("body", "problem"),
    [(b"x" * 33, "which are no ids"), (bytes(32), "sent an id that is none")],
)
def test_what_are_no_ids_is_the_fault_of_who_sent_it(body, problem):
    async def run():
        network = LocalNetwork()
        network.end(1).post(0, MessageKind.HIDDEN_IDS, 1, body)
        with pytest.raises(ProtocolError) as caught:
            await aligned(network.end(0), 2, ["a"], 1)
        return caught.value

    error = asyncio.run(run())
    assert (error.who, error.problem.endswith(problem)) == (1, True)


def test_a_place_that_is_not_there_is_the_fault_of_the_first_party():
    async def run():
        network = LocalNetwork()
        side = asyncio.create_task(aligned(network.end(1), 2, ["a"], 1))
        end = network.end(0)
        end.post(1, MessageKind.HIDDEN_IDS, 0, b"\x09" + bytes(31))
        await end.following(1)
        end.post(1, MessageKind.COMMON_IDS, body=b"\x07\0\0\0")
        with pytest.raises(ProtocolError, match="sent the place of an id that this table lacks"):
            await side

    asyncio.run(run())
