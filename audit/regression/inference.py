"""What the leaves of a model prove of the numbers that its people have: from leaf values to an interval per profile."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from treewarden.audit.engine.amounts import ends_by_row, ends_of_one
from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.problem import KNOWN_FACT, ProblemBounds
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.inverters import (
    GrownCase,
    ValueSums,
    doubting,
    inverters,
    knowing,
    value_sums,
)
from treewarden.audit.joint.cells import PeopleCells, cells_of
from treewarden.audit.joint.draws import parted
from treewarden.audit.joint.known_facts import KnownNumbers
from treewarden.audit.joint.sampling_weights import weight_units
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import TargetNumbers
from treewarden.audit.progress import Share, Step, silent
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.regression.cell_ranges import attack_cells
from treewarden.audit.regression.result import CellRanges, ValueBounds
from treewarden.audit.regression.rows import (
    MOST_WEIGHT,
    ROUNDING,
    NumberRows,
    mean_sums,
    rows_of,
    says_means_alone,
    says_spread,
    scale_of,
)
from treewarden.audit.regression.totals import (
    NOT_SURE_WHO,
    TableTotals,
    are_of_one,
    parts_of,
    with_known,
    with_totals,
)
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.ensemble import FactSource, claims_privacy, growth_of
from treewarden.ppdm_models.tree.tree import Tree

MOST_ENTRIES = 12_000_000
"""So many places of people in leaves are joined, 8 bytes each with as much again of what is worked out of them."""
NOISY = "the file claims differential privacy, so its numbers may be random and prove nothing"
OTHER_VALUES = (
    "its leaf values do not match the table's values: the table or the meaning of its "
    "values is another, or leaves were changed after the training (as by pruning)"
)
MOVED_VALUES = (
    "its learner moved leaf values to keep them in order (monotonic_cst), so they are not the means of its people; "
    "train the model again without monotonic_cst, and audit that file"
)
ONE_VALUE = "all people in the table have the same value, so everything about it is known already"
WEIGHTED = (
    "its trees contain sums of sampling weights, which cannot be inverted into counts of people"
)
NO_LEAF = "some records reach no leaf of a tree, or several"
PARTS = "parts of people are counted"
ONLY_SWAPPED = (
    "other tables were searched for only among people in the same leaves, because the "
    "leaves contain more than sums, or not all of them were combined"
)


def values_of(
    forest: Forest,
    population: Population,
    budget: TimeBudget,
    step: Step = silent,
    *,
    training: Mapping[str, float] = MappingProxyType({}),
    background: KnownNumbers | None = None,
    totals: TableTotals | None = None,
) -> ValueBounds | Undetermined:
    """Return between which ends each person's number lies, or why that is not known.

    The adversary knows who is in which leaf, how many people there are, and the range and the step of the table's
    values: the worst case. Whatever uses the choice of splits is left out. ``training`` are settings that the file may
    withhold and the adversary knows; where neither tells them, those that the library takes by itself are tried.
    ``background`` are numbers of people that the adversary has from elsewhere, ``totals`` are tables that are published
    beside the model. ``budget`` bounds how long other tables are looked for.
    """
    with step("recovering sums of numbers from leaf values"):
        numbers = population.numbers
        found = _all_rows(forest, population, training, background, totals)
        if isinstance(found, Undetermined):
            return found
        assert not isinstance(numbers, Undetermined)
        sums, rows, left = found
        is_all = sums.is_all and NOT_SURE_WHO not in left
    with step("reasoning over the leaves of all trees") as share:
        told = budget.told_to(share)
        bounds = bounds_of(rows, numbers, population.counts, told, is_all=is_all, left=left)
    if isinstance(bounds, Undetermined):
        return bounds
    if background is None and totals is None:
        bounds = _exchanged(bounds, forest, population)
    return replace(bounds, leaves=len(sums.low), facts=sums.facts, said=sums.said)


MOST_PARTNERS = 32
"""With so many people of a leaf, those with the most to give or to take, each other one exchanges steps."""
MOST_TAKERS = 16
"""So many are tried who may take over an end of the range."""


def _exchanged(bounds: ValueBounds, forest: Forest, population: Population) -> ValueBounds:
    """Return bounds with what people reach who exchange steps, weight for weight, with others of their leaf.

    So a tree that publishes weighted means alone stays the same. Two people with weights u and v in whole
    units may move by v / g and -u / g steps, where g divides both. Both ends of the range stay other people's.
    """
    weights, tree, numbers = weight_units(population, MOST_WEIGHT), forest.model, population.numbers
    if weights is None or not weights.is_exact or isinstance(numbers, Undetermined):
        return bounds
    if not (isinstance(tree, Tree) and says_means_alone(tree) and numbers.step):
        return bounds
    span = round((numbers.high - numbers.low) / numbers.step)
    least, most = (
        np.rint((end - numbers.low) / numbers.step).astype(np.int64)
        for end in (numbers.least, numbers.most)
    )
    leaf, units = np.unique(forest.stops[0], return_inverse=True)[1].reshape(-1), weights.units
    is_partner = (population.counts == 1) & (least > 0) & (least < span)
    up = _gained(least, span - most, (leaf, units, is_partner))
    down = _gained(span - least, least, (leaf, units, is_partner))
    # Whoever alone has an end of the range keeps it, or somebody else of the leaf takes it over.
    for moved, above in ((up, most), (down, span - least)):
        alone = np.flatnonzero(above == 0)
        if len(alone) == 1:
            around = np.flatnonzero(is_partner & (leaf == leaf[alone[0]]))
            around = around[np.argsort(-(above * units)[around], kind="stable")]
            ranked = [(one, int(units[one]), int(above[one])) for one in around.tolist()]
            own, by = int(units[alone[0]]), int(moved[alone[0]])
            both = _handed_over(own, ranked[MOST_PARTNERS:], span - by)  # who has given nothing yet
            only = _handed_over(own, ranked, span)
            moved[alone[0]] = max(only, 0 if both < 0 else by + both, 0)
    return replace(
        bounds,
        reached_high=np.maximum(bounds.reached_high, numbers.most + up * numbers.step),
        reached_low=np.minimum(bounds.reached_low, numbers.least - down * numbers.step),
    )


def _gained(
    gives: IntArray, room: IntArray, people: tuple[IndexArray, IntArray, BoolArray]
) -> IntArray:
    """Return by how many of ``room`` steps each profile moves, (P,), where partners of its leaf ``gives`` up theirs.

    ``people`` are their leaves, their units, and who is a partner.
    """
    leaf, units, is_partner = people
    gained = np.zeros(len(leaf), dtype=np.int64)
    order = np.lexsort((-gives * units, ~is_partner, leaf))
    first = np.searchsorted(leaf[order], np.arange(int(leaf.max(initial=0)) + 1))
    for rank in range(MOST_PARTNERS):
        place = np.minimum(first[leaf] + rank, len(order) - 1)
        partner = order[place]
        divisor = np.gcd(units, units[partner])
        here, there = units[partner] // divisor, units // divisor
        times = np.minimum((room - gained) // here, gives[partner] // there)
        fits = is_partner[partner] & (leaf[partner] == leaf) & (partner != np.arange(len(leaf)))
        gained += np.where(fits & (place == first[leaf] + rank), times * here, 0)
    return gained


def _handed_over(units: int, ranked: Sequence[tuple[int, int, int]], span: int) -> int:
    """Return by how many steps somebody leaves an end of the range that one partner takes over; -1 for none.

    ``ranked`` are partners, their units and how far each is from that end: those who weigh and lack most first. A
    second partner makes up for what is left over.
    """
    best = -1
    for taker, heavy, far in ranked[-MOST_TAKERS:]:
        for other, light, away in ranked[:MOST_TAKERS]:
            divisor = math.gcd(units, light)
            if taker == other or heavy * far % divisor:
                continue
            own, theirs, rest = units // divisor, light // divisor, heavy * far // divisor
            start = rest * pow(own, -1, theirs) % theirs if theirs > 1 else 0
            most = min(span, (rest + theirs * away) // own)
            moved = most - (most - start) % theirs
            if own * moved - rest >= -theirs * (span - away):
                best = max(best, moved)
    return best


def cells_of_tables(
    forest: Forest,
    population: Population,
    totals: TableTotals,
    budget: TimeBudget,
    *,
    training: Mapping[str, float] = MappingProxyType({}),
    background: KnownNumbers | None = None,
    share: Share | None = None,
) -> CellRanges | Undetermined:
    """Return how closely leaves and tables of totals tell the totals of cells; arguments are those of ``values_of``."""
    found = _all_rows(forest, population, training, background, totals)
    if isinstance(found, Undetermined):
        return found
    sums, rows, left = found
    # Where leaves say how far their numbers spread, tables with the same totals show nothing.
    is_bare = not any(map(says_spread, forest.trees))
    is_all = not left and (sums.is_all or (growth_of(forest.model) is None and is_bare))
    people, clock = (forest, population), budget.search_clock()
    return attack_cells(rows, totals, people, clock, is_all=is_all, share=share)


def _all_rows(
    forest: Forest,
    population: Population,
    training: Mapping[str, float],
    background: KnownNumbers | None,
    totals: TableTotals | None,
) -> tuple[ValueSums, NumberRows, tuple[str, ...]] | Undetermined:
    """Return what leaves, known numbers and tables say, as sums and as rows, and what of it is not in the rows."""
    used = max(1, MOST_ENTRIES // max(len(population.counts), 1))
    facts = () if background is None else (background,)
    parts = parts_of(facts, () if totals is None else (totals.inside,))
    found = sums_with_rows(forest, population, training, used, parts)
    if isinstance(found, Undetermined):
        return found
    sums, rows = found
    rows = with_totals(with_known(rows, facts), totals)
    left = (
        () if used >= _trees(sums) else (f"the leaves of the first {used:,} trees were combined",)
    )
    if not are_of_one(facts, rows.cells):
        left = (*left, NOT_SURE_WHO)
    return sums, rows, left


def sums_with_rows(
    forest: Forest,
    population: Population,
    training: Mapping[str, float],
    used: int,
    parts: IndexArray | None = None,
) -> tuple[ValueSums, NumberRows] | Undetermined:
    """Return what the leaves say, as sums and, of the first trees, as rows over cells; why not, where that is unknown.

    The true numbers of the people fulfil all of it. ``parts`` (P,) says whom something else tells apart.
    """
    numbers = population.numbers
    if isinstance(numbers, Undetermined):
        return Undetermined(f"the values of the people are not known: {numbers.reason}")
    problem = _unfit(forest, population, numbers)
    if problem:
        return Undetermined(problem)
    weights = number_weights(population)
    if weights is not None:
        parts = parted(parts, weights)
    cells = cells_of(forest.stops, population.counts, parts=parts)
    published = _PublishedNumbers(forest, population, numbers, cells, used, weights)
    return _fitting(published, training)


def number_weights(population: Population) -> IntArray | None:
    """Return what one person of each profile counts in sums of numbers, (P,), None where each counts once."""
    weights = weight_units(population, MOST_WEIGHT)
    return None if weights is None else weights.units


def _unfit(forest: Forest, population: Population, numbers: TargetNumbers) -> str:
    """Return why the leaves say nothing of these people that could be joined; "" where they may."""
    if not len(population.counts):
        return "the table has no records"
    if not numbers.low < numbers.high:
        return ONE_VALUE
    if claims_privacy(forest.model):
        return NOISY
    is_grown = growth_of(forest.model) is not None
    if population.weight is not None and is_grown:
        return WEIGHTED
    if (population.counts != np.rint(population.counts)).any():
        return PARTS
    return NO_LEAF if (forest.stops < 0).any() else ""


def _trees(sums: ValueSums) -> int:
    return len(np.unique(sums.trees))


@dataclass(frozen=True, slots=True, eq=False)
class _PublishedNumbers:
    """A model of numbers with its people, their true numbers and cells, and of how many trees rows are made.

    Sums count everybody ``weights`` (P,) times, None where it is once.
    """

    forest: Forest
    population: Population
    numbers: TargetNumbers
    cells: PeopleCells
    used: int
    weights: IntArray | None = None

    @property
    def largest(self) -> float:
        """The largest number, either sign."""
        return max(abs(self.numbers.low), abs(self.numbers.high))

    def rows(self, sums: ValueSums | Undetermined) -> tuple[ValueSums, NumberRows] | Undetermined:
        """Return sums with their rows; why not, where the true values do not fit them, of however many trees."""
        if isinstance(sums, Undetermined):
            return sums
        if not self._are_true(sums):
            is_moved = any(tree.learner.bounds_shares for tree in self.forest.trees)
            return Undetermined(MOVED_VALUES if is_moved else OTHER_VALUES)
        kept = np.isin(sums.trees, np.unique(sums.trees)[: self.used])
        names = ("trees", "nodes", "low", "high")
        part = replace(sums, **{name: getattr(sums, name)[kept] for name in names})
        often = 1 if self.weights is None else self.weights
        scale = scale_of(self.numbers, int((self.population.counts * often).sum()))
        rows = rows_of(part, self.forest.stops, self.cells, scale, weights=self.weights)
        problem = problem_with(rows, self.numbers)
        return Undetermined(problem) if problem else (sums, rows)

    def _are_true(self, sums: ValueSums) -> bool:
        """Whether the true sums of all leaves, and each person's value, lie between the ends that were found."""
        numbers, room_of_one = self.numbers, ROUNDING * self.largest
        often = 1 if self.weights is None else self.weights
        for tree in np.unique(sums.trees).tolist():
            here = sums.trees == tree
            place, size = np.searchsorted(sums.nodes[here], self.forest.stops[tree]), here.sum()
            total = np.bincount(place, numbers.sums * often, int(size))
            room = room_of_one * np.bincount(place, self.population.counts * often, int(size))
            if ((total < sums.low[here] - room) | (total > sums.high[here] + room)).any():
                return False
        return bool(
            (numbers.least >= sums.least - room_of_one).all()
            and (numbers.most <= sums.most + room_of_one).all()
        )


