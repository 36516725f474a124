"""How the values of a hidden column are distributed, as far as noisy ones tell; beside the true values, where given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.randomised.cells import Cells
from treewarden.ppdm_models.randomised.domains import Domain
from treewarden.ppdm_models.randomised.intervals import FEWEST_RECORDS, Intervals, intervals
from treewarden.ppdm_models.randomised.manifest import Hidden
from treewarden.ppdm_models.randomised.reconstructing import (
    STOP,
    Kernel,
    check_reach,
    places_of,
    settled,
)
from treewarden.ppdm_models.records.batches import Batches

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Distribution:
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


class _Tally:
    """Counts the noisy values of one column by where they fall."""

    def __init__(self, said: Hidden, records: int, kind: Kernel) -> None:
        self.said, self.hiding = said, said.hiding
        self.own = intervals(said.low, said.high, records, is_whole=said.is_whole)
        self.places = places_of(self.hiding, self.own, kind)
        self.counts = np.zeros(len(self.places.chances), np.int64)
        self.missing = 0

    def add(self, cells: Cells) -> None:
        values = cells.numbers()
        rows = np.flatnonzero(~np.isnan(values))
        self.missing += len(values) - len(rows)
        there = values[rows]
        try:
            check_reach(there, self.hiding, self.own, rows + cells.first - 1)
        except ValueError as error:
            raise TableError(cells.source, f"column {cells.name!r}, {error}") from error
        self.counts += np.bincount(self.places.numbers(there), minlength=len(self.counts))

    def found(self, source: str, stop: float) -> Distribution:
        total = int(self.counts.sum())
        if total < FEWEST_RECORDS:
            problem = (
                f"column {self.said.name!r} has {total:,} values, too few to tell a distribution"
            )
            raise TableError(source, f"{problem}; {FEWEST_RECORDS:,} are needed")
        made = settled(self.places.chances, self.counts, self.own, stop=stop)
        return Distribution(
            self.said,
            self.own,
            made.shares,
            self.places.edges,
            self.counts / total,
            total,
            self.missing,
            made.steps,
            made.is_settled,
        )


def distributions_of(
    table: Batches,
    columns: tuple[Hidden, ...],
    records: int,
    kind: Kernel = Kernel.MIDPOINT,
    stop: float = STOP,
) -> tuple[Distribution, ...]:
    """Return how the values of some hidden columns are distributed; the table passes by once.

    Raises:
        TableError: it cannot be read, a cell is no number or lies further off than noise reaches, or there are too few.
    """
    tallies = [_Tally(each, records, kind) for each in columns]
    met = 0
    for cells in _cells(table, columns):
        for tally, own in zip(tallies, cells, strict=True):
            tally.add(own)
        met += len(cells[0].values)
    if met != records:
        problem = f"has {met:,} records, and its manifest says {records:,}"
        raise TableError(table.source, f"{problem}; give the manifest that was written with it")
    return tuple(each.found(table.source, stop) for each in tallies)


def beside_true(
    table: Batches, distributions: tuple[Distribution, ...]
) -> tuple[Distribution, ...]:
    """Return the same beside how the true values are distributed; the table of these passes by once.

    Raises:
        TableError: it cannot be read, or a cell is no number.
        DomainError: a value lies outside its domain.
    """
    columns = tuple(each.said for each in distributions)
    counts = [np.zeros(each.own.count, np.int64) for each in distributions]
    for cells in _cells(table, columns):
        for each, own, found in zip(distributions, cells, counts, strict=True):
            values = own.within(domain_of(each.said))
            there = values[~np.isnan(values)]
            found += np.bincount(each.own.numbers(there), minlength=each.own.count)
    return tuple(with_true(each, found) for each, found in zip(distributions, counts, strict=True))


def with_true(of: Distribution, counts: NDArray[np.int64]) -> Distribution:
    """Return a distribution beside that of counts of true values, one for each of its intervals."""
    return replace(of, true=counts / max(int(counts.sum()), 1))


def domain_of(said: Hidden) -> Domain:
    """Return the domain that a manifest names."""
    return Domain(said.name, said.low, said.high, said.is_whole, said.values, said.domain)


def _cells(table: Batches, columns: tuple[Hidden, ...]) -> Iterator[list[Cells]]:
    names, first = [each.name for each in columns], 1
    for batch in table.read(names):
        yield [
            Cells(table.source, name, first, batch.column(place))
            for place, name in enumerate(names)
        ]
        first += batch.num_rows
