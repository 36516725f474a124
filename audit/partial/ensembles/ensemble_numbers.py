"""Between which ends a number lies that a model predicts, for an adversary who knows some columns: tree by tree.

In a leaf of n people whose numbers add up to S, one of them has at most what the others leave at their least, and at
least what they leave at their most. A person whose hidden columns allow several leaves of a tree lies between the ends
of all of these. Who can be where is known exactly where a tree publishes how many people its leaves have; elsewhere a
leaf has as many as can stop there at most.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from treewarden.audit.partial.ensembles.ensemble_view import (
    EnsembleView,
    ExchangeUnits,
    TreeStops,
    exchange_tables,
)
from treewarden.audit.partial.fitting.flows import Network, network
from treewarden.audit.partial.tree_context import are_sizes_published
from treewarden.audit.population.target import TargetNumbers
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.rows import ROUNDING, mean_sums
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.ensemble import Ensemble

WHOLE = 1e-6
"""By so much of a step an end may be off by rounding."""


def span_over(
    place: IndexArray, size: int, least: FloatArray, most: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest number at each place, (S,), of entries that are at places."""
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, place, least)
    np.maximum.at(high, place, most)
    return low, high


def reached_over(
    stops: Sequence[TreeStops],
    counts: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    is_of_fact: BoolArray,
) -> tuple[FloatArray, FloatArray]:
    """Return between which numbers exchanges take somebody of each profile, (P,), given the ends of each, (P,).

    Whom a fact is about, (P,), exchanges nothing.
    """
    size = len(counts)
    profile = np.arange(size)
    value = np.where(is_of_fact, profile + 1, 0)
    units = ExchangeUnits(counts, profile, value, np.full(size, -1, dtype=np.intp))
    tables = exchange_tables(stops, units.keeping(is_of_fact))
    of_column = span_over(tables.column_of_unit, len(tables.value_of_column), *ends)
    net = tables.net
    low, high = _ends_over(net, span_over(net.group_of, net.groups, *of_column))
    return low[tables.row_of_unit], high[tables.row_of_unit]


def _ends_over(net: Network, ends: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return the ends of each lump, (S,), given those of each group of leaves, (G,), over those that can hold it."""
    arcs = net.movable.tocoo()
    size = len(net.supply)
    return span_over(arcs.row, size, ends[0][arcs.col], ends[1][arcs.col])


def proved_ends(view: EnsembleView, numbers: TargetNumbers) -> tuple[FloatArray, FloatArray] | None:
    """Return between which ends the number of one person of each group lies, (G,), as each tree by itself proves.

    None where leaf values are no means, or means of people whom sampling weights count.
    """
    forest, population = view.forest, view.population
    if population.weight is not None:
        return None
    if isinstance(forest.model, Ensemble) and forest.model.growth is not None:
        return None
    largest = max(abs(numbers.low), abs(numbers.high))
    sums = mean_sums(forest, population, largest)
    if isinstance(sums, Undetermined):
        return None
    groups = len(view.people.counts)
    low, high = np.full(groups, numbers.low), np.full(groups, numbers.high)
    for place, stops in enumerate(view.stops):
        here = sums.trees == place
        people = np.bincount(stops.leaf_of_profile, population.counts)
        means = sums.low[here] / people, sums.high[here] / people
        ends = _ends_in_tree(view, place, stops, means, numbers)
        lump_of_group = np.zeros(groups, dtype=np.intp)
        lump_of_group[view.group_of_profile] = stops.lump_of_profile
        low = np.maximum(low, ends[0][lump_of_group])
        high = np.minimum(high, ends[1][lump_of_group])
    if not numbers.step:
        return low, high
    # All numbers are whole steps above the least one.
    least, most = ((end - numbers.low) / numbers.step for end in (low, high))
    least, most = np.ceil(least - WHOLE), np.floor(most + WHOLE)
    return numbers.low + least * numbers.step, numbers.low + most * numbers.step


def _ends_in_tree(
    view: EnsembleView,
    place: int,
    stops: TreeStops,
    means: tuple[FloatArray, FloatArray],
    numbers: TargetNumbers,
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of one person of each lump, (S,), as one tree's means leave them; ``means`` are their ends."""
    counts, tree = view.population.counts, view.forest.trees[place]
    shape = stops.can.shape
    lumps = np.bincount(stops.lump_of_profile, counts, shape[0])
    nodes = np.unique(view.forest.stops[place])
    is_sized = not view.forest.draws and are_sizes_published(tree, nodes)
    if is_sized:
        there = stops.lump_of_profile, stops.leaf_of_profile
        world = sparse.coo_array((counts, there), shape=shape).tocsr()
        net = network(stops.can, world)
        size = np.bincount(stops.leaf_of_profile, counts, shape[1])
    elif len(nodes) < len(tree.leaves):
        # Whoever does not know the sizes does not know either that nobody is in some leaf.
        return np.full(shape[0], numbers.low), np.full(shape[0], numbers.high)
    else:
        size = np.asarray(stops.can.T @ lumps)
    # One has what the sum leaves where the others have their least, or their most.
    room = ROUNDING * max(abs(numbers.low), abs(numbers.high)) * size
    most = np.minimum(numbers.high, size * means[1] - (size - 1) * numbers.low + room)
    least = np.maximum(numbers.low, size * means[0] - (size - 1) * numbers.high - room)
    if is_sized:
        return _ends_over(net, span_over(net.group_of, net.groups, least, most))
    arcs = stops.can.tocoo()
    return span_over(arcs.row, shape[0], least[arcs.col], most[arcs.col])
