"""Anonymity-based pruning."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppdm_models.apt import as_leaf, prune, summed
from ppdm_models.predicate import CategoryTest
from ppdm_models.tree import Feature, Node, Task, Tree
from tests.small_audits import deep_tree

CLASSES = ("a", "b")
# Two levels: the left split has a leaf of one record, the right one is sound.
UNEVEN = [[[9, 1], [1, 0]], [[3, 4], [5, 5]]]

leaf = st.lists(st.integers(0, 9), min_size=2, max_size=2)
shape = st.recursive(leaf, lambda part: st.lists(part, min_size=2, max_size=3), max_leaves=12)
trees = st.lists(shape, min_size=2, max_size=3).map(lambda spec: deep_tree(spec, CLASSES))


def counts(tree):
    return summed(tree, stopping(tree))


def stopping(tree):
    none = (0.0,) * len(tree.classes)
    return np.array([n.class_counts if n.is_leaf else none for n in tree.nodes])


def pruned(tree, satisfied):
    """Prune until each leaf that holds records satisfies a requirement on its class counts."""
    own, passing = stopping(tree), counts(tree)
    leaves = [as_leaf(tree, node.index, passing[node.index]) for node in tree.nodes]
    return prune(
        tree,
        np.array([not row.any() or satisfied(row) for row in own]),
        np.array([not row.any() or satisfied(row) for row in passing]),
        leaves,
    )


def by_hand(spec, satisfied):
    """The algorithm as the paper words it, on nested lists: merge all siblings where one of them fails."""
    if not isinstance(spec[0], list):
        return spec
    children = [by_hand(child, satisfied) for child in spec]
    if all(isinstance(c[0], list) or not any(c) or satisfied(np.array(c)) for c in children):
        return children
    return list(map(int, np.sum([total(child) for child in spec], axis=0)))


def total(spec):
    if not isinstance(spec[0], list):
        return np.array(spec)
    return np.sum([total(child) for child in spec], axis=0)


def nested(tree, index=0):
    node = tree.nodes[index]
    if node.is_leaf:
        return [int(count) for count in node.class_counts]
    return [nested(tree, child) for child in node.children]


def at_least(k):
    return lambda row: row.sum() >= k


def test_counts_go_up_depth_first():
    tree = deep_tree(UNEVEN, CLASSES)
    assert counts(tree)[0].tolist() == [18, 10]
    assert counts(tree)[1].tolist() == [10, 1]


def test_all_siblings_of_a_leaf_that_fails_are_merged_and_no_others():
    result = pruned(deep_tree(UNEVEN, CLASSES), at_least(2))
    assert nested(result.tree) == [[10, 1], [[3, 4], [5, 5]]]
    assert result.merged == (1,)
    assert result.node_map == (0, 1, 1, 1, 2, 3, 4)


def test_a_merged_leaf_that_still_fails_is_merged_in_its_turn():
    spec = [[[[1, 0], [0, 1]], [9, 9]], [9, 9]]
    assert nested(pruned(deep_tree(spec, CLASSES), at_least(3)).tree) == [[10, 10], [9, 9]]


def test_where_everything_merges_there_is_no_tree():
    assert pruned(deep_tree(UNEVEN, CLASSES), at_least(20)) is None


def test_a_lone_root_that_satisfies_is_no_tree_either_as_it_has_no_two_leaves():
    assert pruned(deep_tree([9, 9], CLASSES), at_least(2)) is None


def test_the_highlighted_leaf_of_the_paper_meets_5_3_diversity_and_stays():
    def is_5_3_diverse(row):
        falling = np.sort(row)[::-1]
        return falling[0] < 5 * falling[2:].sum()

    spec = [[14, 3, 3], [[10, 2, 1], [4, 4, 4]]]
    result = pruned(deep_tree(spec, ("1", "2", "3")), is_5_3_diverse)
    assert nested(result.tree) == [[14, 3, 3], [14, 6, 5]]


@given(shape.filter(lambda s: isinstance(s[0], list)), st.integers(1, 30))
def test_pruning_agrees_with_the_algorithm_on_nested_lists(spec, k):
    expected = by_hand(spec, at_least(k))
    result = pruned(deep_tree(spec, CLASSES), at_least(k))
    assert (None if result is None else nested(result.tree)) == (
        expected if isinstance(expected[0], list) else None
    )


@given(trees, st.integers(1, 20), st.floats(0.5, 1))
def test_afterwards_every_leaf_with_records_satisfies_the_requirement(tree, k, share):
    def satisfied(row):
        return row.sum() >= k and row.max() <= share * row.sum()

    result = pruned(tree, satisfied)
    rows = [] if result is None else [np.array(x.class_counts) for x in result.tree.leaves]
    assert all(satisfied(row) for row in rows if row.any())
    assert len(rows) != 1


@given(trees, st.integers(1, 20))
def test_no_record_is_lost_and_each_is_where_the_map_says(tree, k):
    result = pruned(tree, at_least(k))
    if result is None:
        return
    assert counts(result.tree)[0].tolist() == counts(tree)[0].tolist()
    moved = np.zeros((len(result.tree.nodes), 2))
    np.add.at(moved, np.array(result.node_map), stopping(tree))
    assert moved.tolist() == stopping(result.tree).tolist()


@given(trees)
def test_a_tree_that_satisfies_is_left_as_it_is(tree):
    result = pruned(tree, at_least(0))
    assert result.tree == tree
    assert result.merged == ()


def stripped(tree, **fields):
    return replace(tree, nodes=tuple(replace(node, **fields) for node in tree.nodes))


def inner_stripped(tree, **fields):
    return replace(tree, nodes=tuple(n if n.is_leaf else replace(n, **fields) for n in tree.nodes))


@pytest.mark.parametrize("field", ["records", "class_counts"])
def test_a_merged_leaf_publishes_sums_of_what_the_leaves_publish(field):
    tree = deep_tree(UNEVEN, CLASSES)
    bare = inner_stripped(tree, records=None, class_counts=None, score=None)
    assert getattr(as_leaf(bare, 1, np.array([10, 1])), field) == getattr(tree.nodes[1], field)


@pytest.mark.parametrize("field", ["records", "class_counts", "class_shares"])
def test_a_merged_leaf_publishes_nothing_that_the_leaves_do_not(field):
    tree = stripped(deep_tree(UNEVEN, CLASSES), **{field: None})
    assert getattr(as_leaf(tree, 1, np.array([10, 1])), field) is None


def test_where_leaves_publish_the_count_of_their_label_a_merged_one_does_too():
    tree = deep_tree(UNEVEN, CLASSES)
    nodes = [
        replace(
            n, class_counts=tuple(c if c == max(n.class_counts) else None for c in n.class_counts)
        )
        if n.is_leaf
        else replace(n, class_counts=None)
        for n in deep_tree([[[9, 1, 1], [1, 2, 5]], [4, 4, 5]], ("a", "b", "c")).nodes
    ]
    tree = Tree(tuple(nodes), tree.features[:2], "illness", ("a", "b", "c"))
    assert as_leaf(tree, 1, np.array([10.0, 3, 6])).class_counts == (10.0, None, None)


def test_shares_are_merged_by_records_or_by_the_real_counts():
    tree = deep_tree(UNEVEN, CLASSES)
    nodes = [
        replace(n, class_shares=tuple(c / n.records for c in n.class_counts), class_counts=None)
        if n.is_leaf
        else replace(n, class_counts=None)
        for n in tree.nodes
    ]
    shared = replace(tree, nodes=tuple(nodes))
    assert as_leaf(shared, 1, None).class_shares == pytest.approx((10 / 11, 1 / 11))
    uncounted = stripped(shared, records=None)
    assert as_leaf(uncounted, 1, None).class_shares is None
    assert as_leaf(uncounted, 1, np.array([10.0, 1])).class_shares == pytest.approx(
        (10 / 11, 1 / 11)
    )


def test_the_label_is_the_plurality_and_the_old_score_where_that_ties():
    tree = deep_tree([[[3, 1], [1, 3]], [5, 5]], CLASSES)
    assert as_leaf(tree, 1, np.array([1, 9])).score == "b"
    for old in CLASSES:
        assert as_leaf(stripped(tree, score=old), 1, np.array([4, 4])).score == old
    assert as_leaf(stripped(tree, score=None), 1, None).score == "a"


def test_a_regression_tree_keeps_the_mean_of_its_leaves():
    split = [
        Node(i, str(i), 0, (), CategoryTest("f", (f"v{i}",)), float(i), 2.0 * i) for i in (1, 2)
    ]
    tree = Tree(
        (Node(0, "0", None, (1, 2)), *split),
        (Feature("f", False, ("v1", "v2")),),
        "y",
        task=Task.REGRESSION,
    )
    assert as_leaf(tree, 0, None).score == pytest.approx((1 * 2 + 2 * 4) / 6)
