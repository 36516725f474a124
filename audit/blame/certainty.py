"""Who is certain given some of the published numbers: proved in whole numbers, or refuted by a witness table.

The problem's rows each belong to one published number, which could be withheld, or are always known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np
from scipy import sparse

from treewarden.audit.bounds import ContradictionError, RowBounds
from treewarden.audit.engine.counts import (
    Counts,
    OpenNumbers,
    by_class,
    by_leaves,
    counts_of,
    opened,
    propagate,
    settled,
)
from treewarden.audit.engine.problem import Problem, breaking
from treewarden.audit.engine.search import FIRST_UNITS, MilpModel
from treewarden.audit.progress import Clock, OutOfTimeError
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
        return self.problem.select(rows)

    @property
    def true_class(self) -> IntArray:
        """The class that all people of each group truly have, (C,), -1 where they have several, or there is nobody."""
        is_pure = (self.truth == self.problem.sizes[:, None]) & (self.problem.sizes[:, None] > 0)
        return np.where(is_pure.any(axis=1), is_pure.argmax(axis=1), -1)

    def broken_by(self, table: IntArray) -> frozenset[int]:
        """Return the numbers that a table (C, m) contradicts, with ``ALWAYS_KNOWN`` where it breaks those rows."""
        return frozenset(self.number_of_row[breaking(self.problem, table)].tolist())


MOST_UNITS = 16.0
"""The solver's own seconds that one question may take."""
MOST_WITNESSES = 400


class Answer(Enum):
    """Whether somebody is certain."""

    PROVED = auto()
    SHOWN_OTHERWISE = auto()
    NOT_DECIDED = auto()


@dataclass(frozen=True, slots=True, eq=False)
class CertainGroups:
    """Which groups of people, (C,), are certain by some numbers, and of which that is not decided."""

    is_certain: BoolArray
    is_open: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class _Witness:
    """Tables that obey what is always known, where they differ from the true one, (C,), and what they contradict."""

    differs: BoolArray
    broken: frozenset[int]