def _fitting(
    published: _PublishedNumbers, training: Mapping[str, float]
) -> tuple[ValueSums, NumberRows] | Undetermined:
    """Return what the leaves say, which the true values fulfil; else why there is no such thing."""
    forest, population = published.forest, published.population
    growth = growth_of(forest.model)
    if growth is None:
        return published.rows(mean_sums(forest, population, published.largest))
    case = GrownCase(knowing(growth, training), forest.trees, forest.stops, population.counts, 0)
    found = published.rows(value_sums(case, published.largest))
    if not isinstance(found, Undetermined):
        return found
    defaults = inverters()[growth.library].number_defaults
    silent_on = {
        name: value for name, value in defaults.items() if case.growth.fact(name).value is None
    }
    if not silent_on:
        return doubting(found, growth, training)
    grown_case = replace(case, growth=knowing(case.growth, silent_on, FactSource.TAKEN))
    other = published.rows(value_sums(grown_case, published.largest))
    if isinstance(other, Undetermined):
        return doubting(found, growth, training)
    taken = ", ".join(f"{name} {value:g}" for name, value in silent_on.items())
    said = (
        "the file does not contain its training settings. The library's defaults fit and were "
        f"assumed: {taken}"
    )
    sums, rows = other
    return replace(sums, said=(*sums.said, said)), rows


