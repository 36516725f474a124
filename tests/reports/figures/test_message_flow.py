"""The picture of messages: every message of the root is in it, and what all do at once is one row."""

from xml.etree import ElementTree

import pytest

from tests.reports.leakages import all_sides, one_side
from treewarden.ppdm_models.methods.vertical.session import Mode, Stops
from treewarden.reports.figures.pages import message_flow, message_flow_svg

NASTY = ("<script>\x1b[31m", "a" * 63)


def said(flow):
    return [arrow.words for arrow in flow.arrows]


def test_messages_to_all_and_of_all_are_one_row_each():
    assert said(message_flow(all_sides())) == [
        "token, 1 B",
        "split, 0 B",
        "2 × score, 0 B",
        "2 × key, 32 B",
        "winner (ideal box), 2 B",
        "won, 0 B",
        "branches, 6 B",
        "2 × members, 12 B",
        "2 × relay, 186 B",
        "2 × relayed, 372 B",
    ]


@pytest.mark.parametrize("parties", [2, 3, 10])
@pytest.mark.parametrize("mode", Mode)
def test_no_message_is_left_out_however_many_parties_there_are(mode, parties):
    document = all_sides(parties=parties, mode=mode)
    flow = message_flow(document)
    assert flow.note == ""
    counts = [each.partition(" × ")[0] for each in said(flow)]
    total = sum(int(each) if each.isdigit() else 1 for each in counts)
    assert total == sum(each.messages for each in document.flow)


def test_a_dot_is_who_speaks_and_a_point_who_hears():
    flow = message_flow(all_sides())
    at = {lane.name: lane.x for lane in flow.lanes}
    score = next(each for each in flow.arrows if "score" in each.words)
    assert score.dots == (at["miner"],)
    assert len(score.heads) == 2
    relay = next(each for each in flow.arrows if each.words.endswith("relay, 186 B"))
    assert sorted(relay.dots) == sorted((at["P0"], at["P1"]))
    assert len(relay.heads) == 1


def test_lanes_are_those_who_said_something():
    assert [each.full for each in message_flow(one_side(1)).lanes] == ["miner", "P1"]


def test_where_nothing_was_said_there_is_no_picture():
    silent = all_sides().model_copy(update={"flow": ()})
    assert message_flow(silent) is None
    assert message_flow_svg(silent) is None


def test_words_have_room_between_the_lanes_of_their_row():
    flow = message_flow(all_sides(mode=Mode.SHARED, parties=3))
    assert all(arrow.x2 - arrow.x1 > 6.2 * len(arrow.words) for arrow in flow.arrows)


@pytest.mark.parametrize("names", [("P0", "P1"), NASTY])
def test_the_file_is_well_formed_and_a_name_does_nothing_in_it(names):
    found = message_flow_svg(all_sides(names=names)).decode()
    assert ElementTree.fromstring(found).tag == "{http://www.w3.org/2000/svg}svg"
    assert "<script" not in found
    assert "\x1b" not in found
    assert "var(" not in found


def test_a_leaf_as_root_has_a_picture_too():
    assert said(message_flow(all_sides(stops=Stops(100)))) == ["token, 1 B", "leaf, 2 B"]
