"""Reading back what was written gives an equal tree."""

import pytest
from hypothesis import given, settings
from lxml import etree

from tests.kit.tiers import examples
from tests.ppdm_models.tree_strategies import trees
from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.files.load import load_tree, writers
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tree import Feature, Node, Tree

WRITERS = writers()


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=examples(150))
@given(tree=trees())
def test_what_was_written_reads_back_equal(name, tree):
    assert load_tree(writers()[name].write(tree), "tree") == tree


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=20)
@given(tree=trees())
def test_the_same_tree_gives_the_same_bytes(name, tree):
    assert writers()[name].write(tree) == writers()[name].write(tree)


@settings(max_examples=examples(50))
@given(tree=trees())
def test_written_pmml_has_the_parts_of_a_tree_model_in_the_order_of_the_schema(tree):
    order = ["Extension", "MiningSchema", "Targets", "Node"]
    model = etree.fromstring(writers()["pmml"].write(tree)).find("{*}TreeModel")
    names = [etree.QName(child).localname for child in model]
    assert names == sorted(names, key=order.index)


@settings(max_examples=examples(50))
@given(tree=trees())
def test_every_written_score_distribution_has_the_record_count_that_the_schema_asks_for(tree):
    root = etree.fromstring(writers()["pmml"].write(tree))
    assert all(item.get("recordCount") for item in root.iter("{*}ScoreDistribution"))


def test_a_tree_without_a_target_keeps_its_classes():
    tree = Tree((Node(0, "0", None, score="b"),), (), target="", classes=("a", "b", "c"))
    assert load_tree(writers()["pmml"].write(tree), "tree").classes == ("a", "b", "c")


@pytest.mark.parametrize("name", ["bell\x07", "half \ud800", "\ufffe"])
def test_what_xml_cannot_hold_is_not_written(name):
    tree = Tree(
        (Node(0, "0", None),), (Feature(name, numeric=True),), target="class", classes=("a",)
    )
    with pytest.raises(OutputError, match="XML cannot"):
        writers()["pmml"].write(tree)


def test_what_utf_8_cannot_hold_is_not_written_as_json():
    tree = Tree((Node(0, "\ud800", None),), (), target="class", classes=("a",))
    with pytest.raises(OutputError, match="cannot be written as JSON"):
        writers()["treewarden_json"].write(tree)


def pair(first, second):
    return Tree(
        (
            Node(0, "root", None, (1, 2)),
            Node(1, "left", 0, test=first),
            Node(2, "right", 0, test=second),
        ),
        (Feature("age", numeric=True), Feature("sex", numeric=False, values=("f", "m"))),
        target="class",
        classes=("a",),
    )


def test_json_does_not_hold_children_that_overlap():
    with pytest.raises(OutputError, match="only PMML can hold such a tree"):
        writers()["treewarden_json"].write(
            pair(NumericTest("age", high=3), NumericTest("age", low=2))
        )


def test_pmml_holds_children_that_overlap():
    tree = pair(NumericTest("age", high=3), NumericTest("age", low=2))
    assert load_tree(writers()["pmml"].write(tree), "tree") == tree


def test_any_number_cannot_be_said_in_pmml():
    with pytest.raises(OutputError, match="accepts any number of 'age'"):
        writers()["pmml"].write(pair(NumericTest("age"), CategoryTest("sex", ("f",))))


@pytest.mark.parametrize("name", WRITERS)
def test_two_nodes_of_one_name_are_not_written(name):
    tree = pair(NumericTest("age", high=3), NumericTest("age", low=3, low_closed=True))
    twins = tuple(Node(n.index, "same", n.parent, n.children, n.test) for n in tree.nodes)
    with pytest.raises(OutputError, match="two nodes"):
        writers()[name].write(Tree(twins, tree.features, "class", ("a",)))
