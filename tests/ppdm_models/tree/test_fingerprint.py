"""Fingerprints of leaves: the same in every format and order, and never one for two leaves."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from tests.kit import places
from tests.kit.forests import by_sex, forest, stump
from tests.kit.rows import rows
from treewarden.ppdm_models.errors import OutputError, TreewardenError
from treewarden.ppdm_models.files.convert import MODELS, converted
from treewarden.ppdm_models.files.load import load_model, read_bytes
from treewarden.ppdm_models.tree import fingerprint
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.fingerprint import fingerprints
from treewarden.ppdm_models.tree.nodes import Node
from treewarden.ppdm_models.tree.predicate import Always, AnyOf, CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tree import Feature, NoTrueChild, Tree

FORMATS = places.DATA / "formats"
GOOD = sorted(FORMATS.glob("*/good/*"))
NAMES = [path.relative_to(FORMATS).as_posix() for path in GOOD]


def model_of(name):
    path = FORMATS / name
    try:
        return load_model(read_bytes(path), path.name)
    except (TreewardenError, OSError):
        pytest.skip("not one file that is opened by itself")


def chain(*tests):
    """Return a tree whose nodes below the root ask one of these each, in this order."""
    root = Node(0, "0", None, tuple(range(1, len(tests) + 1)))
    below = (Node(i, str(i), 0, (), test) for i, test in enumerate(tests, start=1))
    return Tree((root, *below), (Feature("x", True), Feature("s", False)), "ill", ())


def nested(*tests):
    """Return a tree in which each node has one child, which asks the next of these."""
    last = len(tests)
    nodes = [
        Node(i, str(i), i - 1 if i else None, (i + 1,) if i < last else (), test)
        for i, test in enumerate((Always(), *tests))
    ]
    return Tree(tuple(nodes), (Feature("x", True), Feature("s", False)), "ill", ())


def last(tree, target="ill"):
    return fingerprints(tree, target)[0][-1]


@rows("name", NAMES)
def test_no_two_nodes_of_a_file_share_one(name):
    model = model_of(name)
    names = [each for tree in fingerprints(model, "t") for each in tree if each]
    assert len(set(names)) == len(names)
    assert len(names) >= sum(len(tree.leaves) for tree in trees_of(model)) > 0


@rows("name", NAMES)
def test_a_converted_copy_has_the_same_node_by_node(name):
    model = model_of(name)
    for target in MODELS:
        with suppress(OutputError):  # it cannot be said in that format
            copy = load_model(converted(model, target), "copy")
            assert fingerprints(copy, "t") == fingerprints(model, "t"), target


def leaves_of(name):
    model = model_of(name)
    return Counter(
        names[node.index]
        for tree, names in zip(trees_of(model), fingerprints(model, "t"), strict=True)
        for node in tree.leaves
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sklearn_json/good/iris.json", "sklearn_text/good/iris.txt"),
        ("sklearn_json/good/iris.json", "skops_file/good/iris.skops"),
        ("sklearn_json/good/iris.json", "graphviz_dot/good/iris.dot"),
        ("weka_text/good/j48.txt", "graphviz_dot/good/j48.dot"),
        ("rpart_json/good/gaps.json", "rpart_text/good/gaps.txt"),
        ("partykit_text/good/partykit_costs.txt", "rpart_text/good/costs.txt"),
        ("lightgbm_dump/good/loan.json", "lightgbm_text/good/loan.model"),
        ("xgboost_dump/good/loan.json", "xgboost_model/good/loan.ubj"),
    ],
)
def test_one_model_that_tools_wrote_in_two_formats_has_the_same_in_both(one, other):
    assert leaves_of(one) == leaves_of(other)


def test_numbers_names_and_order_of_nodes_do_not_matter():
    one = chain(NumericTest("x", high=5.0, high_closed=True), NumericTest("x", low=5.0))
    other = chain(NumericTest("x", low=5.0), NumericTest("x", high=5.0, high_closed=True))
    assert fingerprints(one, "t")[0][1:] == fingerprints(other, "t")[0][:0:-1]


def test_the_last_child_that_takes_the_rest_is_the_one_that_asks_for_it():
    asks = chain(NumericTest("x", high=5.0, high_closed=True), NumericTest("x", low=5.0))
    rest = chain(NumericTest("x", high=5.0, high_closed=True), Always())
    assert last(asks) == last(rest)


def test_who_stops_at_a_node_without_a_fitting_child_is_who_a_leaf_would_take():
    one = chain(NumericTest("x", high=5.0, high_closed=True))
    compact = replace(one, no_true_child=NoTrueChild.LAST_PREDICTION)
    asks = chain(NumericTest("x", high=5.0, high_closed=True), NumericTest("x", low=5.0))
    assert fingerprints(compact, "t")[0][0] == last(asks, "t")


def test_conditions_of_one_feature_are_merged_and_their_order_does_not_matter():
    narrow, wide = NumericTest("x", 1.0, 5.0), NumericTest("x", 0.0, 9.0)
    sex = CategoryTest("s", ("F", "M"))
    assert last(nested(wide, sex, narrow)) == last(nested(narrow, sex)) == last(nested(sex, narrow))


def test_parts_of_an_alternative_may_come_in_any_order():
    low, high = NumericTest("x", high=1.0), NumericTest("x", low=5.0)
    assert last(chain(AnyOf((low, high)))) == last(chain(AnyOf((high, low))))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (NumericTest("x", high=5.0), NumericTest("x", high=5.0, high_closed=True)),
        (NumericTest("x", high=5.0), NumericTest("x", high=5.0001)),
        (NumericTest("x", high=5.0), NumericTest("x", low=5.0)),
        (NumericTest("x", high=20240115.0), NumericTest("x", high=20240116.0)),
        (NumericTest("x", high=1234567.5), NumericTest("x", high=1234568.5)),
        (CategoryTest("s", ("a", "b")), CategoryTest("s", ("a, b",))),
        (CategoryTest("s", ("a",)), CategoryTest("s", ("a",), negated=True)),
        (CategoryTest("s", ("a",)), CategoryTest("x", ("a",))),
        (CategoryTest("s", ("\ud800",)), CategoryTest("s", ("?",))),
    ],
)
def test_what_asks_for_something_else_has_another(one, other):
    assert last(nested(one)) != last(nested(other))


def test_another_target_is_another_leaf():
    assert last(stump(40.0, "no", "yes"), "ill") != last(stump(40.0, "no", "yes"), "rich")


def test_a_sixth_digit_is_what_counts_between_formats():
    assert last(nested(NumericTest("x", high=2.449999988079071))) == last(
        nested(NumericTest("x", high=2.45))
    )


@pytest.mark.parametrize("value", [123.4565, 2.450005, 0.1, 1e-7, 33.3333333, 16777217.5])
def test_a_threshold_of_32_bits_has_the_same_name_as_the_number_it_was_made_of(value):
    def leaf(high):
        tree = nested(NumericTest("x", high=high, high_closed=True))
        return last(replace(tree, features=(Feature("x", True, single=True),)))

    below = np.float32(value)
    if float(below) > value:
        below = np.nextafter(below, np.float32(-np.inf))
    assert leaf(value) == leaf(float(below))


def test_leaves_that_differ_in_late_digits_only_keep_their_names_when_one_of_them_goes():
    ends = (1.0, 1.0000001, 1.0000002)
    tests = [NumericTest("x", low, high) for low, high in zip(ends, ends[1:], strict=False)]
    both = fingerprints(chain(*tests), "t")[0]
    alone = fingerprints(chain(tests[1]), "t")[0]
    assert both[1] != both[2]
    assert not any("#" in name for name in both)
    assert alone[1] not in both


def trees_by_name(model):
    return {
        name: tree.nodes[index].score
        for tree, names in zip(model.trees, fingerprints(model, "t"), strict=True)
        for index, name in enumerate(names)
        if tree.nodes[index].is_leaf
    }


def test_twins_in_several_trees_are_numbered_by_what_else_is_there_and_not_by_place():
    trees = [
        stump(40.0, "no", "yes"),
        by_sex("no", "yes"),
        stump(40.0, "yes", "no"),
        stump(40.0, "no", "no"),
    ]
    one, other = forest(*trees), forest(*reversed(trees))
    assert trees_by_name(one) == trees_by_name(other)
    assert sum("#2" in name for name in trees_by_name(one)) == 2
    assert sum("#3" in name for name in trees_by_name(one)) == 2


def test_a_tree_that_speaks_for_some_is_another_than_one_that_speaks_for_others():
    model = forest(stump(40.0, "no", "yes"), stump(40.0, "no", "yes"))
    women, men = (
        replace(member, test=CategoryTest("sex", (sex,)))
        for member, sex in zip(model.members, ("F", "M"), strict=True)
    )
    one = fingerprints(replace(model, members=(women, men)), "t")
    other = fingerprints(replace(model, members=(men, women)), "t")
    assert set(one[0]) & set(one[1]) == {""}
    assert one == other[::-1]


def test_a_tree_alone_and_in_an_ensemble_has_the_same():
    tree = stump(40.0, "no", "yes")
    assert fingerprints(forest(tree), "t") == fingerprints(tree, "t")


def test_a_node_where_nobody_can_stop_has_none():
    assert fingerprints(stump(40.0, "no", "yes"), "t")[0][0] == ""


def test_children_that_split_categories_are_not_compared_with_each_other(monkeypatch):
    compared = Counter()
    real = fingerprint.apart
    monkeypatch.setattr(
        fingerprint, "apart", lambda one, other: compared.update(["pairs"]) or real(one, other)
    )
    tests = [CategoryTest("s", (f"v{number}",)) for number in range(300)]
    wide = fingerprints(chain(*tests), "ill")[0]
    assert compared["pairs"] == 0
    assert wide[1:] == tuple(last(nested(test)) for test in tests)
    # One that takes a category twice is compared, and those after it exclude what it takes.
    shared = CategoryTest("s", ("v0", "v7"))
    assert fingerprints(chain(*tests[:8], shared), "ill")[0][-1] != last(nested(shared))
    assert compared["pairs"] > 0
