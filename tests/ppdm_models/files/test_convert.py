"""From format to format: the same model, or a message that says what cannot be said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.kit import places
from tests.kit.forests import by_sex, forest, stump
from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.files.convert import TARGETS, converted, dot, mermaid, target_of
from treewarden.ppdm_models.files.load import load_model, read_tree
from treewarden.ppdm_models.tables.predict import predict
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import Combination, Link, Member, NonTreeModel
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Quality

GOLF = read_tree(places.DATA / "formats/pmml/good/golf.pmml")
TWO = forest(stump(40.0, "no", "yes", counts=(4.0, 6.0)), by_sex("no", "yes"))
NUMBERS = forest(stump(40.0, 1.5, 2.5), stump(50.0, 0.5, 1.0), base=(0.25,))


@pytest.mark.parametrize("target", ["pmml", "treewarden_json"])
def test_a_tree_is_the_same_tree_in_another_format(target):
    again = load_model(converted(GOLF, target), "golf")
    assert again.nodes == GOLF.nodes
    assert again.format == target


@pytest.mark.parametrize("ensemble", [TWO, NUMBERS], ids=["votes", "numbers"])
def test_an_ensemble_is_the_same_ensemble_in_pmml(ensemble):
    again = load_model(converted(ensemble, "pmml"), "forest")
    assert [tree.nodes for tree in again.trees] == [tree.nodes for tree in ensemble.trees]
    assert (again.combination, again.base) == (ensemble.combination, ensemble.base)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"link": Link.LOGISTIC},
            "a model with the link function logistic; audit the file as it is",
        ),
        ({"combination": Combination.MODEL_CHAIN}, "a combination of trees by model-chain"),
        ({"base": (0.5,)}, "a starting score for each class"),
        ({"members": (Member(NonTreeModel("regression")),)}, "a part that is not a tree .part 1."),
        ({"members": (Member(GOLF, output=1),)}, "one tree per class .tree 1."),
        ({"members": (Member(GOLF, test=CategoryTest("sex", ("F",))),)}, "for some records only"),
    ],
)
def test_what_pmml_cannot_say_is_named(changes, problem):
    with pytest.raises(OutputError, match=problem):
        converted(replace(TWO, **changes), "pmml")


@pytest.mark.parametrize("target", ["pmml", "treewarden_json"])
def test_a_tree_whose_rounded_thresholds_no_counts_bear_out_is_not_converted(target):
    bare = stump(40.0, "no", "yes")
    leaves = [replace(node, records=None) for node in bare.nodes]
    bare = replace(bare, nodes=tuple(leaves), quality=Quality.ABSENT)
    assert converted(bare, target)
    with pytest.raises(OutputError, match="its thresholds are rounded, .* all digits"):
        converted(replace(bare, rounding=0.5), target)


def test_our_own_json_holds_one_tree():
    with pytest.raises(OutputError, match="can hold only one tree, and this is an ensemble"):
        converted(TWO, "treewarden_json")


@pytest.mark.parametrize("target", ["pmml", "treewarden_json"])
def test_several_numbers_per_leaf_are_not_dropped_in_silence(target):
    nodes = tuple(replace(node, outputs=(1.0, 2.0)) for node in GOLF.nodes)
    with pytest.raises(OutputError, match="several numbers per leaf"):
        converted(replace(GOLF, nodes=nodes), target)


@pytest.mark.parametrize(
    ("suffix", "target"), [(".pmml", "pmml"), (".JSON", "treewarden_json"), (".gv", "dot")]
)
def test_a_suffix_stands_for_a_format(suffix, target):
    assert target_of(Path(f"tree{suffix}")) == target
    assert target in TARGETS


def test_an_unknown_suffix_is_an_error_that_lists_the_known_ones():
    with pytest.raises(OutputError, match=r"tree\.txt: unknown suffix .*; use \.pmml"):
        target_of(Path("tree.txt"))


def test_dot_has_a_graph_for_each_tree():
    said = dot(TWO).decode()
    assert said.count("digraph ") == 2
    assert 'n0 -> n1 [label="age < 40"];' in said
    assert '[label="no: 4 records"];' in said


def test_mermaid_has_a_subgraph_for_each_tree():
    said = mermaid(TWO).decode()
    assert said.startswith("flowchart TD\n")
    assert said.count("subgraph ") == said.count("  end\n") == 2
    assert 't1n0 -->|"age #60; 40"| t1n1' in said


NASTY = 'a"] ; x -> y \\ \n\x1b[31m #quot; | <b>'


def test_no_label_can_leave_its_quotes_in_dot():
    said = dot(stump(1.0, NASTY, "b", classes=(NASTY, "b")))
    assert b'[label="a\\"] ; x -> y \\\\ \\\\n\\\\x1b[31m #quot; | <b>"];' in said
    assert b"\x1b" not in said


def test_no_label_can_leave_its_quotes_in_mermaid():
    said = mermaid(stump(1.0, NASTY, "b", classes=(NASTY, "b"))).decode()
    line = next(line for line in said.splitlines() if "31m" in line)
    assert line.count('"') == 2
    assert not set(line) & set("\\|<>\x1b")


def test_an_end_between_two_32_bit_numbers_is_not_held_against_the_one_that_is_written():
    between = 4.950000047683716  # halfway from one 32-bit number to the next
    features = tuple(replace(feature, single=feature.numeric) for feature in TWO.features)
    tree = replace(stump(between, "no", "yes", counts=(4.0, 6.0)), features=features)
    again = load_model(converted(tree, "pmml"), "stump")
    beside = [4.949999809265137, between, 4.950000286102295, np.nan]
    held = {"age": NumericColumn(np.array(beside))}
    np.testing.assert_array_equal(predict(again, held), predict(tree, held))
