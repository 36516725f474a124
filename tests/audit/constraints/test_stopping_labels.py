"""Labels of inner nodes where records stop: they are those of all who pass."""

import numpy as np

from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.constraints.inner_label import CONSTRAINT as INNER
from treewarden.audit.constraints.leaf_label import CONSTRAINT as LEAF
from treewarden.audit.facts.rows import Case, Plurality
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.predicate import Always, NumericTest
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Missing,
    Node,
    Quality,
    Tree,
)

LABELS = Knowledge(leaf="labels", split="none")


def case(knowledge):
    """A tree that asks about h, with one label everywhere; of two people who lack h, alike otherwise, one has it."""
    table = table_of(
        {
            "h": [1] * 4 + [9] * 4 + [None] * 2,
            "town": ["n", "s"] * 4 + ["n", "n"],
            "y": ["0"] * 4 + ["0", "0", "0", "1"] + ["0", "1"],
        }
    )
    nodes = (
        Node(0, "r", None, (1, 2), Always(), "0", 10.0),
        Node(1, "l", 0, (), NumericTest("h", high=5.0, high_closed=True), "0", 4.0),
        Node(2, "a", 0, (), NumericTest("h", low=5.0), "0", 4.0),
    )
    features = (Feature("h", True), Feature("town", False, ("n", "s")))
    tree = Tree(
        nodes, features, "y", ("0", "1"), quality=Quality.EXACT, missing=Missing.LAST_PREDICTION
    )
    people = build_population(tree, table, sensitive="y")
    return Case(tree, people, members(tree, people.leaf), knowledge)


def test_the_label_of_an_inner_node_is_none_of_those_who_stop_there():
    rows = [each for each in LEAF.rows(case(LABELS)) if isinstance(each, Plurality)]
    assert [each.node for each in rows] == [1, 2]


def test_who_stops_where_a_label_is_may_have_any_value():
    found = case(LABELS)
    worlds = reason(build_system(found))
    (stops,) = np.flatnonzero(found.population.leaf == 0)
    assert (worlds.low[stops].tolist(), worlds.high[stops].tolist()) == ([0, 0], [2, 2])


def test_it_is_no_part_of_what_implies_the_label_of_all_who_pass():
    assert list(INNER.rows(case(Knowledge(split="none"))))