@dataclass(slots=True, eq=False)
class CertaintyOracle:
    """Answers who is certain, and keeps the tables that it found: one may answer later questions too.

    Every table is checked row by row in whole numbers before it counts.
    """

    numbers: PublishedNumbers
    clock: Clock
    _witnesses: list[_Witness] = field(default_factory=list)
    _boxes: dict[frozenset[int], RowBounds] = field(default_factory=dict)
    _settled: dict[frozenset[int], IntArray] = field(default_factory=dict)

    def over(self, numbers: PublishedNumbers) -> CertaintyOracle:
        """Return an oracle of the same numbers where less is always known, with the tables that this one has found."""
        return CertaintyOracle(numbers, self.clock, list(self._witnesses))

    def ask(self, retained: frozenset[int], group: int) -> Answer:
        """Return whether a group is certain by the numbers that are retained."""
        if self.is_seen(retained)[group]:
            return Answer.SHOWN_OTHERWISE
        if self.is_proved_at_once(retained, group):
            return Answer.PROVED
        is_asked = np.zeros(len(self.numbers.truth), dtype=bool)
        is_asked[group] = True
        self.show_exchanges(retained, is_asked)
        if self.is_seen(retained)[group]:
            return Answer.SHOWN_OTHERWISE
        counts = self.numbers.counts(retained)
        boxes = self._propagated(retained, counts)
        answers = _Question(self, retained, counts, boxes)
        return answers.of_any(np.array([group]))

    def is_proved_at_once(self, retained: frozenset[int], group: int) -> bool:
        """Whether single rows, one after the other, prove that a group is certain."""
        return bool(self.proved_at_once(retained)[group])

    def proved_at_once(self, retained: frozenset[int]) -> BoolArray:
        """Return which groups, (C,), single rows prove to be certain, one row after the other."""
        found = self._settled.get(retained)
        if found is None:
            counts = self.numbers.counts(retained)
            found = settled(counts, self._propagated(retained, counts))
            if not self.clock.is_over:
                self._settled[retained] = found
        return np.asarray(found >= 0)

    def certain_groups(self, retained: frozenset[int]) -> CertainGroups:
        """Return who is certain by the numbers that are retained."""
        counts = self.numbers.counts(retained)
        boxes = self._propagated(retained, counts)
        is_certain = settled(counts, boxes) >= 0
        self.show_exchanges(retained, (self.numbers.true_class >= 0) & ~is_certain)
        question = _Question(self, retained, counts, boxes)
        while True:
            is_open = (self.numbers.true_class >= 0) & ~is_certain & ~self.is_seen(retained)
            if not is_open.any() or self.clock.is_over:
                return CertainGroups(is_certain, is_open)
            answer = question.of_any(np.flatnonzero(is_open))
            if answer is Answer.PROVED:
                return CertainGroups(is_certain | is_open, np.zeros_like(is_open))
            if answer is Answer.NOT_DECIDED:
                break
        for group in np.flatnonzero(is_open).tolist():
            if self.clock.is_over:
                break
            is_certain[group] = self.ask(retained, group) is Answer.PROVED
        is_open = (self.numbers.true_class >= 0) & ~is_certain & ~self.is_seen(retained)
        return CertainGroups(is_certain, is_open)

    def is_seen(self, retained: frozenset[int]) -> BoolArray:
        """Return which groups, (C,), have another value in a known table that fulfils the numbers that are retained."""
        seen = np.zeros(len(self.numbers.truth), dtype=bool)
        for witness in self._witnesses:
            if not witness.broken & retained:
                seen |= witness.differs
        return seen

    def contradicted(self, retained: frozenset[int], group: int) -> frozenset[int] | None:
        """Return what a known table contradicts in which a group has another value, and the numbers retained hold.

        Of several tables it is the one that contradicts the fewest numbers; None where there is no such table.
        """
        found = (
            witness.broken
            for witness in self._witnesses
            if witness.differs[group] and not witness.broken & retained
        )
        return min(found, key=len, default=None)

    def add(self, table: IntArray) -> bool:
        """Keep a table (C, m), if what is always known holds in it; return whether it does."""
        broken = self.numbers.broken_by(table)
        is_whole = bool(
            (table.sum(axis=1) == self.numbers.problem.sizes).all() and (table >= 0).all()
        )
        if min(broken, default=0) < 0 or not is_whole:
            return False
        true, sizes = self.numbers.true_class, self.numbers.problem.sizes
        at_true = table[np.arange(len(true)), np.maximum(true, 0)]
        self._keep(_Witness((true >= 0) & (at_true < sizes), broken))
        return True

    def _keep(self, witness: _Witness) -> None:
        """Keep what a table shows, with that of others that contradict the same numbers."""
        for place, known in enumerate(self._witnesses):
            if known.broken == witness.broken:
                both = known.differs | witness.differs
                self._witnesses[place] = _Witness(both, known.broken)
                return
        self._witnesses.append(witness)
        if len(self._witnesses) > MOST_WITNESSES:
            del self._witnesses[0]

    def show_exchanges(self, retained: frozenset[int], is_asked: BoolArray) -> None:
        """Keep the tables in which a group of those asked and another have exchanged one person's value."""
        is_open = is_asked & ~self.is_seen(retained)
        if is_open.any():
            for witness in _exchanged(self.numbers, retained, is_open):
                self._keep(witness)

    def _propagated(self, retained: frozenset[int], counts: Counts) -> RowBounds:
        found = self._boxes.get(retained)
        if found is None:
            try:
                found = propagate(counts, by_leaves(counts), self.clock)
            except ContradictionError as error:
                raise AssertionError("the true table fulfils all rows") from error
            if not self.clock.is_over:  # it may have been cut short
                self._boxes[retained] = found
        return found


MOST_EXCHANGES = 16
"""People with another value with whom a group is tried."""
MOST_CENTRING, CENTRING_ENTRIES = 300, 200_000
"""Exchanges that bring rows away from their ends, and how many numbers are looked at to choose each."""


def _exchanged(
    numbers: PublishedNumbers, retained: frozenset[int], is_open: BoolArray
) -> Iterator[_Witness]:
    """Yield what tables show in which one person of an open group and one of another have exchanged their values.

    Each such table is the true one but for two people, so that no row has to be added up anew. The two are of groups
    that count alike in every row which holds exactly; what the other rows come to is checked in whole numbers.
    """
    problem = numbers.problem
    if problem.allowed is not None or problem.amounts is not None or problem.scaled is not None:
        return
    is_held = np.isin(numbers.number_of_row, [ALWAYS_KNOWN, *retained])
    exchange = _ValueExchange.of_table(problem, numbers.truth, is_held)
    yield from exchange.witnesses(numbers, is_held, is_open)
    yield from exchange.centred(is_held).witnesses(numbers, is_held, is_open)


