"""What leaf values say of a leaf's people if only some of them, nobody knows who, were drawn for its tree.

Of m people k were drawn. Whatever is added up over those drawn lies between the sum of the k smallest and that of the k
largest. So the labels of the drawn lie between whole numbers a and b, and the labels of all between a and b + m - k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.inverters import GrownCase
from treewarden.audit.inverters._bounds import TINY, Bounds
from treewarden.audit.inverters._rounds import Gathered, Leafs
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray

NOT_FROM_HERE = (
    "no sample of this table's people gives its numbers: the model was grown on another table, with weights or with "
    "settings that are not published"
)
NO_COUNTS = (
    "each tree saw a sample of the records, and the file withholds how many of them reached a leaf or their sums of "
    "second derivatives, so nothing shows that the table is that of the training"
)


@dataclass(frozen=True, slots=True, eq=False)
class Extremes:
    """The least and the greatest sum over k of the people of each leaf, for every k: ``of(leaf)[...][k]``.

    ``low`` and ``high`` have the sums of all leaves one after the other, from ``starts[leaf]`` on.
    """

    low: FloatArray
    high: FloatArray
    starts: IndexArray

    def at(self, drawn: FloatArray) -> Bounds:
        """Return the sums over so many people of each leaf, (L,)."""
        places = self.starts[:-1] + drawn.astype(np.intp)
        return Bounds(self.low[places], self.high[places])

    def of(self, leaf: int) -> Bounds:
        """Return the sums over 0, 1, 2 and so on people of one leaf."""
        part = slice(self.starts[leaf], self.starts[leaf + 1])
        return Bounds(self.low[part], self.high[part])


def extremes(case: GrownCase, leaves: Leafs, numbers: Bounds) -> Extremes:
    """Return the extremes of the sums of what each person of a profile adds, (P,)."""
    people = np.rint(case.people).astype(np.intp)
    place = np.repeat(leaves.place, people)
    low = _partial(place, np.repeat(numbers.low, people), len(leaves.nodes))
    high = -_partial(place, -np.repeat(numbers.high, people), len(leaves.nodes))
    sizes = np.bincount(place, minlength=len(leaves.nodes)) + 1
    room = TINY * len(place) * (np.abs(low) + np.abs(high) + 1.0)
    return Extremes(low - room, high + room, np.concatenate(([0], np.cumsum(sizes))))


def _partial(place: IndexArray, numbers: FloatArray, leaves: int) -> FloatArray:
    """Return the sums of the 0, 1, 2 and so on smallest numbers of each leaf, leaf by leaf."""
    order = np.lexsort((numbers, place))
    parts = np.split(numbers[order], np.cumsum(np.bincount(place, minlength=leaves))[:-1])
    return np.concatenate([np.concatenate(([0.0], np.cumsum(part))) for part in parts])


def is_from_sample(leaves: Leafs, drawn: FloatArray) -> bool:
    """Whether no leaf drew more people than it has, or nobody."""
    is_whole = (drawn == np.rint(drawn)) & (drawn >= 1)
    return bool((is_whole & (drawn <= leaves.members)).all())


def add_sampled(
    gathered: Gathered, leaves: Leafs, output: int, sums: Bounds, drawn: FloatArray
) -> Undetermined | None:
    """Take the sums over the drawn people of a tree's leaves; return why they cannot be had."""
    low = np.maximum(np.ceil(sums.low), 0.0)
    high = np.minimum(np.floor(sums.high), drawn)
    if (low > high).any():
        return Undetermined(NOT_FROM_HERE)
    missing = leaves.members - drawn
    gathered.parts.append(
        (leaves, output, Bounds(low, high + missing), sums.high - sums.low + missing)
    )
    return None
