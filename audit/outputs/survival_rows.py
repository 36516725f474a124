"""Rows of Kaplan-Meier tables: events between two times, and the product that is left.

Times are known, and with them who is at risk. Events since the time before are a count. Of the share that is left the
logarithm is a sum over times of ``log(1 - d/n)``, which lies between ``d log(1 - 1/n)`` and its chord to all m people
of that time, ``d log(1 - m/n) / m``: where all times differ, these are one, and the row says all that is printed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from treewarden.audit.outputs.conditions import having
from treewarden.audit.outputs.described_people import ContradictedError, EntryRows, hold
from treewarden.audit.outputs.whole_row import Ends, RowOwner, WholeRow
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray
from treewarden.ppdm_models.outputs.published import PrintedNumber, SurvivalEntry
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
