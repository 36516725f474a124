"""ID3, and whether it grows a given tree."""

from dataclasses import replace

import numpy as np
import pytest

from treewarden.ppdm_models.learn.growers import grow_id3, grows_id3
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.tree import Criterion, rebuilt


def drawn(seed):
    """Return the columns of 60 profiles, and the records of each in two classes."""
    draw = np.random.default_rng(seed)
    columns = {
        name: CategoricalColumn(draw.integers(0, size, 60), tuple("abcd"[:size]))
        for name, size in (("x", 2), ("y", 3), ("z", 4))
    }
    return columns, draw.integers(0, 4, (60, 2)).astype(float)


def grown(seed, **settings):
    columns, masses = drawn(seed)
    return grow_id3(columns, masses, ("no", "yes"), **settings)


@pytest.mark.parametrize("criterion", [Criterion.GINI, Criterion.ENTROPY])
@pytest.mark.parametrize("least", [2.0, 20.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_tree_that_it_grew_is_grown_again(seed, criterion, least):
    tree = grown(seed, criterion=criterion, min_records=least)
    assert grows_id3(tree, *drawn(seed), criterion=criterion, min_records=least)


def test_the_order_of_branches_does_not_matter():
    tree = grown(1)
    turned = [replace(node, children=node.children[::-1]) for node in tree.nodes]
    assert grows_id3(replace(tree, nodes=tuple(turned)), *drawn(1))


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_with_a_split_less_is_not_grown(seed):
    tree = grown(seed)
    last = max(node.index for node in tree.nodes if not node.is_leaf)
    cut = [replace(node, children=()) if node.index == last else node for node in tree.nodes]
    assert not grows_id3(rebuilt(tree, cut), *drawn(seed))


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_with_a_split_more_is_not_grown(seed):
    assert not grows_id3(grown(seed), *drawn(seed), min_records=30.0)


def test_a_tree_of_another_table_is_not_grown():
    assert not grows_id3(grown(1), *drawn(2))


def test_a_table_with_a_number_or_a_missing_value_grows_none():
    columns, masses = drawn(1)
    tree = grown(1)
    numbers = {**columns, "x": NumericColumn(columns["x"].codes.astype(float))}
    lacking = {**columns, "x": replace(columns["x"], codes=np.full(60, -1))}
    assert not grows_id3(tree, numbers, masses)
    assert not grows_id3(tree, lacking, masses)


def test_whoever_is_out_of_time_is_asked_at_each_node():
    asked = []
    tree = grown(1)
    assert grows_id3(tree, *drawn(1), check=lambda: asked.append(1))
    assert len(asked) == len(tree.nodes)


@pytest.mark.parametrize("seed", range(20))
def test_a_table_that_differs_in_a_profile_is_grown_on_where_looking_at_its_nodes_alone_says_so(
    seed,
):
    tree, (columns, masses) = grown(seed), drawn(seed)
    profile = np.random.default_rng(seed).integers(60)
    other = masses.copy()
    other[profile] = other[profile, ::-1]
    changed, asked = (other != masses).any(axis=1), []
    told = grows_id3(tree, columns, other, changed=changed, check=lambda: asked.append(1))
    assert told == grows_id3(tree, columns, other)
    assert len(asked) < len(tree.nodes)


def test_a_table_that_differs_nowhere_is_not_looked_at():
    asked = []
    nowhere = np.zeros(60, dtype=bool)
    assert grows_id3(grown(1), *drawn(1), changed=nowhere, check=lambda: asked.append(1))
    assert len(asked) == 1
