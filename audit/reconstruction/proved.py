"""Which records every table has that fits the file: proofs by rows, then by a solver, and tables that show otherwise.

The least number of records of a cell and class over all fitting tables is what every table has (theorem 1 of the study,
docs/engineering/reconstruction.md). Single rows settle most of it. What they leave open falls apart into numbers that
no row joins; of each part the solver is asked for a table in which as many numbers as possible are beyond all that was
seen. That there is none proves all of them at once; it reasons in whole numbers. Every table found is checked row by
row. What is undecided at the time limit stays open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from treewarden.audit.bounds import ContradictionError
from treewarden.audit.consistent_tables.proofs import Untyped, solved, solver_module
from treewarden.audit.engine.counts import bound_by_rows
from treewarden.audit.progress import Clock
from treewarden.audit.reconstruction.problem import NO_RECORD, CellRows
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

UNITS = (1.0, 8.0, 64.0)
"""The solver's own seconds for one question, by which runs agree: more where fewer decide nothing."""
MOST_IDLE = 9.0
"""Of the solver's own seconds, after which a search over known samples ends that no longer answers a question."""
MOST_TABLES = 2_000
"""So many tables of one part are counted; of more, nobody says how many there are."""
MOST_COUNTED = 200
"""Tables of parts with more open numbers are not counted."""
MOST_ENTRIES = 2_000_000
"""Entries of the rows that are left: with more the solver does not even begin in time."""


@dataclass(frozen=True, slots=True, eq=False)
class ProvedCounts:
    """Records by cell and class, (C, m) each: proved ends, and how far the tables that were found go.

    ``table`` is one table that fits, None where none was found in time. ``tables`` is how many have other numbers of
    records by cell and class (None: not counted), ``filled`` how many tables these are, value by value (infinite where
    a cell holds values that nobody can count). ``left`` says why something is open.
    """

    low: IntArray
    high: IntArray
    shown_low: IntArray
    shown_high: IntArray
    table: IntArray | None
    tables: int | None
    filled: int | float | None
    left: tuple[str, ...] = ()


def prove_counts(
    rows: CellRows,
    sizes: FloatArray,
    until: Clock,
    join: Callable[[OpenPart, IntArray], PartState] | None = None,
) -> ProvedCounts:
    """Return what rows prove of how many records each cell has; ``sizes`` (C,) are how many values cells stand for.

    ``join`` makes one part of all open numbers, with further rules, told what is known of all numbers at least.

    Raises:
        ContradictionError: no table fits.
    """
    boxes, classes = bound_by_rows(rows.problem(), until), rows.most.shape[1]
    low, high = (box[:, 1 : 1 + classes] for box in boxes)
    # A number is also at most the least count of its rows, which empty places do not say.
    low, high = low.reshape(-1).copy(), np.minimum(high, rows.most).reshape(-1)
    if (low > high).any():
        raise ContradictionError(NO_RECORD)
    ends = rows.low, rows.high
    found = _parts(rows.matrix, ends, low, high, is_one=join is not None)
    parts = [PartState(part) if join is None else join(part, low) for part in found]
    _decide_all(parts, until)
    return _joined(rows, low, high, parts, sizes, until)


def _decide_all(parts: Sequence[PartState], until: Clock) -> None:
    """Work on all parts, one after the other and with more patience each time.

    Raises:
        ContradictionError: no table fits.
    """
    for step, units in enumerate(UNITS):
        for place, part in enumerate(parts):
            if not part.is_decided:
                part.decide(units, until.share(1 / (len(parts) - place)), is_last=step > 0)


@dataclass(frozen=True, slots=True, eq=False)
class ProvedNumbers:
    """Numbers, (N,) each: proved ends, how far the tables that were found go, and one table; None where none was found.

    ``undecided`` is how many numbers that were asked for may lie beyond all tables that were found.
    """

    low: IntArray
    high: IntArray
    shown_low: IntArray
    shown_high: IntArray
    table: IntArray | None
    undecided: int


