"""Paths in words."""

import math

import pytest

from tests.kit.rows import rows
from treewarden.ppdm_models.tree.paths import EVERYTHING, path_text, path_texts
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    CategoryTest,
    MissingTest,
    NumericTest,
)
from treewarden.ppdm_models.tree.tree import Feature, Node, Tree

FEATURES = (Feature("age", True), Feature("sex", False, ("F", "M", "X")))
F = CategoryTest("sex", ("F",))
OLD = NumericTest("age", low=30)
YOUNG = NumericTest("age", high=30, high_closed=True)


def chain(*tests):
    """Return a tree that is one path of these tests."""
    nodes = [Node(0, "0", None, (1,))]
    for index, test in enumerate(tests, start=1):
        children = (index + 1,) if index < len(tests) else ()
        nodes.append(Node(index, str(index), index - 1, children, test))
    return Tree(tuple(nodes), FEATURES, "y", ("a", "b"))


def fork(*tests):
    """Return a tree with one split."""
    root = Node(0, "0", None, tuple(range(1, len(tests) + 1)))
    children = (Node(index, str(index), 0, (), test) for index, test in enumerate(tests, start=1))
    return Tree((root, *children), FEATURES, "y", ("a", "b"))


@rows(
    ("tests", "said"),
    [
        ([OLD], "age > 30"),
        ([OLD, NumericTest("age", high=40, high_closed=True)], "30 < age ≤ 40"),
        ([OLD, F, NumericTest("age", low=35, low_closed=True)], "age ≥ 35 and sex = F"),
        ([NumericTest("age", low=30, low_closed=True), OLD], "age > 30"),
        ([CategoryTest("sex", ("F", "M")), CategoryTest("sex", ("F", "X"))], "sex = F"),
        ([CategoryTest("sex", ("F", "M")), CategoryTest("sex", ("M",), negated=True)], "sex = F"),
        (
            [CategoryTest("sex", ("M",), True), CategoryTest("sex", ("X",), True)],
            "sex not in {M, X}",
        ),
        ([AllOf((OLD, F)), NumericTest("age", high=40)], "30 < age < 40 and sex = F"),
        ([AnyOf((OLD, F))], "(age > 30 or sex = F)"),
        ([OLD, MissingTest("sex")], "age > 30 and sex is missing"),
        ([OLD, YOUNG], "age > 30 and age ≤ 30"),
        ([F, CategoryTest("sex", ("M",))], "sex = F and sex = M"),
        ([Always()], EVERYTHING),
    ],
)
def test_what_one_path_asks_of_a_feature_is_said_once(tests, said):
    assert path_text(chain(*tests), len(tests)) == said


def test_the_root_stands_for_everything():
    assert path_text(chain(OLD), 0) == EVERYTHING


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ([YOUNG, OLD], "age > 30"),
        ([F, CategoryTest("sex", ("F",), negated=True)], "sex ≠ F"),
        ([YOUNG, Always()], "not (age ≤ 30)"),
        ([NumericTest("age", high=40), NumericTest("age", high=50)], "age < 50 and not (age < 40)"),
        ([F, OLD], "age > 30 and not (sex = F)"),
    ],
)
def test_what_an_earlier_sibling_takes_is_excluded_where_it_could_be_meant(tests, said):
    assert path_text(fork(*tests), len(tests)) == said


def test_a_test_without_ends_is_said_plainly():
    assert path_text(chain(NumericTest("age", -math.inf, math.inf)), 1) == "age is any number"


def test_all_paths_at_once_are_those_of_each_node():
    near = NumericTest("age", high=30.0000001, high_closed=True)
    either = AnyOf((YOUNG, F))
    tree = chain(AllOf((OLD, F)), NumericTest("age", high=40), near, either, MissingTest("sex"))
    assert path_texts(tree) == [path_text(tree, node.index) for node in tree.nodes]
    assert path_texts(tree)[3] == "30 < age ≤ 30.0000001 and sex = F"
    forked = fork(F, NumericTest("age", low=30), Always())
    assert path_texts(forked) == [path_text(forked, node.index) for node in forked.nodes]
    assert path_texts(forked)[3] == "not (sex = F) and not (age > 30)"
