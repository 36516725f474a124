"""The start and the rates of a LightGBM model, and the losses whose leaf values are inverted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.inverters import GrownCase
from treewarden.audit.inverters._bounds import NumberBounds, exactly, logistic, softmax, variance
from treewarden.audit.inverters._rounds import (
    DOUBLE,
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
from treewarden.ppdm_models.tree.ensemble import EnsembleGrowth, Fact, derived, stated_fact
from treewarden.ppdm_models.tree.predicate import CategoryTest

LOGISTIC, SOFTMAX = ("binary", "multiclassova"), ("multiclass",)
PRINTED = 6
"""How many digits of a setting LightGBM writes, and of the numbers of inner nodes."""
ROOM = 2.0**-48
"""How far the library's own probability, in 64 bits, may be off."""

NO_SETTINGS = (
    "the file does not contain the training settings (lambda_l1, lambda_l2, max_delta_step)"
)
NOT_LIMITED = "some leaf values are larger than max_delta_step allows"
NO_RATE = "the file does not contain its learning rate"
OTHER_RATE = "its leaf values do not agree with the learning rate in the file"


@dataclass(frozen=True, slots=True)
class LightgbmRates:
    """What shrinks leaf values, each of shape (1,): ``ridge`` is lambda_l2, ``lasso`` lambda_l1; ``clip`` 0 is none.

    Where a split lists categories, ``extra`` is added to the ridge. ``factor`` is that of second derivatives.
    """

    eta: NumberBounds
    ridge: NumberBounds
    extra: NumberBounds
    lasso: NumberBounds
    clip: float
    sigmoid: NumberBounds
    factor: float
    is_softmax: bool
    shrinkage: float
    facts: dict[str, Fact]

    def shares(self, scores: NumberBounds) -> NumberBounds:
        """Return the probabilities of the outputs."""
        if self.is_softmax:
            return softmax(scores, ROOM)
        return logistic(scores * self.sigmoid, ROOM)

    def start(self, shares: FloatArray) -> NumberBounds:
        """Return the scores that give such a share of the records a class."""
        logs = np.log(shares) if self.is_softmax else np.log(shares / (1 - shares))
        return exactly(logs).wider(8 * DOUBLE * (1 + np.abs(logs))).over(self.sigmoid)

    def point(self, shares: FloatArray) -> FloatArray:
        """Return these scores as numbers: one way to compute them, by which a start is found again."""
        logs = np.log(shares) if self.is_softmax else np.log(shares / (1 - shares))
        return np.asarray(logs / ((self.sigmoid.low[0] + self.sigmoid.high[0]) / 2))

    def hessian(self, shares: NumberBounds) -> NumberBounds:
        """Return the second derivatives of records, each of which is rounded to 32 bits."""
        number_bounds = variance(shares).times(self.factor) * self.sigmoid * self.sigmoid
        return number_bounds.wider(2 * SINGLE * number_bounds.high)

    def step(
        self, values: NumberBounds, hessians: NumberBounds, ridge: NumberBounds
    ) -> NumberBounds:
        """Return the labels less the probabilities, (v / eta) (H + lambda), moved away from 0 by lambda_l1."""
        number_bounds = values.over(self.eta) * (hessians + ridge)
        most, least = float(self.lasso.high[0]), float(self.lasso.low[0])
        if most:
            number_bounds = NumberBounds(
                number_bounds.low + np.where(values.low > 0, least, -most),
                number_bounds.high - np.where(values.high < 0, least, -most),
            )
        if self.clip:
            edge = float(self.eta.low[0]) * self.clip * (1 - 10.0**-PRINTED)
            number_bounds = NumberBounds(
                np.where(values.low <= -edge, -np.inf, number_bounds.low),
                np.where(values.high >= edge, np.inf, number_bounds.high),
            )
        return number_bounds.over(self.sigmoid)

    def values(
        self, gradients: NumberBounds, hessians: NumberBounds, ridges: Sequence[NumberBounds]
    ) -> NumberBounds:
        """Return the values of leaves, (L,), whose labels less their probabilities are known: what ``step`` undoes.

        Any of the ``ridges`` may be the right one. Infinite where nothing follows.
        """
        pulled = gradients * self.sigmoid
        least, most = float(self.lasso.low[0]), float(self.lasso.high[0])
        pulled = NumberBounds(
            _toward_zero(pulled.low, np.where(pulled.low > 0, most, least)),
            _toward_zero(pulled.high, np.where(pulled.high > 0, least, most)),
        )
        low, high = np.full_like(pulled.low, np.inf), np.full_like(pulled.high, -np.inf)
        for ridge in ridges:
            divisor = hessians + ridge
            known = divisor.low > 0
            whole = NumberBounds(
                np.where(known, divisor.low, 1.0), np.where(known, divisor.high, 1.0)
            )
            number_bounds = (pulled * self.eta).over(whole)
            low = np.minimum(low, np.where(known, number_bounds.low, -np.inf))
            high = np.maximum(high, np.where(known, number_bounds.high, np.inf))
        if self.clip:
            edge = float(self.eta.high[0]) * self.clip * (1 + 10.0 ** (1 - PRINTED))
            low, high = np.clip(low, -edge, edge), np.clip(high, -edge, edge)
        return NumberBounds(low, high).wider(
            8
            * DOUBLE
            * np.maximum(
                np.abs(low), np.abs(high), where=np.isfinite(low + high), out=np.zeros_like(low)
            )
        )

    def ridges(self, case: GrownCase, leaves: Leafs) -> tuple[NumberBounds, NumberBounds]:
        """Return the two ridges that each leaf's value may have, shape (L,); they are the same where there is one.

        Below a split by several categories ``cat_l2`` is added to lambda_l2. Below one that parts a single category it
        is added unless the column has few of them, which the file does not say.
        """
        tree = case.trees[leaves.tree]
        listed = [tree.nodes[node].test for node in leaves.nodes.tolist()]
        sizes = np.array([len(t.values) if isinstance(t, CategoryTest) else 0 for t in listed])
        number_bounds = self.ridge + self.extra
        plain, larger = (
            (np.full(len(sizes), one.low[0]), np.full(len(sizes), one.high[0]))
            for one in (self.ridge, number_bounds)
        )
        first = [np.where(sizes > 1, b, a) for a, b in zip(plain, larger, strict=True)]
        second = [np.where(sizes > 0, b, a) for a, b in zip(plain, larger, strict=True)]
        return NumberBounds(*first), NumberBounds(*second)


