"""The best split of every node at once, against trying each split of each node."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.tiers import examples
from treewarden.ppdm_models.methods.randomised import growing
from treewarden.ppdm_models.methods.randomised.growing import NONE, best_splits


def by_hand(codes, sizes, classes, kinds):
    best, found = None, (NONE, NONE, NONE)
    for attribute, size in enumerate(sizes):
        pure = {}
        for code in range(size):
            goes_left = codes[attribute] <= code
            sides = [
                np.bincount(classes[side], minlength=kinds) for side in (goes_left, ~goes_left)
            ]
            if all(side.sum() for side in sides):
                left = int(goes_left.sum())
                pure.setdefault(left, (sum((s**2).sum() / s.sum() for s in sides), code))
        for worth, code in pure.values():
            if best is None or worth > best * (1 + 1e-9):
                best, found = worth, (attribute, code, len(pure))
    return found


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 8))
def test_it_is_the_purest_split_and_of_equal_ones_the_first(seed, kinds, nodes):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 9, 3)
    records = nodes + int(random.integers(0, 60))
    node = np.sort(np.concatenate([np.arange(nodes), random.integers(0, nodes, records - nodes)]))
    codes = np.stack([random.integers(0, size, records) for size in sizes])
    classes = random.integers(0, kinds, records)
    counts = np.bincount(node * kinds + classes, minlength=nodes * kinds).reshape(nodes, kinds)
    found = best_splits(codes, sizes, classes, node, counts)
    for each in range(nodes):
        here = node == each
        wanted = by_hand(codes[:, here], sizes, classes[here], kinds)
        assert (found.attribute[each], found.code[each], found.candidates[each]) == wanted


def test_nodes_taken_in_parts_are_split_as_all_at_once():
    random = np.random.default_rng(1)
    node, classes = np.sort(random.integers(0, 20_000, 90_000)), random.integers(0, 2, 90_000)
    node = np.unique(node, return_inverse=True)[1]
    nodes = int(node.max()) + 1
    codes, sizes = random.integers(0, 50, (2, 90_000)), np.array([50, 50])
    assert nodes * 50 * 2 > growing.MOST_BINS
    counts = np.bincount(node * 2 + classes, minlength=nodes * 2).reshape(nodes, 2)
    found = best_splits(codes, sizes, classes, node, counts)
    for each in random.integers(0, nodes, 30):
        here = node == each
        alone = best_splits(
            codes[:, here], sizes, classes[here], np.zeros(here.sum(), np.int64), counts[[each]]
        )
        assert found.attribute[each] == alone.attribute[0]
        assert found.code[each] == alone.code[0]
        assert found.candidates[each] == alone.candidates[0]
