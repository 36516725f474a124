"""Whatever way the columns are dealt, the parties grow the tree that plain ID3 grows on the joined table."""

import csv

import pytest
from hypothesis import given, settings

from tests.kit.tiers import examples
from tests.ppdm_models.methods.vertical.cases import (
    NURSERY,
    TENNIS,
    coded,
    dealt,
    sessions,
    shape,
    table,
    told,
)
from treewarden.ppdm_models.methods.vertical.messages import BOX, MINER, MessageKind
from treewarden.ppdm_models.methods.vertical.notes import full_tree, skeleton_tree
from treewarden.ppdm_models.methods.vertical.party_view import (
    Holding,
    cells_split,
    plain_id3,
    seen_by,
)
from treewarden.ppdm_models.methods.vertical.session import Mode, Stops
from treewarden.ppdm_models.methods.vertical.taking_part import play
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.predicate import text

TENNIS_COLUMNS = table(TENNIS, ["outlook", "temp", "humidity", "windy", "play"])


@given(sessions())
@settings(max_examples=examples(150), deadline=None)
def test_the_parties_tree_is_plain_id3s(case):
    attributes, label, session, holdings = case
    found = play(session, holdings)
    plain = plain_id3(attributes, label.codes, len(label.categories), session.stops)
    assert shape(found.shared_tree(session)) == shape(plain)


@given(sessions())
@settings(max_examples=examples(60), deadline=None)
def test_walking_through_the_parties_gives_the_class_that_the_joined_tree_gives(case):
    attributes, label, session, holdings = case
    found = play(session, holdings, [Holding(each.attributes) for each in holdings])
    plain = plain_id3(attributes, label.codes, len(label.categories), session.stops)

    def walked(record, number=0):
        place = plain.skeleton.places[number]
        if place.is_leaf:
            return place.label
        code = attributes[plain.attributes[number]].codes[record]
        return walked(record, place.children[code])

    assert found.labels.tolist() == [walked(record) for record in range(session.records)]


@given(sessions())
@settings(max_examples=examples(60), deadline=None)
def test_the_published_tree_sends_each_record_where_the_parties_do(case):
    attributes, label, session, holdings = case
    found = play(session, holdings, [Holding(each.attributes) for each in holdings])
    tree = full_tree(found.shared_tree(session), attributes, label.categories, "label")
    columns = table_of({each.name: told(each) for each in attributes})
    nodes = route(tree, {each.name: columns.column(each) for each in tree.features}).tolist()
    labels = [label.categories[each] for each in found.labels.tolist()]
    assert [tree.nodes[node].score for node in nodes] == labels


@pytest.mark.parametrize("mode", Mode)
def test_play_tennis_between_alice_and_bobby(mode):
    *attributes, label = TENNIS_COLUMNS
    session, holdings = dealt(attributes, label, [0, 0, 1, 1], 2, mode=mode)
    found = play(session, holdings)
    root = found.skeleton.places[0]
    assert [(root.owner, root.serial)] == [(0, 1)]
    below = [found.skeleton.places[child] for child in root.children]
    assert [(each.owner, each.serial, each.label) for each in below] == [
        (1, 1, -1),
        (-1, 0, 1),
        (1, 2, -1),
    ]
    assert found.skeleton.inner == 3
    assert found.notes == ({1: 0}, {1: 0, 2: 1})


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("owners", [[0, 0, 0, 1, 1, 1, 2, 2], [3, 1, 2, 0, 3, 1, 2, 0]])
def test_nursery_grows_the_same_tree(mode, owners):
    if not NURSERY.exists():
        pytest.skip("the public data sets are not here")
    rows = [row for row in csv.reader(NURSERY.read_text().splitlines()) if row]
    columns = [
        coded(name, values)
        for name, values in zip(rows[0], zip(*rows[1:], strict=True), strict=True)
    ]
    *attributes, label = columns
    stops = Stops(200)
    session, holdings = dealt(attributes, label, owners, max(owners) + 1, 1, stops, mode)
    plain = plain_id3(attributes, label.codes, 5, stops)
    assert (plain.skeleton.inner, plain.skeleton.leaves, plain.skeleton.depth) == (36, 83, 4)
    assert shape(play(session, holdings).shared_tree(session)) == shape(plain)


