"""Search by CP-SAT in whole numbers: tables found or proved impossible, for cells that cheaper proofs leave open."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from treewarden.audit.bounds import ContradictionError, RowBounds
from treewarden.audit.consistent_tables.proofs import Untyped, solved, solver_module
from treewarden.audit.consistent_tables.result import OUT_OF_TIME
from treewarden.audit.engine.counts import Counts, OpenNumbers, opened, propagate
from treewarden.audit.engine.time_budget import SECONDS_A_MODEL_ENTRY
from treewarden.audit.progress import Clock, OutOfTimeError
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray

# The rows as a model for OR-Tools' CP-SAT, which reasons in whole numbers: what it calls infeasible is so.


@dataclass(frozen=True, slots=True, eq=False)
class SearchAnswer:
    """What a search came to: numbers (N,) that the solver proposes, or None; ``is_impossible`` that there are none."""

    numbers: IntArray | None
    is_impossible: bool = False


class MilpModel:
    """Open numbers (N,) as variables, and rows over them; with more than two classes, that cells add up."""

    def __init__(
        self,
        counts: Counts,
        left: OpenNumbers,
        people_left: IntArray,
        fixed: IntArray,
        clock: Clock,
    ) -> None:
        """``people_left`` (C,) is how many of each cell's people are not settled, ``fixed`` (C, w) the settled numbers.

        Raises:
            OutOfTimeError: the budget is used up.
        """
        self.model = solver_module().CpModel()
        self.entries = int(left.matrix.nnz) + len(left.places)
        clock.spend(SECONDS_A_MODEL_ENTRY * self.entries)
        self.least, self.most = left.least, left.most
        self.numbers = [
            self.model.new_int_var(low, high, "")
            for low, high in zip(left.least.tolist(), left.most.tolist(), strict=True)
        ]
        ends = zip(left.low.tolist(), left.high.tolist(), strict=True)
        for r, (low, high) in enumerate(ends):
            clock.check()
            at = slice(left.matrix.indptr[r], left.matrix.indptr[r + 1])
            terms = zip(
                left.matrix.indices[at].tolist(), left.matrix.data[at].tolist(), strict=True
            )
            total = sum(times * self.numbers[i] for i, times in terms)
            self.model.add_linear_constraint(total, low, high)
        if counts.scaled is not None:
            for weights, low, high in counts.scaled.remaining_rows(left.places, fixed.reshape(-1)):
                clock.check()
                total = sum(self.numbers[i] * weight for i, weight in weights)
                self.model.add_linear_constraint(total, low, high)
        if counts.width > 1:
            cells, starts = np.unique(left.places // counts.width, return_index=True)
            stops = [*starts[1:].tolist(), len(left.places)]
            for cell, start, stop in zip(cells.tolist(), starts.tolist(), stops, strict=True):
                self.model.add(sum(self.numbers[start:stop]) == int(people_left[cell]))

    def find(self, clock: Clock, units: float, hint: IntArray | None = None) -> SearchAnswer:
        """Look for any numbers that fulfil the rows, near a hint (N,)."""
        return self._solved(self.model.clone(), clock, units, hint)

    def move(
        self, table: IntArray, targets: IndexArray, clock: Clock, units: float
    ) -> SearchAnswer:
        """Look for numbers that differ from a table (N,) at one target place at least, at as many as possible."""
        model = self.model.clone()
        moved = [self._moved(model, i, int(table[i])) for i in targets.tolist()]
        model.add_bool_or(moved)
        model.maximize(sum(moved))
        return self._solved(model, clock, units, table)

    def _moved(self, model: Untyped, i: int, value: int) -> Untyped:
        """Return a truth value that implies that a number is not the given one."""
        moved = model.new_bool_var("")
        number = model.get_int_var_from_proto_index(self.numbers[i].index)
        if value == self.least[i]:
            model.add(number >= value + moved)
        elif value == self.most[i]:
            model.add(number <= value - moved)
        else:
            model.add(number != value).only_enforce_if(moved)
        return moved

    def _solved(
        self, model: Untyped, clock: Clock, units: float, hint: IntArray | None
    ) -> SearchAnswer:
        if hint is not None:
            for number, value in zip(self.numbers, hint.tolist(), strict=True):
                model.add_hint(model.get_int_var_from_proto_index(number.index), value)
        status, found = solved(model, self.numbers, units, clock)
        clock.spend(SECONDS_A_MODEL_ENTRY * self.entries)
        return SearchAnswer(found, is_impossible=status == solver_module().INFEASIBLE)


MOST_ENTRIES = 400_000
"""Entries of the rows that are left: of more the solver does not even see the first table in time."""
FIRST_UNITS, MOST_UNITS = 2.0, 64.0
"""The solver's own seconds, by which runs agree: spent on all open cells together, more where that decides nothing."""
UNITS_OF_ONE = 1.0
"""Spent on single cells."""


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """Boxes (C, w) that hold every table; the box of all tables that were found, (C, w); why something is open."""

    boxes: RowBounds
    reached_low: IntArray
    reached_high: IntArray
    left: tuple[str, ...]


