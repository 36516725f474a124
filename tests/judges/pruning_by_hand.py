"""Trees to prune, and every pruning of a small one listed by the definition, for the algorithms to agree with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from treewarden.ppdm_models.pruning.merged import merged_leaves, summed
from treewarden.ppdm_models.pruning.prune import Prunable
from treewarden.ppdm_models.pruning.siblings import candidates
from treewarden.ppdm_models.tables.taxonomy import Categories, IntervalHierarchy
from treewarden.ppdm_models.tree.predicate import NumericTest
from treewarden.ppdm_models.tree.tree import Feature, Tree

Requirement = Callable[[np.ndarray], bool]


def stopping(tree: Tree) -> np.ndarray:
    """Return the class counts of the records that stop at each node: those of the leaves."""
    none = (0.0,) * len(tree.classes)
    return np.array([n.class_counts if n.is_leaf else none for n in tree.nodes])


def prunable(tree: Tree, satisfied: Requirement, taxonomies=None) -> Prunable:
    """Return a tree with what a requirement on class counts says of it; nobody is harmed where there are no records."""
    found, own = candidates(tree, taxonomies), stopping(tree)
    passing = found.totals(summed(tree, own))
    return Prunable(
        tree,
        found,
        np.array([not row.any() or satisfied(row) for row in own]),
        np.array([not row.any() or satisfied(row) for row in passing]),
        passing.sum(axis=1),
        merged_leaves(tree, found, passing),
    )


def kept_right(given: Prunable) -> tuple[np.ndarray, np.ndarray]:
    """Return how many records each candidate predicts right as a leaf, and those who stop at a split node (nobody)."""
    tree = given.tree
    passing = given.candidates.totals(summed(tree, stopping(tree)))
    labels = [tree.classes.index(leaf.score) for leaf in given.leaves]
    return passing[np.arange(len(labels)), labels], np.zeros(len(tree.nodes))


def numeric(tree: Tree) -> Tree:
    """Return the tree with each split on categories made one on numbers: branch i takes (i - 1, i], the ends open."""
    nodes = list(tree.nodes)
    for node in tree.nodes:
        last = len(node.children) - 1
        for place, child in enumerate(node.children):
            low = place - 1 if place else -np.inf
            test = NumericTest(
                nodes[child].test.feature,
                low,
                place if place < last else np.inf,
                high_closed=place < last,
            )
            nodes[child] = replace(nodes[child], test=test)
    features = tuple(Feature(feature.name, True) for feature in tree.features)
    return replace(tree, nodes=tuple(nodes), features=features)


def every_pruning(given: Prunable, taxonomies=None) -> list[tuple[float, int]]:
    """Return what each allowed pruning with two leaves or more keeps right, and how many leaves it has."""
    return [each for each in _parts(given, 0, taxonomies or {}) if each[1] > 1]


def _parts(given: Prunable, index: int, taxonomies) -> Iterator[tuple[float, int]]:
    node = given.tree.nodes[index]
    rows = _rows(given.tree, [index])
    if node.is_leaf:
        if given.stays[index]:
            yield float(rows[given.tree.classes.index(node.score)]), 1
        return
    if given.satisfied[index]:
        yield float(rows.max()), 1
    for blocks in _partitions(list(node.children)):
        if len(blocks) == 1 and len(blocks[0]) > 1:
            continue
        if all(_may_merge(given.tree, block, taxonomies) for block in blocks):
            ways = [list(_block(given, block, taxonomies)) for block in blocks]
            for way in product(*ways):
                yield sum(value for value, _ in way), sum(leaves for _, leaves in way)


def _block(given: Prunable, block: list[int], taxonomies) -> Iterator[tuple[float, int]]:
    if len(block) == 1:
        yield from _parts(given, block[0], taxonomies)
        return
    rows = _rows(given.tree, block)
    number = given.candidates.members.index(tuple(block))
    if given.satisfied[number]:
        yield float(rows.max()), 1


def _rows(tree: Tree, block: list[int]) -> np.ndarray:
    below = [node for index in block for node in tree.below(index) if node.is_leaf]
    return np.sum([node.class_counts for node in below], axis=0)


def _partitions(things: list[int]) -> Iterator[list[list[int]]]:
    if not things:
        yield []
        return
    first, *rest = things
    for smaller in _partitions(rest):
        yield [[first], *smaller]
        for i, block in enumerate(smaller):
            yield [*smaller[:i], [first, *block], *smaller[i + 1 :]]


def _may_merge(tree: Tree, block: list[int], taxonomies) -> bool:
    """Return whether siblings are all that lie under one value of a hierarchy, or a run of neighbours without one."""
    if len(block) == 1:
        return True
    siblings = tree.nodes[tree.nodes[block[0]].parent].children
    tests = [tree.nodes[child].test for child in siblings]
    taxonomy = taxonomies.get(tests[0].feature)
    places = [siblings.index(child) for child in block]
    if isinstance(tests[0], NumericTest) and taxonomy is None:
        return max(places) - min(places) == len(places) - 1
    if isinstance(taxonomy, IntervalHierarchy):
        wholes = [
            [i for i, test in enumerate(tests) if low <= test.low and test.high <= high]
            for cuts in taxonomy.cuts
            for low, high in zip([-np.inf, *cuts], [*cuts, np.inf], strict=True)
        ]
        return places in wholes
    if not isinstance(taxonomy, Categories):
        return False
    wholes = [
        [i for i, test in enumerate(tests) if taxonomy.paths[test.values[0]][level] == label]
        for level in range(1, taxonomy.height + 1)
        for label in {path[level] for path in taxonomy.paths.values()}
    ]
    return places in wholes