@pytest.mark.parametrize("mode", Mode)
def test_ten_parties_of_whom_most_have_no_attribute(mode):
    *attributes, label = TENNIS_COLUMNS
    session, holdings = dealt(attributes, label, [0, 3, 6, 9], 10, 5, mode=mode)
    plain = plain_id3(attributes, label.codes, 2, Stops())
    assert shape(play(session, holdings).shared_tree(session)) == shape(plain)


def test_a_value_that_a_party_never_saw_has_no_class():
    *attributes, label = TENNIS_COLUMNS
    session, holdings = dealt(attributes, label, [0, 0, 1, 1], 2)
    asked = [
        Holding((coded("outlook", ["fog", "overcast"]), coded("temp", ["hot", "hot"]))),
        Holding((coded("humidity", ["high", "high"]), coded("windy", ["weak", "weak"]))),
    ]
    assert play(session, holdings, asked).labels.tolist() == [-1, 1]


def kinds_seen_by(log, who):
    return {each.kind for each in log.entries if each.receiver == who}


def test_with_shares_the_miner_sees_no_record_and_no_count():
    *attributes, label = TENNIS_COLUMNS
    session, holdings = dealt(attributes, label, [0, 0, 1, 1], 2, mode=Mode.SHARED)
    log = play(session, holdings).log
    assert kinds_seen_by(log, MINER) == {
        MessageKind.WIDTH,
        MessageKind.SUM,
        MessageKind.LEAF,
        MessageKind.SPLIT,
        MessageKind.BRANCHES,
        MessageKind.WINNER,
    }
    assert kinds_seen_by(log, BOX) == {MessageKind.KEY}
    masked = {MessageKind.MASKED_TABLE, MessageKind.MASKED_SHARE, MessageKind.MASKED_BRANCHES}
    assert all(
        each.sender != MINER and each.receiver != MINER
        for each in log.entries
        if each.kind in masked
    )


def test_with_ids_all_relayed_messages_of_a_node_have_one_size_whoever_won():
    *attributes, label = TENNIS_COLUMNS
    session, holdings = dealt(attributes, label, [0, 0, 1, 1], 2)
    log = play(session, holdings).log
    sizes = {}
    for each in log.entries:
        if each.kind is MessageKind.RELAY:
            sizes.setdefault(each.node, []).append(each.size)
    assert len(sizes) == 3
    assert all(len(found) == 2 and len(set(found)) == 1 for found in sizes.values())


def test_the_published_trees_have_labels_and_no_counts():
    *attributes, label = TENNIS_COLUMNS
    session, holdings = dealt(attributes, label, [0, 0, 1, 1], 2)
    found = play(session, holdings)
    tree = full_tree(found.shared_tree(session), attributes, label.categories, "play")
    assert [text(node.test) for node in tree.nodes[1:4]] == [
        "outlook = sunny",
        "humidity = high",
        "humidity = normal",
    ]
    assert [node.score for node in tree.leaves] == ["no", "yes", "yes", "yes", "no"]
    assert all(node.class_counts is None and node.records is None for node in tree.nodes)
    bare = skeleton_tree(found.skeleton, session.parties, label.categories, "play")
    assert [each.name for each in bare.features] == ["P0 1", "P1 1", "P1 2"]
    assert [node.score for node in bare.leaves] == [node.score for node in tree.leaves]


def test_who_sees_the_records_of_a_node_sees_cells_as_unnamed_blocks():
    *attributes, label = TENNIS_COLUMNS
    for mode, blocks in ((Mode.IDS, (10 / 28, 14 / 28)), (Mode.SHARED, (0, 0))):
        session, holdings = dealt(attributes, label, [0, 0, 1, 1], 2, mode=mode)
        found = play(session, holdings)
        cells = cells_split(found.shared_tree(session), attributes)
        assert cells == [14, 0, 5, 5]
        seen = [seen_by(party, session, found.log, (), cells) for party in (0, 1, MINER)]
        assert [each.blocks for each in seen] == [*map(pytest.approx, blocks), 0]
        assert {each.kind for each in seen[2].received} == kinds_seen_by(found.log, MINER)