def problem_with(rows: NumberRows, numbers: TargetNumbers) -> str:
    """Return why rows cannot be of people who have these numbers, "" where they can."""
    x, sizes = _true_sums(rows, numbers), rows.cells.sizes
    room = 0.0
    if not rows.scale.is_whole:
        room = ROUNDING * rows.scale.span
    elif (x != np.rint(x)).any():
        return "the sums of the table's values are too large to be counted exactly"
    for part in rows.parts:
        if (part.low > part.high).any():
            return OTHER_VALUES
        place = np.zeros(len(sizes), dtype=np.intp) if part.place is None else part.place
        there = place >= 0
        often = np.ones(len(x)) if part.times is None else part.times
        total = np.bincount(place[there], (x * often)[there], len(part.low))
        off = room * float(sizes @ often)
        if ((total < part.low - off) | (total > part.high + off)).any():
            return OTHER_VALUES
    return ""


def _true_sums(rows: NumberRows, numbers: TargetNumbers) -> FloatArray:
    """Return the true sum of each cell in units, (C,): whole where numbers are whole."""
    cells, scale = rows.cells, rows.scale
    total = np.bincount(cells.of, numbers.sums, len(cells.sizes)).astype(np.float64)
    found = scale.to_units(total, cells.sizes)
    if not scale.is_whole:
        return np.clip(found, 0.0, cells.sizes * float(scale.span))
    near = np.rint(found)
    return np.where(np.abs(near - found) < 0.01, near, found)


