"""Children that take categories: the same problems as making every record, without making one."""

import random

import pytest

from tests.kit.tiers import seeds
from treewarden.ppdm_models.semantics import partition
from treewarden.ppdm_models.semantics.partition import PartitionProblem, problems
from treewarden.ppdm_models.tree.predicate import AllOf, Always, CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tree import Feature, Node, Tree

FEATURES = (
    Feature("a", numeric=False, values=("x", "y", "z")),
    Feature("b", numeric=False, values=("p", "q", "r", "s")),
    Feature("c", numeric=False, values=("u", "v")),
    Feature("d", numeric=False),
    Feature("e", numeric=True),
)


def drawn_test(draw: random.Random, feature: Feature) -> object:
    """A test on a feature: mostly of one declared category, sometimes of another kind or of unknown categories."""
    if feature.numeric:
        low = draw.choice([0.0, 1.0])
        return NumericTest(feature.name, low=low, low_closed=draw.random() < 0.5, high=low + 1)
    values = draw.sample(feature.values or ("m", "n"), k=draw.choice([1, 1, 1, 2]))
    if draw.random() < 0.1:
        values = [*values, "undeclared"]
    test = CategoryTest(feature.name, tuple(values), negated=draw.random() < 0.07)
    if draw.random() < 0.05:
        return AllOf((test, CategoryTest("c", ("u",))))
    return test


def drawn_tree(seed: int) -> Tree:
    """A tree of up to 40 nodes whose children may leave gaps, overlap, or test a feature again."""
    draw = random.Random(seed)
    tests: list[object] = [Always() if draw.random() < 0.95 else CategoryTest("b", ("p",))]
    parents: list[int | None] = [None]
    children: list[list[int]] = [[]]
    for index in range(12):
        if index >= len(tests) or draw.random() < 0.2:
            continue
        feature = draw.choice(FEATURES[: draw.choice([3, 3, 3, 5])])
        for _ in range(draw.randint(1, 4)):
            children[index].append(len(tests))
            tests.append(drawn_test(draw, feature))
            parents.append(index)
            children.append([])
    nodes = tuple(
        Node(index, str(index), parents[index], tuple(children[index]), test=tests[index])
        for index in range(len(tests))
    )
    return Tree(nodes, FEATURES, "class", ("k",))


@pytest.mark.parametrize("seed", seeds(400, quick=tuple(range(60))))
def test_sets_tell_what_all_records_tell(seed, monkeypatch):
    tree = drawn_tree(seed)
    by_sets = list(problems(tree))
    monkeypatch.setattr(partition, "category_split", lambda features, tests: None)
    assert by_sets == list(problems(tree))


def split(width: int, *, taken: int) -> Tree:
    """A root whose children each take one of the first categories of a feature with so many."""
    values = tuple(f"v{number}" for number in range(width))
    tests = [CategoryTest("wide", (value,)) for value in values[:taken]]
    nodes = [Node(0, "root", None, tuple(range(1, taken + 1)), test=Always())]
    nodes += [Node(at, str(at), 0, test=test) for at, test in enumerate(tests, start=1)]
    return Tree(tuple(nodes), (Feature("wide", numeric=False, values=values),), "class", ("k",))


def test_a_gap_names_the_first_category_that_no_child_takes():
    assert list(problems(split(5, taken=3))) == [PartitionProblem("gap", 0, (), "wide = v3")]


def test_no_record_is_made_for_sets_of_one_feature(monkeypatch):
    monkeypatch.setattr(partition, "cells", None)
    assert list(problems(split(5, taken=3))) == [PartitionProblem("gap", 0, (), "wide = v3")]


def test_what_no_record_reaches_has_no_gap():
    nodes = (
        Node(0, "root", None, (1, 2), test=Always()),
        Node(1, "first", 0, test=CategoryTest("a", ("x", "y", "z"))),
        Node(2, "second", 0, (3,), test=CategoryTest("a", ("x",))),
        Node(3, "third", 2, test=CategoryTest("b", ("p",))),
    )
    found = [problem.node for problem in problems(Tree(nodes, FEATURES, "class", ("k",)))]
    assert found == [0]
