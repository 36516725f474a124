"""Rows of tables about groups of people: Kaplan-Meier tables, and the groups of an anonymised table.

A Kaplan-Meier table tells the events between two times, and the product that is left.

Times are known, and with them who is at risk. Events since the time before are a count. Of the share that is left the
logarithm is a sum over times of ``log(1 - d/n)``, which lies between ``d log(1 - 1/n)`` and its chord to all m people
of that time, ``d log(1 - m/n) / m``: where all times differ, these are one, and the row says all that is printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from treewarden.audit.outputs.conditions import having
from treewarden.audit.outputs.described_people import ContradictedError, EntryRows, hold
from treewarden.audit.outputs.whole_row import Ends, RowOwner, WholeRow
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray
from treewarden.ppdm_models.outputs.published import (
    AnonymisedEntry,
    PrintedNumber,
    RecordGroup,
    SurvivalEntry,
    ValueCondition,
    ValuesCondition,
)
from treewarden.ppdm_models.tree.column import NumericColumn

MOST_WEIGHT = 10**7
NOTHING_LEFT = -1_000.0
"""Less than any logarithm of a share that is printed, for those after whom nobody is left."""
SLACK = 1e-9
"""More than sums of logarithms in floating point are off."""


def survival_rows(
    entry: SurvivalEntry, population: Population, number: int, truth: IntArray
) -> EntryRows:
    """Return what a table says of the class that is the event, which ``truth`` (P, 2) decides.

    Raises:
        ContradictedError: the table has other numbers, whichever class it is.
    """
    first: ContradictedError | None = None
    for klass in (1, 0):
        curve = _curve_of(entry, population, number, klass)
        try:
            return curve.rows(truth[:, klass])
        except ContradictedError as error:
            first = first or error
    assert first is not None
    raise first


@dataclass(frozen=True, slots=True, eq=False)
class _Curve:
    """The people of one curve: ``times`` and ``inside`` (P,), by distinct ``steps`` (S,) who stops and is at risk."""

    entry: SurvivalEntry
    owner: RowOwner
    times: FloatArray
    inside: BoolArray
    steps: FloatArray
    stopping: IntArray
    at_risk: IntArray

    def rows(self, true: IntArray) -> EntryRows:
        """Return the rows; ``true`` (P,) are those who had the event.

        Raises:
            ContradictedError: the table has other numbers.
        """
        rows: list[WholeRow] = []
        stronger: list[WholeRow] = []
        listing: list[WholeRow] = []
        before, has_all_events, has_survival = -np.inf, True, False
        for point in self.entry.points:
            time = float(point.time)
            self._check_at_risk(point.at_risk, time)
            since = self.inside & (self.times > before) & (self.times <= time)
            events = self._events(point.events, point.censored, since, time, true)
            rows += events
            has_all_events &= any(row.low == row.high for row in events)
            listing += self._none_at(since & (self.times < time))
            if point.survival is not None:
                has_survival = True
                found = self._survival(point.survival, time, true)
                rows += found.rows
                stronger += found.stronger
            before = time
        # Of times that are not listed a reader may take it that nothing happened then.
        listing += self._none_at(self.inside & (self.times > before))
        is_listed = not any(self._is_broken(row, true) for row in listing)
        is_single = bool((self.stopping == 1).all())
        is_open = has_survival and not is_single and not (is_listed and has_all_events)
        stronger += listing if is_listed else []
        return EntryRows(tuple(rows), tuple(stronger), is_open=is_open)

    def _none_at(self, here: BoolArray) -> list[WholeRow]:
        """Return that nothing happened to some people, where there are any."""
        if not here.any():
            return []
        return [self.owner.row(here.astype(np.int64).tolist(), Ends(high=Fraction(0)))]

    def _is_broken(self, row: WholeRow, true: IntArray) -> bool:
        total = sum(w * n for w, n in zip(row.weights.tolist(), true.tolist(), strict=True))
        return (row.low is not None and total < row.low) or (
            row.high is not None and total > row.high
        )

    def _check_at_risk(self, printed: PrintedNumber | None, time: float) -> None:
        if printed is not None:
            here = self.inside & (self.times >= time)
            hold(
                f"number at risk at {time:g}", printed, Fraction(int(self.owner.people[here].sum()))
            )

    def _events(
        self,
        events: PrintedNumber | None,
        censored: PrintedNumber | None,
        since: BoolArray,
        time: float,
        true: IntArray,
    ) -> list[WholeRow]:
        people, there = int(self.owner.people[since].sum()), int(true[since].sum())
        weights, found = since.astype(np.int64).tolist(), list[WholeRow]()
        if events is not None:
            hold(f"number of events up to {time:g}", events, Fraction(there))
            found.append(self.owner.row(weights, Ends(events.low, events.high)))
        if censored is not None:
            hold(f"number censored up to {time:g}", censored, Fraction(people - there))
            most = None if censored.low is None else people - censored.low
            least = None if censored.high is None else people - censored.high
            found.append(self.owner.row(weights, Ends(least, most)))
        return found

    def _survival(self, printed: PrintedNumber, time: float, true: IntArray) -> EntryRows:
        places = np.searchsorted(
            self.steps, np.where(self.inside, self.times, self.steps[0] if len(self.steps) else 0)
        )
        here = self.inside & (self.times <= time)
        hold(f"survival at {time:g}", printed, self._true_survival(time, places, true))
        sizes, stopping = self.at_risk.astype(float), self.stopping.astype(float)
        with np.errstate(divide="ignore"):
            first = np.maximum(np.log1p(-1.0 / sizes), NOTHING_LEFT)
            chord = np.maximum(np.log1p(-stopping / sizes) / stopping, NOTHING_LEFT)
        rows, stronger = list[WholeRow](), list[WholeRow]()
        is_single = bool((self.stopping[self.steps <= time] == 1).all())
        for end, slopes, is_low in ((printed.low, first, True), (printed.high, chord, False)):
            if end is None or end <= 0:
                continue
            log, sign = Fraction(math.log(end)), -1 if is_low else 1
            weights = [
                Fraction(float(slopes[place])) if there else Fraction(0)
                for place, there in zip(places.tolist(), here.tolist(), strict=True)
            ]
            room = Fraction(SLACK) * (1 + abs(log))
            rows.append(self.owner.row(weights, _one_end(log + sign * room, is_low=is_low)))
            if is_single:
                inner = _one_end(log - sign * room, is_low=is_low)
                stronger.append(self.owner.row(weights, inner, is_outward=False))
        return EntryRows(tuple(rows), tuple(stronger))

    def _true_survival(self, time: float, places: IntArray, true: IntArray) -> Fraction:
        events = np.zeros(len(self.steps), dtype=np.int64)
        np.add.at(events, places[self.inside], true[self.inside])
        left = Fraction(1)
        for step, dead, size in zip(
            self.steps.tolist(), events.tolist(), self.at_risk.tolist(), strict=True
        ):
            if step <= time:
                left *= Fraction(size - dead, size)
        return left


def _one_end(end: Fraction, *, is_low: bool) -> Ends:
    return Ends(low=end) if is_low else Ends(high=end)


def _curve_of(entry: SurvivalEntry, population: Population, number: int, klass: int) -> _Curve:
    column = population.columns[entry.time]
    assert isinstance(column, NumericColumn)
    people = np.rint(population.counts).astype(np.int64)
    inside = np.asarray(~column.missing & (people > 0))
    for condition in entry.conditions:
        inside &= having(population, condition)
    steps, place = np.unique(column.numbers[inside], return_inverse=True)
    stopping = np.zeros(len(steps), dtype=np.int64)
    np.add.at(stopping, place, people[inside])
    return _Curve(
        entry=entry,
        owner=RowOwner(number, klass, people, MOST_WEIGHT),
        times=column.numbers,
        inside=inside,
        steps=steps,
        stopping=stopping,
        at_risk=np.cumsum(stopping[::-1])[::-1],
    )


# Rows of an anonymised table: each of its records is one person whose values are among those that it shows.
#
# Of the people who fit a group of records at least as many have each class as the group's records; of those who fit no
# other group at most so many more as records were left out. Where no person fits two groups that is all that it says.

MOST_CELLS = 100_000_000
TOO_MANY = "it has too many different records for so many different people"


def record_rows(
    entry: AnonymisedEntry,
    population: Population,
    number: int,
    truth: IntArray,
    classes: Sequence[str],
) -> EntryRows:
    """Return what an anonymised table says of everybody's class; ``truth`` is (P, m).

    Raises:
        ContradictedError: fewer people fit some of its records than there are.
    """
    groups, is_vague = _without_made_up_numbers(entry.groups, population)
    people = np.rint(population.counts).astype(np.int64)
    if len(groups) * len(people) > MOST_CELLS:
        return EntryRows((), is_open=True, why=TOO_MANY)
    fitting, counts, places = _merged(groups, population, classes)
    left_out = int(people.sum()) - int(counts.sum())
    if left_out < 0:
        raise ContradictedError("number of records", str(int(counts.sum())), str(int(people.sum())))
    alone = fitting & (fitting.sum(axis=0) == 1)
    rows: list[WholeRow] = []
    for group in range(len(counts)):
        for klass in range(len(classes)):
            owner, count = RowOwner(number, klass, people), int(counts[group, klass])
            there = int(truth[fitting[group], klass].sum())
            if there < count:
                name = f"number of records with {classes[klass]} like that in {places[group]}"
                raise ContradictedError(name, str(count), str(there))
            if count:
                rows.append(owner.count_row(fitting[group], low=count))
            most = count + left_out
            if int(people[alone[group]].sum()) > most:
                if int(truth[alone[group], klass].sum()) > most:
                    name = f"number of records with {classes[klass]} like that in {places[group]}"
                    raise ContradictedError(name, str(count), f"{there} people who fit no other")
                rows.append(owner.count_row(alone[group], high=most))
    is_parted = bool((fitting.sum(axis=0) <= 1).all())
    return EntryRows(tuple(rows), is_open=is_vague or not is_parted)


def _without_made_up_numbers(
    groups: Sequence[RecordGroup], population: Population
) -> tuple[list[RecordGroup], bool]:
    """Return groups without conditions on columns in which some number is nobody's, and whether any part is vague.

    Such a number, a mean of a group for instance, stands for others: then no number of that column is taken as it is.
    """
    made_up: set[str] = set()
    for group in groups:
        for condition in group.conditions:
            column = population.columns[condition.column]
            is_plain = isinstance(condition, ValueCondition) and isinstance(column, NumericColumn)
            if is_plain and not having(population, condition).any():
                made_up.add(condition.column)
    kept = [
        replace(
            group,
            conditions=tuple(
                each
                for each in group.conditions
                if each.column not in made_up or isinstance(each, ValuesCondition)
            ),
        )
        for group in groups
    ]
    return kept, bool(made_up) or any(group.is_vague for group in groups)


def _merged(
    groups: Sequence[RecordGroup], population: Population, classes: Sequence[str]
) -> tuple[BoolArray, IntArray, list[str]]:
    """Return whom groups fit, (G, P), and their records by class, (G, m); those that fit the same people are one."""
    known: dict[object, BoolArray] = {}
    found: dict[bytes, tuple[BoolArray, IntArray, str]] = {}
    for group in groups:
        inside = np.ones(len(population.counts), dtype=bool)
        for condition in group.conditions:
            if condition not in known:
                known[condition] = having(population, condition)
            inside &= known[condition]
        count = np.array([group.counts.get(name, 0) for name in classes], dtype=np.int64)
        key = np.packbits(inside).tobytes()
        if key in found:
            found[key][1][:] += count
        else:
            found[key] = inside, count, group.where
    parts = list(found.values())
    return (
        np.array([inside for inside, _, _ in parts], dtype=bool),
        np.array([count for _, count, _ in parts], dtype=np.int64),
        [where for _, _, where in parts],
    )
