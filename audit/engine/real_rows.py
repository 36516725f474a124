"""Proofs over rows whose numbers are real and known between ends: whole unknowns in boxes, arithmetic rounded outward.

``low <= a x <= high`` holds for whole x in boxes, where each coefficient lies within ``spread`` of ``matrix``. Three
ways make the boxes narrower, each sound by itself: one row at a time, all fillings of rows over few open unknowns, and
linear combinations of all rows. For any weights l, whatever they come from, l'A x lies between the sums of the rows'
ends; with l'A near to the row of one unknown, it is that unknown which is enclosed. So weights may be found in floating
point; what they prove is rounded outward by the usual bound of a sum of n products, n u / (1 - n u) times the sum of
their sizes (Higham 2002, section 3.1), which holds in any order of the additions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from treewarden.audit.consistent_tables.proofs.bounds import ContradictionError
from treewarden.audit.engine.time_budget import SECONDS_A_FLOP, SECONDS_A_LOOK
from treewarden.audit.progress import Clock
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

UNIT = 2.0**-53
MOST_OPEN = 14
"""Rows over so many open unknowns of at most one person each are filled in all ways."""
MOST_UNKNOWNS = 4_000
"""An inverse over the open unknowns is dense: beyond so many, none is made."""
SOFTNESS = (1.0, 1e2, 1e4)
"""How much of a row's uncertainty is taken for one person's weight, in turn: what is tried as weights."""
LEAST_HALF = 1e-10
"""A row counts for weights as at least so uncertain, beside its largest coefficient: its square must not overflow."""
NOTHING_FITS = "no part of the register has the sums of the leaves"


@dataclass(frozen=True, slots=True, eq=False)
class RealRows:
    """Rows over N unknowns: ``matrix`` and ``spread`` sparse (R, N) of one pattern, ends ``low`` and ``high`` (R,)."""

    matrix: sparse.csr_array
    spread: sparse.csr_array
    low: FloatArray
    high: FloatArray

    def open_part(self, low: IntArray, high: IntArray) -> tuple[RealRows, IndexArray]:
        """Return the rows over the unknowns that are open, with the others' share taken off, and which these are.

        A row without any is dropped, after it was seen to hold.

        Raises:
            ContradictionError: one does not.
        """
        is_open = low < high
        fixed = np.where(is_open, 0, low).astype(np.float64)
        gone, room = self._ends_of(fixed)
        places = np.flatnonzero(is_open)
        matrix, spread = (sparse.csr_array(part[:, places]) for part in (self.matrix, self.spread))
        row_low, row_high = self.low - gone - room, self.high - gone + room
        has_any = np.diff(matrix.indptr) > 0
        if ((row_low > 0) | (row_high < 0))[~has_any].any():
            raise ContradictionError(NOTHING_FITS)
        kept = np.flatnonzero(has_any)
        return RealRows(matrix[kept], spread[kept], row_low[kept], row_high[kept]), places

    def _ends_of(self, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what numbers, at least 0, add to each row, and how far that may be off."""
        value = self.matrix @ numbers
        room = self.spread @ numbers + self.rounding(np.abs(self.matrix) @ numbers)
        return np.asarray(value), np.asarray(room)

    def rounding(self, sizes: FloatArray) -> FloatArray:
        """Return how far sums over each row may be off, (R,), whose products have these ``sizes`` together."""
        terms = np.diff(self.matrix.indptr) + 4
        ends = sum(np.where(np.isfinite(end), np.abs(end), 0.0) for end in (self.low, self.high))
        return np.asarray(2 * UNIT * terms * (sizes + ends))

    def holds(self, numbers: IntArray) -> BoolArray:
        """Return whether numbers, (N,), fulfil each row, as far as that can be told."""
        value, room = self._ends_of(numbers.astype(np.float64))
        return (value + room >= self.low) & (value - room <= self.high)


def tighten(
    rows: RealRows, low: IntArray, high: IntArray, until: Clock
) -> tuple[IntArray, IntArray]:
    """Return boxes, (N,) each, within the given ones that hold all whole numbers which fulfil the rows.

    Raises:
        ContradictionError: none do.
    """
    while not until.is_over:
        until.spend(SECONDS_A_LOOK * rows.matrix.nnz)
        before = int((high - low).sum())
        low, high = _by_rows(rows, low, high, until)
        low, high = _by_fillings(rows, low, high, until)
        if int((high - low).sum()) == before:
            low, high = _by_combinations(rows, low, high, until)
        if int((high - low).sum()) == before:
            break
    return low, high


