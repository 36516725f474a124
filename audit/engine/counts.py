"""Rows over whole numbers in boxes: of two classes how many of a cell have the second, of more how many have each.

Of amounts it is what the people of a cell add up to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.bounds import NO_ROW, ContradictionError, RowBounds
from treewarden.audit.engine.problem import Amounts, IntegerCellRows, Problem, SpanRows
from treewarden.audit.engine.time_budget import SECONDS_A_LOOK
from treewarden.audit.progress import FOREVER, Clock
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Rows over numbers x, shape (C, w) taken flat: ``low <= matrix @ x <= high``, all of them whole.

    w is 1 for two classes, where x counts the second one, else the number of classes, and each cell's numbers add up to
    its size. ``matrix`` is (R, C w), of zeros and ones, or of how often people were drawn; ``across`` is the same the
    other way round, and ``people`` (R,) are all whom a row is about, or all draws. ``scaled`` are rows that only tables
    found are held against, and solvers. Of ``amounts`` w is 1, and a number is as its people's ends allow.
    ``most`` (C, w) is how many of a cell may have each class, None where only the cell's size limits it; ``prior``
    (C, w) is how likely each is before the rows, None where all are alike.
    """

    matrix: sparse.csr_array
    across: sparse.csr_array
    low: IntArray
    high: IntArray
    sizes: IntArray
    people: IntArray
    width: int
    scaled: IntegerCellRows | None = None
    amounts: Amounts | None = None
    most: IntArray | None = None
    prior: FloatArray | None = None

    @property
    def most_often(self) -> int:
        """How often a person counts in a row at most: 1 where rows are of people."""
        return int(self.matrix.data.max(initial=1))

    def start(self) -> tuple[IntArray, IntArray]:
        """Return the boxes that hold whatever the rows say, (C, w) each."""
        if self.amounts is not None:
            ends = self.amounts.least, self.amounts.most
            return (self.sizes * ends[0])[:, None], (self.sizes * ends[1])[:, None]
        high = np.repeat(self.sizes[:, None], self.width, axis=1)
        return np.zeros_like(high), high if self.most is None else self.most.copy()

    def fits(self, x: IntArray) -> bool:
        """Whether numbers (C, w) are a table that fits, checked in whole numbers."""
        total = self.matrix @ x.reshape(-1)
        is_whole = self.width == 1 or bool((x.sum(axis=1) == self.sizes).all())
        least, most = self.start()
        is_inside = bool(((x >= least) & (x <= most)).all())
        if self.scaled is not None and not self.scaled.fits(x.reshape(-1)):
            return False
        return is_whole and is_inside and bool(((self.low <= total) & (total <= self.high)).all())


def counts_of(rows: Problem) -> Counts:
    """Return the rows over the numbers that they count; with two classes all are said of the second.

    Raises:
        ValueError: there are rows that no matrix holds.
    """
    if rows.exact is not None:
        raise ValueError("rows of splits, which the tiers of one tree are for")
    if isinstance(rows.matrix, SpanRows):
        rows = replace(rows, matrix=rows.matrix.to_sparse())
    if rows.allowed is not None:
        return _counts_of_alternatives(rows, rows.allowed)
    is_of_two = rows.classes == 2
    width = 1 if is_of_two else rows.classes
    each, people = np.diff(rows.matrix.indptr), rows.people.astype(np.int64)
    low, high = rows.low.astype(np.int64), rows.high.astype(np.int64)
    columns = rows.matrix.indices.astype(np.int64)
    if is_of_two:
        is_first = rows.output == 0
        low, high = (
            np.where(is_first, people - high, low),
            np.where(is_first, people - low, high),
        )
    elif width > 1:
        columns = columns * width + np.repeat(rows.output, each)
    shape = (len(low), len(rows.sizes) * width)
    times = rows.matrix.data.astype(np.int64)
    matrix = sparse.csr_array((times, columns, rows.matrix.indptr.copy()), shape=shape)
    matrix.sort_indices()
    across = sparse.csr_array(matrix.T.tocsr())
    scaled = None if rows.scaled is None else rows.scaled.over(width)
    return Counts(
        matrix=matrix,
        across=across,
        low=low,
        high=high,
        sizes=rows.sizes.astype(np.int64),
        people=people,
        width=width,
        scaled=scaled,
        amounts=rows.amounts,
    )


