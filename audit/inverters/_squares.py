"""Leaf values for the squared error, v = eta * (sum y - sum F) / (m + lambda) of m people, inverted into sums of y.

F is what the trees before said of each, y what is predicted (Friedman 2001, section 4.1; Chen & Guestrin 2016,
equation 5, with second derivatives of 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.inverters import GrownCase, ValueSums
from treewarden.audit.inverters._bounds import TINY, NumberBounds, exactly
from treewarden.audit.inverters._rounds import DOUBLE, SINGLE, Leafs, differing, rounds, unreached
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.ensemble import Fact, GrownTree

NO_SPLIT = "none of its trees has a split, so all people are in one leaf"

Step = Callable[[Leafs], NumberBounds]
"""Returns the sum of what is left over in each leaf, sum y - sum F, as its value says."""
Spread = Callable[[int, GrownTree], FloatArray | None]
"""Returns a number of each node of a tree, whose place among the trees stands before it; None where it has none."""


@dataclass(frozen=True, slots=True)
class Squares:
    """How leaf values were made. ``step`` turns them into what is left over in each leaf.

    ``single`` says that labels and what is left over were rounded to 32 bits, ``single_labels`` that only labels were;
    ``skips`` that the value of a tree without a split need be no step. ``spread`` returns the mean square of what is
    left over, about its mean, of each node of a tree, where the file says it. ``count`` steps led to each value.
    """

    step: Step
    single: bool = False
    single_labels: bool = False
    skips: bool = True
    spread: Spread | None = None
    count: int = 1


def square_sums(
    case: GrownCase,
    how: Squares,
    start: NumberBounds,
    values: Sequence[NumberBounds] | None,
    facts: dict[str, Fact],
    said: tuple[str, ...],
    largest: float,
) -> ValueSums | Undetermined:
    """Return the sums of the target over all leaves; no value of it is larger than ``largest``, either sign."""
    size, everybody = len(case.people), float(case.people.sum())
    least, most = np.full(size, -np.inf), np.full(size, np.inf)
    parts: list[tuple[Leafs, NumberBounds]] = []
    for scores, (leaves,) in rounds(case, start, values):
        tree = case.growth.trees[leaves.tree]
        problem = unreached(case, leaves) or _other_people(case, leaves, tree)
        if problem is not None:
            return problem
        if how.skips and len(tree.values) == 1:
            continue
        before = NumberBounds(scores.low[:, 0], scores.high[:, 0])
        far = np.maximum(np.abs(before.low), np.abs(before.high))
        far_sum = leaves.summed(exactly(far), case.people).high + leaves.people * largest
        number_bounds = how.step(leaves)
        room = 4 * (SINGLE if how.single else DOUBLE) * far_sum
        room += SINGLE * leaves.people * largest if how.single_labels else 0.0
        room += 4 * DOUBLE * everybody * far_sum * how.count
        parts.append((leaves, (leaves.summed(before, case.people) + number_bounds).wider(room)))
        spread = None if how.spread is None else how.spread(leaves.tree, tree)
        if spread is not None:
            reach = float(far.max(initial=0.0)) + largest
            low, high = _of_one(leaves, number_bounds, spread, reach, everybody)
            least = np.maximum(least, before.low + low - TINY * reach)
            most = np.minimum(most, before.high + high + TINY * reach)
    if not parts:
        return Undetermined(NO_SPLIT)
    return ValueSums(
        trees=np.concatenate([np.full(len(leaves.nodes), leaves.tree) for leaves, _ in parts]),
        nodes=np.concatenate([leaves.nodes for leaves, _ in parts]),
        low=np.concatenate([sums.low for _, sums in parts]),
        high=np.concatenate([sums.high for _, sums in parts]),
        least=least,
        most=most,
        is_all=not (how.spread is not None or case.growth.scored),
        facts=facts,
        said=said,
    )


def _other_people(case: GrownCase, leaves: Leafs, tree: GrownTree) -> Undetermined | None:
    """Return why the table is not that of the training, where counts or sums of second derivatives are others."""
    people = exactly(leaves.people).wider(4 * SINGLE * leaves.people)
    return differing(case, leaves, tree.counts, exactly(leaves.people), "a number of records") or (
        differing(case, leaves, tree.hessians, people, "a sum of second derivatives of")
    )


def _of_one(
    leaves: Leafs, left: NumberBounds, spread: FloatArray, reach: float, everybody: float
) -> tuple[FloatArray, FloatArray]:
    """Return between which ends what is left over of one person lies, by profile (P,).

    Of n numbers with mean m and standard deviation s none is further from m than s times the root of n - 1 (Samuelson
    1968). A mean square is computed as a difference of two means, each of which rounds by the size of its terms.
    """
    there = spread[leaves.nodes]
    is_told, there = ~np.isnan(there), np.maximum(np.nan_to_num(there), 0.0)
    room = 8 * DOUBLE * (everybody + 8) * reach**2
    widest = np.sqrt((there + room) * np.maximum(leaves.people - 1, 0)) * (1 + TINY)
    widest = np.where(is_told, widest, np.inf)
    mean = left.over(exactly(leaves.people))
    return (mean.low - widest)[leaves.place], (mean.high + widest)[leaves.place]


# How many of a leaf's people have a label, where each person adds a different number to a known sum.
#
# So many people, whoever they are, add at least the smallest of these numbers and at most the largest: what lies beyond
# is no number of people.

ROOM = 2.0**-40
"""Relative rounding of our own sums over all people."""


def numbers_that_add(
    leaves: Leafs, people: FloatArray, given: list[tuple[NumberBounds, NumberBounds]]
) -> NumberBounds:
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
    return NumberBounds(least, most)


def _may_add(
    leaves: Leafs, people: IndexArray, added: NumberBounds, sums: NumberBounds, of: IndexArray
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