def search(
    counts: Counts, boxes: RowBounds, truth: IntArray | None, share: IntArray, clock: Clock
) -> Searched:
    """Look for tables in which open cells are otherwise, and for proofs that there are none, until time is over.

    ``truth`` (C, w) is a table that fits, if one is known. ``share`` (C, w), any numbers, says which table is likely.

    Raises:
        ContradictionError: no table fits.
    """
    run = _SearchState(counts, boxes, clock)
    if truth is not None and not run.add(truth):
        run.left.append("the true table contradicts the model's numbers")
    with suppress(OutOfTimeError):
        run.go(share)
    open_cells = int(run.not_moved.reshape(boxes.low.shape).any(axis=1).sum())
    if open_cells:
        run.left.append(f"{open_cells} groups are not decided: {run.why}")
    return Searched(run.boxes, run.reached_low, run.reached_high, tuple(run.left))


class _SearchState:
    """What is proved and what was found so far."""

    def __init__(self, counts: Counts, boxes: RowBounds, clock: Clock) -> None:
        self.counts, self.boxes, self.clock = counts, boxes, clock
        self.reached_low, self.reached_high = boxes.high + 1, boxes.low - 1
        self.known: IntArray | None = None
        self.left: list[str] = []
        self.why = OUT_OF_TIME

    @property
    def not_moved(self) -> BoolArray:
        """Open numbers, of the flat (C w,), that are the same in all tables found."""
        is_open = self.boxes.low < self.boxes.high
        return np.asarray((is_open & (self.reached_low >= self.reached_high)).reshape(-1))

    def add(self, table: IntArray) -> bool:
        """Add a table (C, w), if it fits; return whether it does: checked row by row in whole numbers."""
        if not self.counts.fits(table):
            return False
        if self.known is None:
            self.known, self.reached_low, self.reached_high = table, table.copy(), table.copy()
        less, more = one_off(self.counts, table)
        np.minimum(self.reached_low, less, out=self.reached_low)
        np.maximum(self.reached_high, more, out=self.reached_high)
        return True

    def go(self, share: IntArray) -> None:
        """Ask of all open cells at once, then one by one.

        Raises:
            OutOfTimeError: the budget is used up.
        """
        if not self.not_moved.any():
            return
        open_numbers = self._opened()
        if open_numbers.matrix.nnz > MOST_ENTRIES:
            self.why = f"the remaining constraints have {open_numbers.matrix.nnz} entries, too many to search"
            return
        model = self._model(open_numbers)
        if self.known is None and not self._find_first(model, open_numbers, share):
            self.why = f"{OUT_OF_TIME} before a table was found"
            return
        if not self._ask_all(model, open_numbers):
            self._ask_each(model, open_numbers)

    def _opened(self) -> OpenNumbers:
        return opened(self.counts, self.boxes.low, self.boxes.high)

    def _model(self, left: OpenNumbers) -> MilpModel:
        low, high = self.boxes.low, self.boxes.high
        fixed = np.where(low < high, 0, low)
        rest = self.counts.sizes - fixed.sum(axis=1)
        return MilpModel(self.counts, left, rest, fixed, self.clock)

    def _find_first(self, model: MilpModel, left: OpenNumbers, share: IntArray) -> bool:
        units = FIRST_UNITS
        while True:
            self.clock.check()
            answer = model.find(self.clock, units, share.reshape(-1)[left.places])
            if answer.is_impossible:
                raise ContradictionError("no table fulfils all rows")
            if answer.numbers is not None:
                return self._take(left, answer.numbers)
            units *= 4.0

    def _take(self, left: OpenNumbers, numbers: IntArray) -> bool:
        table = self.boxes.low.copy()
        table.reshape(-1)[left.places] = numbers
        return self.add(table)

    def _true_numbers(self, left: OpenNumbers) -> IntArray:
        assert self.known is not None
        return np.asarray(self.known.reshape(-1)[left.places])

    def _ask_all(self, model: MilpModel, left: OpenNumbers) -> bool:
        """Ask for tables that move as many open numbers as they can; return whether all is decided."""
        units = FIRST_UNITS
        while True:
            self.clock.check()
            wanted = np.flatnonzero(self.not_moved[left.places])
            if not len(wanted):
                return True
            answer = model.move(self._true_numbers(left), wanted, self.clock, units)
            if answer.is_impossible:
                self._settle(left.places[wanted])
                return True
            if answer.numbers is None or not self._take(left, answer.numbers):
                if units >= MOST_UNITS:
                    return False
                units *= 4.0

    def _ask_each(self, model: MilpModel, left: OpenNumbers) -> None:
        """Ask of one open number after the other, again and with more patience while time is left."""
        units = UNITS_OF_ONE
        while True:
            for i in np.flatnonzero(self.not_moved[left.places]).tolist():
                self.clock.check()
                if not self.not_moved[left.places[i]]:
                    continue
                answer = model.move(self._true_numbers(left), np.array([i]), self.clock, units)
                if answer.is_impossible:
                    self._settle(left.places[[i]])
                elif answer.numbers is not None:
                    self._take(left, answer.numbers)
            if not self.not_moved.any():
                return
            units *= 4.0

    def _settle(self, places: IndexArray) -> None:
        """Fix numbers at what they are in the known table: no table has them otherwise."""
        assert self.known is not None
        low, high = self.boxes.low.copy(), self.boxes.high.copy()
        for end in (low, high):
            end.reshape(-1)[places] = self.known.reshape(-1)[places]
        self.boxes = propagate(self.counts, RowBounds(low, high, self.boxes.row))


