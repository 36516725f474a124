"""Hides columns of a table that need not fit into memory: records pass by once, and only sums of them are kept."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treewarden.ppdm_models.errors import DomainError, TableError
from treewarden.ppdm_models.randomised.cells import Cells
from treewarden.ppdm_models.randomised.following import Following
from treewarden.ppdm_models.randomised.intervals import Intervals, intervals
from treewarden.ppdm_models.randomised.labels import Labels
from treewarden.ppdm_models.randomised.moments import MOST_CLASSES, Moments
from treewarden.ppdm_models.randomised.noise import Classes, noisy, unpredictable
from treewarden.ppdm_models.randomised.planning import Plan
from treewarden.ppdm_models.records.batches import Batches

Numbers = NDArray[np.float64]
COUNTED_RECORDS = 10_000
"""True values are counted in as many intervals as so many records ask for."""


@dataclass(slots=True)
class _Tally:
    """What is kept of one column: how many true values each interval has, their extremes, how many are missing.

    ``counts`` are of classes and intervals.
    """

    plan: Plan
    intervals: Intervals
    counts: NDArray[np.int64]
    following: Following
    least: float = math.inf
    largest: float = -math.inf
    missing: int = 0

    def add(self, values: Numbers, classes: NDArray[np.int64] | None) -> None:
        there = values
        is_missing = np.isnan(values)
        if is_missing.any():
            there = values[~is_missing]
            classes = None if classes is None else classes[~is_missing]
            self.missing += len(values) - len(there)
        self.following.add(values)
        if not len(there):
            return
        self.least = min(self.least, float(there.min()))
        self.largest = max(self.largest, float(there.max()))
        places = self.intervals.numbers(there)
        if classes is not None:
            places += classes * self.intervals.count
        found = np.bincount(places, minlength=self.counts.size)
        self.counts += found.reshape(self.counts.shape)


@dataclass(slots=True)
class Hider:
    """Goes through a table once; when that is done, it says what has passed by.

    ``label`` is the class, published as it is: "" where there is none.
    """

    table: Batches
    plans: tuple[Plan, ...]
    columns: tuple[str, ...]
    label: str = ""
    records: int = 0
    labels: Labels = field(init=False)
    moments: Moments = field(init=False)
    _tallies: dict[str, _Tally] = field(init=False)

    def __post_init__(self) -> None:
        domains = [plan.domain for plan in self.plans]
        middles = np.array([own.low + own.width / 2 for own in domains])
        self.labels = Labels(self.table.source, self.label)
        classes = MOST_CLASSES if self.label else 1
        self.moments = Moments(middles, np.array([own.width for own in domains]), classes)
        self._tallies = {plan.domain.name: _tally(plan, classes) for plan in self.plans}

    @property
    def schema(self) -> pa.Schema:
        """The columns of what is published: hidden ones are numbers, all others stay what they are."""
        kinds = {name: self.table.schema.field(name).type for name in self.columns}
        kinds |= dict.fromkeys(self._tallies, pa.float64())
        return pa.schema([(name, kinds[name]) for name in self.columns])

    @property
    def unlike(self) -> frozenset[str]:
        """The columns in which hardly two values are alike, once they are hidden."""
        return frozenset(
            name for name, own in self._tallies.items() if not isinstance(own.plan.how, Classes)
        )

    @property
    def counts(self) -> dict[str, tuple[Intervals, NDArray[np.int64]]]:
        """How many true values lie in each interval of each hidden column's domain; shape (classes, intervals)."""
        return {name: (own.intervals, own.counts) for name, own in self._tallies.items()}

    @property
    def missing(self) -> dict[str, int]:
        """How many records have no value in each hidden column."""
        return {name: own.missing for name, own in self._tallies.items()}

    @property
    def following(self) -> dict[str, float]:
        """The correlation of each record's true value with the next one's, of each hidden column."""
        return {name: own.following.correlation for name, own in self._tallies.items()}

    def hidden(self) -> Iterator[pa.RecordBatch]:
        """Yield the records, with noise that nobody can repeat in place of the values of the hidden columns.

        Raises:
            TableError: the file cannot be read to its end, has no records, or a cell holds no finite number; or what is
                said to be the class is none.
            DomainError: a value is outside its domain, or all values of a column are one.
        """
        random = unpredictable()
        for batch in self.table.read(self.columns):
            yield self._hidden(batch, random)
            self.records += batch.num_rows
        self._check()

    def _hidden(self, batch: pa.RecordBatch, random: np.random.Generator) -> pa.RecordBatch:
        size = (batch.num_rows, len(self.plans))
        true, seen = np.empty(size, order="F"), np.empty(size, order="F")
        arrays = {name: batch.column(name) for name in self.columns}
        classes = self.labels.numbers(arrays[self.label]) if self.label else None
        for place, (name, tally) in enumerate(self._tallies.items()):
            cells = Cells(self.table.source, name, self.records + 1, arrays[name])
            values = cells.within(tally.plan.domain)
            tally.add(values, classes)
            true[:, place], seen[:, place] = values, noisy(values, tally.plan.how, random)
            is_missing = np.isnan(values)
            arrays[name] = pa.array(seen[:, place], mask=is_missing if is_missing.any() else None)
        self.moments.add(true, seen, classes)
        return pa.RecordBatch.from_arrays(list(arrays.values()), schema=self.schema)

    def _check(self) -> None:
        source = self.table.source
        if not self.records:
            raise TableError(source, "the table has no records; give the table to be hidden")
        for name, own in self._tallies.items():
            if own.missing == self.records:
                raise DomainError(
                    source, f"column {name!r} holds no value; leave it out with --drop"
                )
            if own.least == own.largest:
                problem = f"column {name!r} holds one value only, so there is nothing to hide in it"
                raise DomainError(source, f"{problem}; leave it out with --drop")


def _tally(plan: Plan, classes: int) -> _Tally:
    own = plan.domain
    found = intervals(own.low, own.high, COUNTED_RECORDS, is_whole=own.is_whole)
    counts = np.zeros((classes, found.count), dtype=np.int64)
    return _Tally(plan, found, counts, Following(own.low + own.width / 2, own.width))
