"""The start of a LightGBM model: no file states it, as it is part of the leaves of the first trees.

With ``boost_from_average`` the start is the log odds of the share of people with a class (of several classes, the
logarithm of the share), so only as many starts are possible as there are numbers of people. The one that makes the
first tree's sums add up to that number is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.inverters import GrownCase
from treewarden.audit.inverters._bounds import NumberBounds, exactly
from treewarden.audit.inverters._lightgbm_rates import LightgbmRates, either, printed
from treewarden.audit.inverters._rounds import (
    SINGLE,
    Leafs,
    differing,
    leaves_in,
    rounding,
    value_bounds,
    whole_between,
)
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.tree.ensemble import EnsembleGrowth

UNCLEAR = (
    "the file does not contain boost_from_average: whether its first trees start from the average"
)
NO_START = (
    "no class counts give the first tree's leaf values: the model was trained on another "
    "table, on a sample, with weights, or with unpublished settings"
)
WITHHELD_COUNTS = "the file does not count the records of the first tree's leaves"


def started_by_counts(
    case: GrownCase, rates: LightgbmRates
) -> tuple[NumberBounds, list[NumberBounds], FloatArray | None] | Undetermined:
    """Return what ``started`` does where nobody knows the people, by the numbers of records that leaves have.

    Who the people of a leaf are has no part in it: all have the same score before the first tree. The third are the
    weights of both classes, (2,), None where these are 1.
    """
    values = leaf_values(case)
    says = averaged(case, rates)
    if isinstance(says, Undetermined):
        return says
    weighing = ClassWeighing.of_growth(case.growth)
    times = np.ones(2)
    if weighing is not None:
        weights = _weights_in(case, rates, values, weighing, has_start=says[0])
        if isinstance(weights, Undetermined):
            return weights
        times = weights
    low, high = np.zeros(case.growth.outputs), np.zeros(case.growth.outputs)
    for tree, has_start in zip(case.growth.rounds[0], says, strict=True):
        if not has_start:
            continue
        counted = _by_leaves(case, tree)
        found = counted if counted is None else _start(counted, tree, values[tree], rates, weighing)
        if found is None or isinstance(found, Undetermined):
            return found or Undetermined(WITHHELD_COUNTS)
        output = case.growth.trees[tree].output
        low[output], high[output] = found.low[0], found.high[0]
        values[tree] = values[tree] - found
    return NumberBounds(low, high), values, None if (times == 1).all() else times


@dataclass(frozen=True, slots=True)
class ClassWeighing:
    """How records of two classes weigh: those of the second one ``second``, or both by how many they are.

    With ``is_unbalance`` the fewer records weigh as much together as the others (``second`` is None; LightGBM's
    ``src/objective/binary_objective.hpp``).
    """

    second: float | None

    @classmethod
    def of_growth(cls, growth: EnsembleGrowth) -> ClassWeighing | None:
        """Return what a file says of it; None where all records weigh the same."""
        if growth.fact("is_unbalance").value:
            return cls(None)
        weight = growth.fact("scale_pos_weight").value
        return None if weight in (None, 1.0) else cls(weight)

    def weights(self, counts: FloatArray, everybody: float) -> tuple[FloatArray, FloatArray]:
        """Return the weights of both classes where so many of all records have the second one, (C,) each."""
        ones = np.ones(len(counts))
        if self.second is not None:
            return ones, self.second * ones
        others = everybody - counts
        is_more = counts > others
        return np.where(is_more, counts / others, 1.0), np.where(is_more, 1.0, others / counts)


def _weights_in(
    case: GrownCase,
    rates: LightgbmRates,
    values: Sequence[NumberBounds],
    weighing: ClassWeighing,
    *,
    has_start: bool,
) -> FloatArray | Undetermined:
    """Return the weights of both classes, (2,); with weights by numbers of records the first tree tells these."""
    if weighing.second is not None:
        return np.array([1.0, weighing.second])
    tree = case.growth.rounds[0][0]
    counted = _by_leaves(case, tree)
    if counted is None:
        return Undetermined(WITHHELD_COUNTS)
    leaves = leaves_in(counted, tree, values[tree])
    count = _weighed_count(counted, leaves, rates, weighing, has_start=has_start)
    if isinstance(count, Undetermined):
        return count
    first, second = weighing.weights(np.array([count]), float(counted.people.sum()))
    return np.concatenate([first, second])


def _by_leaves(case: GrownCase, tree: int) -> GrownCase | None:
    """Return a case whose profiles are the leaves of one tree, with the records that the file counts there."""
    grown = case.growth.trees[tree]
    nodes = np.flatnonzero(grown.is_leaf)
    if grown.counts is None or np.isnan(grown.counts[nodes]).any():
        return None
    nodes = nodes[grown.counts[nodes] > 0]
    stops = np.tile(nodes, (len(case.trees), 1))
    return replace(case, stops=stops, people=grown.counts[nodes])


def started(
    case: GrownCase, rates: LightgbmRates
) -> tuple[NumberBounds, list[NumberBounds]] | Undetermined:
    """Return the start of each output, shape (K,), and the values of each tree's leaves without it."""
    values = leaf_values(case)
    says = averaged(case, rates)
    if isinstance(says, Undetermined):
        return says
    low, high = np.zeros(case.growth.outputs), np.zeros(case.growth.outputs)
    for tree, has_start in zip(case.growth.rounds[0], says, strict=True):
        if not has_start:
            continue
        found = _start(case, tree, values[tree], rates)
        if isinstance(found, Undetermined):
            return found
        output = case.growth.trees[tree].output
        low[output], high[output] = found.low[0], found.high[0]
        values[tree] = values[tree] - found
    return NumberBounds(low, high), values


