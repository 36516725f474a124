"""The attributes as a learner sees them: codes in the order of the values, prepared once for all nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.errors import LearnerError
from treewarden.ppdm_models.tree.column import Columns, NumericColumn
from treewarden.ppdm_models.tree.tree import Feature

ANY = "*"
"""The category that stands for several: a split never singles it out."""
MOST_SET_VALUES = 16
"""Categories beyond which an attribute is parted one against the rest: there are 32,767 ways to part so many in two."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute: ``codes`` (N,) point into ``distinct`` numbers (ascending), or into ``categories`` (sorted)."""

    name: str
    codes: IndexArray
    distinct: FloatArray | None = None
    categories: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.categories) if self.distinct is None else len(self.distinct)

    @property
    def feature(self) -> Feature:
        """The attribute as a published tree declares it."""
        return Feature(self.name, numeric=self.distinct is not None, values=self.categories)


def attributes_of(columns: Columns) -> tuple[Attribute, ...]:
    """Return the attributes in the order of the columns, which is also their rank in a tie.

    Raises:
        LearnerError: a value is missing.
    """
    found = []
    for name, column in columns.items():
        if column.missing.any():
            row = int(np.flatnonzero(column.missing)[0]) + 1
            raise LearnerError(
                f"column {name!r}, record {row}",
                "no value; leave such records out, or make missing a category of its own",
            )
        if isinstance(column, NumericColumn):
            distinct, codes = np.unique(column.numbers + 0.0, return_inverse=True)  # -0 becomes 0
            found.append(Attribute(name, codes.reshape(-1), distinct))
        else:
            found.append(
                Attribute(name, column.codes.astype(np.intp), categories=column.categories)
            )
    return tuple(found)


def threshold(left: float, right: float) -> float:
    """Return the split value between two neighbours: the middle, or the lower where the middle rounds to the upper."""
    middle = 0.5 * left + 0.5 * right
    return middle if left <= middle < right else left
