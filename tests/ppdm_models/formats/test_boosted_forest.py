"""The nodes of many trees are put in order together, each parent before its children, the first child first."""

import numpy as np
import pytest

from tests.kit.rows import rows
from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.boosted import LEAF, shape_of


def shaped(*trees):
    """Return the shape of trees, each a list of its nodes' pairs of children; None is a leaf."""
    pairs = [pair or (LEAF, LEAF) for tree in trees for pair in tree]
    starts = np.cumsum([0, *map(len, trees)])
    firsts, seconds = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    return shape_of(firsts, seconds, starts, lambda tree: f"tree {tree}")


def by_hand(tree):
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(reversed(tree[node] or ()))
    return order


def grown(seed, splits):
    """Return a random binary tree whose nodes are numbered in the order in which they were split."""
    draw = np.random.default_rng(seed)
    tree = [None]
    for _ in range(splits):
        leaves = [node for node, children in enumerate(tree) if children is None]
        tree[draw.choice(leaves)] = (len(tree), len(tree) + 1)
        tree += [None, None]
    return tree


@rows("seed", range(20))
def test_the_order_is_the_one_of_a_walk_by_hand(seed):
    trees = [grown(seed + each, each) for each in (0, 3, 12)]
    shape = shaped(*trees)
    for tree, start, end in zip(trees, shape.starts, shape.starts[1:], strict=False):
        order = by_hand(tree)
        assert shape.numbers[start:end].tolist() == order
        parents = [LEAF if above < 0 else above - start for above in shape.parents[start:end]]
        for child, parent in enumerate(parents[1:], 1):
            pair = tree[order[parent]]
            assert order[child] == pair[int(shape.second[start + child])]


def test_nodes_that_no_root_reaches_are_left_out():
    shape = shaped([None, (0, 2), None], [(1, 3), None, None, None])
    assert shape.rows.tolist() == [0, 3, 4, 6]
    assert shape.starts.tolist() == [0, 1, 4]


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        ([(1, 2), (2, 3), None, None], "a node has two parents"),
        ([(1, 1), None], "a node has two parents"),
        ([(1, 2), (3, 2), None, None], "a node has two parents"),
        ([(1, 2), None, (1, 2)], "a node has two parents"),
        ([(0, 1), None], "node 0 has a child that does not exist"),
        ([(1, 2), (3, 9), None, None], "node 1 has a child that does not exist"),
        ([(1, -2), None], "node 0 has a child that does not exist"),
    ],
)
def test_what_is_no_tree_is_refused_by_its_name(tree, problem):
    with pytest.raises(TreeFormatError, match=f"tree 1: {problem}"):
        shaped([None], tree, [None])


def test_a_tree_nests_as_deep_as_the_limit_and_no_deeper():
    def comb(depth):
        splits = [(2 * level + 1, 2 * level + 2) for level in range(depth)]
        return [splits[0], *(node for split in splits[1:] for node in (None, split)), None, None]

    assert len(shaped(comb(limits.DEPTH)).rows) == 2 * limits.DEPTH + 1
    with pytest.raises(TreeFormatError, match="nest more than 200 deep"):
        shaped(comb(limits.DEPTH + 1))
