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
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from treewarden.audit.bounds import ContradictionError
from treewarden.audit.engine.fillings import MOST_BITS, NOTHING_FITS, UNIT, FewUnknowns
from treewarden.audit.engine.time_budget import SECONDS_A_FLOP, SECONDS_A_LOOK, SECONDS_A_PRODUCT
from treewarden.audit.progress import Clock
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

MOST_ROWS = 32
"""So many rows over the same few unknowns are looked at together."""
ENTRIES_AT_ONCE = 1 << 20
"""Rows are read so many entries at a time, and of more entries only once before they are filled."""
MOST_UNKNOWNS = 4_000
"""An inverse over the open unknowns is dense: beyond so many, none is made."""
SOFTNESS = (1.0, 1e2, 1e4)
"""How much of a row's uncertainty is taken for one person's weight, in turn: what is tried as weights."""
LEAST_HALF = 1e-10
"""A row counts for weights as at least so uncertain, beside its largest coefficient: its square must not overflow."""


@dataclass(frozen=True, slots=True, eq=False)
class RealRows:
    """Rows over N unknowns: ``matrix`` and ``spread`` sparse (R, N) of one pattern, ends ``low`` and ``high`` (R,)."""

    matrix: sparse.csr_array
    spread: sparse.csr_array
    low: FloatArray
    high: FloatArray

    def take(self, rows: IndexArray) -> RealRows:
        """Return some of the rows."""
        return RealRows(self.matrix[rows], self.spread[rows], self.low[rows], self.high[rows])

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
    """Return what single rows leave, again until nothing moves; of many rows once, as fillings cost less then."""
    active = np.arange(len(rows.low))
    while len(active) and not until.is_over:
        least, most = low.astype(np.float64), high.astype(np.float64)
        for batch in _batches(rows.matrix, active):
            part = rows.take(batch)
            until.spend(SECONDS_A_LOOK * part.matrix.nnz)
            _by_each_row(part, (low, high), (least, most))
        before = low, high
        low, high = _narrowed(low, high, least, most)
        if rows.matrix.nnz > ENTRIES_AT_ONCE:
            break
        active = _rows_over(rows.matrix, (low != before[0]) | (high != before[1]))
    return low, high


