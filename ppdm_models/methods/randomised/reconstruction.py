"""Distributions from noisy values: Bayes' rule over intervals, repeated until it changes little.

The iteration is that of Agrawal & Srikant (2000, section 3). With the exact kernel it is the EM algorithm of Agrawal &
Aggarwal (2001) for values in bins.

It includes the intervals over which a distribution is reconstructed, and which of them noisy values fall in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.methods.randomised.domains import ColumnDomain, NoisyCells
from treewarden.ppdm_models.methods.randomised.manifest import Hidden
from treewarden.ppdm_models.methods.randomised.noise import ClassNoise, Hiding, Noise
from treewarden.ppdm_models.tables.batches import Batches

RECORDS_PER_INTERVAL = 100
FEWEST, MOST = 10, 100
FEWEST_RECORDS = FEWEST * RECORDS_PER_INTERVAL
"""The fewest intervals, with the records that each asks for."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """Equally wide intervals that fill a known domain, from the lowest value on."""

    low: float
    width: float
    count: int

    @property
    def edges(self) -> Numbers:
        """Where they begin and end; shape (count + 1,)."""
        return self.low + self.width * np.arange(self.count + 1, dtype=np.float64)

    @property
    def middles(self) -> Numbers:
        """Their middles; shape (count,)."""
        return self.low + self.width * (np.arange(self.count, dtype=np.float64) + 0.5)

    def numbers(self, values: Numbers) -> NDArray[np.int64]:
        """Return the number of the interval of each value; the first or last where it lies outside."""
        found = np.clip(np.floor((values - self.low) / self.width), 0, self.count - 1)
        numbers: NDArray[np.int64] = found.astype(np.int64)
        ends = self.edges[
            1:-1
        ]  # by which trees are told: what was rounded must not fall on the other side
        if len(ends):
            numbers -= (numbers > 0) & (values < ends[np.maximum(numbers - 1, 0)])
            numbers += (numbers < self.count - 1) & (
                values >= ends[np.minimum(numbers, len(ends) - 1)]
            )
        return numbers

    def widened(self, reach: float) -> Intervals:
        """Return intervals of the same width that hold everything that noise of a reach can make of the domain."""
        more = int(np.ceil(reach / self.width - 1e-9))
        return Intervals(self.low - more * self.width, self.width, self.count + 2 * more)


def intervals(low: float, high: float, records: int, *, is_whole: bool = False) -> Intervals:
    """Return the intervals for a domain and so many records: one in a hundred, from 10 to 100 of them.

    Whole numbers of at most 100 values have an interval each, which ends half way between them.

    Raises:
        ValueError: the domain is empty.
    """
    if not high > low:
        raise ValueError(f"the domain is from {low:g} to {high:g}; low must be below high")
    if is_whole and high - low + 1 <= MOST:
        return Intervals(low - 0.5, 1.0, round(high - low) + 1)
    count = min(max(records // RECORDS_PER_INTERVAL, FEWEST), MOST)
    return Intervals(low, (high - low) / count, count)


Numbers = NDArray[np.float64]
STOP = 0.01
MOST_STEPS = 5_000
TINY = 1e-300


class Kernel(StrEnum):
    """How likely a noisy value is in one interval where the true one is in another: at the middles, or exactly."""

    MIDPOINT = "midpoint"
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class Reconstructed:
    """Shares (count,) of intervals that add up to 1; whether the iteration settled, and after how many steps."""

    intervals: Intervals
    shares: Numbers
    steps: int
    is_settled: bool


@dataclass(frozen=True, slots=True)
class NoisyPlaces:
    """Where noisy values can fall, and the chance of each place for values of each interval: (places, intervals).

    ``edges`` are where places begin and end, shape (places + 1,).
    """

    hiding: Hiding
    own: Intervals
    chances: Numbers
    edges: Numbers

    def numbers(self, values: Numbers) -> NDArray[np.int64]:
        """Return the place of each value; none of them is missing."""
        if isinstance(self.hiding, ClassNoise):
            return self.hiding.numbers(values)
        # At the middles, noise may seem not to reach the outermost intervals: what is there goes to the next ones.
        reached = np.flatnonzero(self.chances.sum(axis=1) > 0)
        return np.clip(self.own.widened(self.hiding.reach).numbers(values), reached[0], reached[-1])


def kernel(
    noise: Noise, intervals: Intervals, wide: Intervals, kind: Kernel = Kernel.MIDPOINT
) -> Numbers:
    """Return for each wide interval and each of the domain the chance of a noisy value there; shape (wide, intervals).

    With the midpoint kernel they are chances up to a factor, which the iteration does not see.
    """
    distance = wide.middles[:, None] - intervals.middles[None, :]
    if kind is Kernel.MIDPOINT:
        return noise.density(distance) * intervals.width
    step = intervals.width
    upper, here, lower = (noise.second_integral(distance + by) for by in (step, 0.0, -step))
    return np.maximum(upper - 2 * here + lower, 0.0) / step


def membership(classes: ClassNoise, intervals: Intervals) -> Numbers:
    """Return the chance of each class for values of each interval, spread evenly in it; shape (classes, own)."""
    edges = classes.edges
    edges[0], edges[-1] = -np.inf, np.inf  # intervals of whole numbers reach beyond the domain
    low = np.maximum(edges[:-1, None], intervals.edges[None, :-1])
    high = np.minimum(edges[1:, None], intervals.edges[None, 1:])
    inside = np.maximum(high - low, 0.0)
    numbers: Numbers = inside / inside.sum(axis=0)
    return numbers


def reconstruct(
    values: Numbers,
    hiding: Hiding,
    intervals: Intervals,
    kind: Kernel = Kernel.MIDPOINT,
    *,
    stop: float = STOP,
    most_steps: int = MOST_STEPS,
) -> Reconstructed:
    """Return the distribution of the true values over intervals of their domain, from noisy values.

    Of classes it tells no more than how often each occurs. It begins uniform, and ends where a step changes less than
    ``stop`` times the 95 % point of chi-square. That is the regulariser: run on, uniform noise is fitted too closely.
    Missing values (NaN) do not count.

    Raises:
        ValueError: no value is there, or one lies where this noise cannot have put it; its row is named, from 1.
    """
    rows = np.flatnonzero(~np.isnan(values))
    if not len(rows):
        raise ValueError("the column has no values; give at least one")
    there = values[rows]
    check_reach(there, hiding, intervals, rows)
    places = places_of(hiding, intervals, kind)
    counts = np.bincount(places.numbers(there), minlength=len(places.chances))
    return settled(places.chances, counts, intervals, stop=stop, most_steps=most_steps)


def check_reach(
    values: Numbers, hiding: Hiding, intervals: Intervals, rows: NDArray[np.int64]
) -> None:
    """Check that values lie where noise can have put them; their ``rows`` are numbered from 0.

    Raises:
        ValueError: one does not; its row is named, from 1.
    """
    limit = 0.0 if isinstance(hiding, ClassNoise) else hiding.limit
    beyond = np.flatnonzero(
        (values < intervals.low - limit) | (values > intervals.edges[-1] + limit)
    )
    if len(beyond):
        raise ValueError(
            f"row {rows[beyond[0]] + 1}: the value lies further from the domain than this noise reaches; "
            "is it the right domain, and the right noise?"
        )


def places_of(hiding: Hiding, intervals: Intervals, kind: Kernel = Kernel.MIDPOINT) -> NoisyPlaces:
    """Return where noisy values can fall: in classes, or in intervals of the domain and of what noise makes of it."""
    if isinstance(hiding, ClassNoise):
        return NoisyPlaces(hiding, intervals, membership(hiding, intervals), hiding.edges)
    wide = intervals.widened(hiding.reach)
    return NoisyPlaces(hiding, intervals, kernel(hiding, intervals, wide, kind), wide.edges)


def ranked(values: Numbers, shares: Numbers) -> NDArray[np.int64]:
    """Return an interval for each noisy value: the lowest values go to the first, as many as its share says, and so on.

    That is no estimate of anybody's value (the paper's third footnote); it keeps the distribution, for trees to grow
    on. Values that are equal stay in the order of their rows.
    """
    order = np.argsort(values, kind="stable")
    places = np.empty(len(values), np.int64)
    places[order] = np.arange(len(values))
    return dealt(places, shares)


def dealt(places: NDArray[np.int64], shares: Numbers) -> NDArray[np.int64]:
    """Return an interval for each of some values by its place among them, from 0: as ``ranked`` does."""
    ends = np.rint(np.cumsum(shares) * len(places)).astype(np.int64)
    ends[-1] = len(places)
    found: NDArray[np.int64] = np.repeat(np.arange(len(shares)), np.diff(ends, prepend=0))[places]
    return found


def settled(
    chances: Numbers,
    counts: NDArray[np.int64],
    intervals: Intervals,
    *,
    stop: float = STOP,
    most_steps: int = MOST_STEPS,
) -> Reconstructed:
    """Return the distribution behind counts of noisy values by place, shape (places,): ``reconstruct`` says how."""
    seen = np.flatnonzero(counts)
    chances, observed = chances[seen], counts[seen].astype(np.float64)
    back, total = np.ascontiguousarray(chances.T), observed.sum()
    limit = stop * _typical_change(intervals.count)
    shares = np.full(intervals.count, 1 / intervals.count)
    for step in range(1, most_steps + 1):
        following = shares * (back @ (observed / (chances @ shares + TINY))) / total
        following /= following.sum()
        moved = following - shares
        change = total * float((moved * moved / (shares + TINY)).sum())  # what is 0 stays 0
        shares = following
        if change < limit:
            return Reconstructed(intervals, shares, step, is_settled=True)
    return Reconstructed(intervals, shares, most_steps, is_settled=False)


@cache
def _typical_change(count: int) -> float:
    """Return what chi-square of so many intervals exceeds once in twenty times."""
    return float(chi2.ppf(0.95, max(count - 1, 1)))


# How the values of a hidden column are distributed, as far as noisy ones tell; beside the true values, where given.


@dataclass(frozen=True, slots=True)
class ColumnDistribution:
    """One hidden column. Shares add up to 1: ``shares`` and ``true`` over the intervals ``own``.

    ``noisy`` are over the intervals that end at ``noisy_edges``. ``true`` is None where the true values are not given.
    ``is_settled`` says whether the iteration ended by itself, after ``steps``.
    """

    said: Hidden
    own: Intervals
    shares: Numbers
    noisy_edges: Numbers
    noisy: Numbers
    values: int
    missing: int
    steps: int
    is_settled: bool
    true: Numbers | None = None

    @property
    def error(self) -> float | None:
        """The share of records that lie elsewhere than reconstructed: half the sum of all differences."""
        if self.true is None:
            return None
        return float(np.abs(self.shares - self.true).sum() / 2)


class _NoisyTally:
    """Counts the noisy values of one column by where they fall."""

    def __init__(self, hidden: Hidden, records: int, kind: Kernel) -> None:
        self.said, self.hiding = hidden, hidden.hiding
        self.own = intervals(hidden.low, hidden.high, records, is_whole=hidden.is_whole)
        self.places = places_of(self.hiding, self.own, kind)
        self.counts = np.zeros(len(self.places.chances), np.int64)
        self.missing = 0

    def add(self, cells: NoisyCells) -> None:
        values = cells.numbers()
        rows = np.flatnonzero(~np.isnan(values))
        self.missing += len(values) - len(rows)
        there = values[rows]
        try:
            check_reach(there, self.hiding, self.own, rows + cells.first - 1)
        except ValueError as error:
            raise TableError(cells.source, f"column {cells.name!r}, {error}") from error
        self.counts += np.bincount(self.places.numbers(there), minlength=len(self.counts))

    def reconstruct(self, source: str, stop: float) -> ColumnDistribution:
        total = int(self.counts.sum())
        if total < FEWEST_RECORDS:
            problem = (
                f"column {self.said.name!r} has {total:,} values, too few to tell a distribution"
            )
            raise TableError(source, f"{problem}; {FEWEST_RECORDS:,} are needed")
        made = settled(self.places.chances, self.counts, self.own, stop=stop)
        return ColumnDistribution(
            said=self.said,
            own=self.own,
            shares=made.shares,
            noisy_edges=self.places.edges,
            noisy=self.counts / total,
            values=total,
            missing=self.missing,
            steps=made.steps,
            is_settled=made.is_settled,
        )


def distributions_of(
    table: Batches,
    columns: tuple[Hidden, ...],
    records: int,
    kind: Kernel = Kernel.MIDPOINT,
    stop: float = STOP,
) -> tuple[ColumnDistribution, ...]:
    """Return how the values of some hidden columns are distributed; the table passes by once.

    Raises:
        TableError: it cannot be read, a cell is no number or lies further off than noise reaches, or there are too few.
    """
    tallies = [_NoisyTally(column, records, kind) for column in columns]
    met = 0
    for cells in _cells(table, columns):
        for tally, noisy_cells in zip(tallies, cells, strict=True):
            tally.add(noisy_cells)
        met += len(cells[0].values)
    if met != records:
        problem = f"has {met:,} records, and its manifest says {records:,}"
        raise TableError(table.source, f"{problem}; give the manifest that was written with it")
    return tuple(noisy_tally.reconstruct(table.source, stop) for noisy_tally in tallies)


def beside_true(
    table: Batches, distributions: tuple[ColumnDistribution, ...]
) -> tuple[ColumnDistribution, ...]:
    """Return the same beside how the true values are distributed; the table of these passes by once.

    Raises:
        TableError: it cannot be read, or a cell is no number.
        DomainError: a value lies outside its domain.
    """
    columns = tuple(distribution.said for distribution in distributions)
    counts = [np.zeros(distribution.own.count, np.int64) for distribution in distributions]
    for cells in _cells(table, columns):
        for column_distribution, noisy_cells, found in zip(
            distributions, cells, counts, strict=True
        ):
            values = noisy_cells.within(domain_of(column_distribution.said))
            there = values[~np.isnan(values)]
            found += np.bincount(
                column_distribution.own.numbers(there), minlength=column_distribution.own.count
            )
    return tuple(with_true(each, found) for each, found in zip(distributions, counts, strict=True))


def with_true(
    column_distribution: ColumnDistribution, counts: NDArray[np.int64]
) -> ColumnDistribution:
    """Return a distribution beside that of counts of true values, one for each of its intervals."""
    return replace(column_distribution, true=counts / max(int(counts.sum()), 1))


def domain_of(hidden: Hidden) -> ColumnDomain:
    """Return the domain that a manifest names."""
    return ColumnDomain(
        hidden.name, hidden.low, hidden.high, hidden.is_whole, hidden.values, hidden.domain
    )


def _cells(table: Batches, columns: tuple[Hidden, ...]) -> Iterator[list[NoisyCells]]:
    names, first = [column.name for column in columns], 1
    for batch in table.read(names):
        yield [
            NoisyCells(table.source, name, first, batch.column(place))
            for place, name in enumerate(names)
        ]
        first += batch.num_rows
