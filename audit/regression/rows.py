"""Sums of people's numbers that leaves publish, as rows over cells of people whom no leaf tells apart.

All numbers are counted in units from the least of the range: whole where the table's values lie on a grid. They make
one problem of amounts. Each row's ends allow for how far printing moved a number from what was computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.engine.problem import AmountRange, Amounts, Problem
from treewarden.audit.inverters import ValueSums
from treewarden.audit.joint.cells import PartingRows, PeopleCells, problem_of
from treewarden.audit.joint.sampling_weights import weight_units
from treewarden.audit.population.forest import Forest, sample_in_words
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import TargetNumbers
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.result import EXACT_SHARE
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble
from treewarden.ppdm_models.tree.tree import Quality, Tree

ROUNDING = 2.0**-48
"""Relative rounding of our own sums and products of doubles, with room to spare."""
DECIMALS = 10
"""Whole steps have at most nine decimals: a number that is a step away from another is told as it is written."""
MOST_BITS, SUM_BITS, WHOLE_BITS = 44, 60, 52
"""Of a range whose values lie on no grid; of the sum over all people; and of it where values do lie on one."""
MARGIN_BITS = 24
"""Of real numbers a known sum is taken to be off by the range over two to that at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """How numbers are counted: ``(number - start) / unit``, from 0 to ``span``; whole ones, where ``is_whole``.

    No number of the table is larger than ``largest``, either sign.
    """

    start: float
    unit: float
    span: int
    is_whole: bool
    largest: float

    @property
    def room(self) -> int:
        """How many units rounding may move a number by that is at an end of a range."""
        return 0 if self.is_whole else 1 + int(np.ceil(ROUNDING * self.largest / self.unit))

    @property
    def margin(self) -> int:
        """How many units a known sum may be off by."""
        return 0 if self.is_whole else self.span >> MARGIN_BITS

    def to_units(self, values: FloatArray, people: FloatArray | IntArray) -> FloatArray:
        """Return sums over so many people in units."""
        return (values - people * self.start) / self.unit

    def back(self, units: FloatArray | IntArray) -> FloatArray:
        """Return numbers of one person from units."""
        found = np.asarray(self.start + units * self.unit, dtype=np.float64)
        return np.round(found, DECIMALS) if self.is_whole else found

    def ends(
        self, low: FloatArray, high: FloatArray, people: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Return ends (R,) of sums over so many people in whole units: inwards of what is whole, else outwards."""
        room = (1 if self.is_whole else 2) * ROUNDING * (people * self.largest)
        most = people * float(self.span) + 1.0
        low, high = (
            np.clip(self.to_units(end, people), -1.0, most) for end in (low - room, high + room)
        )
        rounded = (
            (np.ceil(low), np.floor(high)) if self.is_whole else (np.floor(low), np.ceil(high))
        )
        least, greatest = (end.astype(np.int64) for end in rounded)
        return least, greatest


def scale_of(numbers: TargetNumbers, people: int) -> Scale:
    """Return how the numbers of a table of so many people are counted."""
    span, largest = numbers.high - numbers.low, max(abs(numbers.low), abs(numbers.high))
    steps = round(span / numbers.step) if numbers.step else 0
    if steps and steps * people < 2**WHOLE_BITS:
        return Scale(numbers.low, numbers.step, steps, is_whole=True, largest=largest)
    bits = min(MOST_BITS, SUM_BITS - people.bit_length())
    return Scale(numbers.low, span / 2**bits, 2**bits, is_whole=False, largest=largest)


@dataclass(frozen=True, slots=True, eq=False)
class NumberRows:
    """What leaves, totals and facts say of the sums of cells' people, as parts of one problem."""

    parts: tuple[PartingRows, ...]
    amounts: Amounts
    cells: PeopleCells
    scale: Scale

    def problem(self, incomplete: str = "") -> Problem:
        """Return all of it as one problem.

        Raises:
            ValueError: nothing can fulfil a row.
        """
        problem = problem_of(self.parts, self.cells, 1)
        return replace(problem, amounts=self.amounts, incomplete=incomplete)

    def is_exact(self, low: IntArray, high: IntArray, people: IntArray) -> BoolArray:
        """Return which rows (R,) over so many people tell their sum but for rounding."""
        room = 0.0 if self.scale.is_whole else EXACT_SHARE * self.scale.span
        return np.asarray(high - low <= room * people)


def rows_of(
    sums: ValueSums,
    stops: IndexArray,
    cells: PeopleCells,
    scale: Scale,
    first_tree: int = 0,
    weights: IntArray | None = None,
) -> NumberRows:
    """Return what leaves say, of profiles that stop at ``stops`` (T, P), -1 where a tree's release lacks them.

    ``first_tree`` is the place of the first tree among all trees of all releases. Sums count everybody ``weights`` (P,)
    times, None where it is once.
    """
    times = None if weights is None else weights[cells.first]
    parts = []
    trees, first = np.unique(sums.trees, return_index=True)
    ends = np.append(first[1:], len(sums.trees))
    for tree, start, end in zip(trees.tolist(), first.tolist(), ends.tolist(), strict=True):
        stopped = stops[tree][cells.first]
        place = np.where(stopped < 0, -1, np.searchsorted(sums.nodes[start:end], stopped))
        nodes, values = sums.nodes[start:end], (sums.low[start:end], sums.high[start:end])
        origin = np.full(len(nodes), tree + first_tree), nodes
        parts.append(part_of(place, values, *origin, cells, scale, times))
    least, most = _of_one(sums, cells, scale)
    ranges = (AmountRange(np.ones(len(cells.sizes), dtype=bool), 0, scale.span),)
    return NumberRows(tuple(parts), amounts_of(least, most, scale, ranges), cells, scale)


def amounts_of(
    least: IntArray, most: IntArray, scale: Scale, ranges: tuple[AmountRange, ...]
) -> Amounts:
    """Return what is known of each person's number, from its ends by cell (C,)."""
    return Amounts(
        least=least,
        most=most,
        span=scale.span,
        is_whole=scale.is_whole,
        ranges=ranges,
        room=scale.room,
        margin=scale.margin,
    )


def part_of(
    place: IndexArray,
    values: tuple[FloatArray, FloatArray],
    trees: IndexArray,
    nodes: IndexArray,
    cells: PeopleCells,
    scale: Scale,
    times: IntArray | None = None,
) -> PartingRows:
    """Return rows that part cells, of sums that lie between two ends (R,) in the target's unit.

    A person of a cell counts ``times`` (C,) there, None where it is once.
    """
    there = place >= 0
    people = counted_in(place, cells.sizes, times, len(nodes))
    low, high = scale.ends(*values, people)
    if times is not None:
        place = np.where(there & (times > 0), place, -1)
    output = np.zeros(len(nodes), dtype=np.intp)
    return PartingRows(low, high, output, trees, nodes, place=place, times=times)


def counted_in(place: IndexArray, numbers: IntArray, times: IntArray | None, rows: int) -> IntArray:
    """Return the sums of whole numbers of cells, (C,), over each row, (R,), which count so often there."""
    there = place >= 0
    counted = numbers if times is None else numbers * times
    return np.bincount(place[there], counted[there], rows).astype(np.int64)


def together(parts: Sequence[NumberRows]) -> NumberRows:
    """Return the rows of all parts, which are over the same cells."""
    amounts = [part.amounts for part in parts]
    return replace(
        parts[0],
        parts=tuple(each for part in parts for each in part.parts),
        amounts=replace(
            amounts[0],
            least=np.maximum.reduce([each.least for each in amounts]),
            most=np.minimum.reduce([each.most for each in amounts]),
            ranges=tuple(one for each in amounts for one in each.ranges),
        ),
    )


def _of_one(sums: ValueSums, cells: PeopleCells, scale: Scale) -> tuple[IntArray, IntArray]:
    """Return between which ends one person's number lies as published spreads say, by cell (C,)."""
    low, high = scale.ends(sums.least, sums.most, np.ones(len(cells.of), dtype=np.int64))
    least = np.zeros(len(cells.sizes), dtype=np.int64)
    most = np.full(len(cells.sizes), scale.span)
    np.maximum.at(least, cells.of, np.maximum(low, 0))
    np.minimum.at(most, cells.of, np.minimum(high, scale.span))
    return least, most


# Leaves that publish the mean of their people's numbers: times the number of people, it is their sum.
#
# Where the file also says how far they spread, no person is further from the mean than the standard deviation times the
# root of n - 1 (Samuelson 1968).

NOT_MEANS = Undetermined(
    "the file does not contain its training settings, and a leaf is not the mean of its "
    "people's values"
)
STOPS_EARLY = Undetermined("some records stop at an inner node")
NO_NUMBERS = Undetermined("some leaves say no number")
WEIGHTED = Undetermined(
    "its numbers are means of weighted records, and no option names their sampling weights"
)
MOST_WEIGHT = 2**30
"""The most units of weight that all people have together, so that their numbers are counted finely beside them."""


def mean_sums(forest: Forest, population: Population, largest: float) -> ValueSums | Undetermined:
    """Return what the leaves say of the sums of a target that is at most this large, either sign."""
    model = forest.model
    if isinstance(model, Ensemble) and model.combination is not Combination.AVERAGE:
        return NOT_MEANS
    if forest.draws or (isinstance(model, Ensemble) and model.sampling.resampled):
        return Undetermined(sample_in_words(model))
    weights = weight_units(population, MOST_WEIGHT)
    if weights is None and any(tree.quality is Quality.WEIGHTED for tree in forest.trees):
        return WEIGHTED
    counted = population.counts if weights is None else population.counts * weights.units
    size = len(population.counts)
    least, most = np.full(size, -np.inf), np.full(size, np.inf)
    parts = []
    for number, (tree, stops) in enumerate(zip(forest.trees, forest.stops, strict=True)):
        nodes, place = np.unique(stops, return_inverse=True)
        people = np.bincount(place, population.counts, len(nodes)).astype(np.float64)
        weighed = np.bincount(place, counted, len(nodes)).astype(np.float64)
        there = [tree.nodes[node] for node in nodes.tolist()]
        if not all(node.is_leaf for node in there):
            return STOPS_EARLY
        if any(isinstance(node.score, str) or node.score is None for node in there):
            return NO_NUMBERS
        means = np.array([node.score for node in there], dtype=np.float64)
        room = rounding(numbers_said(tree))[nodes] + 4 * DOUBLE * population.records * largest
        # Each weight may be half a unit off, and so may the sum of them.
        more = 0.0 if weights is None or weights.is_exact else people * largest
        ends = weighed * (means - room) - more, weighed * (means + room) + more
        parts.append((number, nodes, *ends))
        if weights is not None:
            continue
        low, high = _mean_of_one(tree, nodes, means, room, people, largest)
        least, most = np.maximum(least, low[place]), np.minimum(most, high[place])
    return ValueSums(
        np.concatenate([np.full(len(nodes), number) for number, nodes, *_ in parts]),
        np.concatenate([nodes for _, nodes, *_ in parts]),
        np.concatenate([low for *_, low, _ in parts]),
        np.concatenate([high for *_, high in parts]),
        least,
        most,
        is_all=weights is None and all(map(says_means_alone, forest.trees)),
        facts={},
    )


MEANS_ALONE = frozenset({"pmml", "sklearn", "sklearn_json", "skops_file", "treewarden_json"})
"""Formats of whose leaves all is read or named, so that it is known where they say no more than means."""


def says_means_alone(tree: Tree) -> bool:
    """Whether nothing else is said of leaves (spreads, medians, extremes): that hangs on values, not on their sums."""
    return tree.format in MEANS_ALONE and not says_spread(tree)


def says_spread(tree: Tree) -> bool:
    """Whether some node says more of its numbers than their mean, whether it is read or only named."""
    return bool(tree.unused) or any(node.figures.spread is not None for node in tree.nodes)


def _mean_of_one(
    tree: Tree,
    nodes: IndexArray,
    means: FloatArray,
    room: FloatArray,
    people: FloatArray,
    largest: float,
) -> tuple[FloatArray, FloatArray]:
    """Return between which ends one person of each leaf lies, as its published spread says."""
    spreads = [tree.nodes[node].figures.spread for node in nodes.tolist()]
    is_told = np.array([spread is not None for spread in spreads])
    highest = np.array([0.0 if spread is None else spread[1] for spread in spreads])
    # A spread is a difference of two means of squares, each of which rounds by the size of its terms.
    highest = highest + 8 * DOUBLE * (people + 8) * (2 * largest) ** 2
    widest = np.sqrt(highest * np.maximum(people - 1, 0)) * (1 + 2.0**-40) + room
    widest = np.where(is_told, widest, np.inf)
    return means - widest, means + widest


SINGLE, DOUBLE = 2.0**-24, 2.0**-53
FULL_DIGITS = 15
"""Numbers with so many digits were not rounded for reading."""


def rounding(numbers: FloatArray) -> FloatArray:
    """Return how far published numbers may lie from what was computed; NaN stands for none.

    Numbers of full length are of 64 bits, or of 32 where all are such; others were rounded to so many decimals, or to
    so many digits, as the longest of them has.
    """
    finite = numbers[np.isfinite(numbers)]
    size = np.abs(np.nan_to_num(numbers))
    room = np.where(_are_single(finite), 2 * SINGLE, 2 * DOUBLE) * size
    digits, decimals = (
        max((each[k] for each in map(_length, finite.tolist())), default=0) for k in (0, 1)
    )
    if digits >= FULL_DIGITS:
        return np.asarray(room)
    # Of a number whose last digits are 0 these need not be printed: whichever way it was cut, the wider one is taken.
    with np.errstate(divide="ignore"):
        first = np.floor(np.log10(np.where(size > 0, size, 1.0)))
    cut = np.maximum(0.5 * 10.0**-decimals, 0.5 * 10.0 ** (first + 1 - digits))
    return np.asarray(room + cut * (1 + 2.0**-40))


def _are_single(numbers: FloatArray) -> bool:
    with np.errstate(over="ignore"):
        return bool((numbers.astype(np.float32).astype(np.float64) == numbers).all())


def _length(number: float) -> tuple[int, int]:
    """Return how many digits and how many decimals a number has."""
    digits, _, exponent = f"{number:.17g}".partition("e")
    digits, _, exponent = repr(float(digits + "e" + (exponent or "0"))).partition("e")
    whole, _, decimals = digits.lstrip("-").partition(".")
    decimals = "" if decimals == "0" else decimals
    shift = int(exponent or 0)
    return len((whole + decimals).strip("0")), max(len(decimals) - shift, 0)


def numbers_said(tree: Tree) -> FloatArray:
    """Return what each node says, NaN where it is no number."""
    scores = (node.score for node in tree.nodes)
    return np.array(
        [one if isinstance(one, int | float) else np.nan for one in scores], dtype=float
    )