def _batches(matrix: sparse.csr_array, rows: IndexArray) -> Iterator[IndexArray]:
    """Yield rows a few at a time, so that arrays over their entries stay small."""
    entries = np.cumsum(np.diff(matrix.indptr)[rows], dtype=np.int64)
    for some in np.split(rows, np.flatnonzero(np.diff(entries // ENTRIES_AT_ONCE)) + 1):
        if len(some):
            yield some


def _rows_over(matrix: sparse.csr_array, is_chosen: BoolArray) -> IndexArray:
    """Return the rows that some chosen unknowns are in."""
    entries = np.flatnonzero(is_chosen[matrix.indices])
    return np.unique(np.searchsorted(matrix.indptr, entries, side="right") - 1)


def _by_each_row(
    rows: RealRows, boxes: tuple[IntArray, IntArray], ends: tuple[FloatArray, FloatArray]
) -> None:
    """Move ``ends``, which need not be whole, to what each row by itself leaves of unknowns in ``boxes``."""
    owner = np.repeat(np.arange(len(rows.low)), np.diff(rows.matrix.indptr))
    column, size = rows.matrix.indices, len(rows.low)
    least_each, most_each = rows.matrix.data - rows.spread.data, rows.matrix.data + rows.spread.data
    begin, end = boxes[0][column], boxes[1][column]
    smallest = np.minimum(least_each * begin, least_each * end)
    largest = np.maximum(most_each * begin, most_each * end)
    sizes = np.bincount(owner, np.abs(rows.matrix.data) * end, size).astype(np.float64)
    room = rows.rounding(sizes)
    lowest, highest = np.bincount(owner, smallest, size), np.bincount(owner, largest, size)
    # Only an unknown that adds more than a row has room for is bounded by it.
    slack = np.minimum(rows.high + 4 * room - lowest, highest - rows.low + 4 * room)
    chosen = largest - smallest >= slack[owner] * (1 - 1e-9)
    chosen |= slack[owner] < 0
    owner, column, smallest, largest = (each[chosen] for each in (owner, column, smallest, largest))
    least_each, most_each = least_each[chosen], most_each[chosen]
    above = (rows.high + 4 * room)[owner] - (lowest[owner] - smallest)
    below = (rows.low - 4 * room)[owner] - (highest[owner] - largest)
    # What is left for one unknown, divided by the end of its coefficient that gives it most room.
    for some, up, down in ((least_each > 0, above, below), (most_each < 0, below, above)):
        ends_of_coefficients = least_each[some], most_each[some]
        least = np.minimum(*(down[some] / each for each in ends_of_coefficients))
        most = np.maximum(*(up[some] / each for each in ends_of_coefficients))
        np.maximum.at(ends[0], column[some], least - 8 * UNIT * np.abs(least))
        np.minimum.at(ends[1], column[some], most + 8 * UNIT * np.abs(most))


def _by_fillings(
    rows: RealRows, low: IntArray, high: IntArray, until: Clock
) -> tuple[IntArray, IntArray]:
    """Return what all fillings of rows over few open unknowns share.

    Raises:
        ContradictionError: a row has none.
    """
    fillings = _Fillings(rows, low, high)
    while not until.is_over and (row := fillings.next_row()) is not None:
        fillings.fill(row, until)
    return fillings.low, fillings.high


class _Fillings:
    """Boxes, ``low`` and ``high`` (N,), that rows make narrower: those that can be filled in the fewest ways first.

    What a row settles leaves others fewer ways. ``bits`` (R,) is the logarithm of how many ways there are, to base 2,
    ``waiting`` the same of rows that are still to be tried, infinite for others. ``open`` (R,) counts open unknowns.
    """

    def __init__(self, rows: RealRows, low: IntArray, high: IntArray) -> None:
        """Count the ways of each row."""
        self.rows, self.low, self.high = rows, low.copy(), high.copy()
        matrix, size = rows.matrix, len(rows.low)
        ones = np.ones(matrix.nnz, dtype=np.int8)
        pattern = sparse.csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape)
        self._by_unknown = sparse.csc_array(pattern)
        bits = np.log2(high - low + 1.0)
        self.bits, self.open = np.zeros(size), np.zeros(size, dtype=np.int64)
        for batch in _batches(matrix, np.arange(size)):
            part = pattern[batch]
            self.bits[batch] = part @ bits
            self.open[batch] = part @ (low < high).astype(np.int64)
        self.waiting = np.full(size, np.inf)
        has_ends = np.isfinite(rows.low) & np.isfinite(rows.high)
        self._tried = np.where(has_ends, np.inf, -np.inf)
        self._wait(np.arange(size))

    def next_row(self) -> int | None:
        """Return the row with the fewest ways; None where no row is left that has few enough."""
        if not len(self.waiting) or np.isinf(self.waiting.min()):
            return None
        return int(self.waiting.argmin())

    def fill(self, row: int, until: Clock) -> None:
        """Take what all fillings share that fit a row, and other rows over no more unknowns.

        Raises:
            ContradictionError: none fits.
        """
        unknowns = _columns(self.rows, row)
        unknowns = unknowns[self.low[unknowns] < self.high[unknowns]]
        within = self._rows_within(unknowns)
        done = np.append(within[self.open[within] == len(unknowns)], row)
        self._tried[done], self.waiting[done] = self.bits[done], np.inf
        until.spend(
            SECONDS_A_PRODUCT * (2.0 ** (self.bits[row] / 2 + 4) + len(within) * len(unknowns))
        )
        ends = self._few(within, unknowns).shared_ends(until)
        if ends is not None:
            self._narrow(unknowns, ends[0] + self.low[unknowns], ends[1] + self.low[unknowns])

    def _rows_within(self, unknowns: IndexArray) -> IndexArray:
        """Return rows that have no other open unknowns than these, those with most of them first."""
        starts, ends = self._by_unknown.indptr[unknowns], self._by_unknown.indptr[unknowns + 1]
        touched = [self._by_unknown.indices[a:b] for a, b in zip(starts, ends, strict=True)]
        found, count = np.unique(np.concatenate(touched), return_counts=True)
        within = found[count == self.open[found]]
        return np.asarray(within[np.argsort(-self.open[within], kind="stable")][:MOST_ROWS])

    def _few(self, within: IndexArray, unknowns: IndexArray) -> FewUnknowns:
        """Return some rows over the unknowns that are open, counted from their low ends."""
        matrix, spread = np.zeros((2, len(within), len(unknowns)))
        gone, room = np.zeros((2, len(within)))
        order = np.argsort(unknowns)
        for number, row in enumerate(within.tolist()):
            entries = slice(self.rows.matrix.indptr[row], self.rows.matrix.indptr[row + 1])
            columns = self.rows.matrix.indices[entries]
            each, off = self.rows.matrix.data[entries], self.rows.spread.data[entries]
            added = self.low[columns].astype(np.float64)
            gone[number] = each @ added
            ends = [end for end in (self.rows.low[row], self.rows.high[row]) if np.isfinite(end)]
            sizes = np.abs(each) @ added + sum(map(abs, ends))
            room[number] = off @ added * (1 + 1e-9) + 2 * UNIT * (len(columns) + 8) * sizes
            is_open = self.low[columns] < self.high[columns]
            places = order[np.searchsorted(unknowns, columns[is_open], sorter=order)]
            matrix[number, places], spread[number, places] = each[is_open], off[is_open]
        return FewUnknowns(
            matrix=matrix,
            spread=spread,
            low=self.rows.low[within] - gone - room,
            high=self.rows.high[within] - gone + room,
            spans=self.high[unknowns] - self.low[unknowns],
        )

    def _narrow(self, unknowns: IndexArray, low: IntArray, high: IntArray) -> None:
        """Take new ends of some unknowns, and count the ways of the rows that these are in anew."""
        before = self.high[unknowns] - self.low[unknowns]
        self.low[unknowns], self.high[unknowns] = low, high
        fewer = np.log2(before + 1.0) - np.log2(high - low + 1.0)
        for place in np.flatnonzero(fewer).tolist():
            unknown = unknowns[place]
            rows = self._by_unknown.indices[slice(*self._by_unknown.indptr[unknown : unknown + 2])]
            self.bits[rows] -= fewer[place]
            self.open[rows] -= int(low[place] == high[place])
            self._wait(rows)

    def _wait(self, rows: IndexArray) -> None:
        """Let rows wait that can be filled in few ways, and in fewer than when they were tried."""
        bits = self.bits[rows]
        is_due = (self.open[rows] > 0) & (bits <= MOST_BITS) & (bits < self._tried[rows] - 1e-6)
        self.waiting[rows] = np.where(is_due, bits, np.inf)


def _columns(rows: RealRows, row: int) -> IndexArray:
    entries = slice(rows.matrix.indptr[row], rows.matrix.indptr[row + 1])
    return np.asarray(rows.matrix.indices[entries], dtype=np.intp)


def _by_combinations(
    rows: RealRows, low: IntArray, high: IntArray, until: Clock
) -> tuple[IntArray, IntArray]:
    """Return what linear combinations of all rows leave of the unknowns that are open."""
    for softness in SOFTNESS:
        if until.is_over or not 0 < int((low < high).sum()) <= MOST_UNKNOWNS:
            return low, high
        part, places = rows.open_part(low, high)
        if not len(part.low):
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
        part = rows.take(known)
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
