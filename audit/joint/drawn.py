"""Leaves that count draws: each tree saw a sample of the records, and whoever was drawn twice counts twice.

Where it is known who was drawn, the counts are sums over people, each as often as drawn. Where it is not, a leaf that
drew a class holds somebody who has it, and nothing more is certain: one person may be behind all of its draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from audit.inverters import LeafSums
from audit.joint.units import Units
from audit.people.forest import Forest
from audit.reading import Undetermined
from ppdm_models.arrays import FloatArray
from ppdm_models.tree.tree import Tree

NOT_COUNTED = Undetermined(
    "the file does not say how its trees were grown, nor how many people of each class are in a leaf"
)
STOPS_EARLY = Undetermined("some records stop at an inner node, which counts all who passed it")
NOT_DRAWN = Undetermined("the draws of its leaves are not those of this table's records")
SMALLEST = 1e-6
"""Counts that files give as products of shares are off by less of what a leaf holds."""

Ends = tuple[int, int, int, float, float]
"""The tree, the leaf, the class that is counted, the least and the most."""


def drawn_sums(forest: Forest, units: Units) -> LeafSums | Undetermined:
    """Return what the draws of all leaves say, of every class, or of the second one where there are two."""
    found: list[Ends] = []
    for number, (tree, stops) in enumerate(zip(forest.trees, units.stops, strict=True)):
        nodes, place = np.unique(stops, return_inverse=True)
        counts = _counts(tree, nodes.tolist(), forest.model.classes)
        if isinstance(counts, Undetermined):
            return counts
        weight = units.people if units.draws is None else units.draws[number].astype(np.float64)
        inside = np.bincount(place.reshape(-1), weight, len(nodes)).astype(np.float64)
        if units.draws is None:
            ends = list(_bounds(counts, inside))
        elif (counts.sum(axis=1) != inside).any() or _total(tree) != weight.sum():
            return NOT_DRAWN
        else:
            ends = list(_exact(counts))
        if any(low > high for *_, low, high in ends):
            return NOT_DRAWN
        skipped = 0 if counts.shape[1] == 2 else -1
        found += [(number, int(nodes[row]), k, a, b) for row, k, a, b in ends if k != skipped]
    sums = sums_of(found)
    return replace(sums, is_complete=units.draws is not None)


def sums_of(found: Sequence[Ends]) -> LeafSums:
    """Return the ends of leaves as sums."""
    trees, leaves, outputs = (
        np.array(column, dtype=np.intp) for column in list(zip(*found, strict=True))[:3]
    )
    least = np.array([each[3] for each in found])
    most = np.array([each[4] for each in found])
    return LeafSums(
        trees,
        leaves,
        outputs,
        np.rint(least).astype(np.int64),
        np.rint(most).astype(np.int64),
        most - least,
        {},
    )


def _counts(tree: Tree, nodes: Sequence[int], classes: Sequence[str]) -> FloatArray | Undetermined:
    """Return the draws of each class in some leaves, (L, m)."""
    found = np.zeros((len(nodes), len(classes)))
    if not tree.classes or not set(tree.classes) <= set(classes):
        return NOT_COUNTED
    columns = [classes.index(name) for name in tree.classes]
    for row, index in enumerate(nodes):
        counts = tree.nodes[index].class_counts
        if counts is None or None in counts:
            return NOT_COUNTED
        if not tree.nodes[index].is_leaf:
            return STOPS_EARLY
        found[row, columns] = [float(count or 0.0) for count in counts]
    return found


def _total(tree: Tree) -> float:
    """Return the draws of all leaves, those that nobody reaches as well."""
    return float(
        sum(sum(count or 0.0 for count in leaf.class_counts or ()) for leaf in tree.leaves)
    )


def _exact(counts: FloatArray) -> Iterator[tuple[int, int, float, float]]:
    """Yield the row, the class and both ends of draws that are known."""
    for row, each in enumerate(counts.tolist()):
        for k, count in enumerate(each):
            yield row, k, count, count


def _bounds(counts: FloatArray, people: FloatArray) -> Iterator[tuple[int, int, float, float]]:
    """Yield the row, the class and both ends of how many people of a leaf have it: of each class drawn somebody has."""
    is_there = counts > SMALLEST * np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    others = is_there.sum(axis=1, keepdims=True) - is_there
    for row, size in enumerate(people.tolist()):
        for k in range(counts.shape[1]):
            yield row, k, float(is_there[row, k]), size - float(others[row, k])
