"""Published numbers that could be withheld, as a problem whose rows each belong to one of them or are always known."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.engine.counts import Counts, counts_of
from treewarden.audit.engine.problem import Problem
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray

ALWAYS_KNOWN = -1
"""The number of a row that stays known whatever is withheld."""


@dataclass(frozen=True, slots=True, eq=False)
class PublishedNumbers:
    """Rows over groups of people, the number that each row belongs to, (R,), and what each number costs to withhold.

    ``names`` (N,) are for messages, ``costs`` (N,) whole and above 0. ``truth`` (C, m) is the table that the owner
    has, which fulfils all rows.
    """

    problem: Problem
    number_of_row: IndexArray
    names: tuple[str, ...]
    costs: IntArray
    truth: IntArray

    @property
    def everything(self) -> frozenset[int]:
        """All numbers."""
        return frozenset(range(len(self.names)))

    def counts(self, retained: Collection[int]) -> Counts:
        """Return the rows of the numbers that are retained, and of what is always known."""
        chosen = np.array(sorted(retained), dtype=np.intp)
        return counts_of(self.problem_of(np.isin(self.number_of_row, chosen)))

    def problem_of(self, is_kept: BoolArray) -> Problem:
        """Return the problem with some rows (R,), and with those that are always known."""
        rows = np.flatnonzero(is_kept | (self.number_of_row == ALWAYS_KNOWN))
        of, columns = self.problem, ("low", "high", "output", "trees", "nodes")
        return replace(
            of,
            matrix=sparse.csr_array(of.matrix[rows]),
            **{name: getattr(of, name)[rows] for name in columns},
        )

    @property
    def numbers_by_rows(self) -> tuple[IndexArray, ...]:
        """The rows of each number."""
        return tuple(
            np.flatnonzero(self.number_of_row == number) for number in range(len(self.names))
        )

    @property
    def true_class(self) -> IntArray:
        """The class that all people of each group truly have, (C,), -1 where they have several, or there is nobody."""
        is_pure = (self.truth == self.problem.sizes[:, None]) & (self.problem.sizes[:, None] > 0)
        return np.where(is_pure.any(axis=1), is_pure.argmax(axis=1), -1)

    def broken_by(self, table: IntArray) -> frozenset[int]:
        """Return the numbers that a table (C, m) contradicts, with ``ALWAYS_KNOWN`` where it breaks those rows."""
        of = self.problem
        total = np.empty(len(of.low), dtype=np.int64)
        for output in np.unique(of.output).tolist():
            rows = np.flatnonzero(of.output == output)
            total[rows] = of.matrix[rows] @ table[:, output]
        broken = (total < of.low) | (total > of.high)
        return frozenset(self.number_of_row[broken].tolist())
