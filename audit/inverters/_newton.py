"""Leaf values of one Newton step, inverted into sums of labels or numbers over given scores.

Of log-loss v = eta * G / (H + lambda), with G = labels - sum p. Of the squared error
v = eta * (sum y - sum F) / (m + lambda) of m people, where F is what the trees before predict of each and y the target
(Friedman 2001, section 4.1; Chen & Guestrin 2016, equation 5, with second derivatives of 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.inverters import GrownCase, LeafSums, MemberSums, ValueSums
from treewarden.audit.inverters._bounds import (
    TINY,
    NumberBounds,
    exactly,
    logistic,
    softmax,
    variance,
)
from treewarden.audit.inverters._draws import (
    NO_COUNTS,
    NOT_FROM_HERE,
    add_sampled,
    extremes,
    is_from_sample,
)
from treewarden.audit.inverters._rounds import (
    DOUBLE,
    SINGLE,
    ClassTotals,
    Gathered,
    Leafs,
    column,
    derivatives,
    differing,
    record_sums,
    rounding,
    rounds,
    unreached,
    value_bounds,
)
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.ensemble import Fact, GrownTree

ROOM = 2.0**-48
"""How far the library's own probability, in 64 bits, may be off."""
TINIEST = 1e-140
"""Sums of second derivatives below which a library may take no step at all."""

NO_SHARE = (
    "the model's start value is not a class share of this table: the model was trained on "
    "another table, on a sample, or with weights"
)


@dataclass(frozen=True, slots=True)
class NewtonSteps:
    """How leaf values were made: ``unshrunk`` ones are multiplied by ``eta`` when they are added.

    ``factor`` is what the sums of second derivatives were multiplied by, and ``single`` says that gradients were
    rounded to 32 bits. ``is_average`` says that the start is the share of people with each class, and ``squares`` that
    the second number of each node is the variance of its residuals. Numbers were written with a relative error of
    ``written``.
    """

    eta: float
    ridge: float = 0.0
    factor: float = 1.0
    unshrunk: bool = False
    single: bool = False
    is_average: bool = True
    squares: bool = False
    written: float = 0.0


def newton_sums(case: GrownCase, steps: NewtonSteps) -> LeafSums | Undetermined:
    """Return the sums of all leaves, for the logistic loss of two classes or the softmax of several."""
    start, values = _start_of(case, steps), _added_values(case, steps)
    gathered, totals = Gathered(case, []), ClassTotals()
    is_first = True
    for scores, leaves in rounds(case, start, values):
        shares = logistic(scores, ROOM) if case.growth.outputs == 1 else softmax(scores, ROOM)
        if is_first and steps.is_average and not _starts_whole(case, shares, totals):
            return Undetermined(NO_SHARE)
        is_first = False
        for leaf in leaves:
            own = column(shares, leaf.output)
            problem = _tree(case, leaf, own, steps, gathered, totals)
            if problem is not None:
                return problem
    sums = gathered.sums(dict(case.growth.facts))
    if isinstance(sums, Undetermined) or not case.is_sampled:
        return sums
    return replace(sums, is_complete=False, totals=totals.whole(case.growth.outputs))


def _start_of(case: GrownCase, steps: NewtonSteps) -> NumberBounds:
    """Return the scores before the first tree, (K,)."""
    begin = np.array(case.growth.start)
    return exactly(begin).wider(16 * DOUBLE * (1 + np.abs(begin)) + steps.written * np.abs(begin))


def _added_values(case: GrownCase, steps: NewtonSteps) -> list[NumberBounds]:
    """Return what the leaves of each tree add to scores, by node."""
    values = value_bounds(case)
    if steps.written:
        trees = case.growth.trees
        values = [
            bounds.wider(steps.written * np.abs(tree.values))
            for bounds, tree in zip(values, trees, strict=True)
        ]
    return [bounds.times(steps.eta) for bounds in values] if steps.unshrunk else values