def prove_numbers(
    matrix: sparse.csr_array,
    ends: tuple[IntArray, IntArray],
    boxes: tuple[IntArray, IntArray],
    is_asked: BoolArray,
    until: Clock,
) -> ProvedNumbers:
    """Return what rows over numbers in boxes, ``ends`` of each (R,), prove of those that are asked for, (N,).

    Raises:
        ContradictionError: no numbers fulfil the rows.
    """
    low, high = (box.copy() for box in boxes)
    found = _parts(matrix, ends, low, high)
    parts = [PartState(part, is_asked[part.places], MOST_IDLE) for part in found]
    _decide_all(parts, until)
    shown_low, shown_high, table = low.copy(), high.copy(), low.copy()
    for part in parts:
        places = part.part.places
        low[places], high[places] = part.low, part.high
        shown_low[places], shown_high[places] = part.shown_low, part.shown_high
        table[places] = part.low if part.table is None else part.table
    return ProvedNumbers(
        low=low,
        high=high,
        shown_low=shown_low,
        shown_high=shown_high,
        table=table if all(part.table is not None for part in parts) else None,
        undecided=sum(int((part.may_fall | part.may_rise).sum()) for part in parts),
    )


def decide_part(part: OpenPart, until: Clock) -> tuple[IntArray, IntArray]:
    """Return boxes, (N,) each, that hold all numbers which fulfil the rows of a part, as narrow as time allows.

    Raises:
        ContradictionError: none do.
    """
    state = PartState(part)
    for step, units in enumerate(UNITS):
        if not state.is_decided:
            state.decide(units, until, is_last=step > 0)
    return state.low, state.high


@dataclass(frozen=True, slots=True, eq=False)
class OpenPart:
    """Open numbers that rows join: ``places`` (N,) of the flat (C m,), ``matrix`` (R, N) whole, ends of rows, boxes."""

    places: IndexArray
    matrix: sparse.csr_array
    least: IntArray
    most: IntArray
    low: IntArray
    high: IntArray

    def fits(self, numbers: IntArray) -> bool:
        """Whether numbers (N,) fulfil all rows, in whole numbers."""
        is_inside = ((numbers >= self.low) & (numbers <= self.high)).all()
        sums = self.matrix @ numbers
        return bool(is_inside and ((sums >= self.least) & (sums <= self.most)).all())


def _parts(
    rows: sparse.csr_array,
    ends: tuple[IntArray, IntArray],
    low: IntArray,
    high: IntArray,
    *,
    is_one: bool = False,
) -> Iterator[OpenPart]:
    """Yield what is left of the rows, in parts without a common number, or as one."""
    places = np.flatnonzero(low < high)
    if not len(places):
        return
    from scipy.sparse.csgraph import connected_components  # heavy: where something is open

    fixed = np.where(low < high, 0, low)
    settled = rows @ fixed
    least, most = ends[0] - settled, ends[1] - settled
    matrix = sparse.csr_array(rows[:, places])
    kept = np.flatnonzero(np.diff(matrix.indptr) > 0)
    if (np.delete(least, kept) > 0).any() or (np.delete(most, kept) < 0).any():
        raise ContradictionError(NO_RECORD)
    matrix, least, most = sparse.csr_array(matrix[kept]), least[kept], most[kept]
    joint = sparse.block_array([[None, matrix], [matrix.T, None]], format="csr")
    label = connected_components(joint, directed=False)[1]
    label = np.zeros_like(label) if is_one else label
    of_row, of_place = label[: len(kept)], label[len(kept) :]
    for number in np.unique(of_place).tolist():
        columns, here = np.flatnonzero(of_place == number), np.flatnonzero(of_row == number)
        part = sparse.csr_array(sparse.csr_array(matrix[here])[:, columns])
        part.sort_indices()
        alone, ends = _different(part, least[here], most[here])
        yield OpenPart(
            places=places[columns],
            matrix=sparse.csr_array(part[alone]),
            least=ends[0],
            most=ends[1],
            low=low[places[columns]],
            high=high[places[columns]],
        )


def _different(
    matrix: sparse.csr_array, least: IntArray, most: IntArray
) -> tuple[IndexArray, tuple[IntArray, IntArray]]:
    """Return one of each kind of rows, and between which ends all of a kind lie.

    Raises:
        ContradictionError: two rows over the same numbers have no common sum.
    """
    seen: dict[bytes, int] = {}
    least, most = least.copy(), most.copy()
    for row in range(len(least)):
        at = slice(matrix.indptr[row], matrix.indptr[row + 1])
        key = matrix.indices[at].tobytes() + matrix.data[at].tobytes()
        first = seen.setdefault(key, row)
        least[first], most[first] = max(least[first], least[row]), min(most[first], most[row])
        if least[first] > most[first]:
            raise ContradictionError(NO_RECORD)
    alone = np.fromiter(seen.values(), dtype=np.intp, count=len(seen))
    return alone, (least[alone], most[alone])


