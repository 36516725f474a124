"""The nodes of a tree as columns are the nodes that a tuple would hold, and are made only when asked for."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

from tests.kit import places
from tests.kit.large_pmml import forest
from treewarden.ppdm_models.files.load import load_model
from treewarden.ppdm_models.formats.common.boosted import differing_roots
from treewarden.ppdm_models.semantics.partition import problems
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.nodes import Cuts, Node, NodeTable
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tree import Feature, Quality, Tree

GOOD = sorted((places.DATA / "formats").glob("*/good/*"))
PMML = [path for path in GOOD if path.parent.parent.name == "pmml"]
BOOSTED = [path for path in GOOD if path.parent.parent.name.startswith(("xgboost", "lightgbm"))]
ROOT_NODE = re.compile(rb"(<(?:TreeModel|DecisionTree)\b.*?<Node\b[^>]*?[^/>]>)", re.DOTALL)
AGE = Feature("age", numeric=True)
NODES = (
    Node(0, "a", None, (1, 2), records=5.0, class_counts=(3.0, None), default_child=2),
    Node(1, "b", 0, (), NumericTest("age", high=3.0, high_closed=True), score="no", line=7),
    Node(2, "c", 0, (), NumericTest("age", low=3.0), score="yes", records=2.0),
)


def label(path):
    return f"{path.parent.parent.name}-{path.name}"


def cuts(**changes):
    columns = {
        "names": ("age",),
        "features": np.array([-1, 0, 0]),
        "ends": np.array([0.0, 3.0, 3.0]),
        "upper": np.array([False, False, True]),
        "closed": np.array([False, True, True]),
        "others": {},
    }
    return Cuts(**{**columns, **changes})


def table(**changes):
    columns = {
        "parents": np.array([-1, 0, 0]),
        "names": ["a", "b", "c"],
        "tests": cuts(),
        "scores": [None, "no", "yes"],
        "records": np.array([5.0, np.nan, 2.0]),
        "class_counts": np.array([[3.0, np.nan], [np.nan, np.nan], [np.nan, np.nan]]),
        "default_children": np.array([2, -1, -1]),
        "lines": [None, 7, None],
    }
    return NodeTable(**{**columns, **changes})


def test_a_table_is_the_tuple_of_its_nodes():
    found, nodes = table(), tuple(NODES)
    assert found == nodes
    assert nodes == found
    assert hash(found) == hash(NODES)
    assert repr(found) == repr(NODES)
    assert (found[0], found[-1], found[1:], len(found)) == (NODES[0], NODES[2], NODES[1:], 3)
    assert tuple(reversed(found)) == NODES[::-1]
    assert found[1].line == 7


def test_another_number_makes_another_table():
    assert table() != table(records=np.array([5.0, np.nan, 3.0]))
    assert table() != NODES[:2]


def test_a_table_goes_to_another_process_without_the_nodes_it_made():
    found = table()
    size = len(pickle.dumps(found))
    assert found[0].name == "a"
    assert len(pickle.dumps(found)) == size
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize("parents", [[0, 0, 0], [-1, 1, 0], [-1, -1, 0], [-1, 2, 0], []])
def test_a_parent_stands_before_its_children(parents):
    with pytest.raises(ValueError, match="does not stand behind its parent"):
        table(parents=np.array(parents, dtype=np.int64))


def test_all_columns_are_of_one_length():
    with pytest.raises(ValueError, match="2 names for 3 nodes"):
        table(names=["a", "b"])


def test_a_table_has_as_many_class_numbers_as_its_tree_has_classes():
    with pytest.raises(ValueError, match="node 'a' has 2 class numbers"):
        Tree(table(), (AGE,), "risk", classes=("no", "yes", "perhaps"))
    assert Tree(table(), (AGE,), "risk", classes=("no", "yes")).leaves == NODES[1:]


def test_cuts_are_the_tests_they_stand_for():
    others = {0: Always(), 2: CategoryTest("sex", ("F",))}
    assert list(cuts()) == [node.test for node in NODES]
    assert list(cuts(others=others))[2] == others[2]


@pytest.mark.parametrize(
    ("change", "splits"),
    [
        ({}, True),
        ({"ends": np.array([0.0, 3.0, 4.0])}, False),
        ({"closed": np.array([False, True, False])}, False),
        ({"upper": np.array([False, True, True])}, False),
        ({"names": ("age", "sex"), "features": np.array([-1, 0, 1])}, False),
        ({"features": np.array([-1, 0, -1]), "others": {2: Always()}}, False),
    ],
)
def test_cuts_that_plainly_split_are_known_without_a_node(change, splits):
    tests = cuts(**change)
    assert table(tests=tests).plainly_splits() is splits
    tree = Tree(table(tests=tests), (AGE, Feature("sex", numeric=True)), "risk", ("no", "yes"))
    assert splits <= (not list(problems(replace(tree, nodes=tuple(tree.nodes)))))


@pytest.mark.parametrize("path", PMML, ids=label)
def test_pmml_read_by_column_is_pmml_read_node_by_node(path):
    data = path.read_bytes()
    looked_at = load_model(ROOT_NODE.sub(rb'\1<Extension name="none"/>', data), path.name)
    model = load_model(data, path.name)
    assert model == looked_at
    assert model.notes == looked_at.notes
    for ours, theirs in zip(trees_of(model), trees_of(looked_at), strict=True):
        assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("path", BOOSTED, ids=label)
def test_boosted_trees_are_read_as_tables(path):
    trees = list(trees_of(load_model(path.read_bytes(), path.name)))
    assert trees
    assert all(isinstance(tree.nodes, NodeTable) for tree in trees)


def test_reading_a_plain_forest_makes_no_node():
    tree = next(trees_of(load_model("".join(forest(2_047)).encode(), "forest.pmml")))
    assert (len(tree.nodes), tree.quality) == (2_047, Quality.EXACT)
    assert tree.nodes._made is None


def test_a_plain_forest_whose_counts_do_not_add_up_is_inconsistent():
    text = "".join(forest(2_047))
    odd = text.replace('recordCount="1536"', 'recordCount="1537"', 1)
    tree = next(trees_of(load_model(odd.encode(), "forest.pmml")))
    assert tree.quality is Quality.INCONSISTENT


def test_trees_whose_roots_tell_no_records_do_not_differ():
    unknown = table(records=np.array([np.nan, 1.0, 2.0]))
    trees = [Tree(nodes, (AGE,), "risk", ("no", "yes")) for nodes in (unknown, replace(unknown))]
    assert not differing_roots(trees)
    assert differing_roots([Tree(table(), (AGE,), "risk", ("no", "yes")), *trees])
