"""Whether children split their node, against asking every record of a small world."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.tiers import examples
from treewarden.ppdm_models.semantics.partition import problems
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    CategoryTest,
    MissingTest,
    Never,
    NumericTest,
    answer,
)
from treewarden.ppdm_models.tree.tree import Feature, Node, Tree

AGE = Feature("age", numeric=True)
SEX = Feature("sex", numeric=False, values=("f", "m"))
CITY = Feature("city", numeric=False)

AGES = [value / 2 for value in range(-2, 10)]
WORLD = list(itertools.product(AGES, ["f", "m"], ["a", "b", "c"]))
COLUMNS = {
    "age": NumericColumn(np.array([record[0] for record in WORLD])),
    "sex": CategoricalColumn(
        codes=np.array(["fm".index(record[1]) for record in WORLD]), categories=("f", "m")
    ),
    "city": CategoricalColumn(
        codes=np.array(["abc".index(record[2]) for record in WORLD]), categories=("a", "b", "c")
    ),
}


def tree_of(*below, root=None, inner=None):
    """A root with the tests ``below``, or, with ``inner``, a root with ``inner`` whose first child has those tests."""
    nodes = [Node(0, "root", None, test=root or Always())]
    if inner:
        nodes[0] = Node(
            0, "root", None, tuple(range(1, 2 + len(below), 1 + len(below))), test=root or Always()
        )
        order = [(inner[0], 0)] + [(test, 1) for test in below] + [(test, 0) for test in inner[1:]]
    else:
        order = [(test, 0) for test in below]
    children = {0: [], 1: []}
    for index, (_, parent) in enumerate(order, start=1):
        children[parent].append(index)
    nodes = [Node(0, "root", None, tuple(children[0]), test=root or Always())]
    for index, (test, parent) in enumerate(order, start=1):
        own = tuple(children[1]) if inner and index == 1 else ()
        nodes.append(Node(index, str(index), parent, own, test=test))
    return Tree(tuple(nodes), (AGE, SEX, CITY), "class", ("x",))


def kinds(tree):
    return sorted((problem.node, problem.kind) for problem in problems(tree))


def under(age, closed=True):
    return NumericTest("age", high=age, high_closed=closed)


def over(age, closed=False):
    return NumericTest("age", low=age, low_closed=closed)


@pytest.mark.parametrize(
    "below",
    [
        (under(3), over(3)),
        (over(3), under(3)),
        (under(1), NumericTest("age", 1, 2), over(2, closed=True)),
        (CategoryTest("sex", ("f",)), CategoryTest("sex", ("m",))),
        (CategoryTest("city", ("f",)), CategoryTest("city", ("f",), negated=True)),
        (NumericTest("age", 3, 3, True, True), AnyOf((under(3, closed=False), over(3)))),
        (MissingTest("age"), MissingTest("age", negated=True)),
        (
            AllOf((under(3), CategoryTest("sex", ("f",)))),
            AllOf((under(3), CategoryTest("sex", ("m",)))),
            over(3),
        ),
        (AnyOf((MissingTest("age"), under(3))), over(3)),
        (Always(),),
        (Always(), Never()),
    ],
)
def test_children_that_split_their_node_are_no_problem(below):
    assert kinds(tree_of(*below)) == []


@pytest.mark.parametrize(
    ("below", "found"),
    [
        ((under(3), over(3, closed=True)), ["overlap"]),
        ((under(3, closed=False), over(3)), ["gap"]),
        ((under(3), over(2)), ["overlap"]),
        ((under(2), over(3)), ["gap"]),
        ((under(2), under(1)), ["gap", "overlap"]),
        ((CategoryTest("city", ("a",)), CategoryTest("city", ("b",))), ["gap"]),
        ((CategoryTest("sex", ("f",)), CategoryTest("sex", ("f", "m"))), ["overlap"]),
        ((under(3), CategoryTest("sex", ("f",))), ["gap", "overlap"]),
        ((under(3), Always()), ["overlap"]),
        ((under(3),), ["gap"]),
    ],
)
def test_overlaps_and_gaps_are_found(below, found):
    assert [kind for _, kind in kinds(tree_of(*below))] == found


def test_the_region_of_a_node_is_what_its_ancestors_leave():
    within = NumericTest("age", 2, 5, high_closed=True)
    assert (
        kinds(
            tree_of(
                NumericTest("age", 2, 3),
                NumericTest("age", 3, 5, True, True),
                inner=(within, under(2), over(5)),
            )
        )
        == []
    )


def test_an_earlier_sibling_takes_its_records_away():
    tree = Tree(
        (
            Node(0, "0", None, (1, 2)),
            Node(1, "1", 0, test=under(3)),
            Node(2, "2", 0, (3, 4), test=Always()),
            Node(3, "3", 2, test=NumericTest("age", 3, 5)),
            Node(4, "4", 2, test=over(5, closed=True)),
        ),
        (AGE,),
        "class",
        ("x",),
    )
    assert kinds(tree) == [(0, "overlap")]


def test_a_region_may_hang_together_through_another_feature():
    within = AnyOf(
        (
            AllOf((under(1), CategoryTest("sex", ("f",)))),
            AllOf((over(1), CategoryTest("sex", ("m",)))),
        )
    )
    tree = tree_of(CategoryTest("sex", ("f",)), inner=(AllOf((within, under(1))), over(1)))
    assert (1, "gap") not in kinds(tree)


def test_a_problem_names_both_children_and_a_record():
    (problem,) = problems(tree_of(under(3), over(2)))
    assert problem.describe(tree_of(under(3), over(2))) == (
        "tree: node 'root': its children '1' (age ≤ 3) and '2' (age > 2) both take a record with age = 2.5"
    )


def test_a_gap_names_a_record():
    (problem,) = problems(tree_of(CategoryTest("city", ("a",))))
    assert (
        problem.words(tree_of(CategoryTest("city", ("a",))))
        == "no child takes a record with city = another value"
    )


def test_what_is_too_large_to_check_is_said_to_be():
    features = tuple(Feature(f"f{number}", numeric=True) for number in range(30))
    parts = AnyOf(tuple(NumericTest(feature.name, high=1.0) for feature in features))
    tree = Tree((Node(0, "0", None, (1,)), Node(1, "1", 0, test=parts)), features, "class", ("x",))
    assert kinds(tree) == [(0, "skipped")]


LEAF_TESTS = st.sampled_from(
    [
        *(under(age, closed) for age in (0.0, 1.0, 3.0) for closed in (True, False)),
        *(over(age, closed) for age in (0.0, 1.0, 3.0) for closed in (True, False)),
        NumericTest("age", 1.0, 3.0, True, True),
        CategoryTest("sex", ("f",)),
        CategoryTest("sex", ("f",), negated=True),
        CategoryTest("city", ("a", "b")),
        CategoryTest("city", ("a",), negated=True),
        Always(),
        Never(),
    ]
)
TESTS = st.recursive(
    LEAF_TESTS,
    lambda parts: (
        st.lists(parts, min_size=2, max_size=3).map(tuple).map(AllOf)
        | st.lists(parts, min_size=2, max_size=3).map(tuple).map(AnyOf)
    ),
    max_leaves=4,
)


def asked(test):
    return answer(test, COLUMNS, len(WORLD)).true


@settings(max_examples=examples(300))
@given(st.lists(TESTS, min_size=1, max_size=3), st.lists(TESTS, min_size=1, max_size=3))
def test_the_check_agrees_with_asking_every_record(below, inner):
    tree = tree_of(*below, inner=tuple(inner))
    expected = []
    for node, tests, region in (
        (0, inner, np.ones(len(WORLD), dtype=bool)),
        (1, below, asked(inner[0])),
    ):
        taken = np.sum([asked(test) for test in tests], axis=0)[region]
        expected += [(node, "overlap")] * bool((taken > 1).any()) + [(node, "gap")] * bool(
            (taken == 0).any()
        )
    assert kinds(tree) == sorted(expected)
