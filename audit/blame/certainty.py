"""Who is certain given some of the published numbers: proved in whole numbers, or refuted by a witness table.

The problem's rows each belong to one published number, which could be withheld, or are always known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np

from treewarden.audit.consistent_tables.proofs.bounds import ContradictionError
from treewarden.audit.engine.counts import (
    Counts,
    OpenNumbers,
    Propagated,
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
    """A table that obeys what is always known, where it differs from the true one, (C,), and what it contradicts."""

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
    _boxes: dict[frozenset[int], Propagated] = field(default_factory=dict)
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
        self._witnesses.append(_Witness((true >= 0) & (at_true < sizes), broken))
        if len(self._witnesses) > MOST_WITNESSES:
            del self._witnesses[0]
        return True

    def _propagated(self, retained: frozenset[int], counts: Counts) -> Propagated:
        found = self._boxes.get(retained)
        if found is None:
            try:
                found = propagate(counts, by_leaves(counts), self.clock)
            except ContradictionError as error:
                raise AssertionError("the true table fulfils all rows") from error
            if not self.clock.is_over:  # it may have been cut short
                self._boxes[retained] = found
        return found


@dataclass(slots=True, eq=False)
class _Question:
    """Asks a solver for tables that fulfil some numbers and differ from the true one."""

    oracle: CertaintyOracle
    retained: frozenset[int]
    counts: Counts
    boxes: Propagated
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
