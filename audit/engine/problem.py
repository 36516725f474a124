"""The one problem that every kind of model and of adversary poses: rows over groups of people, in whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from treewarden.ppdm_models.arrays import IndexArray, IntArray


@dataclass(frozen=True, slots=True)
class IntegerCellRows:
    """Rows ``low <= matrix @ x[:, output] <= high`` over cells, in whole numbers: matrix (R, C), the others (R,)."""

    matrix: sparse.csr_array
    low: IntArray
    high: IntArray
    output: IndexArray

    def over(self, width: int) -> IntegerCellRows:
        """Return the rows over numbers (C w,), w to a cell; of one to a cell, it is of the second class."""
        if width == 1:
            return self
        columns = self.matrix.indices.astype(np.int64) * width
        columns += np.repeat(self.output, np.diff(self.matrix.indptr))
        shape = (len(self.low), self.matrix.shape[1] * width)
        matrix = sparse.csr_array((self.matrix.data, columns, self.matrix.indptr), shape=shape)
        return IntegerCellRows(matrix, self.low, self.high, self.output)

    def fits(self, numbers: IntArray) -> bool:
        """Whether numbers (C w,) fulfil the rows, which are over as many."""
        total = self.matrix @ numbers
        return bool(((self.low <= total) & (total <= self.high)).all())

    def fits_all(self, table: IntArray) -> bool:
        """Whether a table (C, m) fulfils the rows over cells."""
        each = self.matrix @ table
        total = each[np.arange(len(self.output)), self.output]
        return bool(((self.low <= total) & (total <= self.high)).all())

    def remaining_rows(
        self, places: IndexArray, fixed: IntArray
    ) -> Iterator[tuple[list[tuple[int, int]], int, int]]:
        """Yield what fixed numbers (C w,) leave of rows over those at ``places``: coefficients by place, and ends."""
        there = self.matrix @ fixed
        matrix = sparse.csr_array(self.matrix[:, places])
        for row in range(len(self.low)):
            start, end = matrix.indptr[row], matrix.indptr[row + 1]
            weights = list(
                zip(
                    matrix.indices[start:end].tolist(), matrix.data[start:end].tolist(), strict=True
                )
            )
            if weights:
                yield weights, int(self.low[row] - there[row]), int(self.high[row] - there[row])


ALL_PEOPLE = -1
"""The tree of a row that is about everybody of a release; its node is the number of the release."""
NEW_PEOPLE = -2
"""The tree of a row about those whom one release has and an earlier one has not; its node counts such pairs."""
KNOWN_FACT = -3
"""The tree of a row that is known from elsewhere; its node is the number of the fact."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Rows over groups: in every table that fits, ``low <= sum of x[groups of a row, class of the row] <= high``.

    A group is people whom an adversary cannot tell apart; C groups have ``sizes`` people, shape (C,), and x[c, k] of
    them have class k, of ``classes`` many: their alternatives. ``matrix`` is sparse (CSR), shape (R, C), of zeros and
    ones; where rows are of draws, of how often each person of a group was drawn. ``low`` and ``high`` are whole
    numbers, shape (R,), proved of the number of people, or of draws; ``output`` (R,) is the class that a row counts. Of
    two classes only the second one need be counted. The origin of a row is a leaf, of ``trees`` and ``nodes`` (R,); a
    tree below 0 is ``ALL_PEOPLE``, ``NEW_PEOPLE`` or ``KNOWN_FACT``. ``scaled`` are rows over the same numbers whose
    coefficients are others. ``incomplete`` says what is known of the groups beyond the rows, "" where nothing is: what
    the rows prove holds, but neither an estimate nor a table that fits the rows shows what an adversary may think.
    """

    matrix: sparse.csr_array
    low: IntArray
    high: IntArray
    output: IndexArray
    trees: IndexArray
    nodes: IndexArray
    sizes: IntArray
    classes: int
    scaled: IntegerCellRows | None = None
    incomplete: str = ""

    def __post_init__(self) -> None:
        if self.matrix.shape != (len(self.low), len(self.sizes)):
            raise ValueError("rows and groups do not fit the matrix")
        if (self.low > self.high).any():
            raise ValueError("a row that nothing can fulfil")

    @property
    def people(self) -> IntArray:
        """How many people each row is about, or draws of people, shape (R,)."""
        return np.asarray(self.matrix @ self.sizes)


def breaking(rows: Problem, truth: IntArray) -> IndexArray:
    """Return the rows that the true values, by group and class (C, m), do not fulfil."""
    sums = np.empty(len(rows.low), dtype=np.int64)
    for output in np.unique(rows.output).tolist():
        these = np.flatnonzero(rows.output == output)
        sums[these] = rows.matrix[these] @ truth[:, output]
    return np.flatnonzero((sums < rows.low) | (sums > rows.high))
