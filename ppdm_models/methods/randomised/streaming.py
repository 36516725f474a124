"""Randomises columns of a table that need not fit into memory: records pass by once, and only sums of them are kept."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treewarden.ppdm_models.errors import DomainError, TableError
from treewarden.ppdm_models.methods.randomised.attacks import MOST_CLASSES, Moments
from treewarden.ppdm_models.methods.randomised.domains import NoisyCells
from treewarden.ppdm_models.methods.randomised.manifest import ColumnPlan
from treewarden.ppdm_models.methods.randomised.noise import ClassNoise, noisy, unpredictable
from treewarden.ppdm_models.methods.randomised.reconstruction import Intervals, intervals
from treewarden.ppdm_models.tables.batches import Batches

# The classes of records, numbered as they pass by: they are published, so that what they tell has to be counted.


class ClassNumbers:
    """Numbers classes from 0, in the order in which they are met; records without one are a class of their own.

    Where there are more than ``MOST_CLASSES``, all others are the last of them, and ``are_too_many`` says so.
    """

    def __init__(self, source: str, name: str) -> None:
        self.source, self.name = source, name
        self._numbers: dict[str | None, int] = {}

    @property
    def are_too_many(self) -> bool:
        """Whether there are more classes than are counted apart."""
        return len(self._numbers) > MOST_CLASSES

    def numbers(self, values: pa.Array) -> NDArray[np.int64]:
        """Return the number of the class of each record.

        Raises:
            TableError: they are lists or the like, and no classes.
        """
        if pa.types.is_nested(values.type):
            problem = f"column {self.name!r} holds {values.type}, which are not classes"
            raise TableError(self.source, f"{problem}; name another in --class, or none")
        if self.are_too_many:
            return np.full(len(values), MOST_CLASSES - 1)
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        encoded = pc.dictionary_encode(values, null_encoding="encode")
        met = np.empty(len(encoded.dictionary), dtype=np.int64)
        known = self._numbers
        for place, value in enumerate(encoded.dictionary):
            name = str(value) if value.is_valid else None
            if not self.are_too_many:
                known.setdefault(name, len(known))
            met[place] = min(known.get(name, MOST_CLASSES), MOST_CLASSES - 1)
        found: NDArray[np.int64] = met[encoded.indices.to_numpy(zero_copy_only=False)]
        return found


# Whether records stand in an order that tells their values: then neighbours average noise away.
#
# In a table that is sorted by a column, the mean of the noisy values around a record is close to its true value,
# however wide the noise is. So the correlation of each record's value with the next one's is added up as they pass by.

Numbers = NDArray[np.float64]
SURE_SIGMAS = 4.0
"""By chance, the correlation of so many records is this many times 1 / sqrt(records) once in 16,000 tables."""


class Following:
    """Adds up, of one column, what each value has to do with the next; missing ones (NaN) follow nothing."""

    def __init__(self, middle: float, width: float) -> None:
        self._middle, self._width = middle, width
        self._last: Numbers = np.empty(0)
        self.pairs = 0
        self._sums = np.zeros(5)

    def add(self, values: Numbers) -> None:
        """Take in the values of the next records, in their order."""
        scaled = np.concatenate([self._last, (values - self._middle) / self._width])
        first, second = scaled[:-1], scaled[1:]
        there = ~(np.isnan(first) | np.isnan(second))
        if not there.all():
            first, second = first[there], second[there]
        self.pairs += len(first)
        # Sums of products, and no dot products: those would start threads for so little.
        products = (first * first, second * second, first * second)
        self._sums += [float(each.sum()) for each in (first, second, *products)]
        self._last = scaled[-1:]

    @property
    def correlation(self) -> float:
        """The correlation of a value with the next; 0 where it is no more than chance makes of few records."""
        if self.pairs < 2:
            return 0.0
        first, second, first_square, second_square, product = self._sums / self.pairs
        spread = (first_square - first**2) * (second_square - second**2)
        if spread <= 0:
            return 0.0
        found = float((product - first * second) / math.sqrt(spread))
        return found if abs(found) > SURE_SIGMAS / math.sqrt(self.pairs) else 0.0


COUNTED_RECORDS = 10_000
"""True values are counted in as many intervals as so many records ask for."""


@dataclass(slots=True)
class _ColumnTally:
    """What is kept of one column: how many true values each interval has, their extremes, how many are missing.

    ``counts`` are of classes and intervals.
    """

    plan: ColumnPlan
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
    plans: tuple[ColumnPlan, ...]
    columns: tuple[str, ...]
    label: str = ""
    records: int = 0
    labels: ClassNumbers = field(init=False)
    moments: Moments = field(init=False)
    _tallies: dict[str, _ColumnTally] = field(init=False)

    def __post_init__(self) -> None:
        domains = [plan.domain for plan in self.plans]
        middles = np.array([domain.low + domain.width / 2 for domain in domains])
        self.labels = ClassNumbers(self.table.source, self.label)
        classes = MOST_CLASSES if self.label else 1
        self.moments = Moments(middles, np.array([domain.width for domain in domains]), classes)
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
            name
            for name, column_tally in self._tallies.items()
            if not isinstance(column_tally.plan.how, ClassNoise)
        )

    @property
    def counts(self) -> dict[str, tuple[Intervals, NDArray[np.int64]]]:
        """How many true values lie in each interval of each hidden column's domain; shape (classes, intervals)."""
        return {
            name: (column_tally.intervals, column_tally.counts)
            for name, column_tally in self._tallies.items()
        }

    @property
    def missing(self) -> dict[str, int]:
        """How many records have no value in each hidden column."""
        return {name: column_tally.missing for name, column_tally in self._tallies.items()}

    @property
    def following(self) -> dict[str, float]:
        """The correlation of each record's true value with the next one's, of each hidden column."""
        return {
            name: column_tally.following.correlation for name, column_tally in self._tallies.items()
        }

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
            cells = NoisyCells(self.table.source, name, self.records + 1, arrays[name])
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
            raise TableError(
                source, "the table has no records; give the table that noise is added to"
            )
        for name, column_tally in self._tallies.items():
            if column_tally.missing == self.records:
                raise DomainError(source, f"column {name!r} has no value; leave it out with --drop")
            if column_tally.least == column_tally.largest:
                problem = f"column {name!r} has only one value, so there is nothing to hide in it"
                raise DomainError(source, f"{problem}; leave it out with --drop")


def _tally(plan: ColumnPlan, classes: int) -> _ColumnTally:
    column_domain = plan.domain
    found = intervals(
        column_domain.low, column_domain.high, COUNTED_RECORDS, is_whole=column_domain.is_whole
    )
    counts = np.zeros((classes, found.count), dtype=np.int64)
    return _ColumnTally(
        plan,
        found,
        counts,
        Following(column_domain.low + column_domain.width / 2, column_domain.width),
    )
