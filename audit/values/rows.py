"""What leaves say of the sums of their people's numbers, as rows over cells of people that no leaf tells apart.

All numbers are counted from the least of the range on, in units: whole where the table's values lie on a grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from audit.inverters import ValueSums
from audit.joint.cells import Cells
from audit.people.numbers import Numbers
from ppdm_models.arrays import BoolArray, FloatArray, IndexArray

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


def scale_of(numbers: Numbers) -> Scale:
    """Return how the numbers of a table are counted."""
    span = numbers.high - numbers.low
    if numbers.step:
        return Scale(numbers.low, numbers.step, float(round(span / numbers.step)), is_whole=True)
    return Scale(numbers.low, span / UNITS, float(UNITS), is_whole=False)


@dataclass(frozen=True, slots=True, eq=False)
class ValueRows:
    """Rows over cells: in every table that fits, ``low <= sum of x over a row's cells <= high``, in units.

    ``place`` (T, C) says which row each cell is in, once per tree: the rows of a tree part the cells. ``low`` and
    ``high`` (R,) are proved. Cells have ``sizes`` people (C,), each of whom has a number between ``least`` and ``most``
    (C,), both from 0 to the scale's most.
    """

    place: IndexArray
    low: FloatArray
    high: FloatArray
    sizes: FloatArray
    least: FloatArray
    most: FloatArray
    scale: Scale

    def sums(self, x: FloatArray) -> FloatArray:
        """Return the sum over each row, (R,)."""
        found = np.zeros(len(self.low))
        for rows in self.place:
            found += np.bincount(rows, x, len(found))
        return found

    def are_broken_by(self, x: FloatArray) -> BoolArray:
        """Return which rows numbers of cells (C,) do not fulfil, (R,)."""
        total = self.sums(x)
        return np.asarray((total < self.low) | (total > self.high))


def rows_of(
    sums: ValueSums, stops: IndexArray, cells: Cells, scale: Scale, largest: float
) -> ValueRows:
    """Return what leaves say, of profiles that stop at ``stops`` (T, P); no number is larger than ``largest``."""
    sizes = cells.sizes.astype(np.float64)
    trees, first = np.unique(sums.trees, return_index=True)
    ends = np.append(first[1:], len(sums.trees))
    place = np.empty((len(trees), len(sizes)), dtype=np.intp)
    for index, (tree, start, end) in enumerate(zip(trees, first, ends, strict=True)):
        place[index] = start + np.searchsorted(sums.nodes[start:end], stops[tree][cells.first])
    people = np.zeros(len(sums.low))
    for rows in place:
        people += np.bincount(rows, sizes, len(people))
    room = ROUNDING * (people * largest)
    low, high = (scale.to_units(each, people) for each in (sums.low - room, sums.high + room))
    low, high = scale.inward(
        *(np.clip(end, -1.0, people * scale.most + 1.0) for end in (low, high))
    )
    return ValueRows(place, low, high, sizes, *_of_one(sums, cells, scale, largest), scale)


def _of_one(
    sums: ValueSums, cells: Cells, scale: Scale, largest: float
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
