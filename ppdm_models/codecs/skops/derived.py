"""A column of the matrix that an estimator sees, as what fitted steps make of one column of the table."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

Label = str | float
"""A category as the table has it: text, or a number."""

ARITHMETIC = {
    "-": np.subtract,
    "+": np.add,
    "*": np.multiply,
    "/": np.true_divide,
    "at least": np.maximum,
    "at most": np.minimum,
}
"""What a scaler does; none of it turns the order of numbers round, as scales are above 0."""


@dataclass(frozen=True, slots=True)
class Derived:
    """One column of the matrix, made of the input column at a place.

    A number goes through ``operations``, in order. Where there are ``codes``, a category becomes its number, and every
    other value ``other``: not a number where the step refuses those or calls them missing. ``labels`` are all
    categories that the step knows, and ``takes_others`` says that it takes values beside them. ``filled`` is what a
    missing value becomes (None: it stays missing).
    """

    source: int
    operations: tuple[tuple[str, float], ...] = ()
    codes: tuple[tuple[Label, float], ...] | None = None
    other: float = math.nan
    labels: tuple[Label, ...] = ()
    takes_others: bool = False
    filled: Label | None = None

    @property
    def is_raw(self) -> bool:
        """Whether every value that is there is still the table's own."""
        return not self.operations and self.codes is None

    def of(self, value: float) -> float:
        """Return a number of the table as it stands in the matrix."""
        number = np.float64(value)
        with np.errstate(all="ignore"):
            for operation, operand in self.operations:
                number = ARITHMETIC[operation](number, operand)
        return float(number)

    def through(self, operation: str, operand: float) -> Derived:
        """Return the column after one more operation.

        Raises:
            ValueError: a missing value was filled with text.
        """
        if isinstance(self.filled, str):
            raise ValueError("a number is wanted, and missing values were filled with text")
        step = replace(self, operations=((operation, operand),), codes=None)
        filled = None if self.filled is None else step.of(self.filled)
        if self.codes is None:
            return replace(self, operations=(*self.operations, (operation, operand)), filled=filled)
        codes = tuple((label, step.of(number)) for label, number in self.codes)
        return replace(self, codes=codes, other=step.of(self.other), filled=filled)

    def filling(self, value: Label) -> Derived:
        """Return the column with a value in place of missing ones.

        Raises:
            ValueError: text is to stand among numbers.
        """
        if self.codes is None:
            return self if self.filled is not None else replace(self, filled=value)
        if isinstance(value, str):
            raise ValueError("text cannot stand among the numbers that an encoder made")
        number = partial(_filled, value=value)
        codes = tuple((label, number(code)) for label, code in self.codes)
        filled = value if self.filled is None else self.filled
        return replace(self, codes=codes, other=number(self.other), filled=filled)


def _filled(number: float, value: float) -> float:
    return value if math.isnan(number) else number