def _toward_zero(numbers: FloatArray, by: FloatArray) -> FloatArray:
    return np.asarray(np.sign(numbers) * np.maximum(np.abs(numbers) - by, 0.0))


def rates_of(case: GrownCase) -> LightgbmRates | Undetermined:
    """Return the rates that the file says, 0 for those that it withholds; else why the learning rate is not known."""
    growth = case.growth
    later = [tree for trees in growth.rounds[1:] for tree in trees]
    said = [growth.trees[tree].rate for tree in later if len(growth.trees[tree].values) > 1]
    rate = growth.fact("learning_rate").value
    eta = next((one for one in said if one is not None), rate)
    if eta is None or not eta > 0:
        return Undetermined(NO_RATE)
    if rate is not None and abs(rate - eta) > 2 * _room(rate):
        return Undetermined(OTHER_RATE)
    names = ("lambda_l2", "lambda_l1", "max_delta_step")
    ridge, lasso, clip = (float(growth.fact(name).value or 0.0) for name in names)
    beyond = [np.abs(growth.trees[tree].values) for tree in later]
    largest = max((float(np.nanmax(each)) for each in beyond), default=0.0)
    if clip and largest > eta * clip * (1 + 10.0 ** (1 - PRINTED)):
        return Undetermined(NOT_LIMITED)
    sigmoid = growth.fact("sigmoid").value
    is_softmax = growth.objective in SOFTMAX
    outputs = growth.outputs
    return LightgbmRates(
        eta=_written(eta),
        ridge=_written(ridge),
        extra=_written(growth.fact("cat_l2").value or 0.0),
        lasso=_written(lasso),
        clip=clip,
        sigmoid=exactly(np.ones(1))
        if is_softmax or sigmoid in (None, 1.0)
        else _written(sigmoid or 1.0),
        factor=outputs / (outputs - 1) if is_softmax else 1.0,
        is_softmax=is_softmax,
        shrinkage=eta,
        facts={
            **growth.facts,
            "learning_rate": stated_fact(eta) if rate is not None else derived(eta),
        },
    )


def either(one: NumberBounds, second: NumberBounds, *, people: FloatArray) -> NumberBounds:
    """Return sums of which one of two is right: the one that holds a whole number, and what spans both if both do."""
    is_whole = [np.less_equal(*whole_between(sums, people)) for sums in (one, second)]
    only_other, both = ~is_whole[0] & is_whole[1], is_whole[0] & is_whole[1]
    low = np.where(both, np.minimum(one.low, second.low), one.low)
    high = np.where(both, np.maximum(one.high, second.high), one.high)
    return NumberBounds(
        np.where(only_other, second.low, low), np.where(only_other, second.high, high)
    )


def printed(values: FloatArray) -> FloatArray:
    """Return how far numbers with six digits or fewer may lie from what they were before they were written so."""
    short = np.array([float(f"{value:.{PRINTED}g}") == value for value in values.tolist()])
    return np.where(short, np.array([_room(value) for value in values.tolist()]), 0.0)


def _written(value: float) -> NumberBounds:
    """Return what a setting was before it was written with six digits, shape (1,)."""
    room = _room(value)
    return NumberBounds(np.array([value - room]), np.array([value + room]))


def _room(value: float) -> float:
    """Return half a unit of the last digit that is written."""
    if value == 0 or not np.isfinite(value):
        return 0.0
    return float(0.5 * 10.0 ** (np.floor(np.log10(abs(value))) - PRINTED + 1))


# The start of a LightGBM model: no file states it, as it is part of the leaves of the first trees.
#
# With ``boost_from_average`` the start is the log odds of the share of people with a class (of several classes, the
# logarithm of the share), so only as many starts are possible as there are numbers of people. The one that makes the
# first tree's sums add up to that number is taken.

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
