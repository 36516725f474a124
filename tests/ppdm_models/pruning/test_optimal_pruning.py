"""Optimal pruning: no other pruning keeps more."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.judges.pruning_by_hand import every_pruning, kept_right, numeric, prunable
from tests.kit.small_audits import deep_tree
from tests.kit.tiers import examples
from treewarden.ppdm_models.pruning.prune import prune, prune_optimally
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tables.taxonomy import Categories, IntervalHierarchy
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.predicate import Always
from treewarden.ppdm_models.tree.tree import Node, Tree

CLASSES = ("a", "b", "c")
leaf = st.lists(st.integers(0, 6), min_size=3, max_size=3)
shape = st.recursive(leaf, lambda part: st.lists(part, min_size=1, max_size=4), max_leaves=8)
trees = st.lists(shape, min_size=2, max_size=4).map(lambda spec: deep_tree(spec, CLASSES))
halves = st.sampled_from(["east", "west"])
paths = st.lists(st.tuples(st.sampled_from(["n", "s", "m"]), halves), min_size=4, max_size=4)
CUTS = ((0.0, 1.0, 2.0), (1.0,), ())


@st.composite
def requirements(draw):
    """Sizes and shares as policies ask for them, and lists of sizes that no rule has: merging may break those."""
    k, share, odd = draw(st.integers(1, 12)), draw(st.floats(0.4, 1)), draw(st.integers(0, 4))

    def satisfied(row):
        return row.sum() >= k and row.max() <= share * row.sum() and row.sum() % 5 != odd

    return satisfied


@st.composite
def cases(draw):
    tree, kind = draw(trees), draw(st.sampled_from(["plain", "categories", "runs", "intervals"]))
    taxonomies = {}
    if kind == "categories":
        drawn = draw(paths)
        # The second level follows from the first, so that each label has one parent.
        above = dict(drawn)
        values = {f"v{i}": (f"v{i}", near, above[near], "*") for i, (near, _) in enumerate(drawn)}
        taxonomies = {f.name: Categories(f.name, values) for f in tree.features}
    if kind == "intervals":
        taxonomies = {f.name: IntervalHierarchy(f.name, CUTS) for f in tree.features}
    return numeric(tree) if kind in ("runs", "intervals") else tree, taxonomies


def worth(given, pruned):
    if pruned is None:
        return None
    right = 0.0
    leaf_of = np.array(pruned.node_map)
    for old in given.tree.leaves:
        said = pruned.tree.nodes[leaf_of[old.index]].score
        right += old.class_counts[CLASSES.index(said)]
    return right, len(pruned.tree.leaves)


@settings(max_examples=examples(300))
@given(cases(), requirements())
def test_of_all_prunings_none_keeps_more(case, satisfied):
    tree, taxonomies = case
    given_tree = prunable(tree, satisfied, taxonomies)
    best = max(every_pruning(given_tree, taxonomies), default=None)
    assert worth(given_tree, prune_optimally(given_tree, *kept_right(given_tree))) == best


@given(cases(), requirements())
def test_what_apt_finds_is_never_better(case, satisfied):
    tree, taxonomies = case
    given_tree = prunable(tree, satisfied, taxonomies)
    greedy = worth(given_tree, prune(given_tree))
    best = worth(given_tree, prune_optimally(given_tree, *kept_right(given_tree)))
    assert greedy is None or greedy <= best


def is_diverse(row):
    falling = np.sort(row)[::-1]
    return falling[0] < 3 * falling[1:].sum()


def is_effectively_two(row):
    shares = row[row > 0] / row.sum()
    return -(shares * np.log(shares)).sum() >= np.log(2)


@pytest.mark.parametrize(
    "meets",
    [
        lambda row: row.sum() >= 9,
        lambda row: row.max() <= 0.7 * row.sum(),
        lambda row: (row > 0).sum() >= 2,
        is_diverse,
        is_effectively_two,
    ],
)
@given(tree=trees)
def test_what_mixing_cannot_break_apt_meets_at_the_least_cost_where_whole_splits_merge(meets, tree):
    given_tree = prunable(tree, meets)
    greedy, best = prune(given_tree), prune_optimally(given_tree, *kept_right(given_tree))
    assert worth(given_tree, greedy) == worth(given_tree, best)


def test_the_better_neighbour_is_chosen_where_apt_takes_the_smaller():
    # The lone b joins the five a of its left, which it has to; APT gives it to the smaller group of b, at the right.
    tree = numeric(deep_tree([[7, 0, 0], [1, 0, 0], [0, 6, 0]], CLASSES))
    given_tree = prunable(tree, lambda row: row.sum() >= 2)
    best = prune_optimally(given_tree, *kept_right(given_tree))
    assert [leaf.class_counts for leaf in best.tree.leaves] == [(8, 0, 0), (0, 6, 0)]
    assert worth(given_tree, prune(given_tree)) < worth(given_tree, best)


def test_a_requirement_larger_than_the_table_leaves_no_tree():
    given_tree = prunable(deep_tree([[3, 1, 0], [1, 3, 0]], CLASSES), lambda row: row.sum() >= 9)
    assert prune_optimally(given_tree, *kept_right(given_tree)) is None


@pytest.mark.parametrize(("k", "leaves"), [(5, None), (4, 2)])
def test_an_only_child_is_no_second_leaf(k, leaves):
    tree = deep_tree([[[3, 1, 0], [1, 3, 0]]], CLASSES)
    given_tree = prunable(tree, lambda row: row.sum() >= k)
    result = prune_optimally(given_tree, *kept_right(given_tree))
    assert (None if result is None else len(result.tree.leaves)) == leaves


def test_a_lone_root_is_no_tree():
    tree = Tree((Node(0, "0", None, (), Always(), "a", 9.0, (9.0, 0.0, 0.0)),), (), "y", CLASSES)
    given_tree = prunable(tree, lambda row: True)
    assert prune_optimally(given_tree, *kept_right(given_tree)) is None


@pytest.mark.parametrize("algorithm", [prune, lambda p: prune_optimally(p, *kept_right(p))])
def test_a_wide_tree_is_pruned_whole(algorithm):
    spec = [5, 5, 1]
    for width in (10, 10, 4):
        spec = [spec] * width
    given_tree = prunable(numeric(deep_tree(spec, CLASSES)), lambda row: row.sum() >= 22)
    result = algorithm(given_tree)
    assert len(result.tree.leaves) == 200
    assert {leaf.records for leaf in result.tree.leaves} == {22.0}


@given(cases(), requirements(), st.booleans())
def test_records_go_where_the_map_says_and_every_leaf_meets_the_requirement(
    case, satisfied, greedy
):
    tree, taxonomies = case
    given_tree = prunable(tree, satisfied, taxonomies)
    pruned = prune(given_tree) if greedy else prune_optimally(given_tree, *kept_right(given_tree))
    if pruned is None:
        return
    stops = route(pruned.tree, one_record_per_leaf(tree))
    assert stops.tolist() == [pruned.node_map[leaf.index] for leaf in tree.leaves]
    rows = [np.array(leaf.class_counts) for leaf in pruned.tree.leaves]
    assert all(satisfied(row) for row in rows if row.any())


def one_record_per_leaf(tree):
    columns = {}
    for feature in tree.features:
        values = np.zeros(len(tree.leaves))
        for row, leaf in enumerate(tree.leaves):
            tests = [node.test for node in tree.path(leaf.index)[1:]]
            here = [test for test in tests if test.feature == feature.name]
            if here and feature.numeric:
                values[row] = here[0].high if np.isfinite(here[0].high) else here[0].low + 1
            elif here:
                values[row] = feature.values.index(here[0].values[0])
        columns[feature.name] = (
            NumericColumn(values)
            if feature.numeric
            else CategoricalColumn(codes=values.astype(np.int64), categories=feature.values)
        )
    return columns
