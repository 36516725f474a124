"""Records held out: what a tree's predictions lose on them."""

import numpy as np
import pytest

from tests.kit.small_audits import flat_tree
from treewarden.audit.reading import Undetermined
from treewarden.policies.repair.utility import holdout_of
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.predicate import NumericTest
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Node,
    Task,
    Tree,
)

TREE = flat_tree([[3, 1], [1, 3]])  # p0 says c0, p1 says c1


def held_out(tree=TREE, **columns):
    return holdout_of(tree, table_of(columns))


def test_the_loss_is_the_share_predicted_wrong():
    holdout = held_out(place=["p0", "p0", "p1", "p1"], illness=["c0", "c1", "c1", "c1"])
    assert holdout.loss(TREE).low == 0.25


def test_a_value_that_the_tree_does_not_know_is_predicted_wrong():
    assert held_out(place=["p0", "p0"], illness=["other", "c0"]).loss(TREE).low == 0.5


def test_of_numbers_it_is_the_mean_squared_error():
    nodes = (
        Node(0, "1", None, (1, 2), score=2.0),
        Node(1, "2", 0, (), NumericTest("age", high=30.0, high_closed=True), 1.0),
        Node(2, "3", 0, (), NumericTest("age", low=30.0), 3.0),
    )
    tree = Tree(nodes, (Feature("age", True),), "cost", task=Task.REGRESSION)
    assert held_out(tree, age=[20, 40], cost=[2.0, 5.0]).loss(tree).low == pytest.approx(2.5)


def test_records_in_no_leaf_leave_the_loss_unknown():
    assert isinstance(held_out(place=["elsewhere"], illness=["c0"]).loss(TREE), Undetermined)


def test_a_tree_of_one_node_has_a_loss():
    stump = Tree((Node(0, "root", None, score="c0", records=3.0),), (), "illness", ("c0", "c1"))
    assert held_out(stump, illness=["c0", "c1"]).loss(stump).low == 0.5


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"place": ["p0"]}, "no column 'illness'"),
        ({"illness": ["c0"]}, "no column 'place'"),
        ({"place": ["p0", "p1"], "illness": ["c0", ""]}, "record 2: no value"),
        ({"place": [], "illness": []}, "no records"),
        ({"place": ["p0"], "illness": ["other"]}, "has no class of the tree, such as 'c0', 'c1'"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(columns, problem):
    with pytest.raises(TableError, match=problem):
        held_out(**{name: np.array(values, dtype=object) for name, values in columns.items()})


def test_columns_that_only_spell_a_name_differently_are_taken():
    holdout = held_out(Place=["p0", "p0", "p1", "p1"], ILLNESS=["c0", "c1", "c1", "c1"])
    assert holdout.loss(TREE).low == 0.25
