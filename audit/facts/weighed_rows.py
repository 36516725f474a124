"""Rows about what a file counts: people, or, where a survey weighs them, the sums of their weights.

Masses are people in any case. A weighed sum is a linear row over them; where everybody in it has one weight, it says
how many they are.
"""

from __future__ import annotations

import math

import numpy as np

from treewarden.audit.facts.rows import Case, LeafMass, Linear, Origin
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray

PRINTING_SHARE = 1e-6
"""How far a printed sum may be from the true one, as a share of the people it is about: six digits."""
MOST_UNITS = 10**6
"""The most units that a weight may be: squares of their sums must stay exact."""
ENDS = 1e-9
"""How far an end in people may be beyond the whole number that it is, by rounding."""


def unit(case: Case) -> str:
    """Return what the file's numbers count, in words."""
    return "records" if case.population.weight is None else "weighed records"


def rounding(case: Case, profiles: IndexArray) -> float:
    """Return how far two sums of these people's weights can be apart by floating point alone, whatever their order."""
    people = case.population
    terms = float(people.counts[profiles].sum()) + 16.0
    return terms * 2.0**-52 * weighed_size(case, profiles)


def weighed_size(case: Case, profiles: IndexArray) -> float:
    """Return what a file counts of some profiles: their people, or the sum of their weights."""
    people = case.population
    counts = people.counts[profiles]
    return float((counts if people.weight is None else counts * people.weight[profiles]).sum())


def weighed_masses(case: Case, profiles: IndexArray, truth: FloatArray) -> FloatArray:
    """Return what a file counts of each class (m,) among some profiles, by a table (P, m) of people."""
    weight, here = case.population.weight, truth.take(profiles, axis=0)
    return np.asarray((here if weight is None else here * weight[profiles, None]).sum(axis=0))


def class_row(
    case: Case,
    profiles: IndexArray,
    klass: int,
    ends: tuple[float, float],
    origin: Origin,
    half: float = 0.0,
) -> Linear:
    """Return that what the file counts of one class among some profiles lies between two ends.

    ``half`` is how far printing may have moved it. It, and six digits, are allowed for only where the true table is
    known to need them: the adversary sees how precise a number is.
    """
    classes = np.full(len(profiles), klass, dtype=np.intp)
    weight = case.population.weight
    if weight is None:
        return Linear(profiles, classes, np.ones(len(profiles)), *ends, origin)
    slack = rounding(case, profiles)
    low, high = _widened(case, profiles, klass, ends, (slack, half))
    return Linear(
        profiles=profiles,
        classes=classes,
        weights=weight[profiles],
        low=low,
        high=high,
        origin=origin,
        slack=slack,
    )


def leaf_row(
    case: Case,
    node: int,
    klass: int,
    ends: tuple[float, float],
    origin: Origin,
    half: float = 0.0,
) -> LeafMass | Linear:
    """Return the same of those who stop at a node, as a number of people where that is what it comes to."""
    if case.population.weight is None:
        return LeafMass(node, klass, *ends, origin)
    here = case.members.stops(node)
    common = common_weight(case, here)
    row = class_row(case, here, klass, ends, origin, half)
    if common is None:
        return row
    slack = rounding(case, here) + ENDS * common
    low = math.ceil((row.low - slack) / common)
    high = math.floor((row.high + slack) / common)
    if (
        low > high
    ):  # no number of people: the file does not speak of these, which the true table will show
        return LeafMass(node, klass, ends[0] / common, ends[1] / common, origin)
    return LeafMass(node, klass, float(low), float(high), origin)


def common_weight(case: Case, profiles: IndexArray) -> float | None:
    """Return the one weight that all these profiles have, 1 where there are none; None where theirs differ."""
    weight = case.population.weight
    if weight is None or not len(profiles):
        return 1.0
    here = weight[profiles]
    return float(here[0]) if (here == here[0]).all() else None


def whole_units(weight: FloatArray | None, profiles: IndexArray) -> IntArray | None:
    """Return the weights of some profiles as whole numbers of one unit; None where that would be too fine a unit.

    A weight is read as the shortest decimal that stands for it, as a survey's file prints it.
    """
    from treewarden.audit.outputs.whole_row import units_of  # of weights only

    assert weight is not None
    units, scale = units_of(weight[profiles])
    if scale > MOST_UNITS or max(units, default=0) > MOST_UNITS:
        return None
    return np.array(units, dtype=np.int64)


def lead_rows(
    case: Case, node: int, label: int, margin: float, origin: Origin
) -> tuple[Linear, ...]:
    """Return that a label leads every other class by weight among those who stop at a node."""
    here, weight = case.members.stops(node), case.population.weight
    assert weight is not None
    is_whole = bool((weight[here] == np.rint(weight[here])).all())
    # A lead of fractions may be as small as one likes.
    least = margin if is_whole or margin < 0 else 0.0
    size, slack = weighed_size(case, here), rounding(case, here)
    return tuple(
        Linear(
            profiles=np.concatenate([here, here]),
            classes=np.repeat(np.array([label, klass], dtype=np.intp), len(here)),
            weights=np.concatenate([weight[here], -weight[here]]),
            low=least,
            high=size,
            origin=origin,
            slack=slack,
        )
        for klass in range(len(case.tree.classes))
        if klass != label
    )


def _widened(
    case: Case,
    profiles: IndexArray,
    klass: int,
    ends: tuple[float, float],
    misses: tuple[float, float],
) -> tuple[float, float]:
    """Return the ends as they are where floating point alone (the first miss) explains the truth, else wider."""
    truth, weight = case.population.truth, case.population.weight
    slack, half = misses
    if isinstance(truth, Undetermined):
        return ends[0] - half, ends[1] + half
    true_counts = truth[profiles, klass]
    value = float((true_counts if weight is None else true_counts * weight[profiles]).sum())
    if ends[0] - slack <= value <= ends[1] + slack:
        return ends
    wider = max(half, PRINTING_SHARE * weighed_size(case, profiles))
    return ends[0] - wider, ends[1] + wider
