"""Equation 1 of Sharkey et al. 2008: class counts from hits and misses."""

from dataclasses import replace

import pytest

from tests.kit.small_audits import deep_tree
from treewarden.ppdm_models.pruning.merged import counts_up

CLASSES = ("1", "2", "3")


def hits_only(spec):
    tree = deep_tree(spec, CLASSES)
    return replace(
        tree,
        nodes=tuple(
            replace(
                node,
                class_counts=tuple(
                    count if code == CLASSES.index(node.score) else None
                    for code, count in enumerate(node.class_counts)
                ),
            )
            for node in tree.nodes
        ),
    )


def test_misses_go_in_equal_parts_to_the_other_classes():
    tree = hits_only([[14, 6, 0], [1, 8, 1]])
    # hit_1 = 14 + 2/2, hit_2 = 8 + 6/2, hit_3 = (6 + 2) / 2.
    assert counts_up(tree, [(0,)])[0].tolist() == [15, 11, 4]


def test_of_an_estimate_only_hits_and_misses_go_further_up():
    tree = hits_only([[[14, 6, 0], [1, 8, 1]], [0, 0, 4]])
    inner, root = counts_up(tree, [(1,), (0,)])
    assert inner.tolist() == [15, 11, 4]
    assert root.tolist() == [15, 7.5, 7.5 + 4]


def test_where_every_count_is_published_they_are_summed():
    tree = deep_tree([[[14, 6, 0], [1, 8, 1]], [0, 0, 4]], CLASSES)
    assert counts_up(tree, [(0,)])[0].tolist() == [15, 14, 5]


def test_siblings_are_treated_as_the_children_of_the_new_node():
    tree = hits_only([[14, 6, 0], [1, 8, 1], [3, 3, 9]])
    assert counts_up(tree, [(1, 2)])[0].tolist() == [15, 11, 4]


@pytest.mark.parametrize("counts", [None, (None, None, None)])
def test_a_leaf_that_tells_no_hits_leaves_nothing_to_estimate(counts):
    tree = deep_tree([[14, 6, 0], [1, 8, 1]], CLASSES)
    nodes = (*tree.nodes[:2], replace(tree.nodes[2], class_counts=counts))
    assert counts_up(replace(tree, nodes=nodes), [(0,)]) is None


def test_a_leaf_without_records_adds_nothing():
    assert counts_up(hits_only([[0, 0, 0], [1, 8, 1]]), [(0,)])[0].tolist() == [1, 8, 1]
