"""Leaf values of LightGBM that were cut to few binary digits: those of the first trees hold the start, whole.

The start is the log odds of a whole number of people, so whoever knows how many there are tries each: of the right one
the values of the first tree less the start have few digits, all of them. So it is known, and with it how many of all
people have the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

import numpy as np

from treewarden.audit.inverters import GrownCase
from treewarden.audit.inverters._bounds import (
    MOST_ROUNDED,
    NumberBounds,
    before_rounding,
    exactly,
    rounded_by,
)
from treewarden.audit.inverters._lightgbm_rates import NO_SETTINGS, LightgbmRates, printed
from treewarden.audit.inverters._lightgbm_start import averaged, leaf_values, possible_counts
from treewarden.audit.inverters._rounds import (
    DOUBLE,
    SINGLE,
    Leafs,
    differing,
    leaves_in,
    rounding,
    rounds,
)
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.ensemble import EnsembleGrowth, derived
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Node

TOLD = (
    "leaf values are rounded, but sums of second derivatives, gains, inner values or "
    "importances in the file reveal the removed digits; remove them too"
)
NO_START = (
    "leaf values are rounded, and so is the start value in those of the first trees: it is "
    "not known"
)


@dataclass(frozen=True, slots=True, eq=False)
class TruncatedModel:
    """A model whose values were cut: its start (K,), what values were before, by tree, and numbers of people.

    ``people`` are, by output, how many of all people have the class, as the start says it.
    """

    start: NumberBounds
    values: list[NumberBounds]
    people: dict[int, int]


def is_cut(growth: EnsembleGrowth) -> bool:
    """Return whether the values of all trees that hold no start have few digits, and some are not 0."""
    values = _later(growth)
    return bool(len(values)) and bool(rounded_by(values).any())


def cut_of(case: GrownCase, rates: LightgbmRates) -> TruncatedModel | Undetermined | None:
    """Return what values that were cut were before; None where they were not, and why that is not known."""
    growth = case.growth
    says = averaged(case, rates)
    later = _later(growth)
    if len(later) and later.any() and not rounded_by(later).any():
        return None
    is_sure = bool(later.any())
    if isinstance(says, Undetermined):
        return says if is_sure else None
    starts = np.zeros(growth.outputs)
    values = [np.array(tree.values, dtype=np.float64) for tree in growth.trees]
    people: dict[int, int] = {}
    rooms: dict[int, FloatArray] = {}
    for tree, has_start in zip(growth.rounds[0], says, strict=True):
        output = growth.trees[tree].output
        if len(values[tree]) == 1:
            starts[output] = values[tree][0]
            continue
        if not has_start:
            if not is_sure and not rounded_by(values[tree]).any():
                return None
            if growth.fact("boost_from_average").value and not rates.is_softmax:
                people[output] = int(case.people.sum()) // 2  # a start of 0 is not written down
            continue
        found = _counts(case, values[tree], rates)
        if len(found) != 1:
            return Undetermined(NO_START) if is_sure else None
        people[output] = int(found[0])
        share = found / float(case.people.sum())
        starts[output] = rates.point(share)[0]
        number_bounds = rates.start(share)
        rooms[tree] = _room(values[tree], starts[output]) + float(
            number_bounds.high[0] - number_bounds.low[0]
        )
        values[tree] = _shortest(values[tree], starts[output])
    grown = [tree for tree, each in enumerate(values) if len(each) > 1]
    if not grown or not rounded_by(np.concatenate([values[tree] for tree in grown])).any():
        return None
    if tells_digits(growth):
        return Undetermined(TOLD)
    before = before_rounding(np.concatenate([values[tree] for tree in grown]))
    ends = np.cumsum([0, *(len(values[tree]) for tree in grown)])
    bounds = [NumberBounds(each, each) for each in values]
    for tree, low, high in zip(grown, ends[:-1], ends[1:], strict=True):
        room = rooms.get(tree, 0.0) + 8 * DOUBLE * np.abs(values[tree])
        bounds[tree] = before.at(np.arange(low, high)).wider(room)
    for tree in growth.rounds[0]:
        if len(values[tree]) == 1:  # what stands there is the start, and no step
            bounds[tree] = NumberBounds(np.zeros(1), np.zeros(1))
    room = 16 * DOUBLE * (1 + np.abs(starts))
    for output, count in people.items():
        number_bounds = rates.start(np.array([count / float(case.people.sum())]))
        room[output] += float(number_bounds.high[0] - number_bounds.low[0])
    return TruncatedModel(NumberBounds(starts - room, starts + room), bounds, people)


def tells_digits(growth: EnsembleGrowth) -> bool:
    """Return whether other numbers of a file would give back the digits of its leaf values."""
    return growth.importances or any(
        tree.hessians is not None
        or any(
            told is not None and np.nan_to_num(told).any() for told in (tree.weights, tree.gains)
        )
        for tree in growth.trees
        if len(tree.values) > 1
    )


def _later(growth: EnsembleGrowth) -> FloatArray:
    """Return the values of all trees after the first round that have a split."""
    kept = [growth.trees[tree].values for trees in growth.rounds[1:] for tree in trees]
    kept = [np.nan_to_num(each) for each in kept if len(each) > 1]
    return np.concatenate(kept) if kept else np.zeros(0)


def _counts(case: GrownCase, values: FloatArray, rates: LightgbmRates) -> FloatArray:
    """Return the numbers of people with a class whose start leaves values few digits."""
    everybody = float(case.people.sum())
    counts = np.arange(1.0, everybody)
    starts = rates.point(counts / everybody)
    counts, starts = (
        counts[starts != 0],
        starts[starts != 0][:, None],
    )  # a start of 0 stands nowhere
    there = values[np.isfinite(values)][None, :]
    rest = there - starts
    close: BoolArray = np.abs(rest - _nearest(rest, MOST_ROUNDED)) <= _room(there, starts)
    fits: BoolArray = np.all(close, axis=1)
    return np.asarray(counts[fits])


def _shortest(values: FloatArray, start: float) -> FloatArray:
    """Return values less their start with as few digits as suffice for all of them; what is beyond is rounding."""
    rest, room = values - start, _room(values, start)
    there = np.isfinite(values)
    found = (_nearest(rest, digits) for digits in range(MOST_ROUNDED + 1))
    return next(each for each in found if (np.abs(rest - each) <= room)[there].all())


def _room(values: FloatArray, starts: FloatArray | float) -> FloatArray:
    """Return how far a value less its start may be off, as both were rounded."""
    return np.asarray(16 * DOUBLE * (np.abs(values) + np.abs(starts)))


def _nearest(values: FloatArray, digits: int) -> FloatArray:
    """Return the nearest numbers that have so many binary digits after the leading one."""
    mantissas, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissas, digits + 1)), exponents - digits - 1))


# The regularisation of a LightGBM file that withholds its settings, as dumps do: it follows from the leaves.
#
# In every tree the sums of all leaves are one and the same number of people, c = sum p + sum v (H + lambda) / eta, of
# which all but lambda is known: each tree gives an interval for it, and the true one lies in all of them. Where they
# have nothing in common, leaf values were made otherwise (a limit to steps, smoothing), and none is given.
#
# An L1 penalty of a whole number leaves all these sums whole. It is seen at nodes above two leaves: what they would
# have said, which files print with six digits, is the mean of what the leaves say, but for a penalty that counts once
# above and twice below. A file without enough such nodes proves nothing.

MOST_TRIED = 16
FEWEST_NODES = 6
"""How many nodes above two leaves must show that there is no L1 penalty; it and lambda are two unknowns."""
NOT_DERIVED = NO_SETTINGS + (
    ", and no lambda_l2 alone fits its leaf values: the model was trained on another "
    "table, on a sample, with weights, or with settings that cannot be inverted"
)
TOO_FEW = NO_SETTINGS + ", and has too few nodes to derive them"

Interval = tuple[float, float]


def with_ridge(case: GrownCase, rates: LightgbmRates) -> LightgbmRates | Undetermined:
    """Return the rates with the lambda_l2 that follows from the leaves, where the file says none of it."""
    if case.is_sampled or case.draws is not None:
        return Undetermined(NO_SETTINGS)
    says = averaged(case, rates)
    if isinstance(says, Undetermined):
        return says
    grown = [tree for trees in case.growth.rounds for tree in trees]
    if any(case.growth.trees[tree].hessians is None for tree in grown if _is_grown(case, tree)):
        return Undetermined(NO_SETTINGS)
    if any(isinstance(node.test, CategoryTest) for tree in case.trees for node in tree.nodes):
        return Undetermined(f"{NO_SETTINGS}, nor those for lists of categories")
    if not all(says):
        return Undetermined(f"{NO_SETTINGS} and its start value")
    values = leaf_values(case)
    counts = [
        possible_counts(case, leaves_in(case, tree, values[tree]), rates)
        for tree in case.growth.rounds[0]
    ]
    found = []
    for chosen in islice(product(*(count.tolist() for count in counts)), MOST_TRIED + 1):
        start = rates.start(np.array(chosen) / float(case.people.sum()))
        number_bounds = list(values)
        for place, tree in enumerate(case.growth.rounds[0]):
            number_bounds[tree] = values[tree] - start.at(np.array([place]))
        ends = _ends(case, rates, start, number_bounds, np.array(chosen))
        if ends is not None:
            found.append(
                (NumberBounds(np.array([ends[0]]), np.array([ends[1]])), start, number_bounds)
            )
    if len(found) != 1 or np.prod([len(count) for count in counts]) > MOST_TRIED:
        return Undetermined(NOT_DERIVED)
    ridge, start, number_bounds = found[0]
    penalty = _most_penalty(case, rates, ridge, start, number_bounds)
    if penalty is None or penalty == np.inf:
        return Undetermined(NOT_DERIVED if penalty is None else TOO_FEW)
    low, high = float(ridge.low[0]), float(ridge.high[0])
    facts = {"lambda_l2": derived(_shortest_ridge(low, high)), "lambda_l1": derived(0.0)}
    lasso = NumberBounds(np.zeros(1), np.full(1, penalty))
    return replace(rates, ridge=ridge, lasso=lasso, facts={**rates.facts, **facts})


def _is_grown(case: GrownCase, tree: int) -> bool:
    return len(case.growth.trees[tree].values) > 1


def _ends(
    case: GrownCase,
    rates: LightgbmRates,
    start: NumberBounds,
    number_boundses: list[NumberBounds],
    counts: FloatArray,
) -> Interval | None:
    """Return between which ends lambda lies, if so many people have each class; None where nothing fits."""
    low, high = 0.0, np.inf
    for scores, leaves in rounds(case, start, number_boundses):
        shares = rates.shares(scores)
        for leaf in leaves:
            column = NumberBounds(shares.low[:, leaf.output], shares.high[:, leaf.output])
            if not _is_grown(case, leaf.tree):
                continue
            ends = _of_tree(case, leaf, column, rates, float(counts[leaf.output]))
            if ends is None:
                return None
            low, high = max(low, ends[0]), min(high, ends[1])
            if low > high:
                return None
    return (low, high) if np.isfinite(high) else None


def _of_tree(
    case: GrownCase, leaves: Leafs, shares: NumberBounds, rates: LightgbmRates, count: float
) -> Interval | None:
    everybody = float(case.people.sum())
    hessians = leaves.summed(rates.hessian(shares), case.people)
    said = case.growth.trees[leaves.tree].hessians
    assert said is not None
    room = printed(said)[leaves.nodes]
    if differing(case, leaves, said, hessians.wider(room + rounding(0.0, everybody)), ""):
        return None
    labels = leaves.summed(shares, case.people).wider(rounding(leaves.people, everybody))
    number_bounds = (exactly(np.array([count])) - _total(labels)) * rates.eta * rates.sigmoid
    missing = number_bounds - _total(leaves.values * hessians)
    steps = _total(leaves.values)
    if steps.low[0] <= 0 <= steps.high[0]:
        return 0.0, np.inf
    if steps.high[0] < 0:
        steps, missing = _negative(steps), _negative(missing)
    ends = missing.over(steps)
    return float(ends.low[0]), float(ends.high[0])


def _most_penalty(
    case: GrownCase,
    rates: LightgbmRates,
    ridge: NumberBounds,
    start: NumberBounds,
    number_boundses: list[NumberBounds],
) -> float | None:
    """Return the largest L1 penalty that the nodes above two leaves allow, infinite where they say too little.

    None where not even the lack of a penalty explains what they say.
    """
    most: list[float] = []
    first = set(case.growth.rounds[0])
    for index, (tree, grown) in enumerate(zip(case.trees, case.growth.trees, strict=True)):
        if grown.weights is None or grown.hessians is None:
            continue
        pairs = _pairs(tree.nodes)
        above, left, right = pairs.T if len(pairs) else np.zeros((3, 0), dtype=np.intp)
        width = printed(grown.weights[above])
        number_bounds = exactly(grown.weights[above]).wider(width)
        if index in first:
            number_bounds = number_bounds - start.at(np.array([grown.output]))
        room = printed(grown.hessians)
        hessians = exactly(grown.hessians).wider(room + 4 * SINGLE * np.abs(grown.hessians))
        below = [
            number_boundses[index].at(child) * (hessians.at(child) + ridge)
            for child in (left, right)
        ]
        whole = number_bounds * (hessians.at(left) + hessians.at(right) + ridge)
        gap = below[0] + below[1] - whole
        if not ((gap.low <= 0) & (gap.high >= 0)).all():
            return None
        signs = [
            _sign(number_boundses[index].at(left)),
            _sign(number_boundses[index].at(right)),
            _sign(number_bounds),
        ]
        apart = np.abs(signs[0] + signs[1] - signs[2])
        tells = (np.abs(signs[0] * signs[1] * signs[2]) == 1) & (apart > 0)
        size = np.maximum(-gap.low, gap.high)[tells] / apart[tells] / float(rates.eta.low[0])
        most.extend(size.tolist())
    return min(most) if len(most) >= FEWEST_NODES else np.inf


def _pairs(nodes: Sequence[Node]) -> IndexArray:
    """Return each node above two leaves that is no root, and the two, shape (E, 3)."""
    leaves = {node.index for node in nodes if node.is_leaf}
    found = [
        (node.index, *node.children)
        for node in nodes
        if node.parent is not None and node.children and leaves.issuperset(node.children)
    ]
    return np.array(found, dtype=np.intp)


def _sign(number_bounds: NumberBounds) -> FloatArray:
    """Return whether numbers are above or below 0; 0 where that is not sure."""
    return np.where(number_bounds.low > 0, 1.0, np.where(number_bounds.high < 0, -1.0, 0.0))


def _shortest_ridge(low: float, high: float) -> float:
    """Return the number between two ends that has the fewest digits."""
    tried = (float(f"{(low + high) / 2:.{digits}g}") for digits in range(1, 18))
    return 0.0 if low <= 0 else next((one for one in tried if low <= one <= high), low)


def _total(number_bounds: NumberBounds) -> NumberBounds:
    """Return the sum, shape (1,)."""
    size = len(number_bounds.low)
    return number_bounds.summed(np.zeros(size, dtype=np.intp), np.ones(size), 1)


def _negative(number_bounds: NumberBounds) -> NumberBounds:
    return NumberBounds(-number_bounds.high, -number_bounds.low)
