"""Proofs by one row at a time: what a row leaves of each of its cells, again until nothing moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.joint.counts import Counts, entries, settled_class, weighed_entries
from treewarden.audit.worlds.clock import FOREVER, Clock
from treewarden.audit.worlds.proofs.bounds import ContradictionError
from treewarden.ppdm_models.arrays import IndexArray, IntArray

NO_ROW = -1


@dataclass(frozen=True, slots=True, eq=False)
class Propagated:
    """Boxes (C, w) that hold every table that fits, and per cell the row that alone left it one class, or -1: (C,)."""

    low: IntArray
    high: IntArray
    row: IndexArray


def by_leaves(counts: Counts) -> Propagated:
    """Return what rows prove that need no other: all of its people have the class, or nobody.

    Raises:
        ContradictionError: two such rows contradict each other.
    """
    low, high = counts.start()
    state = _State(counts, low, high)
    is_all, is_none = counts.low >= counts.people, counts.high <= 0
    state.raise_low(*_whole(counts, np.flatnonzero(is_all), state.high))
    state.cut_high(*_whole(counts, np.flatnonzero(is_none), np.zeros_like(state.high)))
    state.add_up()
    return state.result()


def propagate(counts: Counts, start: Propagated, clock: Clock = FOREVER) -> Propagated:
    """Return the fixpoint of all rows from boxes that are proved, or how far it came when time is over.

    Of a row with ``low <= sum x <= high`` a number is at most its own least plus what ``high`` leaves above the sum of
    the least, and likewise from below; numbers of one cell add up to its size. A number that counts several times takes
    as much of what is left for each step. Rows are looked at again only when one of their cells moved.

    Raises:
        ContradictionError: no table fits.
    """
    state = _State(counts, start.low, start.high, start.row)
    state.add_up()
    dirty = np.arange(len(counts.low))
    while len(dirty) and not clock.is_over:
        state.look_at(dirty)
        state.add_up()
        dirty = state.touched()
    return state.result()


def _whole(
    counts: Counts, rows: IndexArray, ends: IntArray
) -> tuple[IndexArray, IndexArray, IntArray]:
    owner, places = entries(counts.matrix, rows)
    return owner, places, ends[places]


class _State:
    """Boxes taken flat (C w,), changed in place, and the sums of their ends over each row."""

    def __init__(
        self, counts: Counts, low: IntArray, high: IntArray, row: IndexArray | None = None
    ) -> None:
        self.counts = counts
        self.low, self.high = low.reshape(-1).copy(), high.reshape(-1).copy()
        self.row = np.full(len(counts.sizes), NO_ROW, dtype=np.intp) if row is None else row.copy()
        self.seen = self.low.copy(), self.high.copy()
        self.most_often = counts.most_often
        self.lows = np.asarray(counts.matrix @ self.low)
        self.highs = np.asarray(counts.matrix @ self.high)

    def result(self) -> Propagated:
        shape = (len(self.counts.sizes), self.counts.width)
        return Propagated(self.low.reshape(shape), self.high.reshape(shape), self.row)

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
        np.minimum.at(self.high, places, ends)
        if self.counts.width == 1:
            self._settled(owner, places, ends <= 0)

    def raise_low(self, owner: IndexArray, places: IndexArray, ends: IntArray) -> None:
        """Raise the lower ends to those that some rows leave."""
        new = ends > self.low[places]
        owner, places, ends = owner[new], places[new], ends[new]
        np.maximum.at(self.low, places, ends)
        self._settled(owner, places, ends >= self.counts.sizes[places // self.counts.width])

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
        moved = np.flatnonzero((self.low != self.seen[0]) | (self.high != self.seen[1]))
        owner, rows, times = weighed_entries(self.counts.across, moved)
        np.add.at(self.lows, rows, (self.low - self.seen[0])[owner] * times)
        np.subtract.at(self.highs, rows, (self.seen[1] - self.high)[owner] * times)
        for seen, now in zip(self.seen, (self.low, self.high), strict=True):
            seen[moved] = now[moved]
        is_touched = np.zeros(len(self.counts.low), dtype=bool)
        is_touched[rows] = True
        return np.flatnonzero(is_touched)


def settled(counts: Counts, boxes: Propagated) -> IntArray:
    """Return the class that each cell is proved to have, -1 where it may have others: (C,)."""
    return settled_class(counts, boxes.low, boxes.high)
