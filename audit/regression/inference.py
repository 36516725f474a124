"""What the leaves of a model prove of the numbers that its people have: from leaf values to an interval per profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from treewarden.audit.clock import Clock
from treewarden.audit.inverters import (
    GrownCase,
    ValueSums,
    doubting,
    inverters,
    knowing,
    value_sums,
)
from treewarden.audit.joint.cells import PeopleCells, cells_of
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import TargetNumbers
from treewarden.audit.progress import Step, silent
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.regression.known_numbers import (
    NOT_SURE_WHO,
    KnownNumbers,
    are_of_one,
    parts_of,
    with_known,
)
from treewarden.audit.regression.result import ValueBounds
from treewarden.audit.regression.rows import ROUNDING, ValueRows, mean_sums, rows_of, scale_of
from treewarden.audit.regression.search import (
    MOST_CELLS,
    Reached,
    by_programs,
    determined,
    reached_from,
    solved,
)
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.growth import FactSource

# Proofs by one row at a time: what a leaf's sum leaves of each of its cells, again until nothing moves.

MOST_ROUNDS = 200
MOVED = 1e-6
"""Moves of less than that share of the range are not followed up, where numbers are not whole."""


def starting_ends(rows: ValueRows) -> tuple[FloatArray, FloatArray]:
    """Return the boxes (C,) of cells that hold whatever the leaves' sums are."""
    return rows.sizes * rows.least, rows.sizes * rows.most


def propagated(
    rows: ValueRows, low: FloatArray, high: FloatArray, most_rounds: int = MOST_ROUNDS
) -> tuple[FloatArray, FloatArray]:
    """Return boxes (C,) within the given ones that hold every table which these hold and which fits.

    Of a row with ``low <= sum x <= high`` a cell has at most what ``high`` leaves above the least of all others, and
    likewise from below. Ends may be crossed by rounding only where nothing else is left than one number.
    """
    moved = 0.5 if rows.scale.is_whole else MOVED * rows.scale.most
    for _ in range(most_rounds):
        before = low, high
        least, most = rows.sums(low), rows.sums(high)
        room = 0.0 if rows.scale.is_whole else ROUNDING * (np.abs(rows.high) + most)
        above, below = rows.high - least + room, rows.low - most - room
        for place in rows.place:
            there = place >= 0
            high = np.where(there, np.minimum(high, before[0] + above[place]), high)
            low = np.where(there, np.maximum(low, before[1] + below[place]), low)
        if max((low - before[0]).max(initial=0.0), (before[1] - high).max(initial=0.0)) < moved:
            break
    return low, high