def one_off(counts: Counts, table: IntArray) -> tuple[IntArray, IntArray]:
    """Return how far each number goes, (C, w) down and up, in a table that fits and those with one person otherwise.

    One person more of a class needs room in all rows that count the cell's people of that class, as often as they do;
    with more than two classes, one less of another class needs it too. No row counts two classes, so that neither gets
    in the other's way.
    """
    if counts.scaled is not None:  # nobody's neighbours add the same numbers
        return table, table
    total = counts.matrix @ table.reshape(-1)
    can_rise = _has_room(counts, counts.high - total).reshape(table.shape)
    can_drop = _has_room(counts, total - counts.low).reshape(table.shape)
    if counts.width == 1:
        can_rise &= table < counts.sizes[:, None]
        can_drop &= table > 0
    else:
        can_drop &= table > 0
        drops, rises = can_drop.sum(axis=1)[:, None], can_rise.sum(axis=1)[:, None]
        # Another class than its own has to give, or take, the person.
        can_rise, can_drop = can_rise & (drops > can_drop), can_drop & (rises > can_rise)
    return table - can_drop, table + can_rise


def _has_room(counts: Counts, room: IntArray) -> BoolArray:
    """Return which numbers (C w,) may move by one where rows leave so much room, (R,)."""
    if counts.most_often == 1:
        return np.asarray((counts.across @ (room < 1).astype(np.int64)) == 0)
    owner = np.repeat(np.arange(len(room)), np.diff(counts.matrix.indptr))
    is_short = counts.matrix.data > room[owner]
    return np.asarray(
        np.bincount(counts.matrix.indices[is_short], minlength=counts.matrix.shape[1]) == 0
    )
