"""Interval codes of records in one attribute, for any group of them: what a tree is grown on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from treewarden.ppdm_models.randomised.generating import Attribute
from treewarden.ppdm_models.randomised.intervals import Intervals, intervals
from treewarden.ppdm_models.randomised.noise import Classes, Hiding, Noise
from treewarden.ppdm_models.randomised.reconstructing import Kernel, dealt, places_of, settled
from treewarden.ppdm_models.randomised.splits import Codes

Numbers = NDArray[np.float64]
Coding = Callable[[Codes], Codes]
"""Given the rows of a group, in ascending order, the code of each."""
FEW = 16
"""A group with less than one in so many of all records is sorted on its own."""


def intervals_of(attribute: Attribute, hiding: Hiding | None, records: int) -> Intervals:
    """Return the intervals of an attribute for groups of so many records: classes are their own."""
    if isinstance(hiding, Classes):
        return Intervals(hiding.low, hiding.wide, hiding.count)
    return intervals(attribute.low, attribute.high, records, is_whole=attribute.is_whole)


def coding_of(values: Numbers, hiding: Hiding | None, own: Intervals, kind: Kernel) -> Coding:
    """Return how groups of records are coded: by their values, or by their ranks in what is reconstructed of the group.

    Values in clear and those replaced by their class say where they lie; none is missing.
    """
    if hiding is None or isinstance(hiding, Classes):
        known = own.numbers(values)
        return lambda rows: known[rows]
    return _of_ranks(values, hiding, own, kind)


def _of_ranks(values: Numbers, noise: Noise, own: Intervals, kind: Kernel) -> Coding:
    places, ranks = places_of(noise, own, kind), _ranks(values)
    place = places.numbers(values)

    def coded(rows: Codes) -> Codes:
        counts = np.bincount(place[rows], minlength=len(places.chances))
        shares = settled(places.chances, counts, own).shares
        return dealt(_places(ranks[rows], len(ranks)), shares)

    return coded


def _ranks(values: Numbers) -> Codes:
    """Return the place of each value among all; equal ones stay in the order of their rows."""
    order = np.argsort(values)
    ascending = values[order]
    if (ascending[1:] == ascending[:-1]).any():
        order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values))
    return ranks


def _places(ranks: Codes, of: int) -> Codes:
    """Return the place of each rank among some of so many."""
    if len(ranks) * FEW < of:
        places = np.empty(len(ranks), np.int64)
        places[np.argsort(ranks)] = np.arange(len(ranks))
        return places
    is_here = np.zeros(of, np.int32)
    is_here[ranks] = 1
    found: Codes = is_here.cumsum()[ranks] - 1
    return found
