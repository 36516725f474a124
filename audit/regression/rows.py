"""What leaves say of the sums of their people's numbers, as rows over cells of people that no leaf tells apart.

All numbers are counted from the least of the range on, in units: whole where the table's values lie on a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.inverters import ValueSums
from treewarden.audit.joint.cells import PeopleCells
from treewarden.audit.population.forest import Forest, sample_in_words
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import TargetNumbers
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.printed_numbers import DOUBLE, numbers_said, rounding
from treewarden.audit.regression.result import EXACT_SHARE
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble
from treewarden.ppdm_models.tree.tree import Quality, Tree

ROUNDING = 2.0**-48
"""Relative rounding of our own sums and products of doubles, with room to spare."""
DECIMALS = 10
"""Whole steps have at most nine decimals: a number that is a step away from another is told as it is written."""
UNITS = 2**24
"""Of a range whose values lie on no grid."""


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """How numbers are counted: ``(number - start) / unit``, from 0 to ``most``; whole ones, where ``is_whole``."""

    start: float
    unit: float
    most: float
    is_whole: bool

    def to_units(self, values: FloatArray, people: FloatArray) -> FloatArray:
        """Return sums over so many people in units."""
        return (values - people * self.start) / self.unit

    def back(self, units: FloatArray) -> FloatArray:
        """Return numbers of one person from units."""
        found = self.start + units * self.unit
        return np.round(found, DECIMALS) if self.is_whole else found

    def inward(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ends of whole numbers as whole numbers, where numbers are whole."""
        return (np.ceil(low), np.floor(high)) if self.is_whole else (low, high)


def scale_of(numbers: TargetNumbers) -> Scale:
    """Return how the numbers of a table are counted."""
    span = numbers.high - numbers.low
    if numbers.step:
        return Scale(numbers.low, numbers.step, float(round(span / numbers.step)), is_whole=True)
    return Scale(numbers.low, span / UNITS, float(UNITS), is_whole=False)


@dataclass(frozen=True, slots=True, eq=False)
class UnitRange:
    """The least and the greatest number of a table, in units; somebody in the cells that ``has`` (C,) has each."""

    has: BoolArray
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class ValueRows:
    """Rows over cells: in every table that fits, ``low <= sum of x over a row's cells <= high``, in units.

    ``place`` (T, C) says which row each cell is in, once per tree, whose rows part the cells; -1 stands for none, where
    a release does not hold a cell's people. ``low`` and ``high`` (R,) are proved. Cells have ``sizes`` people (C,), of
    whom each has a number between ``least`` and ``most`` (C,), both from 0 to the scale's most. Of each of the
    ``ranges`` somebody has the least number, and somebody the greatest. The first ``leaf_places`` of ``place`` are of
    leaves, or all of them; the others are of what is known from elsewhere.
    """

    place: IndexArray
    low: FloatArray
    high: FloatArray
    sizes: FloatArray
    least: FloatArray
    most: FloatArray
    scale: Scale
    ranges: tuple[UnitRange, ...] = ()
    leaf_places: int | None = None

    @property
    def of_leaves(self) -> ValueRows:
        """The rows without what is known from elsewhere, of which no cell is any more."""
        return replace(self, place=self.place[: self.leaf_places])

    @property
    def room(self) -> float:
        """What rounding may move a number by that is at an end of a range."""
        return 0.0 if self.scale.is_whole else 1e-6

    @property
    def are_exact(self) -> BoolArray:
        """Which rows tell their sum but for rounding, (R,)."""
        room = 0.0 if self.scale.is_whole else EXACT_SHARE * self.scale.most
        return np.asarray(self.high - self.low <= room * self.sums(self.sizes))

    def sums(self, x: FloatArray) -> FloatArray:
        """Return the sum over each row, (R,)."""
        found = np.zeros(len(self.low))
        for rows in self.place:
            there = rows >= 0
            found += np.bincount(rows[there], x[there], len(found))
        return found

    def are_broken_by(self, x: FloatArray) -> BoolArray:
        """Return which rows numbers of cells (C,) do not fulfil, (R,)."""
        total = self.sums(x)
        return np.asarray((total < self.low) | (total > self.high))


def rows_of(
    sums: ValueSums, stops: IndexArray, cells: PeopleCells, scale: Scale, largest: float
) -> ValueRows:
    """Return what leaves say, of profiles that stop at ``stops`` (T, P), -1 where a tree's release lacks them.

    No number is larger than ``largest``.
    """
    sizes = cells.sizes.astype(np.float64)
    trees, first = np.unique(sums.trees, return_index=True)
    ends = np.append(first[1:], len(sums.trees))
    place = np.empty((len(trees), len(sizes)), dtype=np.intp)
    for index, (tree, start, end) in enumerate(zip(trees, first, ends, strict=True)):
        stopped = stops[tree][cells.first]
        leaf = start + np.searchsorted(sums.nodes[start:end], stopped)
        place[index] = np.where(stopped < 0, -1, leaf)
    one = _of_one(sums, cells, scale, largest)
    rows = rows_between(
        place, sums.low, sums.high, sizes=sizes, one=one, scale=scale, largest=largest
    )
    return replace(rows, ranges=(UnitRange(np.ones(len(sizes), dtype=bool), 0.0, scale.most),))


