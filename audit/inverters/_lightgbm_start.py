"""What a LightGBM model starts from: no file says it, as it stands in the leaves of the first trees.

With ``boost_from_average`` the start is the log odds of the share of people with a class (of several classes, the
logarithm of the share), so only as many starts are possible as there are numbers of people. The one that makes the
first tree's sums add up to that number is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.audit.inverters import GrownCase
from treewarden.audit.inverters._bounds import Bounds, exactly
from treewarden.audit.inverters._lightgbm_rates import Rates, either, printed
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

UNCLEAR = (
    "the file does not tell whether its first trees start from the average (boost_from_average)"
)
NO_START = (
    "no number of people with a class gives the first tree's leaf values: the model was grown on another table, on a "
    "sample, with weights or with settings that are not published"
)


def started(case: GrownCase, rates: Rates) -> tuple[Bounds, list[Bounds]] | Undetermined:
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
    return Bounds(low, high), values


def leaf_values(case: GrownCase) -> list[Bounds]:
    """Return what each leaf's value was before it was written; a pruned one has the few digits of an inner node."""
    found = []
    for bounds, tree in zip(value_bounds(case), case.growth.trees, strict=True):
        found.append(bounds.wider(printed(tree.values)))
    return found


def averaged(case: GrownCase, rates: Rates) -> Sequence[bool] | Undetermined:
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


def beside_steps(case: GrownCase, rates: Rates) -> FloatArray | Undetermined:
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


def _start(case: GrownCase, tree: int, values: Bounds, rates: Rates) -> Bounds | Undetermined:
    """Return the start of one output, shape (1,)."""
    if len(case.growth.trees[tree].values) == 1:
        return leaves_in(case, tree, values).values
    count = _count(case, tree, values, rates)
    if isinstance(count, Undetermined):
        return count
    return rates.start(np.array([count / float(case.people.sum())]))


def _count(case: GrownCase, tree: int, values: Bounds, rates: Rates) -> float | Undetermined:
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
        value, own = leaves.values.at(here) - starts, hessians.times(people)
        labels = shares.times(people).wider(rounding(people, everybody))
        sums = either(
            *(labels + rates.step(value, own, ridge.at(here)) for ridge in ridges),
            people=most_people,
        )
        least, most = whole_between(sums, most_people)
        possible &= least <= most
        low, high = low + sums.low, high + sums.high
    possible &= (np.ceil(low) <= counts) & (counts <= np.floor(high + leaves.left_out))
    if possible.sum() != 1:
        return Undetermined(NO_START)
    return float(counts[possible][0])


def possible_counts(case: GrownCase, leaves: Leafs, rates: Rates) -> FloatArray:
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
    told, found = said[leaves.nodes], rates.hessian(exactly(counts / everybody))
    found = found.times(float(leaves.people.sum()))
    room = printed(told).sum() + 4 * SINGLE * told.sum() + rounding(0.0, everybody)
    fits: BoolArray = (found.low - room <= told.sum()) & (told.sum() <= found.high + room)
    return counts[fits]