def leaf_values(case: GrownCase) -> list[NumberBounds]:
    """Return what each leaf's value was before it was written; a pruned one has the few digits of an inner node."""
    number_bounds = []
    for bounds, tree in zip(value_bounds(case), case.growth.trees, strict=True):
        number_bounds.append(bounds.wider(printed(tree.values)))
    return number_bounds


def averaged(case: GrownCase, rates: LightgbmRates) -> Sequence[bool] | Undetermined:
    """Return whether the start stands in each of the first round's trees: such a tree says a rate of 1."""
    said = case.growth.fact("boost_from_average").value
    first = [case.growth.trees[tree] for tree in case.growth.rounds[0]]
    grown = [tree for tree in first if len(tree.values) > 1]
    if said is None and rates.shrinkage != 1.0:
        said = float(any(tree.rate != rates.shrinkage for tree in grown))
    if said is None:
        return Undetermined(UNCLEAR)
    return [
        bool(said) and (len(tree.values) == 1 or tree.rate == 1.0 or tree.rate is None)
        for tree in first
    ]


def beside_steps(case: GrownCase, rates: LightgbmRates) -> FloatArray | Undetermined:
    """Return what stands in all leaves of each tree beside its step, (T,): the start, in some of the first round."""
    found, values = np.zeros(len(case.growth.trees)), leaf_values(case)
    says = averaged(case, rates)
    if isinstance(says, Undetermined):
        return says
    for tree, has_start in zip(case.growth.rounds[0], says, strict=True):
        if not has_start:
            continue
        if len(case.growth.trees[tree].values) == 1:
            found[tree] = case.growth.trees[tree].values[0]
            continue
        count = _count(case, tree, values[tree], rates)
        if isinstance(count, Undetermined):
            return count
        found[tree] = rates.point(np.array([count / float(case.people.sum())]))[0]
    return found


def _start(
    case: GrownCase,
    tree: int,
    values: NumberBounds,
    rates: LightgbmRates,
    weighing: ClassWeighing | None = None,
) -> NumberBounds | Undetermined:
    """Return the start of one output, shape (1,)."""
    if len(case.growth.trees[tree].values) == 1:
        return leaves_in(case, tree, values).values
    if weighing is None:
        count = _count(case, tree, values, rates)
    else:
        count = _weighed_count(case, leaves_in(case, tree, values), rates, weighing)
    if isinstance(count, Undetermined):
        return count
    return rates.start(np.array([count / float(case.people.sum())]))


def _count(
    case: GrownCase, tree: int, values: NumberBounds, rates: LightgbmRates
) -> float | Undetermined:
    """Return how many people have the class whose share one output starts from."""
    leaves = leaves_in(case, tree, values)
    said = case.growth.trees[tree].counts
    problem = differing(case, leaves, said, exactly(leaves.people), "a number of records")
    if problem is not None:
        return problem
    counts = possible_counts(case, leaves, rates)
    everybody = float(case.people.sum())
    starts, shares = rates.start(counts / everybody), exactly(counts / everybody)
    hessians = rates.hessian(shares)
    low, high = np.zeros(len(counts)), np.zeros(len(counts))
    possible = np.ones(len(counts), dtype=np.bool_)
    ridges = rates.ridges(case, leaves)
    for place, people in enumerate(leaves.people.tolist()):
        here, most_people = np.array([place]), np.full(len(counts), people)
        value, number_bounds = leaves.values.at(here) - starts, hessians.times(people)
        labels = shares.times(people).wider(rounding(people, everybody))
        sums = either(
            *(labels + rates.step(value, number_bounds, ridge.at(here)) for ridge in ridges),
            people=most_people,
        )
        least, most = whole_between(sums, most_people)
        possible &= least <= most
        low, high = low + sums.low, high + sums.high
    possible &= (np.ceil(low) <= counts) & (counts <= np.floor(high + leaves.left_out))
    if possible.sum() != 1:
        return Undetermined(NO_START)
    return float(counts[possible][0])


