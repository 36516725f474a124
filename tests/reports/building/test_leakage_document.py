"""What sides learnt is said of each by the log: not more protection than there was, and never a pass unasked."""

import asyncio

import pytest

from tests.reports.leakages import MIXED, PURE, all_sides, dealt_tennis, decision, one_side
from treewarden.ppdm_models.methods.vertical.messages import (
    MINER,
    LocalNetwork,
    Log,
    Message,
    MessageKind,
)
from treewarden.ppdm_models.methods.vertical.modes import new_key
from treewarden.ppdm_models.methods.vertical.roles import IdealBox, Miner, Party
from treewarden.ppdm_models.methods.vertical.session import Mode, Stops
from treewarden.ppdm_models.methods.vertical.taking_part import helper_of, view_of

NOTHING_SPLIT = Stops(100)


def words(document, name):
    (side,) = (each for each in document.sides if each.name == name)
    return " | ".join(side.learnt), " | ".join(side.hidden)


@pytest.mark.parametrize("stops", [Stops(), NOTHING_SPLIT])
@pytest.mark.parametrize("mode", Mode)
def test_what_was_played_is_called_simulated_even_if_nothing_was_compared(mode, stops):
    document = all_sides(mode=mode, stops=stops)
    assert document.is_ideal
    assert document.meaning.startswith("Simulation")


def test_a_real_side_that_compared_nothing_says_no_more_than_that():
    document = one_side(0, stops=NOTHING_SPLIT)
    assert not document.is_ideal
    assert "compared as secret shares" not in document.meaning


def test_a_log_with_keys_in_clear_is_never_called_real():
    log = Log()
    log.add(Message(0, MINER, MessageKind.KEY, 0, b"k"))
    assert one_side(0, log=log).is_ideal


def test_without_an_audit_there_is_no_verdict_and_a_reason():
    document = all_sides()
    assert document.verdict is None
    assert document.not_audited
    assert document.headline.endswith("It was not audited.")


@pytest.mark.parametrize(
    ("leaves", "verdict", "end"),
    [
        (
            (MIXED, PURE),
            "FAIL",
            "Do not publish it as it is: the skeleton fails the policy “test”.",
        ),
        ((MIXED, MIXED), "PASS", "It meets all required checks of the policy."),
    ],
)
def test_the_worse_of_the_audits_is_the_verdict(leaves, verdict, end):
    audits = zip(("full tree", "skeleton"), map(decision, leaves), strict=True)
    document = all_sides(audits=tuple(audits))
    assert document.verdict == verdict
    assert document.headline.endswith(end)
    assert document.not_audited == ""


def test_the_miner_is_said_to_learn_the_skeleton_and_no_record():
    learnt, hidden = words(all_sides(), "miner")
    assert "skeleton" in learnt
    assert "a record’s number" in hidden
    assert "classified" not in learnt


def test_what_is_learnt_by_classifying_is_said_only_where_records_were_classified():
    document = all_sides(asked=3)
    assert all("classified" in words(document, name)[0] for name in ("miner", "P0", "P1"))
    assert "but of those that were classified" in words(document, "miner")[1]


def test_with_ids_all_but_its_holder_are_told_the_class_of_every_record():
    document = all_sides()
    assert "the class of every record, which P0 sent" in words(document, "P1")[0]
    assert "which P0 sent" not in words(document, "P0")[0]


def test_with_ids_the_gain_of_the_winner_is_no_secret():
    learnt, hidden = words(all_sides(), "P1")
    assert "how good the winning attribute of another party is" in learnt
    assert "attribute that was not chosen" in hidden


def test_with_shares_small_counts_are_said_to_point_at_people():
    document = all_sides(mode=Mode.SHARED)
    assert "every person who alone has one of its values" in words(document, "P1")[0]
    assert any(each.startswith("Small counts identify people") for each in document.broken_by)


def test_a_party_without_attributes_sees_no_counts():
    document = all_sides(owners=(0, 0, 2, 2), parties=3, mode=Mode.SHARED)
    assert "its own values" not in words(document, "P1")[0]
    assert document.sides[2].counts == 0


def test_parties_who_put_ids_in_order_are_said_to_learn_numbers_of_ids():
    log = Log()
    for other in (0, 1):
        log.add(Message(1 - other, other, MessageKind.HIDDEN_IDS, 0, b""))
    first, second = (words(one_side(who, log=log), f"P{who}")[0] for who in (0, 1))
    assert "how many ids each other party has" in first
    assert "how many ids each other party has" in second
    assert "which of its own ids each other party has" in first
    assert "which of its own ids each other party has" not in second


def test_how_many_sides_open_keys_together_is_said():
    wanted = "Any 2 of the 3 sides together can open the keys that are compared."
    assert wanted in all_sides().broken_by
    assert any("Any 5 of the 11 sides" in each for each in all_sides(parties=10).broken_by)


def test_the_share_of_cells_shown_is_that_of_the_table():
    document = all_sides()
    assert document.blocks.low == pytest.approx((14 + 5 + 5) / (4 * 14))
    assert [each.blocks.low for each in document.sides] == pytest.approx([0, 10 / 28, 14 / 28])
    assert all_sides(mode=Mode.SHARED).blocks.low == 0


def test_what_a_real_side_cannot_tell_of_cells_is_null():
    document = one_side(0)
    assert document.blocks is None
    assert document.sides[0].blocks is None
    assert document.sides[0].privacy is None
    assert one_side(0, blocks=10).sides[0].blocks.low == pytest.approx(10 / 28)


def test_nodes_that_a_side_decides_are_counted():
    assert [each.won for each in all_sides().sides] == [0, 1, 2]


def test_a_side_counts_the_cells_that_it_sees_as_blocks_while_it_takes_part():
    assert asyncio.run(blocks_counted(*dealt_tennis())) == [10, 14]


async def blocks_counted(session, holdings):
    network, key = LocalNetwork(), new_key()
    box = IdealBox(len(holdings), network.log)
    ends = [network.end(number) for number in range(len(holdings))]
    views = [view_of(session, own, end, key) for own, end in zip(holdings, ends, strict=True)]
    end = network.end(MINER)
    miner = Miner(session, end, box.end(MINER), helper_of(session, end))
    async with asyncio.TaskGroup() as group:
        for number, (own, at, view) in enumerate(zip(holdings, ends, views, strict=True)):
            group.create_task(Party(session, own, at, box.end(number), view).run())
        await miner.grow()
        await miner.end()
    return [each.blocks for each in views]


def test_the_first_messages_of_a_session_are_no_messages_about_the_root():
    kinds = {each.kind for each in all_sides(mode=Mode.SHARED).flow}
    assert not kinds & {"seed", "masked table", "share", "width", "end"}
    assert {"masked share", "counts", "members"} <= kinds
