"""Anonymity-based pruning."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judges.pruning_by_hand import kept_right, numeric, prunable, stopping
from tests.kit.small_audits import deep_tree
from treewarden.ppdm_models.pruning.merged import summed
from treewarden.ppdm_models.pruning.prune import prune, prune_optimally
from treewarden.ppdm_models.tables.taxonomy import Categories, IntervalHierarchy

CLASSES = ("a", "b")
# Two levels: the left split has a leaf of one record, the right one is sound.
UNEVEN = [[[9, 1], [1, 0]], [[3, 4], [5, 5]]]
# Of four places two are near each other, and the third is far from all.
PLACES = [[2, 0], [3, 1], [1, 0], [9, 9]]
REGIONS = {
    "v0": ("v0", "north", "*"),
    "v1": ("v1", "north", "*"),
    "v2": ("v2", "south", "*"),
    "v3": ("v3", "south", "*"),
}

leaf = st.lists(st.integers(0, 9), min_size=2, max_size=2)
shape = st.recursive(leaf, lambda part: st.lists(part, min_size=2, max_size=3), max_leaves=12)
trees = st.lists(shape, min_size=2, max_size=3).map(lambda spec: deep_tree(spec, CLASSES))


def counts(tree):
    return summed(tree, stopping(tree))


def pruned(tree, satisfied, taxonomies=None):
    return prune(prunable(tree, satisfied, taxonomies))


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


@pytest.mark.parametrize(("least", "leaves"), [(2, 2), (10, 1), (19, 0)])
def test_one_tree_of_several_may_become_a_single_leaf_if_that_satisfies(least, leaves):
    whole = deep_tree([[5, 4], [4, 5]], CLASSES)
    one = replace(prunable(whole, at_least(least)), fewest_leaves=1)
    found = [prune(one), prune_optimally(one, *kept_right(one))]
    assert [len(each.tree.leaves) if each else 0 for each in found] == [leaves] * 2


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


@pytest.mark.parametrize(
    ("k", "left"),
    [(3, [[5, 1], [10, 9]]), (5, [[5, 1], [10, 9]]), (1, PLACES)],
)
def test_siblings_under_the_same_value_of_a_hierarchy_are_merged_and_no_others(k, left):
    taxonomies = {"f0": Categories("f0", REGIONS)}
    assert nested(pruned(deep_tree(PLACES, CLASSES), at_least(k), taxonomies).tree) == left


def test_a_merged_group_that_still_fails_is_merged_under_the_next_value_up():
    paths = {
        f"v{i}": (f"v{i}", "near" if i < 2 else f"v{i}", "north" if i < 3 else "v3", "*")
        for i in range(4)
    }
    result = pruned(deep_tree(PLACES, CLASSES), at_least(7), {"f0": Categories("f0", paths)})
    assert nested(result.tree) == [[6, 1], [9, 9]]
    assert result.joined == ((1, 2, 3),)
    assert result.tree.nodes[1].test.values == ("v0", "v1", "v2")
    assert result.node_map == (0, 1, 1, 1, 2)


def test_where_only_all_siblings_together_satisfy_their_parent_becomes_the_leaf():
    taxonomies = {"f1": Categories("f1", REGIONS)}
    result = pruned(deep_tree([PLACES, [9, 9]], CLASSES), at_least(18), taxonomies)
    assert nested(result.tree) == [[15, 10], [9, 9]]
    assert result.merged == (1,)


def test_numeric_neighbours_merge_to_one_interval_the_smaller_one_first():
    result = pruned(numeric(deep_tree([[4, 4], [1, 0], [3, 3], [9, 9]], CLASSES)), at_least(5))
    assert nested(result.tree) == [[4, 4], [4, 3], [9, 9]]
    test = result.tree.nodes[2].test
    assert (test.low, test.high, test.low_closed, test.high_closed) == (0, 2, False, True)


def test_a_hierarchy_of_intervals_says_which_neighbours_belong_together():
    tree = numeric(deep_tree([[4, 4], [1, 0], [3, 3], [9, 9]], CLASSES))
    result = pruned(
        tree, at_least(5), {"f0": IntervalHierarchy("f0", ((0.0, 1.0, 2.0), (1.0,), ()))}
    )
    assert nested(result.tree) == [[5, 4], [3, 3], [9, 9]]


def test_what_stays_under_a_merged_sibling_goes_with_it():
    spec = [[[5, 5], [6, 6]], [0, 1], [9, 9]]
    result = pruned(numeric(deep_tree(spec, CLASSES)), at_least(2))
    assert nested(result.tree) == [[[5, 5], [6, 6]], [9, 10]]
    other = pruned(numeric(deep_tree([[9, 9], [0, 1], [[2, 1], [3, 3]]], CLASSES)), at_least(2))
    assert nested(other.tree) == [[9, 9], [5, 5]]
    assert other.node_map == (0, 1, 2, 2, 2, 2)
