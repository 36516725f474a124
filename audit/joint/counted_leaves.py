"""Leaves that publish how many of their people have each class: nothing is to be inverted, only to be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from treewarden.audit.inverters import LeafSums
from treewarden.audit.joint.draws import (
    NOT_COUNTED,
    STOPS_EARLY,
    ClassCountBounds,
    by_profile,
    counts_at,
    drawn_sums,
    ends_of,
    sums_of,
)
from treewarden.audit.joint.sampling_weights import weigh_leaves, weight_units
from treewarden.audit.population.forest import Forest, sample_in_words
from treewarden.audit.population.population import Population
from treewarden.audit.population.table_counts import UNNAMED_WEIGHTS, has_unnamed_weights
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.tree import (
    Node,
    Tree,
    completed,
    count_of,
)

MORE_ABOVE = (
    "counts of some leaves are withheld, and those above them, which may tell these, are not used of "
    "several trees"
)


def counted_sums(forest: Forest, population: Population) -> LeafSums | Undetermined:
    """Return what the leaves of all trees publish, of every class, or of the second one where there are two.

    A count that is withheld lies between nothing and what the others leave of the leaf. Draws of a random sample count
    nobody, but show who must be there.
    """
    if isinstance(forest.model, Ensemble) and forest.model.sampling.resampled:
        return drawn_sums(forest, by_profile(forest.stops, population))
    if forest.draws:
        return Undetermined(sample_in_words(forest.model))
    classes = forest.model.classes
    class_count_bounds: list[ClassCountBounds] = []
    if any(has_unnamed_weights(tree, population.weights) for tree in forest.trees):
        return Undetermined(UNNAMED_WEIGHTS)
    weights = weight_units(population)
    if weights is not None:
        return weigh_leaves(forest, population, weights)
    for number, (tree, stops) in enumerate(zip(forest.trees, forest.stops, strict=True)):
        if not tree.has_people or not set(tree.classes) <= set(classes):
            return NOT_COUNTED
        here = stops >= 0
        nodes = np.flatnonzero(np.bincount(stops[here], minlength=len(tree.nodes)))
        counts = counts_at(tree, nodes, classes)
        if not isinstance(counts, Undetermined):
            class_count_bounds.append(ends_of(number, nodes, counts, counts))
            continue
        people = np.bincount(stops[here], population.counts[here], len(tree.nodes))
        ends = np.zeros((2, len(nodes), len(classes)))
        for row, index in enumerate(nodes.tolist()):
            node = tree.nodes[index]
            if node.class_counts is None and node.bands is None:
                return NOT_COUNTED
            if not node.is_leaf:
                # Whoever stops there, for want of a value, is among others who passed: its counts are of all of them.
                return STOPS_EARLY
            for output, low, high in _ends(tree, node, float(people[index]), classes):
                ends[:, row, output] = low, high
        class_count_bounds.append(ends_of(number, nodes, *ends))
    sums = sums_of(class_count_bounds)
    is_open = bool((sums.low < sums.high).any())
    if is_open and any(_tells(node) for tree in forest.trees for node in tree.nodes):
        return replace(sums, is_complete=False, missing=MORE_ABOVE)
    return sums


def _tells(node: Node) -> bool:
    """Return whether an inner node says something of its people's classes."""
    told = (node.class_counts, node.bands, node.class_shares, node.impurity)
    return not node.is_leaf and any(each is not None for each in told)


def _ends(
    tree: Tree, node: Node, size: float, classes: Sequence[str]
) -> Iterator[tuple[int, float, float]]:
    """Yield each class that is counted with the least and the most people of it in a leaf."""
    told = node.class_counts or (None,) * len(tree.classes)
    counts = completed(told, size if node.records is None else count_of(node))
    known = sum(count for count in counts if count is not None)
    bands = node.bands or (None,) * len(tree.classes)
    for output, name in enumerate(classes):
        if len(classes) == 2 and output == 0:
            continue
        if name not in tree.classes:
            yield output, 0.0, 0.0
            continue
        code = tree.classes.index(name)
        count, band = counts[code], bands[code]
        if count is not None:
            yield output, count, count
        elif band is not None:
            yield output, max(np.ceil(band[0]), 0.0), min(np.floor(band[1]), size)
        else:
            yield output, 0.0, max(size - known, 0.0)
