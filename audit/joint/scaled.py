"""Rows whose coefficients are no whole numbers: sums over people who each add a number of their own, made whole.

Coefficients are scaled and rounded, and the ends of each row moved apart by what that may do: whatever fulfils the row
as it was fulfils it still, and is checked in whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from treewarden.audit.inverters import Added
from treewarden.ppdm_models.arrays import IndexArray, IntArray

DIGITS, MOST_DIGITS = 34, 60
"""Binary digits that are kept of coefficients, and that sums may have in all."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """Rows ``low <= matrix @ x[:, output] <= high`` over cells, in whole numbers: matrix (R, C), the others (R,)."""

    matrix: sparse.csr_array
    low: IntArray
    high: IntArray
    output: IndexArray

    def over(self, width: int) -> Scaled:
        """Return the rows over numbers (C w,), w to a cell; of one to a cell, it is of the second class."""
        if width == 1:
            return self
        columns = self.matrix.indices.astype(np.int64) * width
        columns += np.repeat(self.output, np.diff(self.matrix.indptr))
        shape = (len(self.low), self.matrix.shape[1] * width)
        matrix = sparse.csr_array((self.matrix.data, columns, self.matrix.indptr), shape=shape)
        return Scaled(matrix, self.low, self.high, self.output)

    def fits(self, numbers: IntArray) -> bool:
        """Whether numbers (C w,) fulfil the rows, which are over as many."""
        total = self.matrix @ numbers
        return bool(((self.low <= total) & (total <= self.high)).all())

    def fits_all(self, table: IntArray) -> bool:
        """Whether a table (C, m) fulfils the rows over cells."""
        each = self.matrix @ table
        total = each[np.arange(len(self.output)), self.output]
        return bool(((self.low <= total) & (total <= self.high)).all())

    def rest(
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


def scaled_of(added: Sequence[Added], first: IndexArray, sizes: IntArray) -> Scaled | None:
    """Return the sums as rows over cells of ``sizes`` (C,) people, of whom ``first`` (C,) is one profile each."""
    if not added:
        return None
    largest = max(float(np.abs(each.each).max(initial=1.0)) for each in added)
    spare = MOST_DIGITS - int(np.ceil(np.log2(largest * max(int(sizes.sum()), 1) + 1)))
    scale = 2.0 ** min(DIGITS, spare)
    parts, low, high, output = [], [], [], []
    for each in added:
        place, size = each.place[first], len(each.nodes)
        weights = np.rint(each.each[first] * scale).astype(np.int64)
        shape = (size, len(first))
        parts.append(sparse.csr_array((weights, (place, np.arange(len(first)))), shape=shape))
        room = np.bincount(place, sizes, size) + 2.0 + 2.0**-50 * scale * largest * sizes.sum()
        most = 2.0**61
        low.append(np.clip(np.floor(each.low * scale - room), -most, most).astype(np.int64))
        high.append(np.clip(np.ceil(each.high * scale + room), -most, most).astype(np.int64))
        output.append(np.full(size, each.output))
    matrix = sparse.csr_array(sparse.vstack(parts, format="csr"))
    return Scaled(matrix, *(np.concatenate(column) for column in (low, high, output)))
