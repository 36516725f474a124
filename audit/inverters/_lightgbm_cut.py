"""Leaf values of LightGBM that were cut to few binary digits: those of the first trees hold the start, whole.

The start is the log odds of a whole number of people, so whoever knows how many there are tries each: of the right one
the values of the first tree less the start have few digits, all of them. So it is known, and with it how many of all
people have the class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.inverters import GrownCase
from treewarden.audit.inverters._bounds import MOST_ROUNDED, Bounds, before_rounding, rounded_by
from treewarden.audit.inverters._lightgbm_rates import Rates
from treewarden.audit.inverters._lightgbm_start import averaged
from treewarden.audit.inverters._rounds import DOUBLE
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.tree.growth import Growth

TOLD = (
    "leaf values were cut to few digits, but the sums of second derivatives, gains, values of inner nodes or "
    "importances that the file holds give the rest back; withhold them too"
)
NO_START = (
    "leaf values were cut to few digits, and the start that stands in those of the first trees was cut with them: what "
    "it was is not known"
)


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A model whose values were cut: its start (K,), what values were before, by tree, and numbers of people.

    ``people`` are, by output, how many of all people have the class, as the start says it.
    """

    start: Bounds
    values: list[Bounds]
    people: dict[int, int]


def is_cut(growth: Growth) -> bool:
    """Return whether the values of all trees that hold no start have few digits, and some are not 0."""
    values = _later(growth)
    return bool(len(values)) and bool(rounded_by(values).any())


def cut_of(case: GrownCase, rates: Rates) -> Cut | Undetermined | None:
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
        known = rates.start(share)
        rooms[tree] = _room(values[tree], starts[output]) + float(known.high[0] - known.low[0])
        values[tree] = _shortest(values[tree], starts[output])
    grown = [tree for tree, each in enumerate(values) if len(each) > 1]
    if not grown or not rounded_by(np.concatenate([values[tree] for tree in grown])).any():
        return None
    if tells_digits(growth):
        return Undetermined(TOLD)
    before = before_rounding(np.concatenate([values[tree] for tree in grown]))
    ends = np.cumsum([0, *(len(values[tree]) for tree in grown)])
    bounds = [Bounds(each, each) for each in values]
    for tree, low, high in zip(grown, ends[:-1], ends[1:], strict=True):
        room = rooms.get(tree, 0.0) + 8 * DOUBLE * np.abs(values[tree])
        bounds[tree] = before.at(np.arange(low, high)).wider(room)
    for tree in growth.rounds[0]:
        if len(values[tree]) == 1:  # what stands there is the start, and no step
            bounds[tree] = Bounds(np.zeros(1), np.zeros(1))
    room = 16 * DOUBLE * (1 + np.abs(starts))
    for output, count in people.items():
        known = rates.start(np.array([count / float(case.people.sum())]))
        room[output] += float(known.high[0] - known.low[0])
    return Cut(Bounds(starts - room, starts + room), bounds, people)


def tells_digits(growth: Growth) -> bool:
    """Return whether other numbers of a file would give back the digits of its leaf values."""
    return growth.importances or any(
        tree.hessians is not None
        or any(
            told is not None and np.nan_to_num(told).any() for told in (tree.weights, tree.gains)
        )
        for tree in growth.trees
        if len(tree.values) > 1
    )


def _later(growth: Growth) -> FloatArray:
    """Return the values of all trees after the first round that have a split."""
    kept = [growth.trees[tree].values for trees in growth.rounds[1:] for tree in trees]
    kept = [np.nan_to_num(each) for each in kept if len(each) > 1]
    return np.concatenate(kept) if kept else np.zeros(0)


def _counts(case: GrownCase, values: FloatArray, rates: Rates) -> FloatArray:
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