def newton_members(case: GrownCase, steps: NewtonSteps) -> tuple[MemberSums, ...]:
    """Return what leaf values and the numbers of records say of members, for the losses of ``newton_sums``.

    With its leaf's value v a member adds label - p - v p (1 - p) / eta, and all of them together lambda v / eta.
    """
    start, values = _start_of(case, steps), _added_values(case, steps)
    is_logistic, found = case.growth.outputs == 1, []
    for scores, leaves in rounds(case, start, values):
        shares = logistic(scores, ROOM) if is_logistic else softmax(scores, ROOM)
        for leaf in leaves:
            of_class = np.zeros(case.classes)
            of_class[1 if is_logistic else leaf.output] = 1.0
            own = column(shares, leaf.output).wider(1.25 * SINGLE if steps.single else 8 * DOUBLE)
            rounding_of_curves = 2 * SINGLE if steps.single else 8 * DOUBLE
            known = derivatives(own, of_class, steps.factor, rounding_of_curves)
            if len(case.growth.trees[leaf.tree].values) > 1:
                moved = leaf.values.times(1 / steps.eta)
                total = _unless_no_step(leaf.values, moved.times(steps.ridge))
                found.append(known.step_sums(leaf, moved, total))
            counted = record_sums(case, leaf)
            found += [] if counted is None else [counted]
    return tuple(found)


def _unless_no_step(values: NumberBounds, total: NumberBounds) -> NumberBounds:
    """Return sums, (L,), infinite where a value of 0 may stand for no step at all."""
    is_no_step = (values.low <= 0) & (values.high >= 0)
    return NumberBounds(
        np.where(is_no_step, -np.inf, total.low), np.where(is_no_step, np.inf, total.high)
    )


def _starts_whole(case: GrownCase, shares: NumberBounds, totals: ClassTotals) -> bool:
    """Whether the model starts from shares that are whole numbers of people, which are kept for the trees."""
    everybody = float(case.people.sum())
    low, high = everybody * shares.low[0], everybody * shares.high[0]
    room = 2.0**-40 * everybody
    for output in range(case.growth.outputs):
        totals.ends[output] = float(low[output]) - room, float(high[output]) + room
    return bool((np.ceil(low - room) <= np.floor(high + room)).all())


def _tree(
    case: GrownCase,
    leaves: Leafs,
    shares: NumberBounds,
    steps: NewtonSteps,
    gathered: Gathered,
    totals: ClassTotals,
) -> Undetermined | None:
    """Take the sums of one tree's leaves; return why they cannot be had."""
    tree, everybody = case.growth.trees[leaves.tree], float(case.people.sum())
    problem = unreached(case, leaves) or differing(
        case, leaves, tree.counts, exactly(leaves.people), "a number of records"
    )
    if problem is not None:
        return problem
    if len(tree.values) == 1:  # what stands in a tree without a split need be no step
        return None
    if case.is_sampled:
        return _sampled(case, leaves, shares, steps, gathered, totals)
    hessians = leaves.summed(variance(shares).times(steps.factor), case.people)
    room = 2 * SINGLE if steps.single else 8 * DOUBLE
    hessians = hessians.wider(room * hessians.high + DOUBLE * everybody**2)
    hessians = NumberBounds(np.maximum(hessians.low, 0.0), hessians.high)
    labels = leaves.summed(shares, case.people)
    labels = labels.wider(
        rounding(leaves.people, everybody) if steps.single else 4 * DOUBLE * everybody**2
    )
    sums = labels + leaves.values.times(1 / steps.eta) * hessians.plus(steps.ridge)
    is_no_step = (leaves.values.low <= 0) & (leaves.values.high >= 0) & (hessians.low <= TINIEST)
    sums = NumberBounds(
        np.where(is_no_step, 0.0, sums.low), np.where(is_no_step, leaves.people, sums.high)
    )
    output = 1 if case.growth.outputs == 1 else leaves.output
    if steps.squares and tree.second is not None:
        residuals = sums - leaves.summed(shares, case.people)
        squares = exactly(tree.second[leaves.nodes] * leaves.people) + (residuals * residuals).over(
            exactly(leaves.people)
        )
        squares = squares.wider(64 * DOUBLE * everybody**2)
        number_bounds = squares - leaves.summed(shares * shares, case.people)
        gathered.weigh(
            leaves, output, NumberBounds(1 - 2 * shares.high, 1 - 2 * shares.low), number_bounds
        )
    problem = gathered.add(leaves, output, sums)
    return problem or totals.differing(leaves, sums)


