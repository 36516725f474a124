"""One attribute of many records: a column of numbers, or one of categories."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

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