def held_ends(rows: ValueRows, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return boxes (C,) within the given ones that hold every table which these hold, which fits and has its range.

    Somebody has the greatest number of a table, and somebody the least: where the people of one cell alone can, one of
    them does.
    """
    while True:
        before = low, high
        least, most = of_one(rows, low, high)
        low, high = low.copy(), high.copy()
        for unit_range in rows.ranges:
            able = np.flatnonzero(unit_range.has & (most >= unit_range.high - rows.room))
            if len(able) == 1:
                others = (rows.sizes[able] - 1) * rows.least[able]
                low[able] = np.maximum(low[able], unit_range.high - rows.room + others)
            able = np.flatnonzero(unit_range.has & (least <= unit_range.low + rows.room))
            if len(able) == 1:
                others = (rows.sizes[able] - 1) * rows.most[able]
                high[able] = np.minimum(high[able], unit_range.low + rows.room + others)
        if (low == before[0]).all() and (high == before[1]).all():
            return before
        low, high = propagated(rows, low, high)


def of_one(rows: ValueRows, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return between which ends the number of one person of each cell lies (C,), from those of the cell's sum.

    The others of the cell have their least or their most at one end.
    """
    others = rows.sizes - 1
    return (
        np.maximum(rows.least, low - others * rows.most),
        np.minimum(rows.most, high - others * rows.least),
    )


MOST_ENTRIES = 12_000_000
"""So many places of people in leaves are joined, 8 bytes each with as much again of what is worked out of them."""
OTHER_VALUES = (
    "the sums that its leaf values give are not those of the table's values: the table, or what its values mean, is "
    "another, or leaves were changed after the training, as by pruning"
)
ONE_VALUE = "all people of the table have the same value, so everything about it is known already"
WEIGHTED = "its trees count sums of sampling weights, which are not turned back into people"
NO_LEAF = "some records fall in no leaf of a tree, or in several"
PARTS = "parts of people are counted"
NOT_SOLVED = (
    f"more than {MOST_CELLS:,} groups of people are open, too many to solve the leaves' sums for together: one leaf at "
    "a time was looked at"
)
ONLY_SWAPPED = (
    "other tables were looked for only among people whom no leaf tells apart, as the leaves say more than sums, or not "
    "all of them were joined"
)


def values_of(
    forest: Forest,
    population: Population,
    clock: Clock,
    step: Step = silent,
    *,
    training: Mapping[str, float] = MappingProxyType({}),
    background: KnownNumbers | None = None,
) -> ValueBounds | Undetermined:
    """Return between which ends each person's number lies, or why that is not known.

    The adversary knows who is in which leaf, how many people there are, and the range and the step of the table's
    values: the worst case. Whatever uses the choice of splits is left out. ``training`` are settings that the file may
    withhold and the adversary knows; where neither tells them, those that the library takes by itself are tried.
    ``background`` are numbers of people that the adversary has from elsewhere. ``clock`` bounds how long other tables
    are looked for.
    """
    with step("turning leaf values back into sums of numbers"):
        used = max(1, MOST_ENTRIES // max(len(population.counts), 1))
        facts = () if background is None else (background,)
        found = sums_with_rows(forest, population, training, used, parts_of(facts))
        if isinstance(found, Undetermined):
            return found
        numbers, cells, sums, rows = found
        rows = with_known(rows, facts, cells, max(abs(numbers.low), abs(numbers.high)))
        is_all = sums.is_all and are_of_one(facts, cells)
    with step("reasoning over the leaves of all trees"):
        left = (
            (f"the leaves of the first {used:,} trees were joined",) if used < _trees(sums) else ()
        )
        if not are_of_one(facts, cells):
            left = (*left, NOT_SURE_WHO)
        bounds = bounds_of(rows, cells, numbers, population.counts, clock, is_all=is_all, left=left)
        return replace(bounds, leaves=len(sums.low), facts=sums.facts, said=sums.said)


def sums_with_rows(
    forest: Forest,
    population: Population,
    training: Mapping[str, float],
    used: int,
    parts: IndexArray | None = None,
) -> tuple[TargetNumbers, PeopleCells, ValueSums, ValueRows] | Undetermined:
    """Return what the leaves say, as sums and, of the first trees, as rows over cells; why not, where that is unknown.

    The true numbers of the people fulfil all of it. ``parts`` (P,) says whom something else tells apart.
    """
    numbers = population.numbers
    if isinstance(numbers, Undetermined):
        return Undetermined(f"the values of the people are not known: {numbers.reason}")
    problem = _unfit(forest, population, numbers)
    if problem:
        return Undetermined(problem)
    cells = cells_of(forest.stops, population.counts, parts=parts)
    found = _fitting(forest, population, numbers, cells, training, used)
    return found if isinstance(found, Undetermined) else (numbers, cells, *found)


def _unfit(forest: Forest, population: Population, numbers: TargetNumbers) -> str:
    """Return why the leaves say nothing of these people that could be joined; "" where they may."""
    if not len(population.counts):
        return "the table has no records"
    if not numbers.low < numbers.high:
        return ONE_VALUE
    if population.weight is not None:
        return WEIGHTED
    if (population.counts != np.rint(population.counts)).any():
        return PARTS
    return NO_LEAF if (forest.stops < 0).any() else ""


def _trees(sums: ValueSums) -> int:
    return len(np.unique(sums.trees))


def _fitting(
    forest: Forest,
    population: Population,
    numbers: TargetNumbers,
    cells: PeopleCells,
    training: Mapping[str, float],
    used: int,
) -> tuple[ValueSums, ValueRows] | Undetermined:
    """Return what the leaves say, which the true values fulfil; else why there is no such thing."""
    largest = max(abs(numbers.low), abs(numbers.high))
    growth = forest.model.growth if isinstance(forest.model, Ensemble) else None
    if growth is None:
        sums = mean_sums(forest, population, largest)
        return _fitting_sums(sums, forest, population, numbers, cells, used)
    case = GrownCase(knowing(growth, training), forest.trees, forest.stops, population.counts, 0)
    found = _fitting_sums(value_sums(case, largest), forest, population, numbers, cells, used)
    if not isinstance(found, Undetermined):
        return found
    defaults = inverters()[growth.library].number_defaults
    silent_on = {
        name: value for name, value in defaults.items() if case.growth.fact(name).value is None
    }
    if not silent_on:
        return doubting(found, growth, training)
    grown_case = replace(case, growth=knowing(case.growth, silent_on, FactSource.TAKEN))
    other = _fitting_sums(value_sums(grown_case, largest), forest, population, numbers, cells, used)
    if isinstance(other, Undetermined):
        return doubting(found, growth, training)
    taken = ", ".join(f"{name} {value:g}" for name, value in silent_on.items())
    said = f"the file withholds how it was trained; what its library does by itself fits, and is taken: {taken}"
    sums, rows = other
    return replace(sums, said=(*sums.said, said)), rows


def _fitting_sums(
    sums: ValueSums | Undetermined,
    forest: Forest,
    population: Population,
    numbers: TargetNumbers,
    cells: PeopleCells,
    used: int,
) -> tuple[ValueSums, ValueRows] | Undetermined:
    """Return sums with their rows; why not, where the true values do not fit them, of however many trees."""
    if isinstance(sums, Undetermined):
        return sums
    largest = max(abs(numbers.low), abs(numbers.high))
    if not _are_true(sums, forest, population, numbers, largest):
        return Undetermined(OTHER_VALUES)
    kept = np.isin(sums.trees, np.unique(sums.trees)[:used])
    part = replace(
        sums, **{name: getattr(sums, name)[kept] for name in ("trees", "nodes", "low", "high")}
    )
    rows = rows_of(part, forest.stops, cells, scale_of(numbers), largest)
    problem = problem_with(rows, numbers, cells)
    return Undetermined(problem) if problem else (sums, rows)


def problem_with(rows: ValueRows, numbers: TargetNumbers, cells: PeopleCells) -> str:
    """Return why rows cannot be of people who have these numbers, "" where they can."""
    x = _truth(rows, numbers, cells)
    if rows.scale.is_whole and (x != np.rint(x)).any():
        return "the sums of the table's values are too large to be counted exactly"
    room = 0.0 if rows.scale.is_whole else ROUNDING * rows.scale.most * rows.sizes.sum()
    total = rows.sums(x)
    is_odd = (total < rows.low - room) | (total > rows.high + room)
    return OTHER_VALUES if is_odd.any() else ""


def _are_true(
    sums: ValueSums, forest: Forest, population: Population, numbers: TargetNumbers, largest: float
) -> bool:
    """Whether the true sums of all leaves, and each person's value, lie between the ends that were found."""
    for tree in np.unique(sums.trees).tolist():
        here = sums.trees == tree
        place = np.searchsorted(sums.nodes[here], forest.stops[tree])
        total = np.bincount(place, numbers.sums, int(here.sum()))
        room = ROUNDING * largest * np.bincount(place, population.counts, int(here.sum()))
        if ((total < sums.low[here] - room) | (total > sums.high[here] + room)).any():
            return False
    room_of_one = ROUNDING * largest
    return bool(
        (numbers.least >= sums.least - room_of_one).all()
        and (numbers.most <= sums.most + room_of_one).all()
    )


def _truth(rows: ValueRows, numbers: TargetNumbers, cells: PeopleCells) -> FloatArray:
    """Return the true sum of each cell in units, (C,): whole where numbers are whole."""
    total = np.bincount(cells.of, numbers.sums, len(cells.sizes)).astype(np.float64)
    found = rows.scale.to_units(total, rows.sizes)
    if not rows.scale.is_whole:
        return np.clip(found, 0.0, rows.sizes * rows.scale.most)
    near = np.rint(found)
    return np.where(np.abs(near - found) < 0.01, near, found)


def bounds_of(
    rows: ValueRows,
    cells: PeopleCells,
    numbers: TargetNumbers,
    counts: FloatArray,
    clock: Clock,
    *,
    is_all: bool,
    left: tuple[str, ...],
) -> ValueBounds:
    """Return between which ends rows leave the number of one person of each profile, of whom ``counts`` (P,) are.

    ``is_all`` says that the files tell nothing else of the numbers, ``left`` what is not in the rows.
    """
    x, scale = _truth(rows, numbers, cells), rows.scale
    start = starting_ends(rows)
    by_leaf = of_one(rows, *propagated(rows.of_leaves, *start, most_rounds=1))
    low, high = held_ends(rows, *propagated(rows, *start))
    reached = reached_from(rows, x)
    searches = is_all and not left
    low, high, said = _joined(rows, reached, low, high, clock, searches=searches)
    low, high = held_ends(rows, low, high)
    least, most = of_one(rows, low, high)
    room = 0.0 if scale.is_whole else ROUNDING * scale.most
    least, most = np.maximum(least - room, 0.0), np.minimum(most + room, scale.most)
    reached_low, reached_high = _reached(rows, reached, numbers, cells, is_all=is_all)
    width = np.minimum(by_leaf[1], scale.most) - np.maximum(by_leaf[0], 0.0)
    return ValueBounds(
        counts=counts,
        low=scale.back(least)[cells.of],
        high=scale.back(most)[cells.of],
        reached_low=reached_low,
        reached_high=reached_high,
        by_leaf=np.maximum(width, 0.0)[cells.of] * scale.unit,
        range=Interval(numbers.low, numbers.high),
        step=numbers.step,
        leaves=len(rows.low),
        left=(*left, *said),
    )


def _joined(
    rows: ValueRows,
    reached: Reached,
    low: FloatArray,
    high: FloatArray,
    clock: Clock,
    *,
    searches: bool,
) -> tuple[FloatArray, FloatArray, tuple[str, ...]]:
    """Return boxes (C,) as all rows together prove them, and what was not tried."""
    is_open: BoolArray = high - low > (0.5 if rows.scale.is_whole else 0.0)
    if len(rows.place) < 2 or not is_open.any():
        return low, high, ()
    open_cell_solution = solved(rows, is_open)
    if open_cell_solution is None:
        return low, high, (NOT_SOLVED,)
    low, high = determined(rows, open_cell_solution, low, high)
    low, high = propagated(rows, low, high)
    if not searches:
        return low, high, (ONLY_SWAPPED,)
    if not (low < high)[open_cell_solution.cells].any():
        return low, high, ()
    low, high, why = by_programs(rows, open_cell_solution, reached, low, high, clock)
    return low, high, (why,) if why else ()


def _reached(
    rows: ValueRows, reached: Reached, numbers: TargetNumbers, cells: PeopleCells, *, is_all: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest value that a person of each profile has in a table that fits, (P,).

    People whom no leaf tells apart may change places, whatever is published. Where only sums are, the others of a cell
    may have their least or their most while she has the rest, if the ends of the range are other people's.
    """
    size = len(cells.sizes)
    least, most = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(least, cells.of, numbers.least)
    np.maximum.at(most, cells.of, numbers.most)
    if is_all:
        scale, others = rows.scale, rows.sizes - 1
        shrunk = 0.0 if scale.is_whole else 1.0
        low, high = reached.apart_low + shrunk, reached.apart_high - shrunk
        alone = (
            np.clip(low - others * rows.most, rows.least, rows.most),
            np.clip(high - others * rows.least, rows.least, rows.most),
        )
        own = others == 0
        least = np.minimum(least, np.where(own, scale.back(reached.low + shrunk), np.inf))
        most = np.maximum(most, np.where(own, scale.back(reached.high - shrunk), -np.inf))
        some = low <= high
        least = np.where(some, np.minimum(least, scale.back(alone[0])), least)
        most = np.where(some, np.maximum(most, scale.back(alone[1])), most)
    return least[cells.of], most[cells.of]
