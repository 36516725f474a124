"""What a file proves of the records it was trained on, by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.cells import DomainCells
from treewarden.audit.reconstruction.problem import CellRows
from treewarden.audit.reconstruction.proved import ProvedCounts
from treewarden.ppdm_models.arrays import BoolArray, IntArray

NOT_ASKED = Undetermined("what the file proves of its records was not asked")

CLASS = "the class"
"""What a target without a name is called."""


@dataclass(frozen=True, slots=True, eq=False)
class Reconstruction:
    """Records that every table has which fits a file, without any table at hand.

    ``cells`` are the combinations of values that no file can tell apart, ``rows`` the counts of the file, and
    ``counts`` is what these prove of how many records each cell has. ``classes`` are the names of the classes, none
    where only numbers of records are published. ``columns`` are all columns of the model, and ``records`` is how many
    records it counts, if it says so. ``may_weigh`` says that a count may be a sum of whole weights: where there is a
    count, one record is proved, and no number of them.
    """

    cells: DomainCells
    rows: CellRows
    counts: ProvedCounts
    classes: tuple[str, ...]
    columns: tuple[str, ...]
    target: str
    records: int | None
    may_weigh: bool = False

    @property
    def proved(self) -> IntArray:
        """How many records of each cell and class every table has, (C, m)."""
        return np.minimum(self.counts.low, 1) if self.may_weigh else self.counts.low

    @property
    def records_proved(self) -> int:
        """How many records every table has, each up to the values that its cell holds."""
        return int(self.proved.sum())

    @property
    def is_column_known(self) -> BoolArray:
        """Whether a record of each cell has one value only of each column, (C, columns)."""
        only = self.cells.only_option()
        known = np.zeros((len(only), len(self.columns)), dtype=bool)
        place_of = {name: place for place, name in enumerate(self.columns)}
        for factor, option in zip(self.cells.domain.factors, only.T, strict=True):
            for name, options in factor.columns.items():
                known[:, place_of[name]] = (option >= 0) & (options.sizes[option] == 1)
        return known

    @property
    def whole_records(self) -> int:
        """How many records every table has with one value of every column that some tree tests, and the class."""
        return int(self.proved[self.is_whole].sum()) if self.classes else 0

    @property
    def is_whole(self) -> BoolArray:
        """Whether one value is left of every column that some tree tests, (C,)."""
        tested = {name for factor in self.cells.domain.factors for name in factor.columns}
        return np.asarray(self.is_column_known[:, [n in tested for n in self.columns]].all(axis=1))

    @property
    def columns_proved(self) -> dict[str, int]:
        """Of each column, how many proved records have one value of it; of the target all, if classes are counted."""
        each = self.proved.sum(axis=1) @ self.is_column_known
        found = dict(zip(self.columns, each.tolist(), strict=True))
        return found | ({self.target or CLASS: self.records_proved} if self.classes else {})

    @property
    def tables(self) -> int | float | None:
        """How many tables fit the file: 1, a number, infinite where values cannot be counted, None where not known."""
        return None if self.may_weigh else self.counts.filled

    @property
    def is_decided(self) -> bool:
        """Whether all was decided: what is not proved is shown to be otherwise in some table."""
        return not self.counts.left

    def example(self) -> str:
        """Return one proved record in words, "" without one: the one with most columns known, for the owner's eyes."""
        proved = self.proved.sum(axis=1)
        if not proved.any():
            return ""
        known = np.where(proved > 0, self.is_column_known.sum(axis=1), -1)
        cell = int(known.argmax())
        words = []
        for factor, options in zip(
            self.cells.domain.factors, self.cells.options_of(cell), strict=True
        ):
            for name, column in factor.columns.items():
                words.append(f"{name}: {column.words(options)}")
        if self.classes:
            words.append(f"{self.target or CLASS}: {self.classes[int(self.proved[cell].argmax())]}")
        return ", ".join(words)
