"""Sampling weights as whole numbers of one unit: a leaf's weighted sums count each person that many times.

The adversary knows everybody's weight, like the QI values. Decimal weights are exact in one unit. Other weights are
rounded to one, and the ends of each row moved apart by the rounding, so that what the rows prove holds; an adversary
who adds up the weights as they are may know more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.facts.rows import MOST_UNITS, PRINTING_SHARE
from treewarden.audit.inverters import LeafSums
from treewarden.audit.joint.draws import ClassCountBounds, counts_at, ends_of, sums_of
from treewarden.audit.outputs.whole_row import units_of
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.population.table_counts import printed_half
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray, grouped
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.tree import Tree

ROUNDED_WEIGHTS = (
    "sums of sampling weights were compared up to rounding. An adversary who adds the "
    "weights as the training program did may learn more"
)
MOST_TOTAL = 2**50
"""The most units that all people may have together."""
UNIT_ROUNDING = 2.0**-50
"""Relative rounding of a sum that is brought to units, with room to spare."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightUnits:
    """What one person of each profile counts, ``units`` (P,), of which ``scale`` make a weight of 1.

    Without ``is_exact`` each weight may be half a unit off.
    """

    units: IntArray
    scale: float
    is_exact: bool

    def ends(
        self, low: FloatArray, high: FloatArray, people: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return ends of sums over so many people in whole units; what fulfilled the old ends fulfils these."""
        room = 0.0 if self.is_exact else 0.5 * people
        room = room + UNIT_ROUNDING * self.scale * np.maximum(np.abs(low), np.abs(high))
        return np.ceil(low * self.scale - room), np.floor(high * self.scale + room)


def weight_units(population: Population, most: int = MOST_TOTAL) -> WeightUnits | None:
    """Return sampling weights as whole numbers, None where there are none: as their shortest decimals say, if they can.

    They cannot where that unit is so fine that all people have more than ``most`` of it together.
    """
    weight = population.weight
    if weight is None:
        return None
    whole, scale = units_of(weight)
    total = sum(
        units * count for units, count in zip(whole, population.counts.tolist(), strict=True)
    )
    if max(total, scale) <= most:
        return WeightUnits(np.array(whole, dtype=np.int64), float(scale), is_exact=True)
    rounded = MOST_UNITS / float(weight.max())
    return WeightUnits(np.rint(weight * rounded).astype(np.int64), rounded, is_exact=False)


def weights_in_leaves(forest: Forest, population: Population) -> IntArray | None:
    """Return what each person counts in every leaf, (P,), in whole units; None where each counts once.

    That is so too where leaves count draws of a sample: a draw shows that somebody is there, and nothing more.
    """
    model = forest.model
    if isinstance(model, Ensemble) and model.sampling.resampled:
        return None
    weights = weight_units(population)
    return None if weights is None else weights.units


def weigh_leaves(
    forest: Forest, population: Population, weights: WeightUnits
) -> LeafSums | Undetermined:
    """Return what the leaves of all trees publish in units of weight, where all count every class."""
    found: list[ClassCountBounds] = []
    is_exact = weights.is_exact
    for number, (tree, stops) in enumerate(zip(forest.trees, forest.stops, strict=True)):
        ends = weighed_ends(tree, stops, population, weights, forest.model.classes)
        if isinstance(ends, Undetermined):
            return ends
        is_exact &= ends.is_exact
        nodes, place = np.unique(stops, return_inverse=True)
        leaf = _WeighedLeaves.from_places(place.reshape(-1), population, len(nodes))
        found.append(ends_of(number, nodes, *leaf.snapped(ends.low, ends.high, weights)))
    sums = sums_of(found)
    return sums if is_exact else replace(sums, is_complete=False, missing=ROUNDED_WEIGHTS)


@dataclass(frozen=True, slots=True, eq=False)
class WeighedEnds:
    """Between which ends the units of each class lie in each leaf of a tree, (L, m); without ``is_exact``, roughly."""

    low: FloatArray
    high: FloatArray
    is_exact: bool


def weighed_ends(
    tree: Tree,
    stops: IndexArray,
    population: Population,
    weights: WeightUnits,
    classes: Sequence[str],
) -> WeighedEnds | Undetermined:
    """Return what the leaves of one tree publish, in units of weight, of those that hold somebody: ``stops`` (P,)."""
    nodes, place = np.unique(stops, return_inverse=True)
    counts = counts_at(tree, nodes, classes)
    if isinstance(counts, Undetermined):
        return counts
    leaf = _WeighedLeaves.from_places(place.reshape(-1), population, len(nodes))
    room, is_known = leaf.rooms(tree, counts)
    low, high = weights.ends(counts - room, counts + room, leaf.people[:, None])
    is_exact = is_known & ((low == high) | (room > leaf.slack[:, None]))
    return WeighedEnds(np.maximum(low, 0.0), high, weights.is_exact and bool(is_exact.all()))


@dataclass(frozen=True, slots=True, eq=False)
class _WeighedLeaves:
    """The leaves of one tree: where each profile stops, (P,), the people of each, (L,), and what they weigh."""

    place: IntArray
    population: Population
    people: FloatArray
    size: FloatArray

    @classmethod
    def from_places(cls, place: IntArray, population: Population, leaves: int) -> _WeighedLeaves:
        people = np.bincount(place, population.counts, leaves).astype(np.float64)
        size = np.bincount(place, population.weighed_counts, leaves).astype(np.float64)
        return cls(place, population, people, size)

    @property
    def slack(self) -> FloatArray:
        """How far two sums of a leaf's weights can be apart by floating point alone, whatever their order, (L,)."""
        return np.asarray((self.people + 16.0) * 2.0**-52 * self.size)

    def rooms(self, tree: Tree, counts: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return how far each sum (L, m) may be off, and of which the adversary sees that it may be so far.

        Printing, and six digits, are allowed for only where the true table is known to need them.
        """
        half, slack = printed_half(tree), np.broadcast_to(self.slack[:, None], counts.shape)
        truth = self.population.weighed_truth
        if isinstance(truth, Undetermined):
            return half + slack, np.ones(counts.shape, dtype=bool)
        held = grouped(self.place, truth, len(counts))
        is_close = np.abs(held - counts) <= slack
        coarse = PRINTING_SHARE * np.broadcast_to(self.size[:, None], counts.shape)
        return np.where(is_close, slack, np.maximum(half, coarse)), is_close | (half >= coarse)

    def snapped(
        self, low: FloatArray, high: FloatArray, weights: WeightUnits
    ) -> tuple[FloatArray, FloatArray]:
        """Return ends (L, m) in units; what nobody's weight fits into is nobody."""
        units = weights.units.astype(np.float64)
        inside = np.bincount(self.place, self.population.counts * units, len(low))[:, None]
        least = np.full(len(low), np.inf)
        held = self.population.counts > 0
        np.minimum.at(least, self.place[held], units[held])
        low, high = np.clip(low, 0.0, inside), np.clip(high, 0.0, inside)
        low = np.where(inside - low < least[:, None], inside, low)
        return low, np.where(high < least[:, None], 0.0, high)
