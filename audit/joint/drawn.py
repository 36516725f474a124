"""Leaves that count draws: each tree saw a sample of the records, and whoever was drawn twice counts twice.

Where it is known who was drawn, the counts are sums over people, each as often as drawn. Where it is not, a leaf that
drew a class holds somebody who has it, and nothing more is certain: one person may be behind all of its draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.inverters import LeafSums
from treewarden.audit.joint.units import Units
from treewarden.audit.people.forest import Forest
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tree.node_columns import class_counts_of, is_inner
from treewarden.ppdm_models.tree.tree import Tree

NOT_COUNTED = Undetermined(
    "the file does not say how its trees were grown, nor how many people of each class are in a leaf"
)
STOPS_EARLY = Undetermined("some records stop at an inner node, which counts all who passed it")
NOT_DRAWN = Undetermined("the draws of its leaves are not those of this table's records")
SMALLEST = 1e-6
"""Counts that files give as products of shares are off by less of what a leaf holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """The tree, the leaf and the class that is counted, with the least and the most, an entry each."""

    trees: IndexArray
    leaves: IndexArray
    outputs: IndexArray
    least: FloatArray
    most: FloatArray


def drawn_sums(forest: Forest, units: Units) -> LeafSums | Undetermined:
    """Return what the draws of all leaves say, of every class, or of the second one where there are two."""
    found: list[Ends] = []
    for number, (tree, stops) in enumerate(zip(forest.trees, units.stops, strict=True)):
        stopped = stops >= 0
        here = stops[stopped]
        nodes = np.flatnonzero(np.bincount(here, minlength=len(tree.nodes)))
        counts = counts_at(tree, nodes, forest.model.classes)
        if isinstance(counts, Undetermined):
            return counts
        weight = units.people if units.draws is None else units.draws[number].astype(np.float64)
        inside = np.bincount(here, weight[stopped], len(tree.nodes)).astype(np.float64)[nodes]
        if units.draws is None:
            low, high = _bounds(counts, inside)
        elif (counts.sum(axis=1) != inside).any() or _total(tree) != weight.sum():
            return NOT_DRAWN
        else:
            low, high = counts, counts
        if (low > high).any():
            return NOT_DRAWN
        found.append(ends_of(number, nodes, low, high))
    sums = sums_of(found)
    return replace(sums, is_complete=units.draws is not None)


def ends_of(tree: int, nodes: IndexArray, low: FloatArray, high: FloatArray) -> Ends:
    """Return the ends of the leaves of one tree, from those of each class, (L, m); of two classes the second's."""
    outputs = np.arange(low.shape[1])[1 if low.shape[1] == 2 else 0 :]
    return Ends(
        np.full(len(nodes) * len(outputs), tree, dtype=np.intp),
        np.repeat(nodes.astype(np.intp), len(outputs)),
        np.tile(outputs, len(nodes)),
        low[:, outputs].reshape(-1),
        high[:, outputs].reshape(-1),
    )


def sums_of(found: Sequence[Ends]) -> LeafSums:
    """Return the ends of leaves as sums."""
    trees, leaves, outputs, least, most = (
        np.concatenate([getattr(each, name) for each in found])
        for name in ("trees", "leaves", "outputs", "least", "most")
    )
    return LeafSums(
        trees,
        leaves,
        outputs,
        np.rint(least).astype(np.int64),
        np.rint(most).astype(np.int64),
        most - least,
        {},
    )


def counts_at(tree: Tree, nodes: IndexArray, classes: Sequence[str]) -> FloatArray | Undetermined:
    """Return what is counted of each class in some leaves, (L, m), or why that is not known of all."""
    if not tree.classes or not set(tree.classes) <= set(classes):
        return NOT_COUNTED
    counts = class_counts_of(tree, nodes)
    is_unknown = np.asarray(np.isnan(counts).any(axis=1))
    stops_early = is_inner(tree)[nodes]
    wrong = np.flatnonzero(is_unknown | stops_early)
    if len(wrong):
        return NOT_COUNTED if is_unknown[wrong[0]] else STOPS_EARLY
    found = np.zeros((len(nodes), len(classes)))
    found[:, [classes.index(name) for name in tree.classes]] = counts
    return found


def _total(tree: Tree) -> float:
    """Return the draws of all leaves, those that nobody reaches as well."""
    counts = class_counts_of(tree, np.flatnonzero(~is_inner(tree)))
    return float(sum(map(sum, np.nan_to_num(counts).tolist())))


def _bounds(counts: FloatArray, people: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how many people of each leaf have each class, (L, m), at least and at most: who was drawn has it."""
    is_there = counts > SMALLEST * np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    others = is_there.sum(axis=1, keepdims=True) - is_there
    return is_there.astype(np.float64), people[:, None] - others