def _narrowed(
    low: IntArray, high: IntArray, least: FloatArray, most: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return boxes within ends that are not whole.

    Raises:
        ContradictionError: no whole number is left somewhere.
    """
    with np.errstate(invalid="ignore"):
        floor = np.clip(np.nan_to_num(np.ceil(least), nan=-np.inf), low, high + 1).astype(np.int64)
        ceiling = np.clip(np.nan_to_num(np.floor(most), nan=np.inf), low - 1, high).astype(np.int64)
    if (floor > ceiling).any():
        raise ContradictionError(NOTHING_FITS)
    return floor, ceiling


def _by_rows(
    rows: RealRows, low: IntArray, high: IntArray, until: Clock
) -> tuple[IntArray, IntArray]:
    """Return what single rows leave, again until nothing moves."""
    owner = np.repeat(np.arange(len(rows.low)), np.diff(rows.matrix.indptr))
    column, size = rows.matrix.indices, len(rows.low)
    least_each, most_each = rows.matrix.data - rows.spread.data, rows.matrix.data + rows.spread.data
    while not until.is_over:
        until.spend(SECONDS_A_LOOK * rows.matrix.nnz)
        begin, end = low[column], high[column]
        smallest = np.minimum(least_each * begin, least_each * end)
        largest = np.maximum(most_each * begin, most_each * end)
        room = rows.rounding(np.abs(rows.matrix) @ high.astype(np.float64))
        lowest, highest = np.bincount(owner, smallest, size), np.bincount(owner, largest, size)
        above = (rows.high + 4 * room)[owner] - (lowest[owner] - smallest)
        below = (rows.low - 4 * room)[owner] - (highest[owner] - largest)
        new_low, new_high = low.astype(np.float64), high.astype(np.float64)
        rises, falls = least_each > 0, most_each < 0
        # What is left for one unknown, divided by the end of its coefficient that gives it most room.
        _lower(new_high, column, rises, above, least_each, most_each)
        _raise(new_low, column, rises, below, most_each, least_each)
        _lower(new_high, column, falls, below, most_each, least_each)
        _raise(new_low, column, falls, above, least_each, most_each)
        before = low, high
        low, high = _narrowed(low, high, new_low, new_high)
        if (low == before[0]).all() and (high == before[1]).all():
            break
    return low, high


def _lower(
    ends: FloatArray,
    column: IndexArray,
    chosen: BoolArray,
    left: FloatArray,
    near_end: FloatArray,
    far_end: FloatArray,
) -> None:
    quotients = np.maximum(left[chosen] / near_end[chosen], left[chosen] / far_end[chosen])
    np.minimum.at(ends, column[chosen], quotients + 8 * UNIT * np.abs(quotients))


def _raise(
    ends: FloatArray,
    column: IndexArray,
    chosen: BoolArray,
    left: FloatArray,
    near_end: FloatArray,
    far_end: FloatArray,
) -> None:
    quotients = np.minimum(left[chosen] / near_end[chosen], left[chosen] / far_end[chosen])
    np.maximum.at(ends, column[chosen], quotients - 8 * UNIT * np.abs(quotients))


def _by_fillings(
    rows: RealRows, low: IntArray, high: IntArray, until: Clock
) -> tuple[IntArray, IntArray]:
    """Return what all fillings of rows over few open unknowns share; rows over the same ones are taken together."""
    part, places = rows.open_part(low, high)
    low, high = low.copy(), high.copy()
    for together in _same_unknowns(part):
        if until.is_over:
            break
        columns = places[_columns(part, int(together[0]))]
        if (high[columns] - low[columns] != 1).any() or (low[columns] != 0).any():
            continue
        numbers = _all_fillings(len(columns))
        is_fit = np.ones(len(numbers), dtype=bool)
        for row in together.tolist():
            entries = slice(part.matrix.indptr[row], part.matrix.indptr[row + 1])
            value = numbers @ part.matrix.data[entries]
            sizes = numbers @ np.abs(part.matrix.data[entries])
            room = numbers @ part.spread.data[entries] + 64 * UNIT * (sizes + 1)
            is_fit &= (value + room >= part.low[row]) & (value - room <= part.high[row])
        if not is_fit.any():
            raise ContradictionError(NOTHING_FITS)
        low[columns] = numbers[is_fit].min(axis=0)
        high[columns] = numbers[is_fit].max(axis=0)
    return low, high


def _columns(rows: RealRows, row: int) -> IndexArray:
    entries = slice(rows.matrix.indptr[row], rows.matrix.indptr[row + 1])
    return np.asarray(rows.matrix.indices[entries], dtype=np.intp)


def _same_unknowns(rows: RealRows) -> Iterator[IndexArray]:
    """Yield rows over the same few unknowns, those over the fewest first."""
    groups: dict[bytes, list[int]] = {}
    sizes = np.diff(rows.matrix.indptr)
    for row in np.argsort(sizes, kind="stable").tolist():
        if sizes[row] > MOST_OPEN:
            break
        groups.setdefault(_columns(rows, row).tobytes(), []).append(row)
    for same in groups.values():
        yield np.array(same)


def _all_fillings(size: int) -> FloatArray:
    """Return all rows of zeros and ones, (2^size, size)."""
    return ((np.arange(2**size)[:, None] >> np.arange(size)) & 1).astype(np.float64)


def _by_combinations(
    rows: RealRows, low: IntArray, high: IntArray, until: Clock
) -> tuple[IntArray, IntArray]:
    """Return what linear combinations of all rows leave of the unknowns that are open."""
    for softness in SOFTNESS:
        part, places = rows.open_part(low, high)
        if not len(places) or len(places) > MOST_UNKNOWNS or not len(part.low) or until.is_over:
            return low, high
        until.spend(SECONDS_A_FLOP * float(len(places) + len(part.low)) ** 3)
        system = _DenseSystem.from_rows(part, low[places], high[places])
        weights = system.weights(softness)
        if weights is None:
            continue
        least, most = system.enclosures(weights)
        narrow_low, narrow_high = _narrowed(low[places], high[places], least, most)
        is_moved = bool((narrow_low > low[places]).any() or (narrow_high < high[places]).any())
        low, high = low.copy(), high.copy()
        low[places], high[places] = narrow_low, narrow_high
        if is_moved:
            break
    return low, high


@dataclass(frozen=True, slots=True, eq=False)
class _DenseSystem:
    """Rows over open unknowns as dense arrays: ``matrix`` (R, N), the middle and half width (R,) of each row's ends.

    The half width holds the spread of coefficients too, for unknowns within their boxes, which end at ``least`` and
    ``most`` (N,).
    """

    matrix: FloatArray
    middle: FloatArray
    half: FloatArray
    least: FloatArray
    most: FloatArray

    @classmethod
    def from_rows(cls, rows: RealRows, low: IntArray, high: IntArray) -> _DenseSystem:
        """Return the system of rows whose ends are both known."""
        known = np.flatnonzero(np.isfinite(rows.low) & np.isfinite(rows.high))
        part = replace(
            rows,
            matrix=rows.matrix[known],
            spread=rows.spread[known],
            low=rows.low[known],
            high=rows.high[known],
        )
        most = high.astype(np.float64)
        spread = np.asarray(part.spread @ most)
        half = (part.high - part.low) / 2 + spread
        half += 8 * UNIT * (np.abs(part.low) + np.abs(part.high) + spread) + 1e-300
        return cls(
            matrix=part.matrix.toarray(),
            middle=(part.low + part.high) / 2,
            half=half,
            least=low.astype(np.float64),
            most=most,
        )

    def weights(self, softness: float) -> FloatArray | None:
        """Return weights of rows for each unknown, (N, R), that make of them nearly that unknown alone."""
        # Any weights prove something: rows that are as good as exact are weighed as if a little less so.
        size = np.abs(self.matrix).max(axis=1, initial=0.0)
        half = np.maximum(self.half, LEAST_HALF * size)
        scaled = self.matrix / half[:, None]
        square = scaled.T @ scaled
        square[np.diag_indices(len(square))] += softness**2
        try:
            factor = cho_factor(square, check_finite=False)
        except LinAlgError:
            return None
        return np.asarray(cho_solve(factor, scaled.T, check_finite=False) / half)

    def enclosures(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return between which ends each unknown lies by its weights, (N,) each, rounded outward."""
        rows, size = self.matrix.shape
        made, sizes = weights @ self.matrix, np.abs(weights) @ np.abs(self.matrix)
        room = 2 * (rows + 4) * UNIT * sizes
        rest = made.copy()
        rest[np.diag_indices(size)] -= 1.0
        # What the other parts of the combination may add, with every unknown anywhere in its box.
        up, down = rest + room, rest - room
        highest = np.maximum(up, 0) @ self.most + np.minimum(up, 0) @ self.least
        lowest = np.maximum(down, 0) @ self.least + np.minimum(down, 0) @ self.most
        total, width = weights @ self.middle, np.abs(weights) @ self.half
        slack = 4 * (rows + size + 8) * UNIT * (np.abs(weights) @ (np.abs(self.middle) + self.half))
        slack += 4 * (size + 8) * UNIT * ((np.abs(rest) + room) @ self.most)
        return total - width - highest - slack, total + width - lowest + slack