def _sampled(
    case: GrownCase,
    leaves: Leafs,
    shares: NumberBounds,
    steps: NewtonSteps,
    gathered: Gathered,
    totals: ClassTotals,
) -> Undetermined | None:
    """Take the sums of one tree's leaves over a sample of their people that nobody knows, but how many they are.

    With its leaf's value v a person that was drawn adds p + v p (1 - p) / eta, and lambda is added once per leaf.
    """
    tree, everybody = case.growth.trees[leaves.tree], float(case.people.sum())
    if tree.counts is None or steps.single:
        return Undetermined(NO_COUNTS)
    if not is_from_sample(leaves, leaves.people):
        return Undetermined(NOT_FROM_HERE)
    values = leaves.values.times(1 / steps.eta)
    curves = variance(shares).times(steps.factor)
    number_bounds = shares + values.at(leaves.place) * curves.wider(8 * DOUBLE * curves.high)
    sums = extremes(case, leaves, number_bounds).at(leaves.people).wider(4 * DOUBLE * everybody**2)
    sums = sums + values.times(steps.ridge)
    # Where second derivatives are all but nothing no step was taken, which says nothing.
    least = extremes(case, leaves, curves).at(leaves.people).low
    is_no_step = (leaves.values.low <= 0) & (leaves.values.high >= 0) & (least <= TINIEST)
    sums = NumberBounds(
        np.where(is_no_step, 0.0, sums.low), np.where(is_no_step, leaves.people, sums.high)
    )
    output = 1 if case.growth.outputs == 1 else leaves.output
    problem = add_sampled(gathered, leaves, output, sums, leaves.people)
    return problem or totals.differing(leaves, sums)


# Leaf values that are one step for all classes at once, by the softmax loss: how many of a leaf have each class.
#
# A gradient step is v_k = eta * (S_k - sum p_k) / (people + l2), one class apart from the other. Newton's is the
# solution of (H + l2) v = eta * (S - sum p) with the sums of second derivatives H_kj = sum p_k ([k = j] - p_j): S
# follows by putting v in, without solving anything. Newer versions of CatBoost take at least 2^-23 times the largest
# entry of H's diagonal for l2 (``hessian.cpp``), older ones did not: where that is more than l2, either may be true.
# What a library's own solution leaves over is small next to its terms, however near to singular H + l2 is (Higham 2002,
# theorem 10.4).


def newton_step(
    leaves: Sequence[Leafs], shares: NumberBounds, people: FloatArray, eta: float, ridge: float
) -> list[NumberBounds]:
    """Return the number of people with each class by leaf, (L,) each, where values are Newton's step for all classes.

    ``shares`` (P, K) are everybody's probabilities before the step; ``leaves`` are one entry per class.
    """
    steps = [leaf.values.times(1 / eta) for leaf in leaves]
    place, classes = leaves[0].place, len(leaves)
    mean = exactly(np.zeros(len(people)))
    for output, step in enumerate(steps):
        mean = mean + column(shares, output) * step.at(place)
    largest = sum(np.maximum(np.abs(step.low), np.abs(step.high)) for step in steps)
    rounded = _rounding(people) * (1 + largest)
    # The residual of a solution by Cholesky's factors is at most so many roundings of the largest entry times it.
    left = (3 * classes + 8) * 2 * DOUBLE * (leaves[0].people / 4 + ridge) * largest
    least = _largest_curve(leaves[0], shares, people) * SINGLE * 2 * (1 + 2.0**-20)
    ridges = NumberBounds(np.full(len(least), ridge), np.maximum(ridge, least))
    number_bounds = []
    for output, (leaf_numbers, step) in enumerate(zip(leaves, steps, strict=True)):
        own = column(shares, output)
        # Of sum_j p_k ([k = j] - p_j) v_j each person adds p_k (v_k - sum_j p_j v_j).
        added = own + own * (step.at(place) - mean)
        number_bounds.append(
            (leaf_numbers.summed(added, people) + step * ridges).wider(rounded + left)
        )
    return number_bounds