class PartState:
    """What is proved of one part, and what tables were found, of which so many are counted."""

    most_tables = MOST_TABLES

    def __init__(
        self, part: OpenPart, is_asked: BoolArray | None = None, most_idle: float = math.inf
    ) -> None:
        """``is_asked`` (N,) says of which numbers somebody wants to know; None: of all.

        The search ends once it has spent ``most_idle`` of the solver's seconds without an answer.
        """
        self.part, self.low, self.high = part, part.low.copy(), part.high.copy()
        self.is_asked = np.ones(len(part.low), dtype=bool) if is_asked is None else is_asked
        self.table: IntArray | None = None
        self.shown_low, self.shown_high = part.high + 1, part.low - 1
        self.is_decided = False
        self.idle, self.most_idle = 0.0, most_idle
        self.tables: list[IntArray] | None = None

    @property
    def may_fall(self) -> BoolArray:
        """Which numbers may be smaller than any table found has them."""
        return self.is_asked & (self.low < self.shown_low)

    @property
    def may_rise(self) -> BoolArray:
        """Which numbers may be larger."""
        return self.is_asked & (self.high > self.shown_high)

    def decide(self, units: float, until: Clock, *, is_last: bool) -> None:
        """Work until all is decided or time is over; ``is_last`` asks of single numbers too.

        Raises:
            ContradictionError: no table fits.
        """
        if self.part.matrix.nnz > MOST_ENTRIES or self._is_over(until):
            return
        if self.table is None and not self._find_first(units, until):
            return
        # What every table has comes first: that is what harms somebody.
        for is_fall in (True, False):
            while not self._is_over(until) and (chosen := np.flatnonzero(self._open(is_fall))).size:
                if self._move(chosen, units, until, is_fall):
                    continue
                if is_last:
                    self._one_by_one(units, until, is_fall)
                break
        self.is_decided = not (self.may_fall.any() or self.may_rise.any())

    def _is_over(self, until: Clock) -> bool:
        return until.is_over or self.idle >= self.most_idle

    def _open(self, is_fall: bool) -> BoolArray:
        return self.may_fall if is_fall else self.may_rise

    def _one_by_one(self, units: float, until: Clock, is_fall: bool) -> None:
        for i in np.flatnonzero(self._open(is_fall)).tolist():
            if self._is_over(until):
                return
            if self._open(is_fall)[i]:
                self._move(np.array([i]), units, until, is_fall)

    def _find_first(self, units: float, until: Clock) -> bool:
        model, numbers = self.model()
        status, found = self.answer(model, numbers, units, until)
        if status == solver_module().INFEASIBLE:
            raise ContradictionError(NO_RECORD)
        return found is not None and self._take(found)

    def model(self) -> tuple[Untyped, list[Untyped]]:
        part, model = self.part, solver_module().CpModel()
        ends = zip(self.low.tolist(), self.high.tolist(), strict=True)
        numbers = [model.new_int_var(low, high, "") for low, high in ends]
        indptr, indices = part.matrix.indptr.tolist(), part.matrix.indices.tolist()
        weights = part.matrix.data.tolist()
        module = solver_module()
        for row, (least, most) in enumerate(
            zip(part.least.tolist(), part.most.tolist(), strict=True)
        ):
            at = slice(indptr[row], indptr[row + 1])
            total = module.LinearExpr.weighted_sum([numbers[i] for i in indices[at]], weights[at])
            model.add_linear_constraint(total, least, most)
        return model, numbers

    def _move(self, chosen: IndexArray, units: float, until: Clock, is_fall: bool) -> bool:
        """Ask for a table beyond all found ones at some chosen number at least; return whether it was decided."""
        model, numbers = self.model()
        moved = []
        for i in chosen.tolist():
            bool_var = model.new_bool_var("")
            beyond = (
                numbers[i] <= int(self.shown_low[i]) - 1
                if is_fall
                else numbers[i] >= int(self.shown_high[i]) + 1
            )
            model.add(beyond).only_enforce_if(bool_var)
            moved.append(bool_var)
        model.add_bool_or(moved)
        model.maximize(sum(moved))
        if self.table is not None:
            for number, value in zip(numbers, self.table.tolist(), strict=True):
                model.add_hint(number, value)
        status, found = self.answer(model, numbers, units, until)
        if status == solver_module().INFEASIBLE:
            if is_fall:
                self.low[chosen] = self.shown_low[chosen]
            else:
                self.high[chosen] = self.shown_high[chosen]
            return True
        is_new = found is not None and self._is_beyond(found, chosen, is_fall)
        return is_new and found is not None and self._take(found)

    def answer(
        self, model: Untyped, numbers: list[Untyped], units: float, until: Clock
    ) -> tuple[int, IntArray | None]:
        """Return the solver's status, and a table that it proposes."""
        units = min(units, self.most_idle - self.idle)
        status, found = solved(model, numbers, units, until)
        self.idle = self.idle + units if status == solver_module().UNKNOWN else 0.0
        return status, found

    def _is_beyond(self, numbers: IntArray, chosen: IndexArray, is_fall: bool) -> bool:
        """Whether some chosen number is beyond all that was seen, so that questions come to an end."""
        if is_fall:
            return bool((numbers < self.shown_low)[chosen].any())
        return bool((numbers > self.shown_high)[chosen].any())

    def _take(self, numbers: IntArray) -> bool:
        """Take a table that the solver proposes, if it is one."""
        if not self.part.fits(numbers):
            return False
        if self.table is None:
            self.table = numbers
        self.shown_low = np.minimum(self.shown_low, numbers)
        self.shown_high = np.maximum(self.shown_high, numbers)
        return True

    def list_tables(self, until: Clock) -> list[IntArray] | None:
        """Return all tables of the part, None where they are too many."""
        if not self.is_decided or len(self.low) > MOST_COUNTED:
            return None
        model, numbers = self.model()
        found: list[IntArray] = []
        while len(found) <= self.most_tables and not until.is_over:
            status, table = self.answer(model, numbers, UNITS[0], until)
            if status == solver_module().INFEASIBLE:
                return found
            if table is None or not self.part.fits(table):
                return None
            found.append(table)
            self._exclude(model, numbers, table)
        return None

    def _exclude(self, model: Untyped, numbers: list[Untyped], table: IntArray) -> None:
        """Say that some number is another one than in a table."""
        others = []
        for i, value in enumerate(table.tolist()):
            for is_less in (True, False):
                if value == (self.low[i] if is_less else self.high[i]):
                    continue
                other = model.new_bool_var("")
                beyond = numbers[i] <= value - 1 if is_less else numbers[i] >= value + 1
                model.add(beyond).only_enforce_if(other)
                others.append(other)
        model.add_bool_or(others)


