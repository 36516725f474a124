"""One attribute of many records: a column of numbers, or one of categories."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

BRIEF_DIGITS = 6


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """A number for each record; NaN where it is missing."""

    numbers: FloatArray

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def missing(self) -> BoolArray:
        """Whether each record lacks a value."""
        return np.isnan(self.numbers)

    @property
    def keys(self) -> FloatArray:
        """One number for each record, the same where values are."""
        return self.numbers

    def take(self, rows: IndexArray) -> NumericColumn:
        """Return the column of some of the records."""
        return NumericColumn(self.numbers[rows])

    def text(self, row: int) -> str | None:
        """Return one value as people write it; None where it is missing."""
        value = float(self.numbers[row])
        return None if math.isnan(value) else number_text(value)


@dataclass(frozen=True, slots=True)
class CategoricalColumn:
    """A code into ``categories`` for each record; -1 where it is missing."""

    codes: IntArray
    categories: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing(self) -> BoolArray:
        """Whether each record lacks a value."""
        return self.codes < 0

    @property
    def keys(self) -> IntArray:
        """One number for each record, the same where values are."""
        return self.codes

    def take(self, rows: IndexArray) -> CategoricalColumn:
        """Return the column of some of the records."""
        return CategoricalColumn(self.codes[rows], self.categories)

    def text(self, row: int) -> str | None:
        """Return one value as people write it; None where it is missing."""
        code = int(self.codes[row])
        return None if code < 0 else self.categories[code]


Column = NumericColumn | CategoricalColumn
Columns = Mapping[str, Column]


def numeric(column: Column) -> NumericColumn:
    """Return a column that holds numbers.

    Raises:
        TypeError: it holds categories.
    """
    if isinstance(column, NumericColumn):
        return column
    raise TypeError("a column of numbers is needed here, and this one holds categories")


def categorical(column: Column) -> CategoricalColumn:
    """Return a column that holds categories.

    Raises:
        TypeError: it holds numbers.
    """
    if isinstance(column, CategoricalColumn):
        return column
    raise TypeError("a column of categories is needed here, and this one holds numbers")


def brief(value: float) -> str:
    """Return a number in a few digits, as people read it: never with an exponent, whole ones with all digits."""
    if not math.isfinite(value) or value == int(value):
        return number_text(value)
    digits = max(BRIEF_DIGITS, len(str(int(abs(value)))))
    return np.format_float_positional(value, precision=digits, fractional=False, trim="-")


def number_text(value: float) -> str:
    """Return a number in its shortest form that reads back as the same number."""
    if math.isfinite(value) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


# What a model does to a value before it asks about it: if missing, invalid or extreme (PMML 4.4, MiningField).

Ends = tuple[float, bool, float, bool]
"""An interval: its low end, whether that belongs to it, its high end, and whether that does."""

MISSING_CODE = -1


class Invalid(StrEnum):
    """What becomes of a value that the file does not declare (PMML 4.4, invalidValueTreatment)."""

    RETURN_INVALID = "return-invalid"
    AS_IS = "as-is"
    AS_MISSING = "as-missing"
    AS_VALUE = "as-value"


class Outliers(StrEnum):
    """What becomes of a number beyond the ends (PMML 4.4, outliers)."""

    AS_IS = "as-is"
    AS_MISSING = "as-missing"
    AS_EXTREME = "as-extreme"


@dataclass(frozen=True, slots=True)
class Treatment:
    """One treatment of a field's values, in this order: declared missing, invalid, extreme, missing.

    ``intervals`` and ``values`` are what is valid (both empty: everything), ``invalid`` and ``missing`` what is not;
    the values of a number are numbers. Only a valid number can be extreme, that is below ``low`` or above ``high``.
    ``needs_value`` refuses a record whose value is missing.
    """

    intervals: tuple[Ends, ...] = ()
    values: tuple[str | float, ...] = ()
    invalid: tuple[str | float, ...] = ()
    missing: tuple[str | float, ...] = ()
    when_invalid: Invalid = Invalid.RETURN_INVALID
    replacement: str | float | None = None
    outliers: Outliers = Outliers.AS_IS
    low: float = -np.inf
    high: float = np.inf
    needs_value: bool = False

    @property
    def does_nothing(self) -> bool:
        """Whether every value stays as it is."""
        is_open = not (self.intervals or self.values or self.invalid)
        kept = is_open or self.when_invalid is Invalid.AS_IS
        return (
            kept and not self.missing and self.outliers is Outliers.AS_IS and not self.needs_value
        )

    @property
    def changes_values(self) -> bool:
        """Whether a value that says something can become another one, or missing."""
        made_otherwise = self.when_invalid in (Invalid.AS_MISSING, Invalid.AS_VALUE)
        is_open = not (self.intervals or self.values or self.invalid)
        return self.outliers is not Outliers.AS_IS or (made_otherwise and not is_open)


def treated(column: Column, treatments: Sequence[Treatment]) -> tuple[Column, BoolArray]:
    """Return a column after its treatments, and which records the model refuses for it."""
    refused = np.zeros(len(column), dtype=bool)
    for treatment in treatments:
        if isinstance(column, NumericColumn):
            column, bad = _numbers(column, treatment)
        else:
            column, bad = _codes(column, treatment)
        refused |= bad
    return column, refused


def _numbers(column: NumericColumn, treatment: Treatment) -> tuple[Column, BoolArray]:
    numbers = column.numbers.copy()
    numbers[np.isin(numbers, _floats(treatment.missing))] = np.nan
    there = ~np.isnan(numbers)
    bad = there & ~_valid(numbers, treatment)
    extreme = there & ~bad & ((numbers < treatment.low) | (numbers > treatment.high))
    if treatment.outliers is Outliers.AS_MISSING:
        numbers[extreme] = np.nan
    elif treatment.outliers is Outliers.AS_EXTREME:
        numbers[extreme] = np.clip(numbers[extreme], treatment.low, treatment.high)
    if treatment.when_invalid is Invalid.AS_MISSING:
        numbers[bad] = np.nan
    elif treatment.when_invalid is Invalid.AS_VALUE and isinstance(treatment.replacement, float):
        numbers[bad] = treatment.replacement
    return NumericColumn(numbers), _refused(treatment, bad, np.isnan(numbers))


def _codes(column: CategoricalColumn, treatment: Treatment) -> tuple[Column, BoolArray]:
    categories = column.categories
    absent = np.array([name in treatment.missing for name in categories] + [True])
    wrong = np.array([_is_wrong(name, treatment) for name in categories] + [False]) & ~absent
    codes = np.where(absent[column.codes], MISSING_CODE, column.codes)
    bad = wrong[codes]
    if treatment.when_invalid is Invalid.AS_MISSING:
        codes[bad] = MISSING_CODE
    elif treatment.when_invalid is Invalid.AS_VALUE and isinstance(treatment.replacement, str):
        if treatment.replacement not in categories:
            categories = (*categories, treatment.replacement)
        codes[bad] = categories.index(treatment.replacement)
    return CategoricalColumn(codes=codes, categories=categories), _refused(
        treatment, bad, codes < 0
    )


def _is_wrong(name: str, treatment: Treatment) -> bool:
    declared = bool(treatment.values)
    return name in treatment.invalid or (declared and name not in treatment.values)


def _valid(numbers: np.ndarray, treatment: Treatment) -> BoolArray:
    restricted = bool(treatment.intervals or treatment.values)
    valid = np.isin(numbers, _floats(treatment.values)) | (not restricted)
    for low, low_closed, high, high_closed in treatment.intervals:
        above = numbers >= low if low_closed else numbers > low
        below = numbers <= high if high_closed else numbers < high
        valid |= above & below
    return np.asarray(valid & ~np.isin(numbers, _floats(treatment.invalid)))


def _refused(treatment: Treatment, bad: BoolArray, missing: BoolArray) -> BoolArray:
    refused = bad if treatment.when_invalid is Invalid.RETURN_INVALID else np.zeros_like(bad)
    return refused | missing if treatment.needs_value else refused


def _floats(values: Sequence[str | float]) -> list[float]:
    return [value for value in values if isinstance(value, float)]


HALVINGS = 16
"""So often is the distance to each bound halved, beyond the even cuts: columns are often crowded at one end."""


def cut_grid(low: float, high: float, bins: int) -> FloatArray:
    """Return the cuts of a column between public bounds, rising: 32-bit numbers below the upper bound.

    Even ones, and ones that come closer and closer to each bound. No record has a part in them.
    """
    width = high - low
    even = low + width * np.arange(1, bins) / bins
    halved = width * 0.5 ** np.arange(1, HALVINGS + 1)
    cuts = np.concatenate([[low], even, low + halved, high - halved]).astype(np.float32)
    kept = cuts[(cuts >= np.float32(low)) & (cuts < np.float32(high))]
    return np.unique(kept).astype(np.float64)
