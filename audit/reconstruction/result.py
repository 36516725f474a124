"""What the file of a model proves of its training records, without any table at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.reconstruction.cells import DomainCells, DomainCoverage
from treewarden.audit.reconstruction.problem import CellRows
from treewarden.audit.reconstruction.proved import ProvedCounts
from treewarden.ppdm_models.arrays import BoolArray, IntArray

if TYPE_CHECKING:
    from treewarden.audit.reconstruction.boosted import SumRows
    from treewarden.audit.reconstruction.drawn_records import SampleCounts
    from treewarden.audit.reconstruction.single_values import SingleValues


CLASS = "the class"
"""What a target without a name is called."""


@dataclass(frozen=True, slots=True, eq=False)
class Reconstruction:
    """Records that every table has which fits a file, without any table at hand.

    ``cells`` are the combinations of values that no file can tell apart, ``rows`` the counts of the file, and
    ``counts`` is what these prove of how many records each cell has. ``classes`` are the names of the classes, none
    where only numbers of records are published. ``columns`` are all columns of the model, and ``records`` is how many
    records it counts, if it says so. ``may_weigh`` says that a count may be a sum of whole weights: where there is a
    count, one record is proved, and no number of them. ``assumed`` is, in words, what the proofs rest on
    beside the file. ``narrowed`` says of columns in which cells thresholds leave one value of several, (C,).
    ``coverage`` is what of the columns was declared. ``samples`` are those of each tree whose seed the file says;
    ``rows`` is None then, as how often each record was drawn decides whether a table fits. ``values`` are proofs of
    single values by the rules of the learner, None where these are not known or the domain is large.
    """

    cells: DomainCells
    rows: CellRows | SumRows | None
    counts: ProvedCounts
    classes: tuple[str, ...]
    columns: tuple[str, ...]
    target: str
    records: int | None
    may_weigh: bool = False
    assumed: tuple[str, ...] = ()
    narrowed: Mapping[str, BoolArray] = field(default_factory=dict)
    coverage: DomainCoverage | None = None
    samples: tuple[SampleCounts, ...] = ()
    values: SingleValues | None = None

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
                known[:, place_of[name]] |= self.narrowed.get(name, False)
        return known

    @property
    def whole_records(self) -> int:
        """How many records every table has with one value of every column that some tree tests, and the class."""
        if not self.classes:
            return 0
        of_values = 0 if self.values is None else self.values.by_cell(len(self.is_whole))
        return int(np.where(self.is_whole, self.proved.sum(axis=1), of_values).sum())

    @property
    def is_whole(self) -> BoolArray:
        """Whether one value is left of every column that some tree tests, (C,)."""
        tested = {name for factor in self.cells.domain.factors for name in factor.columns}
        return np.asarray(self.is_column_known[:, [n in tested for n in self.columns]].all(axis=1))

    @property
    def columns_proved(self) -> dict[str, int]:
        """Of each column, how many proved records have one value of it; of the target all, if classes are counted."""
        known, proved = self.is_column_known, self.proved.sum(axis=1)
        each = proved @ known
        if self.values is not None:
            tested = {name for factor in self.cells.domain.factors for name in factor.columns}
            is_tested = np.array([name in tested for name in self.columns])
            each = each + self.values.by_cell(len(known)) @ (~known & is_tested)
        found = dict(zip(self.columns, each.tolist(), strict=True))
        return found | ({self.target or CLASS: self.records_proved} if self.classes else {})

    @property
    def tables(self) -> int | float | None:
        """How many tables fit the file: 1, a number, infinite where values cannot be counted, None where not known."""
        if self.may_weigh:
            return None
        by_values = None if self.values is None else self.values.counts.filled
        return self.counts.filled if by_values is None else by_values

    @property
    def is_decided(self) -> bool:
        """Whether all was decided: what is not proved is shown to be otherwise in some table."""
        return not self.counts.left and (self.values is None or not self.values.counts.left)

    def example(self) -> str:
        """Return one proved record in words, "" without one: the one with most columns known, for the owner's eyes."""
        cells, by_class, known = self.cells, self.proved, self.is_column_known.sum(axis=1)
        if self.values is not None and self.values.counts.low.any():
            cells, by_class = self.values.points, self.values.counts.low
            known = np.ones(len(by_class))
        proved = by_class.sum(axis=1)
        if not proved.any():
            return ""
        cell = int(np.where(proved > 0, known, -1).argmax())
        words = cells.words_of(cell)
        if self.classes:
            words.append(f"{self.target or CLASS}: {self.classes[int(by_class[cell].argmax())]}")
        return ", ".join(words)