def _joined(
    rows: CellRows,
    low: IntArray,
    high: IntArray,
    parts: list[PartState],
    sizes: FloatArray,
    until: Clock,
) -> ProvedCounts:
    """Return what is known of all parts, by cell and class."""
    shape = rows.most.shape
    least, most, table = low.copy(), high.copy(), low.copy()
    shown = low.copy(), high.copy()
    for part in parts:
        places = part.part.places
        least[places], most[places] = part.low, part.high
        shown[0][places], shown[1][places] = part.shown_low, part.shown_high
        table[places] = part.low if part.table is None else part.table
    is_found = all(part.table is not None for part in parts)
    open_numbers = sum(int((part.may_fall | part.may_rise).sum()) for part in parts)
    left = (
        (f"{open_numbers:,} numbers of records were not decided in time",) if open_numbers else ()
    )
    tables, filled = _number_of_tables(low, parts, np.repeat(sizes, shape[1]), until)
    if is_found and not rows.fits(table.reshape(shape)):
        raise ArithmeticError("a table that was put together does not fit")
    return ProvedCounts(
        low=least.reshape(shape),
        high=most.reshape(shape),
        shown_low=shown[0].reshape(shape),
        shown_high=shown[1].reshape(shape),
        table=table.reshape(shape) if is_found else None,
        tables=tables,
        filled=filled,
        left=left,
    )


def _number_of_tables(
    low: IntArray, parts: list[PartState], sizes: FloatArray, until: Clock
) -> tuple[int | None, int | float | None]:
    """Return how many tables differ in numbers of cells and classes, and how many there are, value by value.

    n records of a class in a cell of z values are any multiset of them: C(z + n - 1, n).
    """
    is_fixed = np.ones(len(low), dtype=bool)
    tables, filled = 1, fillings(low[:0], sizes[:0])
    for part in parts:
        is_fixed[part.part.places] = False
        listed = part.list_tables(until)
        if listed is None:
            return None, None
        tables *= len(listed)
        filled *= sum(fillings(table, sizes[part.part.places]) for table in listed)
    return tables, filled * fillings(low[is_fixed], sizes[is_fixed])


def fillings(numbers: IntArray, sizes: FloatArray) -> int | float:
    """Return in how many ways records of cells can have values of these."""
    ways = 1
    for number, size in zip(numbers.tolist(), sizes.tolist(), strict=True):
        if number and math.isinf(size):
            return math.inf
        ways *= math.comb(int(size) + number - 1, number) if number else 1
    return ways
