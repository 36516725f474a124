"""The labels of leaves beside the people whom their mechanism saw there: what its probabilities are about."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.population.table_counts import Weights
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import Column, NumericColumn
from treewarden.ppdm_models.tree.node_columns import codes_of, is_inner
from treewarden.ppdm_models.tree.privacy_claim import PrivacyClaim, TreeRecords

WEIGHED = Undetermined(
    "rows have weights, and the mechanism counts each record once; give the table that the tree was trained on"
)
NOBODY = Undetermined("the table has no people")
NO_LABELS = Undetermined("some leaves name no class, so what was drawn there is not known")
NOT_IN_LEAVES = Undetermined("some people are in no leaf, so the counts of leaves are not known")
OTHER_CLASSES = Undetermined("its trees name their classes in different orders")
PARTS = Undetermined(
    "which records each tree saw is not known, so the counts of its leaves are not"
)


@dataclass(frozen=True, slots=True, eq=False)
class LeafLabels:
    """The leaves of all trees, and the people in them.

    ``labels`` (L,) are the classes that leaves name, ``counts`` (L, k) their people of each class; ``leaf_of_profile``
    (T, P) is the leaf of each profile in each tree; ``trees`` and ``nodes`` (L,) say which leaf it is.
    """

    labels: IndexArray
    counts: FloatArray
    leaf_of_profile: IndexArray
    trees: IndexArray
    nodes: IndexArray


def read_leaf_labels(
    forest: Forest, population: Population, claim: PrivacyClaim
) -> LeafLabels | Undetermined:
    """Return the labels of all leaves and the people in them, as the learner saw them; or why these are not known.

    Values beyond the bounds of the claim count as the bounds, as the learner clips them. Empty leaves have no people.
    """
    truth = population.truth
    if isinstance(truth, Undetermined):
        return truth
    if population.weights is not Weights.NONE or population.weight is not None:
        return WEIGHED
    if not population.counts.sum():
        return NOBODY
    if len(forest.trees) > 1 and claim.trees is not TreeRecords.ALL:
        return PARTS
    if any(tree.classes != forest.model.classes for tree in forest.trees):
        return OTHER_CLASSES
    stops = _clipped_stops(forest, population, claim)
    if (stops[:, population.counts > 0] < 0).any():
        return NOT_IN_LEAVES
    parts = []
    for number, (tree, stop) in enumerate(zip(forest.trees, stops, strict=True)):
        leaves = np.flatnonzero(~is_inner(tree))
        place = np.full(len(tree.nodes), -1, dtype=np.intp)
        place[leaves] = np.arange(len(leaves))
        labels = codes_of(tree)[leaves]
        here = np.where(stop >= 0, place[stop], -1)
        if (labels < 0).any():
            return NO_LABELS
        if (here[population.counts > 0] < 0).any():
            return NOT_IN_LEAVES
        counts = np.zeros((len(leaves), truth.shape[1]))
        np.add.at(counts, here[here >= 0], truth[here >= 0])
        parts.append((labels, counts, here, np.full(len(leaves), number, dtype=np.intp), leaves))
    starts = np.cumsum([0, *(len(part[0]) for part in parts[:-1])])
    return LeafLabels(
        labels=np.concatenate([part[0] for part in parts]),
        counts=np.concatenate([part[1] for part in parts]),
        leaf_of_profile=np.stack(
            [
                np.where(part[2] < 0, -1, part[2] + start)
                for part, start in zip(parts, starts, strict=True)
            ]
        ),
        trees=np.concatenate([part[3] for part in parts]),
        nodes=np.concatenate([part[4] for part in parts]),
    )


def _clipped_stops(forest: Forest, population: Population, claim: PrivacyClaim) -> IndexArray:
    """Return where each profile stops in each tree once its values are within the bounds, (T, P)."""
    clipped: dict[str, Column] = {}
    for name, low, high in claim.bounds:
        column = population.columns.get(name)
        if isinstance(column, NumericColumn):
            inside = np.clip(column.numbers, low, high)
            if not np.array_equal(inside, column.numbers, equal_nan=True):
                clipped[name] = replace(column, numbers=inside)
    if not clipped:
        return forest.stops
    columns = {**population.columns, **clipped}
    return np.stack([route(tree, columns) for tree in forest.trees])


def bounds_are_extremes(population: Population, claim: PrivacyClaim) -> bool:
    """Return whether the bounds are the ends of every column of the table that has more than two values.

    So they are where the learner took them from the table, and may be by chance where somebody knew them before.
    """
    told = False
    for name, low, high in claim.bounds:
        column = population.columns.get(name)
        if not isinstance(column, NumericColumn):
            continue
        numbers = column.numbers[(population.counts > 0) & ~column.missing]
        if len(np.unique(numbers)) <= 2:
            continue
        told = True
        ends = np.array([numbers.min(), numbers.max()])
        is_end = (ends == (low, high)) | (
            ends.astype(np.float32) == np.array([low, high], dtype=np.float32)
        )
        if not is_end.all():
            return False
    return told