def rows_between(
    place: IndexArray,
    low: FloatArray,
    high: FloatArray,
    sizes: FloatArray,
    one: tuple[FloatArray, FloatArray],
    scale: Scale,
    largest: float,
) -> ValueRows:
    """Return rows of sums that lie between ends (R,) in the target's unit; ``one`` are the ends of one person's."""
    rows = ValueRows(place, low, high, sizes, *one, scale)
    people = rows.sums(sizes)
    room = ROUNDING * (people * largest)
    low, high = (scale.to_units(each, people) for each in (low - room, high + room))
    low, high = scale.inward(
        *(np.clip(end, -1.0, people * scale.most + 1.0) for end in (low, high))
    )
    return replace(rows, low=low, high=high)


def together(parts: Sequence[ValueRows]) -> ValueRows:
    """Return the rows of all parts, which are over the same cells."""
    first = np.cumsum([0, *(len(part.low) for part in parts)])
    place = [
        np.where(part.place < 0, -1, part.place + start)
        for part, start in zip(parts, first[:-1], strict=True)
    ]
    return replace(
        parts[0],
        place=np.concatenate(place),
        low=np.concatenate([part.low for part in parts]),
        high=np.concatenate([part.high for part in parts]),
        least=np.maximum.reduce([part.least for part in parts]),
        most=np.minimum.reduce([part.most for part in parts]),
        ranges=tuple(unit_range for part in parts for unit_range in part.ranges),
    )


def _of_one(
    sums: ValueSums, cells: PeopleCells, scale: Scale, largest: float
) -> tuple[FloatArray, FloatArray]:
    """Return between which ends one person's number lies as published spreads say, by cell (C,)."""
    one, room = np.ones(len(cells.of)), ROUNDING * largest
    low, high = scale.inward(
        scale.to_units(sums.least - room, one), scale.to_units(sums.most + room, one)
    )
    least, most = np.zeros(len(cells.sizes)), np.full(len(cells.sizes), scale.most)
    np.maximum.at(least, cells.of, np.maximum(low, 0.0))
    np.minimum.at(most, cells.of, np.minimum(high, scale.most))
    return least, most


# Leaves that publish the mean of their people's numbers: times how many they are, it is their sum.
#
# Where the file also says how far they spread, no person is further from the mean than the standard deviation times
# the
# root of n - 1 (Samuelson 1968).

NOT_MEANS = Undetermined(
    "the file does not say how its trees were grown, and a leaf is no mean of its people's values"
)
STOPS_EARLY = Undetermined(
    "some records stop at an inner node, which says the mean of all who passed it"
)
NO_NUMBERS = Undetermined("some leaves say no number")
WEIGHTED = Undetermined(
    "its numbers are means of weighted records, which are not turned back, with --weights or without"
)


def mean_sums(forest: Forest, population: Population, largest: float) -> ValueSums | Undetermined:
    """Return what the leaves say of the sums of a target that is at most this large, either sign."""
    model = forest.model
    if isinstance(model, Ensemble) and model.combination is not Combination.AVERAGE:
        return NOT_MEANS
    if forest.draws or (isinstance(model, Ensemble) and model.sampling.resampled):
        return Undetermined(sample_in_words(model))
    if any(tree.quality is Quality.WEIGHTED for tree in forest.trees):
        return WEIGHTED
    size = len(population.counts)
    least, most = np.full(size, -np.inf), np.full(size, np.inf)
    parts = []
    for number, (tree, stops) in enumerate(zip(forest.trees, forest.stops, strict=True)):
        nodes, place = np.unique(stops, return_inverse=True)
        place = place.reshape(-1)
        people = np.bincount(place, population.counts, len(nodes)).astype(np.float64)
        there = [tree.nodes[node] for node in nodes.tolist()]
        if not all(node.is_leaf for node in there):
            return STOPS_EARLY
        if any(isinstance(node.score, str) or node.score is None for node in there):
            return NO_NUMBERS
        means = np.array([node.score for node in there], dtype=np.float64)
        room = rounding(numbers_said(tree))[nodes] + 4 * DOUBLE * population.records * largest
        parts.append((number, nodes, people * (means - room), people * (means + room)))
        low, high = _mean_of_one(tree, nodes, means, room, people, largest)
        least, most = np.maximum(least, low[place]), np.minimum(most, high[place])
    return ValueSums(
        np.concatenate([np.full(len(nodes), number) for number, nodes, *_ in parts]),
        np.concatenate([nodes for _, nodes, *_ in parts]),
        np.concatenate([low for *_, low, _ in parts]),
        np.concatenate([high for *_, high in parts]),
        least,
        most,
        # What else a file says of leaves (spreads, medians, extremes) is told by their people's values, not the sums.
        is_all=False,
        facts={},
    )


def _mean_of_one(
    tree: Tree,
    nodes: IndexArray,
    means: FloatArray,
    room: FloatArray,
    people: FloatArray,
    largest: float,
) -> tuple[FloatArray, FloatArray]:
    """Return between which ends one person of each leaf lies, as its published spread says."""
    spreads = [tree.nodes[node].figures.spread for node in nodes.tolist()]
    is_told = np.array([spread is not None for spread in spreads])
    highest = np.array([0.0 if spread is None else spread[1] for spread in spreads])
    # A spread is a difference of two means of squares, each of which rounds by the size of its terms.
    highest = highest + 8 * DOUBLE * (people + 8) * (2 * largest) ** 2
    widest = np.sqrt(highest * np.maximum(people - 1, 0)) * (1 + 2.0**-40) + room
    widest = np.where(is_told, widest, np.inf)
    return means - widest, means + widest
