"""What constraints yield of cases small enough to be worked out by hand."""

from collections import Counter

import numpy as np
import pytest

from tests.audit.constraints.test_inner_counts import case as counted_case
from tests.kit.forests import FEATURES
from treewarden.audit.constraints.accuracy import CONSTRAINT as ACCURACY
from treewarden.audit.constraints.inner_counts import CONSTRAINT as INNER_COUNTS
from treewarden.audit.constraints.inner_mixed import CONSTRAINT as INNER_MIXED
from treewarden.audit.facts.rows import Case, LeftOut
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tree import Node, Quality, Tree


def labelled_case(flu):
    """A tree of labels alone, by an unknown learner: women are split by age, of the four people two are women."""
    nodes = (
        Node(0, "0", None, (1, 2)),
        Node(1, "1", 0, (3, 4), CategoryTest("sex", ("F",)), "yes"),
        Node(2, "2", 0, (), CategoryTest("sex", ("M",)), "yes"),
        Node(3, "3", 1, (), NumericTest("age", high=5.0), "yes"),
        Node(4, "4", 1, (), NumericTest("age", 5.0, low_closed=True), "yes"),
    )
    tree = Tree(nodes, FEATURES, "flu", ("no", "yes"), quality=Quality.ABSENT, source="t.json")
    table = table_of({"age": [1, 9, 1, 9], "sex": list("FFMM"), "flu": flu})
    people = build_population(tree, table, sensitive="flu")
    knowledge = Knowledge(leaf="labels", split="none")
    return Case(tree, people, members(tree, people.leaf), knowledge)


def test_a_known_accuracy_of_labels_is_the_number_of_people_they_are_right_for():
    knowledge = Knowledge(leaf="labels", split="none", accuracy=True)
    case = counted_case(lambda node: True, knowledge=knowledge)
    (row,) = ACCURACY.rows(case)
    labels = [case.tree.classes.index(case.tree.nodes[leaf].score) for leaf in case.population.leaf]
    right = case.population.truth[np.arange(len(labels)), labels].sum()
    assert row.low == row.high == right > 0


def test_a_known_accuracy_says_nothing_more_where_leaves_count_their_classes():
    knowledge = Knowledge(split="none", accuracy=True)
    assert list(ACCURACY.rows(counted_case(lambda node: False, knowledge=knowledge))) == []


def test_of_the_counts_of_an_inner_node_the_last_is_implied_by_its_records():
    case = counted_case(lambda node: node.is_leaf)
    yielded = Counter(row.origin.node for row in INNER_COUNTS.rows(case))
    assert set(yielded.values()) == {len(case.tree.classes) - 1}


@pytest.mark.parametrize(
    ("flu", "doubted"), [(["no", "yes", "yes", "yes"], [0, 1]), (["yes", "yes", "no", "yes"], [])]
)
def test_a_learner_that_may_stop_at_pure_nodes_is_doubted_unless_it_split_one(flu, doubted):
    found = list(INNER_MIXED.rows(labelled_case(flu)))
    assert all(isinstance(each, LeftOut) for each in found)
    assert sorted(line.origin.node for each in found for line in each.lines[:1]) == doubted