@dataclass(frozen=True, slots=True, eq=False)
class _ValueExchange:
    """Who can exchange a value with whom in a ``table`` (C, m): ``groups`` (E,) and ``classes`` (E,) of theirs.

    They stand in the order of ``keys`` (E,). Groups with the same key count alike in the rows that hold exactly.
    ``total`` (R,) is what each row comes to.
    """

    problem: Problem
    table: IntArray
    columns: sparse.csc_array
    total: IntArray
    keys: IntArray
    groups: IndexArray
    classes: IndexArray

    @classmethod
    def of_table(cls, problem: Problem, table: IntArray, is_held: BoolArray) -> _ValueExchange:
        """Return the exchanges of a table (C, m) by the rows (R,) that have to hold."""
        exact = problem.matrix[np.flatnonzero(is_held & (problem.low == problem.high))]
        marks = np.random.default_rng(0).integers(0, 2**62, exact.shape[0])
        key = np.asarray(exact.T.astype(np.int64) @ marks)  # sums may wrap around: rows are checked
        groups, classes = np.nonzero(table)
        order = np.lexsort((groups, classes, key[groups]))
        return cls(
            problem=problem,
            table=table,
            columns=sparse.csc_array(problem.matrix.astype(np.int64)),
            total=np.asarray(problem.matrix @ table)[np.arange(len(problem.low)), problem.output],
            keys=key[groups][order],
            groups=groups[order],
            classes=classes[order],
        )

    def witnesses(
        self, numbers: PublishedNumbers, is_held: BoolArray, is_open: BoolArray
    ) -> Iterator[_Witness]:
        """Yield what the table shows after an exchange, for as many open groups (C,) as can be; these are open no more.

        The table itself is shown first, where it is not the true one.
        """
        true, sizes = numbers.true_class, numbers.problem.sizes
        at_true = self.table[np.arange(len(true)), np.maximum(true, 0)]
        differs = (true >= 0) & (at_true < sizes)
        is_broken = (self.total < self.problem.low) | (self.total > self.problem.high)
        if (is_broken & is_held).any():
            return
        broken = frozenset(numbers.number_of_row[is_broken].tolist())
        if differs.any():
            is_open &= ~differs
            yield _Witness(differs, broken)
        for number in range(MOST_EXCHANGES):
            place = self.places(np.flatnonzero(is_open), true)
            first, second, classes = self.partners(place, number)
            if not len(first):
                return
            row, place = self.broken_rows(first, second, classes)
            is_refused = np.bincount(place[is_held[row]], minlength=len(first)) > 0
            moved = np.zeros(len(is_open), dtype=bool)
            moved[first[~is_refused]] = True
            moved[second[~is_refused]] = True
            moved &= true >= 0
            if moved.any():
                is_open &= ~moved
                others = numbers.number_of_row[row[~is_refused[place]]]
                yield _Witness(moved, broken.union(others.tolist()))

    def places(self, open_groups: IndexArray, true_class: IntArray) -> IndexArray:
        """Return where the people of groups with their true class stand among those who can exchange it."""
        own = np.full(len(true_class), -1, dtype=np.intp)
        has_own = self.classes == true_class[self.groups]
        own[self.groups[has_own]] = np.flatnonzero(has_own)
        found = own[open_groups]
        return found[found >= 0]

    def partners(self, place: IndexArray, number: int) -> tuple[IndexArray, IndexArray, IntArray]:
        """Return groups, others with another class in some order, and both classes (P, 2), for those that have any."""
        begin = np.searchsorted(self.keys, self.keys[place])
        end = np.searchsorted(self.keys, self.keys[place], side="right")
        is_new = np.ones(len(self.keys), dtype=bool)
        is_new[1:] = (np.diff(self.keys) != 0) | (np.diff(self.classes) != 0)
        part = np.cumsum(is_new) - 1
        skip = np.searchsorted(part, part[place])
        skipped = np.searchsorted(part, part[place], side="right") - skip
        others = end - begin - skipped
        has_any = others > number
        place, begin, skip = place[has_any], begin[has_any], skip[has_any]
        skipped, others = skipped[has_any], others[has_any]
        chosen = begin + (place + number * np.maximum(others // MOST_EXCHANGES, 1)) % others
        chosen += np.where(chosen >= skip, skipped, 0)
        pair = self.classes[place], self.classes[chosen]
        return self.groups[place], self.groups[chosen], np.stack(pair, axis=1)

    def centred(self, is_held: BoolArray) -> _ValueExchange:
        """Return the same for a table whose rows are further from their ends, so that few exchanges break one."""
        problem = self.problem
        rows = np.flatnonzero(is_held & (problem.low < problem.high))
        random = np.random.default_rng(0)
        tried = min(CENTRING_ENTRIES // max(len(rows), 1), len(self.keys))
        entries = random.choice(len(self.keys), tried, replace=False)
        first, second, classes = self.partners(entries, 0)
        row, place, change = self.changes(first, second, classes)
        half = (problem.high - problem.low)[rows] / 2.0
        offset = (self.total[rows] - problem.low[rows]) / half - 1.0
        moves = sparse.csr_array(
            (change, (row, place)), shape=(len(problem.low), len(first)), dtype=np.float64
        )[rows].toarray()
        moves /= half[:, None]
        longest = np.abs(moves).max(axis=1, initial=0.0)
        is_free, table = np.ones(len(first), dtype=bool), self.table.copy()
        for _ in range(MOST_CENTRING):
            if not is_free.any() or (np.abs(offset) + longest <= 1.0).all():
                break
            there = (offset[:, None] + moves) ** 2
            size = (there * there * there).sum(axis=0)
            best = int(np.where(is_free, size, np.inf).argmin())
            if size[best] >= (offset**6).sum():
                break
            i, j, (own, other) = first[best], second[best], classes[best]
            table[[i, j], [own, other]] -= 1
            table[[i, j], [other, own]] += 1
            offset = offset + moves[:, best]
            is_free &= (first != i) & (first != j) & (second != i) & (second != j)
        return _ValueExchange.of_table(problem, table, is_held)

    def changes(
        self, first: IndexArray, second: IndexArray, classes: IntArray
    ) -> tuple[IndexArray, IndexArray, IntArray]:
        """Return the rows that exchanges change, the place of each exchange among all, and by how much."""
        apart = sparse.coo_array(self.columns[:, second] - self.columns[:, first])
        row, place = apart.row.astype(np.intp), apart.col.astype(np.intp)
        output = self.problem.output[row]
        sign = (output == classes[place, 0]).astype(np.int64) - (output == classes[place, 1])
        return row, place, sign * apart.data

    def broken_rows(
        self, first: IndexArray, second: IndexArray, classes: IntArray
    ) -> tuple[IndexArray, IndexArray]:
        """Return the rows that exchanges break, and the place of that exchange among all."""
        row, place, change = self.changes(first, second, classes)
        total = self.total[row] + change
        is_broken = (total < self.problem.low[row]) | (total > self.problem.high[row])
        return row[is_broken], place[is_broken]


@dataclass(slots=True, eq=False)
class _Question:
    """Asks a solver for tables that fulfil some numbers and differ from the true one."""

    oracle: CertaintyOracle
    retained: frozenset[int]
    counts: Counts
    boxes: RowBounds
    _open: OpenNumbers | None = None
    _model: MilpModel | None = None

    def of_any(self, groups: IndexArray) -> Answer:
        """Look for a table in which one of some groups has another value, and as many as possible."""
        try:
            left, model = self._made()
        except OutOfTimeError:
            return Answer.NOT_DECIDED
        places = self._places(groups, left)
        if not len(places):
            return Answer.NOT_DECIDED
        truth = self._true_numbers().reshape(-1)[left.places]
        units = FIRST_UNITS
        while not self.oracle.clock.is_over:
            answer = model.move(truth, places, self.oracle.clock, units)
            if answer.is_impossible:
                return Answer.PROVED
            if answer.numbers is not None:
                is_new = self.oracle.add(self._table(left, answer.numbers))
                seen = self.oracle.is_seen(self.retained)[groups].any() if is_new else False
                return Answer.SHOWN_OTHERWISE if seen else Answer.NOT_DECIDED
            if units >= MOST_UNITS:
                break
            units *= 4.0
        return Answer.NOT_DECIDED

    def _made(self) -> tuple[OpenNumbers, MilpModel]:
        if self._open is None or self._model is None:
            low, high = self.boxes.low, self.boxes.high
            fixed = np.where(low < high, 0, low)
            self._open = opened(self.counts, low, high)
            rest = self.counts.sizes - fixed.sum(axis=1)
            self._model = MilpModel(self.counts, self._open, rest, fixed, self.oracle.clock)
        return self._open, self._model

    def _true_numbers(self) -> IntArray:
        truth = self.oracle.numbers.truth
        return truth[:, 1:] if self.counts.width == 1 else truth

    def _places(self, groups: IndexArray, left: OpenNumbers) -> IndexArray:
        """Return where the numbers of the true classes of some groups stand among the open ones."""
        width, true = self.counts.width, self.oracle.numbers.true_class[groups]
        flat = groups if width == 1 else groups * width + true
        place = np.searchsorted(left.places, flat)
        place = np.minimum(place, max(len(left.places) - 1, 0))
        found = left.places[place] == flat if len(left.places) else np.zeros(len(flat), dtype=bool)
        return np.asarray(place[found])

    def _table(self, left: OpenNumbers, numbers: IntArray) -> IntArray:
        table = self.boxes.low.copy()
        table.reshape(-1)[left.places] = numbers
        return by_class(self.counts, table, table)[0]


def groups_of(is_so: BoolArray) -> Iterator[int]:
    """Yield the groups of which something is so."""
    yield from np.flatnonzero(is_so).tolist()
