"""All fillings of rows over few unknowns: looked at by halves of the unknowns, so that 2^36 ways take milliseconds.

Sums of one half are sorted, and for each sum of the other those are found with which it lies between the ends of a row
(Horowitz and Sahni 1974, "Computing partitions with applications to the knapsack problem").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.bounds import ContradictionError
from treewarden.audit.engine.time_budget import SECONDS_A_PRODUCT
from treewarden.audit.progress import Clock
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

UNIT = 2.0**-53
MOST_BITS = 36.0
"""Rows that can be filled in two to the power of so many ways are filled in all of them."""
MOST_PAIRS = 1 << 21
"""So many fillings that fit one row are held against the others: where more are left, little would be proved."""
PAIRS_AT_ONCE = 1 << 15
NOTHING_FITS = "no part of the register has the sums of the leaves"


@dataclass(frozen=True, slots=True, eq=False)
class FewUnknowns:
    """Rows over few unknowns k, each from 0 to its span: ``matrix`` and ``spread`` (R, k), ends ``low`` and ``high``.

    Pairs of halves are found by the row that leaves the fewest, and held against all rows.
    """

    matrix: FloatArray
    spread: FloatArray
    low: FloatArray
    high: FloatArray
    spans: IntArray

    def shared_ends(self, until: Clock) -> tuple[IntArray, IntArray] | None:
        """Return the ends of each unknown in all fillings that fit; None where too many are left to be looked at.

        Raises:
            ContradictionError: none fits.
        """
        halves = self._halves()
        if halves is None:
            return None
        key, *others = self._keys()
        pairs = self._pairs(key, halves)
        if pairs is None:
            return None
        least, most = self.spans.copy(), np.zeros_like(self.spans)
        room, sums = self._room(), {row: self._sums(row, halves) for row in others}
        for begin in range(0, len(pairs[0]), PAIRS_AT_ONCE):
            one, two = (part[begin : begin + PAIRS_AT_ONCE] for part in pairs)
            for row in others:
                value = sums[row][0][one] + sums[row][1][two]
                is_near = (value + room[row] >= self.low[row]) & (
                    value - room[row] <= self.high[row]
                )
                one, two = one[is_near], two[is_near]
            until.spend(SECONDS_A_PRODUCT * (PAIRS_AT_ONCE + len(one) * self.matrix.size))
            digits = [
                _digits(at, self.spans[half]) for at, half in zip((one, two), halves, strict=True)
            ]
            fit = np.hstack(digits)
            fit = fit[self._fits(fit)]
            if len(fit):
                least, most = np.minimum(least, fit.min(axis=0)), np.maximum(most, fit.max(axis=0))
            if (least == 0).all() and (most == self.spans).all():
                break
        if (least > most).any():
            raise ContradictionError(NOTHING_FITS)
        return least, most

    def _halves(self) -> tuple[slice, slice] | None:
        """Return the unknowns in two parts with about as many fillings; None where one has too many by itself."""
        bits = np.append(0.0, np.cumsum(np.log2(self.spans + 1.0)))
        middle = int(np.searchsorted(bits, bits[-1] / 2, side="right")) - 1
        if bits[-1] - bits[middle] > MOST_BITS / 2 + 2:
            return None
        return slice(0, middle), slice(middle, len(self.spans))

    def _pairs(self, row: int, halves: tuple[slice, slice]) -> tuple[IndexArray, IndexArray] | None:
        """Return fillings of both halves, by their places, with which a row may hold; None where there are too many."""
        one, two = self._sums(row, halves)
        order, room = np.argsort(two), self._room()[row]
        first = np.searchsorted(two[order], self.low[row] - room - one, side="left")
        last = np.searchsorted(two[order], self.high[row] + room - one, side="right")
        counts = last - first
        total = int(counts.sum())
        if total > MOST_PAIRS:
            return None
        beside = np.arange(total) - np.repeat(np.cumsum(counts) - counts - first, counts)
        return np.repeat(np.arange(len(counts)), counts), order[beside]

    def _sums(self, row: int, halves: tuple[slice, slice]) -> tuple[FloatArray, FloatArray]:
        one, two = (_all_sums(self.matrix[row, half], self.spans[half]) for half in halves)
        return one, two

    def _keys(self) -> list[int]:
        """Return the two rows whose ends are nearest to each other, beside how far their sums are spread."""
        width = self.high - self.low + 2 * self._room()
        size = np.sqrt(self.matrix**2 @ (self.spans * (self.spans + 2.0)))
        share = np.where(size > 0, width / np.maximum(size, 1e-300), np.inf)
        return [int(row) for row in np.argsort(share, kind="stable")[:2]]

    def _room(self) -> FloatArray:
        """Return how far sums of each row may be off, (R,), whatever the filling."""
        sizes = (np.abs(self.matrix) @ self.spans).astype(np.float64)
        return np.asarray(self.spread @ self.spans + self._rounding(sizes))

    def _rounding(self, sizes: FloatArray) -> FloatArray:
        low, high = (np.where(np.isfinite(e), np.abs(e), 0.0) for e in (self.low, self.high))
        return np.asarray(4 * UNIT * (len(self.spans) + 16) * (sizes + low + high))

    def _fits(self, numbers: IntArray) -> BoolArray:
        """Return whether fillings, (P, k), fulfil all rows, as far as that can be told."""
        values = numbers @ self.matrix.T
        sizes = (numbers @ np.abs(self.matrix).T).astype(np.float64)
        room = np.asarray(numbers @ self.spread.T + self._rounding(sizes))
        return np.asarray(((values + room >= self.low) & (values - room <= self.high)).all(axis=1))


def _all_sums(coefficients: FloatArray, spans: IntArray) -> FloatArray:
    """Return what all numbers from 0 to their spans add up to: those of the last unknown next to each other."""
    sums = np.zeros(1)
    for coefficient, span in zip(coefficients.tolist(), spans.tolist(), strict=True):
        sums = (sums[:, None] + coefficient * np.arange(span + 1)).reshape(-1)
    return sums


def _digits(places: IndexArray, spans: IntArray) -> IntArray:
    """Return the numbers, (P, k), whose sums stand at these places."""
    numbers = np.zeros((len(places), len(spans)), dtype=np.int64)
    for unknown in range(len(spans) - 1, -1, -1):
        places, numbers[:, unknown] = np.divmod(places, spans[unknown] + 1)
    return numbers