def bounds_of(
    rows: NumberRows,
    numbers: TargetNumbers,
    counts: FloatArray,
    budget: TimeBudget,
    *,
    is_all: bool,
    left: tuple[str, ...],
) -> ValueBounds | Undetermined:
    """Return between which ends rows leave the number of one person of each profile, of whom ``counts`` (P,) are.

    ``is_all`` says that the files tell nothing else of the numbers, ``left`` what is not in the rows. Undetermined
    where no numbers fulfil the rows.
    """
    cells, scale = rows.cells, rows.scale
    problem = rows.problem("" if is_all and not left else ONLY_SWAPPED)
    truth = np.rint(_true_sums(rows, numbers)).astype(np.int64)[:, None]
    bounds = reason(problem, truth=truth, budget=budget)
    if bounds.problem:
        return Undetermined(OTHER_VALUES)
    one_row = ends_by_row(problem, np.flatnonzero(problem.trees != KNOWN_FACT))
    ends = ends_of_one(cells.sizes, rows.amounts, bounds.low[:, 0], bounds.high[:, 0])
    room = 0.0 if scale.is_whole else ROUNDING * scale.span
    least, most = np.maximum(ends[0] - room, 0.0), np.minimum(ends[1] + room, scale.span)
    reached_low, reached_high = _reached(rows, bounds, numbers, is_all=is_all)
    width = np.minimum(one_row[1], scale.span) - np.maximum(one_row[0], 0)
    return ValueBounds(
        counts=counts,
        low=scale.back(least)[cells.of],
        high=scale.back(most)[cells.of],
        reached_low=reached_low,
        reached_high=reached_high,
        by_leaf=np.maximum(width, 0)[cells.of] * scale.unit,
        range=Interval(numbers.low, numbers.high),
        step=numbers.step,
        leaves=len(problem.low),
        left=(*left, *bounds.left),
    )