def _largest_curve(leaves: Leafs, shares: NumberBounds, people: FloatArray) -> FloatArray:
    """Return the largest sum of p (1 - p) of a class by leaf, (L,)."""
    classes = range(shares.low.shape[1])
    curves = [
        leaves.summed(variance(column(shares, class_name)), people).high for class_name in classes
    ]
    return np.asarray(np.maximum.reduce(curves))


def gradient_step(
    leaves: Sequence[Leafs], shares: NumberBounds, people: FloatArray, eta: float, ridge: float
) -> list[NumberBounds]:
    """Return the number of people with each class by leaf, (L,) each, where values are one gradient step."""
    number_bounds = []
    for output, leaf_numbers in enumerate(leaves):
        labels = leaf_numbers.summed(column(shares, output), people).wider(_rounding(people))
        moved = leaf_numbers.values.times(1 / eta) * exactly(leaf_numbers.people).plus(ridge)
        number_bounds.append(labels + moved)
    return number_bounds


def _rounding(people: FloatArray) -> float:
    """Return how far the library's sums of numbers of at most 1 over all people may be off."""
    return float(4 * DOUBLE * people.sum() ** 2)


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
    statements: tuple[str, ...],
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
        said=statements,
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

ROUNDING = 2.0**-40
"""Relative rounding of our own sums over all people."""


def numbers_that_add(
    leaves: Leafs, people: FloatArray, pairs: list[tuple[NumberBounds, NumberBounds]]
) -> NumberBounds:
    """Return the least and the greatest number of people, (L,), that add up to every sum; crossed where none does.

    ``pairs`` are pairs of what each profile's people add, one by one (P,), and of the sum over those with the label,
    (L,). ``people`` (P,) are how many each profile has.
    """
    size = leaves.people.astype(np.intp)
    of = np.repeat(np.arange(len(size)), size + 1)
    number = np.arange(len(of)) - np.repeat(np.cumsum(size + 1) - (size + 1), size + 1)
    may = np.ones(len(of), dtype=bool)
    for added, sums in pairs:
        may &= _may_add(leaves, people.astype(np.intp), added, sums, of)
    least, most = np.full(len(size), np.inf), np.full(len(size), -np.inf)
    np.minimum.at(least, of[may], number[may])
    np.maximum.at(most, of[may], number[may])
    return NumberBounds(least, most)


def _may_add(
    leaves: Leafs,
    people: IndexArray,
    added: NumberBounds,
    sums: NumberBounds,
    leaf_of_try: IndexArray,
) -> BoolArray:
    """Return whether 0, 1, ... people of each leaf in turn may add up to its sum."""
    largest = np.maximum(np.abs(added.low), np.abs(added.high)).max(initial=0.0)
    room = ROUNDING * (1 + largest) * float(people.sum())
    smallest = _running(leaves.place, people, added.low)
    greatest = -_running(leaves.place, people, -added.high)
    return np.asarray(
        (smallest - room <= sums.high[leaf_of_try]) & (greatest + room >= sums.low[leaf_of_try])
    )


def _running(place: IndexArray, people: IndexArray, added: FloatArray) -> FloatArray:
    """Return the sums of the 0, 1, ... smallest numbers of each leaf in turn."""
    order = np.lexsort((added, place))
    each, leaf = np.repeat(added[order], people[order]), np.repeat(place[order], people[order])
    size = np.bincount(leaf)
    first = np.cumsum(size) - size
    total = np.concatenate(([0.0], np.cumsum(each)))
    at = np.arange(len(each) + len(size)) - np.repeat(np.arange(len(size)), size + 1)
    return np.asarray(total[at] - np.repeat(total[first], size + 1))
