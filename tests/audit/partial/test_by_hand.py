"""Adversaries who know only some columns, in cases that are solved by hand."""

import itertools

import numpy as np
import pytest

from tests.audit.partial.networks import Small
from tests.judges import partial_cases
from tests.kit.rows import rows
from tests.kit.tiers import seeds
from treewarden.audit.partial.fitting.flows import LOOKED, Rooms, ends, moved, table_of


def test_margins_keep_a_person_out_of_a_leaf_that_its_path_leaves_open():
    case = Small([[1, 0, 1], [0, 1, 1]], [[2, 0, 1], [0, 1, 0]], [[1, 1], [0, 1], [1, 0]])
    assert case.proved.certain.tolist() == [[False, False], [False, True]]
    assert case.proved.excluded.tolist() == [[False, False], [True, False]]
    assert case.estimate == pytest.approx(np.array([[2 / 3, 1 / 3], [0, 1]]))


def test_hidden_columns_hide_nothing_where_margins_undo_them():
    case = Small([[1, 1, 0], [1, 0, 1]], [[2, 1, 0], [1, 0, 1]], [[3, 0], [0, 1], [1, 0]])
    assert case.leaves == pytest.approx(np.array([[2, 1, 0], [1, 0, 1]]))
    assert case.proved.certain.tolist() == [[False, False], [True, False]]
    assert case.estimate == pytest.approx(np.array([[2 / 3, 1 / 3], [1, 0]]))


CROSSED = [[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]]


def test_two_tables_fit_and_nothing_is_known():
    world = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    world[2], world[3] = [0, 1, 0, 0], [0, 0, 0, 1]
    world[1] = [0, 0, 1, 0]
    case = Small(CROSSED, world, [[1, 0], [0, 1], [1, 0], [0, 1]])
    assert case.estimate == pytest.approx(np.full((4, 2), 0.5))
    assert len(list(case.tables())) == 2
    assert not case.proved.certain.any()


def test_one_free_number_is_at_the_root_of_its_equation():
    world = [[2, 0, 0, 0], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 2]]
    case = Small(CROSSED, world, [[3, 0], [0, 2], [1, 0], [0, 2]])
    assert case.leaves[0].tolist() == pytest.approx([1.5, 0, 0, 0.5])
    assert case.estimate[:, 0].tolist() == pytest.approx([0.75, 0.25, 0.75, 0.25])


def test_who_knows_more_may_be_less_sure():
    classes = [[2, 1], [1, 2], [0, 2]]
    coarse = Small([[1, 1, 1], [1, 1, 0]], [[1, 1, 2], [2, 2, 0]], classes)
    fine = Small(
        [[1, 0, 1], [1, 1, 1], [1, 1, 0], [0, 1, 0]],
        [[1, 0, 1], [0, 1, 1], [2, 0, 0], [0, 2, 0]],
        classes,
    )
    assert coarse.estimate.max() == pytest.approx(0.75)
    assert fine.estimate.max() == pytest.approx(0.6991, abs=5e-5)


def test_the_fewest_and_the_most_people_of_a_value_are_those_of_every_table():
    world = [[2, 0, 0, 0], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 2]]
    case = Small(CROSSED, world, [[3, 0], [0, 2], [1, 0], [0, 2]])
    held = np.rint(case.net.over_groups(case.classes)).astype(int)
    rooms = Rooms(held, held.sum(axis=1)[:, None] - held)
    found = ends(case.net, lambda _, at: rooms.at(at), 2)
    assert found.least[:, 0].tolist() == [1, 0, 1, 0]
    assert found.most[:, 0].tolist() == [2, 1, 2, 1]
    assert not ends(case.net, lambda _, at: rooms.at(at), 2, work=0).asked.any()


@rows("seed", range(20))
def test_where_there_is_no_time_for_flows_what_is_told_holds_and_the_rest_is_not_asked(seed):
    drawn = partial_cases.drawn(np.random.default_rng(seed))
    net = drawn.network
    held = np.rint(net.over_groups(drawn.classes.astype(float))).astype(int)
    rooms = Rooms(held, held.sum(axis=1)[:, None] - held)
    found = ends(
        net,
        lambda _, at: rooms.at(at),
        held.shape[1],
        work=LOOKED * len(net.supply),
    )
    people = np.array(list(drawn.tables())).sum(axis=2)
    least, most = people.min(axis=0), people.max(axis=0)
    assert (found.least <= least).all()
    assert (found.most >= most).all()
    assert (found.least[found.asked] == least[found.asked]).all()
    assert (found.most[found.asked] == most[found.asked]).all()


@pytest.mark.parametrize("seed", seeds(40, quick=8))
def test_a_flow_leaves_a_table_that_fits(seed):
    drawn = partial_cases.drawn(np.random.default_rng(seed))
    net = drawn.network
    held = np.rint(net.over_groups(drawn.classes.astype(float))).astype(int)
    people = np.array(list(drawn.tables())).sum(axis=2)
    for lump, klass, up in itertools.product(
        range(len(net.supply)), range(held.shape[1]), (True, False)
    ):
        room = Rooms(held[:, klass], held.sum(axis=1) - held[:, klass])
        found = moved(net, lump, room, up=up)
        end = people[:, lump, klass].max() if up else people[:, lump, klass].min()
        assert found.with_value == found.value.sum() == end
        table = table_of(net, lump, klass, held, up=up)
        assert table[lump, klass] == end
        assert (people == table).all(axis=(1, 2)).any()