def _counts_of_alternatives(rows: Problem, allowed: BoolArray) -> Counts:
    """Return rows that are over the alternatives of each group already."""
    matrix = sparse.csr_array(rows.matrix.astype(np.int64))
    matrix.sort_indices()
    sizes = rows.sizes.astype(np.int64)
    return Counts(
        matrix=matrix,
        across=sparse.csr_array(matrix.T.tocsr()),
        low=rows.low.astype(np.int64),
        high=rows.high.astype(np.int64),
        sizes=sizes,
        people=rows.people.astype(np.int64),
        width=rows.classes,
        most=np.where(allowed, sizes[:, None], 0),
        prior=rows.prior,
    )


def by_class(counts: Counts, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Return boxes (C, w) as those of all classes, (C, m)."""
    if counts.width > 1 or counts.amounts is not None:
        return low, high
    rest = counts.sizes[:, None]
    return np.hstack([rest - high, low]), np.hstack([rest - low, high])


def settled(counts: Counts, boxes: RowBounds) -> IntArray:
    """Return the one class that all people of a cell have in each table within boxes, -1 where none: (C,).

    Where people have amounts it is 0 of each cell of which only one sum is left.
    """
    if counts.amounts is not None:
        return np.where(boxes.is_fixed.all(axis=1), 0, -1)
    least, _ = by_class(counts, boxes.low, boxes.high)
    is_all = (least == counts.sizes[:, None]) & (counts.sizes[:, None] > 0)
    return np.where(is_all.any(axis=1), is_all.argmax(axis=1), -1)


def entries(matrix: sparse.csr_array, chosen: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the entries of some rows of a matrix: the row of each, and its column."""
    owner, at = _placed(matrix, chosen)
    return owner, matrix.indices[at].astype(np.intp)


def weighed_entries(
    matrix: sparse.csr_array, chosen: IndexArray
) -> tuple[IndexArray, IndexArray, IntArray]:
    """Return the entries of some rows of a matrix: the row of each, its column, and its number."""
    owner, at = _placed(matrix, chosen)
    return owner, matrix.indices[at].astype(np.intp), matrix.data[at]


def _placed(matrix: sparse.csr_array, chosen: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the row of each entry of some rows, and where it is among all entries."""
    starts = matrix.indptr[chosen].astype(np.intp)
    each = matrix.indptr[chosen + 1].astype(np.intp) - starts
    before = np.cumsum(each) - each
    at = np.arange(int(each.sum())) + np.repeat(starts - before, each)
    return np.repeat(chosen, each), at


@dataclass(frozen=True, slots=True, eq=False)
class OpenNumbers:
    """What is left of the rows when all numbers that can only be one are taken out.

    ``matrix`` (S, N) is over the N open numbers at ``places`` (N,) of the flat (C w,), ``low`` and ``high`` (S,) beside
    it; ``rows`` (S,) says from which row each comes, ``part`` (R,) to which one each row came down, -1 where to none.
    ``least`` and ``most`` (N,) are the boxes. No two rows are equal, and each says more than the boxes do.
    """

    matrix: sparse.csr_array
    low: IntArray
    high: IntArray
    rows: IndexArray
    part: IndexArray
    places: IndexArray
    least: IntArray
    most: IntArray


def opened(counts: Counts, low: IntArray, high: IntArray) -> OpenNumbers:
    """Return what boxes (C, w) leave of the rows.

    Raises:
        ContradictionError: a row cannot be fulfilled any more.
    """
    low, high = low.reshape(-1), high.reshape(-1)
    is_open = low < high
    fixed = counts.matrix @ np.where(is_open, 0, low)
    places = np.flatnonzero(is_open)
    least, most = low[places], high[places]
    matrix = sparse.csr_array(counts.matrix[:, places])
    matrix.sort_indices()
    row_low, row_high = counts.low - fixed, counts.high - fixed
    lowest, highest = matrix @ least, matrix @ most
    if ((lowest > row_high) | (highest < row_low)).any():
        raise ContradictionError("no table fulfils all rows")
    if counts.width > 1:
        # The estimate knows no ends within a cell of more classes: only what says nothing even so is dropped.
        cells = places // counts.width
        rest = counts.sizes - np.where(is_open, 0, low).reshape(-1, counts.width).sum(axis=1)
        lowest, highest = np.zeros_like(lowest), matrix @ rest[cells]
    is_weighed = counts.most_often > 1
    first: dict[bytes, int] = {}
    came_to = np.full(len(row_low), -1, dtype=np.intp)
    for r in np.flatnonzero((row_low > lowest) | (row_high < highest)).tolist():
        at = slice(matrix.indptr[r], matrix.indptr[r + 1])
        key = matrix.indices[at].tobytes() + (matrix.data[at].tobytes() if is_weighed else b"")
        same = came_to[r] = first.setdefault(key, r)
        row_low[same] = max(row_low[same], row_low[r])
        row_high[same] = min(row_high[same], row_high[r])
    kept = np.fromiter(first.values(), dtype=np.intp, count=len(first))
    if (row_low[kept] > row_high[kept]).any():
        raise ContradictionError("two rows over the same people contradict each other")
    part = np.where(came_to >= 0, np.searchsorted(kept, came_to), -1)
    return OpenNumbers(
        matrix=matrix[kept],
        low=row_low[kept],
        high=row_high[kept],
        rows=kept,
        part=part,
        places=places,
        least=least,
        most=most,
    )


# Bound propagation: what one row at a time leaves of each of its cells, repeated until nothing moves.

MOST_LOOKS = 200
"""So often all rows over amounts are looked at."""
FINEST_MOVE = 30
"""Moves of less than the span over two to that are not followed up, where amounts are real."""


def by_leaves(counts: Counts) -> RowBounds:
    """Return what rows prove that need no other: all of its people have the class, or nobody; amounts are at an end.

    Raises:
        ContradictionError: two such rows contradict each other.
    """
    low, high = counts.start()
    state = _BoxState(counts, low, high)
    is_all, is_none = counts.low >= state.highs, counts.high <= state.lows
    state.raise_low(*_whole(counts, np.flatnonzero(is_all), state.most))
    state.cut_high(*_whole(counts, np.flatnonzero(is_none), state.least))
    state.add_up()
    return state.result()


def propagate(counts: Counts, start: RowBounds, clock: Clock = FOREVER) -> RowBounds:
    """Return the fixpoint of all rows from boxes that are proved, or how far it came when time is over.

    Of a row with ``low <= sum x <= high`` a number is at most its own least plus what ``high`` leaves above the sum of
    the least, and likewise from below; numbers of one cell add up to its size. A number that counts several times takes
    as much of what is left for each step. Rows are looked at again only when one of their cells moved; of amounts,
    which may move ever less, only so often, and of real ones only when they moved far enough.

    Raises:
        ContradictionError: no table fits.
    """
    state = _BoxState(counts, start.low, start.high, start.row)
    state.used = np.ones(len(counts.low), dtype=bool) if start.used is None else start.used.copy()
    state.add_up()
    dirty = np.arange(len(counts.low))
    looks = 0
    width = np.diff(counts.matrix.indptr)
    while len(dirty) and not clock.is_over and looks < state.most_looks:
        clock.spend(SECONDS_A_LOOK * float(width[dirty].sum() + len(state.low)))
        state.look_at(dirty)
        state.add_up()
        dirty = state.touched()
        looks += 1
    return state.result()


def bound_by_rows(problem: Problem, clock: Clock = FOREVER) -> tuple[IntArray, IntArray]:
    """Return the boxes of all alternatives, (C, m) each, that single rows leave, one after the other.

    Raises:
        ContradictionError: no table fits.
    """
    counts = counts_of(problem)
    found = propagate(counts, by_leaves(counts), clock)
    return by_class(counts, found.low, found.high)


def look_once(counts: Counts, rows: IndexArray) -> tuple[IntArray, IntArray]:
    """Return the boxes (C, w) that each of some rows leaves by itself.

    Raises:
        ContradictionError: no table fits.
    """
    state = _BoxState(counts, *counts.start())
    state.look_at(rows)
    boxes = state.result()
    return boxes.low, boxes.high


def _whole(
    counts: Counts, rows: IndexArray, ends: IntArray
) -> tuple[IndexArray, IndexArray, IntArray]:
    owner, places = entries(counts.matrix, rows)
    return owner, places, ends[places]


class _BoxState:
    """Boxes taken flat (C w,), changed in place, and the sums of their ends over each row."""

    def __init__(
        self, counts: Counts, low: IntArray, high: IntArray, row: IndexArray | None = None
    ) -> None:
        self.counts = counts
        self.low, self.high = low.reshape(-1).copy(), high.reshape(-1).copy()
        self.row = np.full(len(counts.sizes), NO_ROW, dtype=np.intp) if row is None else row.copy()
        self.used = np.zeros(len(counts.low), dtype=bool)
        self.seen = self.low.copy(), self.high.copy()
        self.least, self.most = (end.reshape(-1) for end in counts.start())
        self.most_often = counts.most_often
        self.most_looks, self.least_move = float("inf"), 1
        if counts.amounts is not None:
            self.most_looks = MOST_LOOKS
            is_real = not counts.amounts.is_whole
            self.least_move = max(counts.amounts.span >> FINEST_MOVE, 1) if is_real else 1
        self.lows = np.asarray(counts.matrix @ self.low)
        self.highs = np.asarray(counts.matrix @ self.high)

    def result(self) -> RowBounds:
        shape = (len(self.counts.sizes), self.counts.width)
        return RowBounds(self.low.reshape(shape), self.high.reshape(shape), self.row, self.used)

    def look_at(self, rows: IndexArray) -> None:
        """Apply rows, all to the boxes as they were."""
        above, below = self.counts.high - self.lows, self.highs - self.counts.low
        if min(above[rows].min(), below[rows].min()) < 0:
            raise ContradictionError("no table fulfils all rows")
        # A row that leaves more than the widest box moves nothing.
        widest = int((self.high - self.low).max(initial=0)) * self.most_often
        caps, up = self._steps(rows[above[rows] < widest], above)
        floors, down = self._steps(rows[below[rows] < widest], below)
        ceiling, floor = self.low[caps[1]] + up, self.high[floors[1]] - down
        self.cut_high(*caps, ceiling)
        self.raise_low(*floors, floor)

    def _steps(
        self, rows: IndexArray, left: IntArray
    ) -> tuple[tuple[IndexArray, IndexArray], IntArray]:
        """Return the entries of rows, and how far each number may move by what its row leaves, (R,)."""
        if self.most_often == 1:
            owner, places = entries(self.counts.matrix, rows)
            return (owner, places), left[owner]
        owner, places, times = weighed_entries(self.counts.matrix, rows)
        return (owner, places), left[owner] // times

    def cut_high(self, owner: IndexArray, places: IndexArray, ends: IntArray) -> None:
        """Lower the upper ends to those that some rows leave."""
        new = ends < self.high[places]
        owner, places, ends = owner[new], places[new], ends[new]
        self.used[owner] = True
        np.minimum.at(self.high, places, ends)
        if self.counts.width == 1:
            self._settled(owner, places, ends <= self.least[places])

    def raise_low(self, owner: IndexArray, places: IndexArray, ends: IntArray) -> None:
        """Raise the lower ends to those that some rows leave."""
        new = ends > self.low[places]
        owner, places, ends = owner[new], places[new], ends[new]
        self.used[owner] = True
        np.maximum.at(self.low, places, ends)
        self._settled(owner, places, ends >= self.most[places])

    def _settled(self, owner: IndexArray, places: IndexArray, is_all: np.ndarray) -> None:
        """Write down the first row that left a cell one class."""
        cells, first = np.unique(places[is_all] // self.counts.width, return_index=True)
        is_new = self.row[cells] == NO_ROW
        self.row[cells[is_new]] = owner[is_all][first[is_new]]

    def add_up(self) -> None:
        """Apply that the numbers of a cell add up to its size, and see that no box is empty."""
        width = self.counts.width
        if width > 1:
            low, high = self.low.reshape(-1, width), self.high.reshape(-1, width)
            above = self.counts.sizes - low.sum(axis=1)
            below = high.sum(axis=1) - self.counts.sizes
            ceiling, floor = low + above[:, None], high - below[:, None]
            np.minimum(high, ceiling, out=high)
            np.maximum(low, floor, out=low)
            if (above < 0).any() or (below < 0).any():
                raise ContradictionError("the classes of a cell do not add up to its people")
        if (self.low > self.high).any():
            raise ContradictionError("no table fulfils all rows")

    def touched(self) -> IndexArray:
        """Bring the sums up to date; return the rows of whatever moved since the last time."""
        risen, cut = self.low - self.seen[0], self.seen[1] - self.high
        moved = np.flatnonzero((risen >= self.least_move) | (cut >= self.least_move))
        owner, rows, times = weighed_entries(self.counts.across, moved)
        np.add.at(self.lows, rows, risen[owner] * times)
        np.subtract.at(self.highs, rows, cut[owner] * times)
        for seen, now in zip(self.seen, (self.low, self.high), strict=True):
            seen[moved] = now[moved]
        is_touched = np.zeros(len(self.counts.low), dtype=bool)
        is_touched[rows] = True
        return np.flatnonzero(is_touched)