def _reached(
    rows: NumberRows, bounds: ProblemBounds, numbers: TargetNumbers, *, is_all: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest value that a person of each profile has in a table that fits, (P,).

    People whom no leaf tells apart may change places, whatever is published. Where only sums are, the others of a cell
    may have their least or their most while she has the rest, if the ends of the range are other people's.
    """
    cells, scale, amounts = rows.cells, rows.scale, rows.amounts
    least, most = np.full(len(cells.sizes), np.inf), np.full(len(cells.sizes), -np.inf)
    np.minimum.at(least, cells.of, numbers.least)
    np.maximum.at(most, cells.of, numbers.most)
    if is_all and bounds.apart_low is not None and bounds.apart_high is not None:
        others = cells.sizes - 1
        low, high = bounds.apart_low + scale.margin, bounds.apart_high - scale.margin
        alone = (
            np.clip(low - others * amounts.most, amounts.least, amounts.most),
            np.clip(high - others * amounts.least, amounts.least, amounts.most),
        )
        own = others == 0
        reached = bounds.reached_low[:, 0] + scale.margin, bounds.reached_high[:, 0] - scale.margin
        least = np.minimum(least, np.where(own, scale.back(reached[0]), np.inf))
        most = np.maximum(most, np.where(own, scale.back(reached[1]), -np.inf))
        some = low <= high
        least = np.where(some, np.minimum(least, scale.back(alone[0])), least)
        most = np.where(some, np.maximum(most, scale.back(alone[1])), most)
    return least[cells.of], most[cells.of]
