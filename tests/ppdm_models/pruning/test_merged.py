"""Merged leaves: what they publish."""

from dataclasses import replace

import numpy as np
import pytest

from tests.judges.pruning_by_hand import numeric
from tests.kit.small_audits import deep_tree
from treewarden.ppdm_models.pruning.merged import merged_leaves
from treewarden.ppdm_models.pruning.siblings import candidates
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Node,
    Task,
    Tree,
)

CLASSES = ("a", "b")
UNEVEN = [[[9, 1], [1, 0]], [[3, 4], [5, 5]]]


def as_leaf(tree, index, classes):
    """Return one candidate as a leaf; ``classes`` are its real counts."""
    found = candidates(tree)
    rows = None if classes is None else np.tile(classes, (len(found.members), 1))
    return merged_leaves(tree, found, rows)[index]


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


def test_siblings_publish_together_what_each_of_them_does():
    tree = numeric(deep_tree([[[4, 4], [1, 0]], [3, 3], [9, 9]], CLASSES))
    first = as_leaf(tree, len(tree.nodes), np.array([8.0, 7]))
    assert (first.records, first.class_counts, first.score) == (15, (8, 7), "a")
    bare = stripped(tree, records=None, class_counts=None)
    first = as_leaf(bare, len(tree.nodes), np.array([7.0, 8]))
    assert (first.records, first.class_counts, first.score) == (None, None, "b")


def test_bands_add_up_with_counts_beside_them():
    tree = deep_tree(UNEVEN, CLASSES)
    nodes = [replace(n, class_counts=None) if not n.is_leaf else n for n in tree.nodes]
    nodes[2] = replace(nodes[2], class_counts=None, bands=((5.0, 9.0), (0.0, 4.0)))
    banded = replace(tree, nodes=tuple(nodes))
    assert as_leaf(banded, 1, np.array([10.0, 1])).bands == ((6.0, 10.0), (0.0, 4.0))
    assert as_leaf(banded, 4, np.array([8.0, 9])).bands is None


def test_without_the_truth_a_label_follows_from_hits_and_misses():
    tree = deep_tree([[[5, 1, 1], [0, 2, 6]], [0, 9, 2]], ("a", "b", "c"))
    nodes = []
    for n in tree.nodes:
        hit = tuple(c if c == max(n.class_counts) else None for c in n.class_counts)
        nodes.append(
            replace(
                n, class_counts=hit if n.is_leaf else None, score=n.score if n.is_leaf else None
            )
        )
    assert as_leaf(replace(tree, nodes=tuple(nodes)), 1, None).score == "c"


def test_where_the_file_tells_no_number_the_people_who_stop_below_do():
    tree = deep_tree(UNEVEN, CLASSES)
    scores = {leaf.index: float(number) for number, leaf in enumerate(tree.leaves)}
    nodes = [
        replace(n, score=scores.get(n.index), records=None, class_counts=None) for n in tree.nodes
    ]
    bare = replace(tree, nodes=tuple(nodes), task=Task.REGRESSION, classes=())
    stopping = np.array([4.0 if n.is_leaf else 0.0 for n in bare.nodes])
    stopping[bare.leaves[0].index] = 12.0
    found = candidates(bare)
    assert merged_leaves(bare, found, None, stopping)[1].score == pytest.approx(4 / 16)
    counted = replace(bare, nodes=tuple(replace(n, records=2.0) for n in bare.nodes))
    assert merged_leaves(counted, found, None, stopping)[1].score == pytest.approx(0.5)
    said = replace(counted.nodes[1], score=7.0)
    told = replace(counted, nodes=(counted.root, said, *counted.nodes[2:]))
    assert merged_leaves(told, found, None, stopping)[1].score == 7.0
