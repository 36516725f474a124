"""How many of a leaf's people have a label, where each of them adds a number of his own to a sum that is known.

So many people, whoever they are, add at least the smallest of these numbers and at most the largest: what lies beyond
is no number of people.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.inverters._bounds import Bounds
from treewarden.audit.inverters._rounds import Leafs
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray

ROOM = 2.0**-40
"""Relative rounding of our own sums over all people."""


def numbers_that_add(
    leaves: Leafs, people: FloatArray, given: list[tuple[Bounds, Bounds]]
) -> Bounds:
    """Return the least and the greatest number of people, (L,), that add up to every sum; crossed where none does.

    ``given`` are pairs of what each profile's people add, one by one (P,), and of the sum over those with the label,
    (L,). ``people`` (P,) are how many each profile has.
    """
    size = leaves.people.astype(np.intp)
    of = np.repeat(np.arange(len(size)), size + 1)
    number = np.arange(len(of)) - np.repeat(np.cumsum(size + 1) - (size + 1), size + 1)
    may = np.ones(len(of), dtype=bool)
    for added, sums in given:
        may &= _may_add(leaves, people.astype(np.intp), added, sums, of)
    least, most = np.full(len(size), np.inf), np.full(len(size), -np.inf)
    np.minimum.at(least, of[may], number[may])
    np.maximum.at(most, of[may], number[may])
    return Bounds(least, most)


def _may_add(
    leaves: Leafs, people: IndexArray, added: Bounds, sums: Bounds, of: IndexArray
) -> BoolArray:
    """Return whether 0, 1, ... people of each leaf in turn may add up to its sum."""
    largest = np.maximum(np.abs(added.low), np.abs(added.high)).max(initial=0.0)
    room = ROOM * (1 + largest) * float(people.sum())
    smallest = _running(leaves.place, people, added.low)
    greatest = -_running(leaves.place, people, -added.high)
    return np.asarray((smallest - room <= sums.high[of]) & (greatest + room >= sums.low[of]))


def _running(place: IndexArray, people: IndexArray, added: FloatArray) -> FloatArray:
    """Return the sums of the 0, 1, ... smallest numbers of each leaf in turn."""
    order = np.lexsort((added, place))
    each, leaf = np.repeat(added[order], people[order]), np.repeat(place[order], people[order])
    size = np.bincount(leaf)
    first = np.cumsum(size) - size
    total = np.concatenate(([0.0], np.cumsum(each)))
    at = np.arange(len(each) + len(size)) - np.repeat(np.arange(len(size)), size + 1)
    return np.asarray(total[at] - np.repeat(total[first], size + 1))