def _weighed_count(
    case: GrownCase,
    leaves: Leafs,
    rates: LightgbmRates,
    weighing: ClassWeighing,
    *,
    has_start: bool = True,
) -> float | Undetermined:
    """Return how many people have the second class, where records of a class weigh more; the start knows no weight.

    Both sums of a leaf say how many of its people have the class: all of these add up to the number of the start.
    Without a start all have the score 0.
    """
    told = case.growth.trees[leaves.tree].hessians
    is_split = len(case.growth.trees[leaves.tree].values) > 1
    if told is None or np.isnan(told[leaves.nodes]).any() or rates.clip or rates.lasso.high[0]:
        return Undetermined(NO_START)
    everybody = float(case.people.sum())
    counts = np.arange(1.0, everybody if is_split else 1.0, dtype=np.float64)
    said = counts / everybody if has_start else np.full(len(counts), 0.5)
    starts, shares = rates.start(said), exactly(said)
    first, second = weighing.weights(counts, everybody)
    curves = rates.hessian(shares).wider(4 * SINGLE)
    weighed = exactly(second * (1 - shares.low) + first * shares.low).wider(8 * SINGLE)
    is_same, apart = first == second, np.where(first == second, 1.0, second - first)
    low, high = np.zeros(len(counts)), np.zeros(len(counts))
    possible = np.ones(len(counts), dtype=np.bool_)
    ridges = rates.ridges(case, leaves)
    for place, people in enumerate(leaves.people.tolist()):
        here, hessian = np.array([place]), told[leaves.nodes[place]]
        room = printed(np.array([hessian]))[0] + 8 * SINGLE * hessian + rounding(people, everybody)
        sums = exactly(np.array([hessian])).wider(room)
        added = sums.over(curves) - exactly(first * people)
        possible &= ~is_same | ((added.low <= 0) & (added.high >= 0))
        ends = added.low / apart, added.high / apart
        by_curves = NumberBounds(
            np.where(is_same, 0.0, np.minimum(*ends)), np.where(is_same, people, np.maximum(*ends))
        )
        value = leaves.values.at(here) - starts
        steps = [rates.step(value, sums, ridge.at(here)) for ridge in ridges]
        total = NumberBounds(
            np.minimum(*(step.low for step in steps)), np.maximum(*(step.high for step in steps))
        )
        largest = np.maximum(np.maximum(first, second), 1.0)
        total = total.wider(8 * SINGLE * people * largest + rounding(people, everybody))
        by_labels = (total + exactly(first * shares.low * people)).over(weighed)
        number = by_labels.both(by_curves)
        least, most = np.ceil(np.maximum(number.low, 0)), np.floor(np.minimum(number.high, people))
        possible &= least <= most
        low, high = low + least, high + most
    possible &= (low <= counts) & (counts <= high)
    return float(counts[possible][0]) if possible.sum() == 1 else Undetermined(NO_START)


def possible_counts(case: GrownCase, leaves: Leafs, rates: LightgbmRates) -> FloatArray:
    """Return which numbers of people with a class may be behind the start of a tree, shape (C,).

    The start lies between the values of its leaves, as steps from the average go both ways. Where sums of second
    derivatives are published, they say the number but for which of both classes is meant.
    """
    everybody = float(case.people.sum())
    counts = np.arange(1.0, everybody, dtype=np.float64)
    starts = rates.start(counts / everybody)
    is_between: BoolArray = (leaves.values.low.min() <= starts.high) & (
        starts.low <= leaves.values.high.max()
    )
    counts = counts[is_between]
    said = case.growth.trees[leaves.tree].hessians
    if said is None or np.isnan(said[leaves.nodes]).any():
        return counts
    told, number_bounds = said[leaves.nodes], rates.hessian(exactly(counts / everybody))
    number_bounds = number_bounds.times(float(leaves.people.sum()))
    room = printed(told).sum() + 4 * SINGLE * told.sum() + rounding(0.0, everybody)
    fits: BoolArray = (number_bounds.low - room <= told.sum()) & (
        told.sum() <= number_bounds.high + room
    )
    return counts[fits]
