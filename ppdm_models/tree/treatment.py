"""What a model does to a value before it asks about it: if missing, invalid or extreme (PMML 4.4, MiningField)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn

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
