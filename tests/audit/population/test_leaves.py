"""The leaves as the owner sees them, and the whole table that each can be held against."""

from dataclasses import replace

import numpy as np

from tests.audit.weighed_trees import people_of as people_with_weights
from tests.audit.weighed_trees import weighed_tree
from tests.kit.forests import forest, stump
from tests.kit.small_audits import NO_TRUTH, deep_tree, people_of
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.leaves import described, leaves_of
from treewarden.audit.population.population import build_population
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import Member
from treewarden.ppdm_models.tree.predicate import CategoryTest

TREE = deep_tree([[[9, 1], [1, 0]], [[3, 4], [5, 5]]], ("a", "b"))
TABLE = table_of(
    {"age": [20.0, 30.0, 50.0, 60.0], "sex": list("FMFM"), "flu": ["no", "no", "yes", "no"]}
)


def test_the_leaves_know_the_class_counts_of_the_whole_table():
    assert leaves_of(TREE, people_of(TREE)).whole.tolist() == [18, 10]


def test_some_of_the_nodes_know_those_of_the_whole_table_too():
    root, left, right = (TREE.nodes[index] for index in (0, 1, 4))
    for nodes, rows in [([root, left], [[18, 10], [10, 1]]), ([right], [[8, 9]])]:
        counts = np.array(rows, dtype=float)
        leaves = described(TREE, people_of(TREE), nodes, counts.sum(axis=1), counts)
        assert leaves.whole.tolist() == [18, 10]


def test_without_the_truth_nothing_is_known_of_the_whole_table_either():
    people = replace(people_of(TREE), truth=NO_TRUTH)
    assert leaves_of(TREE, people).whole == NO_TRUTH


def test_the_whole_table_is_counted_in_sums_of_weights_beside_people():
    tree, table = weighed_tree([20.0, 20.0, 30.0], ["no", "yes", "yes"], [100.0, 90.0, 10.0])
    leaves = leaves_of(tree, people_with_weights(tree, table))
    assert (leaves.whole.tolist(), leaves.weighed_whole.tolist()) == ([1, 2], [100, 100])
    assert leaves.by_weight.whole.tolist() == [100, 100]
    assert leaves.by_weight.records.tolist() == [190, 10]


def test_the_leaves_of_several_trees_know_each_person_once():
    ensemble = forest(stump(40.0, "no", "yes"), stump(55.0, "no", "yes"))
    people = build_population(ensemble, TABLE, sensitive="flu")
    assert forest_of(ensemble, people, "table").leaves.whole.tolist() == [3, 1]


def test_people_of_whom_a_tree_does_not_speak_are_in_the_whole_table():
    members = (
        Member(stump(40.0, "no", "yes"), test=CategoryTest("sex", ("F",))),
        Member(stump(55.0, "no", "yes"), test=CategoryTest("sex", ("M",))),
    )
    ensemble = replace(forest(stump(40.0, "no", "yes")), members=members)
    people = build_population(ensemble, TABLE, sensitive="flu")
    leaves = forest_of(ensemble, people, "table").leaves
    assert leaves.records[leaves.trees == 0].sum() == 2
    assert leaves.whole.tolist() == [3, 1]
