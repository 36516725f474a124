"""What the entries of descriptive tables say: counts, shares, means, standard deviations and quartiles as rows.

Of people of a class y with values x: a share s of a group is ``sum over those with the value - s x sum over all``, a
mean m is ``sum (x - m) y = 0``, both between the ends of what is printed. A standard deviation s beside a mean within h
of c fulfils ``sum (x - c)^2 y = (n - 1) s^2 + n (mean - c)^2``, whose last term is between 0 and ``n h^2``. Of
quartiles, linearly interpolated (R's type 7), at least so many people are on either side. Where rows say less than the
number, ``stronger`` rows say more: what fulfils these agrees with the number for certain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from treewarden.audit.outputs.conditions import ModelPredictions, having
from treewarden.audit.outputs.whole_row import Ends, RowOwner, WholeRow, exact_numbers
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.arrays import BoolArray, IntArray
from treewarden.ppdm_models.outputs.published import (
    Condition,
    DescriptiveEntry,
    PredictedCondition,
    PrintedNumber,
    ScoreCondition,
    Statistic,
    ValueCondition,
)
from treewarden.ppdm_models.tree.column import NumericColumn

ORDERS = {
    Statistic.LOWER_QUARTILE: Fraction(1, 4),
    Statistic.MEDIAN: Fraction(1, 2),
    Statistic.UPPER_QUARTILE: Fraction(3, 4),
}
BY_POPULATION, BY_SAMPLE = 0, 1
"""What is taken off the number of people under a standard deviation: nothing, or one."""


@dataclass(frozen=True, slots=True)
class EntryRows:
    """The rows of one entry, and rows that say at least as much as its numbers do; ``is_open``: none are known.

    ``why`` is why there are no rows at all, "" where that needs no words.
    """

    rows: tuple[WholeRow, ...]
    stronger: tuple[WholeRow, ...] = ()
    is_open: bool = False
    why: str = ""


class ContradictedError(Exception):
    """The table has another number than the one that is printed: which, and what the table has."""

    def __init__(self, statistic: str, printed: str, true: str) -> None:
        super().__init__(statistic, printed, true)
        self.statistic, self.printed, self.true = statistic, printed, true

    def describe(self, words: str) -> str:
        """Return what is wrong with a published entry, and what to do; ``words`` say what the entry is."""
        entry = words.removesuffix(f": {self.printed}")
        if entry == words:  # they end with no value, or with several
            what = f"{words}: the published {self.statistic}"
        elif entry.startswith(f"{self.statistic} of "):
            what = f"the published “{entry}”"
        else:
            what = f"the published {self.statistic} in “{entry}”"
        return (
            f"{what} is {self.printed}, but the table gives {self.true}; "
            "correct one of them, or remove this output"
        )


class NoFitError(ContradictedError):
    """No regression on the table gives the printed coefficients."""

    def __init__(self, printed: str) -> None:
        super().__init__("coefficients", printed, "others")

    def describe(self, words: str) -> str:
        return (
            f"the published coefficients ({self.printed}) do not match a regression on this table, for either class; "
            "check that the output comes from this table"
        )


@dataclass(frozen=True, slots=True, eq=False)
class DescribedPeople:
    """The people of an entry: of each profile all of its people, and how many of them are in the group, (P,) each."""

    entry: DescriptiveEntry
    columns: Population
    owner: RowOwner
    true: IntArray
    predictions: ModelPredictions

    def rows(self) -> EntryRows:
        """Return what the entry says of the group.

        Raises:
            ContradictedError: the table has another number.
        """
        rows: list[WholeRow] = []
        stronger: list[WholeRow] = []
        is_open = False
        for statistic, printed in self.entry.numbers.items():
            found = self._statistic_rows(statistic, printed)
            rows += found.rows
            stronger += found.stronger
            is_open = is_open or found.is_open
        return EntryRows(tuple(rows), tuple(stronger), is_open)

    def _statistic_rows(self, statistic: Statistic, printed: PrintedNumber) -> EntryRows:
        if statistic is Statistic.COUNT:
            return self._count(printed, self._matching(self.entry.conditions))
        if statistic is Statistic.MISSING:
            return self._count(printed, self._missing(), "number of missing values")
        if statistic is Statistic.SHARE:
            return self._share(printed)
        if statistic is Statistic.CLASS_SHARE:
            return self._class_share(printed)
        if statistic is Statistic.MEAN:
            return self._mean(printed)
        if statistic is Statistic.SD:
            return self._deviation(printed, self.entry.numbers.get(Statistic.MEAN))
        if statistic in (Statistic.MINIMUM, Statistic.MAXIMUM):
            return self._extreme(statistic, printed)
        return self._quartile(statistic, printed)

    def _matching(self, conditions: Sequence[Condition]) -> BoolArray:
        inside = np.ones(len(self.true), dtype=bool)
        for condition in conditions:
            inside &= having(self.columns, condition, self.predictions)
        return inside

    def _missing(self) -> BoolArray:
        inside = self._matching(self.entry.conditions)
        return np.asarray(inside & self.columns.columns[self.entry.column].missing)

    def _total(self, inside: BoolArray) -> int:
        return int(self.true[inside].sum())

    def _count(self, printed: PrintedNumber, inside: BoolArray, name: str = "count") -> EntryRows:
        hold(name, printed, Fraction(self._total(inside)))
        weights = inside.astype(np.int64).tolist()
        return EntryRows((self.owner.row(weights, Ends(printed.low, printed.high)),))

    def _share(self, printed: PrintedNumber) -> EntryRows:
        *others, last = self.entry.conditions
        inside = self._matching(self.entry.conditions)
        all_there: list[Condition] = []
        if not isinstance(last, PredictedCondition | ScoreCondition):
            all_there = [ValueCondition(last.column, None)]
        base = self._matching([*others, *all_there])
        size = self._total(base)
        if not size:
            raise ContradictedError("share", printed.text, "nobody in this group")
        hold("share of the class's people", printed, Fraction(self._total(inside), size))
        # Of nobody there is no share, so that it says too that somebody is there.
        ratio = self._ratio(inside.astype(np.int64).tolist(), base, printed)
        return EntryRows((*ratio, self._at_least(base, 1)))

    def _class_share(self, printed: PrintedNumber) -> EntryRows:
        inside = self._matching(self.entry.conditions)
        size = int(self.owner.people[inside].sum())
        if not size:
            raise ContradictedError("share", printed.text, "nobody in this group")
        hold("share of the class", printed, Fraction(self._total(inside), size))
        people = printed.times(Fraction(size))
        weights = inside.astype(np.int64).tolist()
        return EntryRows((self.owner.row(weights, Ends(people.low, people.high)),))

    def _ratio(
        self, values: Sequence[Fraction | int], base: BoolArray, printed: PrintedNumber
    ) -> Iterator[WholeRow]:
        """Yield that values over those of ``base``, on average, are between the ends of what is printed."""
        is_inside = base.tolist()
        for end, side in ((printed.low, "low"), (printed.high, "high")):
            if end is not None:
                weights = [
                    v - end if there else Fraction(0)
                    for v, there in zip(values, is_inside, strict=True)
                ]
                zero = Fraction(0)
                yield self.owner.row(weights, Ends(low=zero) if side == "low" else Ends(high=zero))

    def _values(self) -> tuple[list[Fraction], BoolArray]:
        """Return the values of the entry's column, and who of those who meet the conditions has one."""
        column = self.columns.columns[self.entry.column]
        assert isinstance(column, NumericColumn)
        inside = np.asarray(self._matching(self.entry.conditions) & ~column.missing)
        return exact_numbers(column, inside), inside

    def _at_least(self, inside: BoolArray, people: int) -> WholeRow:
        return self.owner.row(inside.astype(np.int64).tolist(), Ends(low=Fraction(people)))

    def _mean(self, printed: PrintedNumber) -> EntryRows:
        values, inside = self._values()
        hold("mean", printed, mean_of(values, self._weights(inside)))
        return EntryRows((*self._ratio(values, inside, printed), self._at_least(inside, 1)))

    def _weights(self, inside: BoolArray) -> list[int]:
        return [int(people) for people in np.where(inside, self.true, 0)]

    def _deviation(self, printed: PrintedNumber, mean: PrintedNumber | None) -> EntryRows:
        values, inside = self._values()
        weights = self._weights(inside)
        fitting = [
            less
            for less in (BY_SAMPLE, BY_POPULATION)
            if has_deviation(values, weights, printed, less)
        ]
        if not fitting:
            square = square_of(values, weights, BY_SAMPLE)
            true = "none" if square is None else f"{float(square) ** 0.5:.6g}"
            raise ContradictedError("standard deviation", printed.text, true)
        if mean is None:
            return EntryRows((self._at_least(inside, 1),), is_open=True)
        less, center = fitting[0], mean.middle
        off_mean = (end_of(mean.high) - center) ** 2
        low, high = (max(end_of(end), Fraction(0)) ** 2 for end in (printed.low, printed.high))
        squares = [(value - center) ** 2 for value in values]

        def row(square_end: Fraction, ends: Ends, off: Fraction, *, is_outward: bool) -> WholeRow:
            each = [
                square - square_end - off if there else Fraction(0)
                for square, there in zip(squares, inside.tolist(), strict=True)
            ]
            return self.owner.row(each, ends, is_outward=is_outward)

        at_least, at_most, none = Ends(low=-less * low), Ends(high=-less * high), Fraction(0)
        rows = (
            row(low, at_least, none, is_outward=True),
            row(high, at_most, off_mean, is_outward=True),
            self._at_least(inside, 1 + less),
        )
        stronger = (
            row(low, at_least, off_mean, is_outward=False),
            row(high, at_most, none, is_outward=False),
        )
        return EntryRows(rows, stronger)

    def _extreme(self, statistic: Statistic, printed: PrintedNumber) -> EntryRows:
        """Return that nobody is beyond what is printed, and somebody there; both rows say all that it does."""
        values, inside = self._values()
        is_least, weights = statistic is Statistic.MINIMUM, self._weights(inside)
        chosen = [value for value, weight in zip(values, weights, strict=True) if weight]
        true = (min if is_least else max)(chosen, default=None)
        hold(str(statistic), printed, true)
        low, high = end_of(printed.low), end_of(printed.high)
        is_in = inside.tolist()
        beyond = [
            int(there and (value < low if is_least else value > high))
            for value, there in zip(values, is_in, strict=True)
        ]
        there = [
            int(there and low <= value <= high) for value, there in zip(values, is_in, strict=True)
        ]
        return EntryRows(
            (
                self.owner.row(beyond, Ends(high=Fraction(0))),
                self.owner.row(there, Ends(low=Fraction(1))),
            )
        )

    def _quartile(self, statistic: Statistic, printed: PrintedNumber) -> EntryRows:
        values, inside = self._values()
        order = ORDERS[statistic]
        true = quantile_of(values, self._weights(inside), order)
        people = self._at_least(inside, 1)
        if not is_within(printed, true):
            # Other definitions lie between the same neighbours or the next ones; which it is, nobody says.
            near = neighbours_of(values, self._weights(inside), order)
            low, high = end_of(printed.low), end_of(printed.high)
            if statistic is Statistic.MEDIAN or near is None or high < near[0] or low > near[1]:
                raise ContradictedError(str(statistic), printed.text, number_text(true))
            return EntryRows((people,), is_open=True)
        low, high = end_of(printed.low), end_of(printed.high)
        step = Fraction(1, 2) if order == Fraction(1, 2) else Fraction(1, 4)
        is_in = inside.tolist()

        def side(is_chosen: list[bool], share: Fraction, ends: Ends) -> WholeRow:
            each = [
                int(chosen) - share if there else Fraction(0)
                for chosen, there in zip(is_chosen, is_in, strict=True)
            ]
            return self.owner.row(each, ends)  # of quarters, which are never rounded

        up_to, from_ = [value <= high for value in values], [value >= low for value in values]
        below = [value < low for value in values]
        rows = (
            side(up_to, order, Ends(low=step - order)),
            side(from_, 1 - order, Ends(low=order - 1 + step)),
            people,
        )
        stronger = (
            side(up_to, order, Ends(low=2 - order - step)),
            side(below, order, Ends(high=step - 1 - order)),
        )
        return EntryRows(rows, stronger)


def is_within(printed: PrintedNumber, true: Fraction | None) -> bool:
    """Whether a number may be printed so; none may not."""
    if true is None:
        return False
    return (printed.low is None or printed.low <= true) and (
        printed.high is None or true <= printed.high
    )


def hold(name: str, printed: PrintedNumber, true: Fraction | None) -> None:
    """Raise where the table has another number."""
    if not is_within(printed, true):
        unit = _percent_of(printed)
        said = number_text(true if true is None else true * unit)
        raise ContradictedError(name, printed.text, said)


def _percent_of(printed: PrintedNumber) -> int:
    """Return 100 where a share is printed in percent, so that both are told in one unit; else 1."""
    try:
        value = Fraction(printed.text.strip().removesuffix("%").strip())
    except ValueError:
        return 1
    is_inside = is_within(printed, value)
    return 1 if is_inside or not is_within(printed, value / 100) else 100


def number_text(true: Fraction | None) -> str:
    """Return a number as messages write it."""
    if true is None:
        return "none"
    return str(true.numerator) if true.denominator == 1 else f"{float(true):.6g}"


def end_of(end: Fraction | None) -> Fraction:
    """Return an end of a measured number, which has two."""
    assert end is not None, "a measured number has two ends"
    return end


def mean_of(values: Sequence[Fraction], weights: Sequence[int]) -> Fraction | None:
    """Return the mean, None where there is nobody."""
    size = sum(weights)
    total = sum((v * w for v, w in zip(values, weights, strict=True) if w), Fraction(0))
    return total / size if size else None


def square_of(values: Sequence[Fraction], weights: Sequence[int], less: int) -> Fraction | None:
    """Return the variance, None where nobody has one."""
    mean, size = mean_of(values, weights), sum(weights)
    if mean is None or size <= less:
        return None
    return sum(
        ((v - mean) ** 2 * w for v, w in zip(values, weights, strict=True) if w), Fraction(0)
    ) / (size - less)


def has_deviation(
    values: Sequence[Fraction], weights: Sequence[int], printed: PrintedNumber, less: int
) -> bool:
    """Whether the standard deviation may be printed so; ``less`` is taken off the number of people."""
    square = square_of(values, weights, less)
    if square is None:
        return False
    low, high = max(end_of(printed.low), Fraction(0)), end_of(printed.high)
    return high >= 0 and low**2 <= square <= high**2


def _sorted(values: Sequence[Fraction], weights: Sequence[int]) -> list[tuple[Fraction, int]]:
    held: dict[Fraction, int] = {}
    for value, weight in zip(values, weights, strict=True):
        if weight:
            held[value] = held.get(value, 0) + weight
    return sorted(held.items())


def _at(ordered: Sequence[tuple[Fraction, int]], place: int) -> Fraction:
    """Return the value at a place, from 0, among all people in order."""
    for value, people in ordered:
        place -= people
        if place < 0:
            return value
    return ordered[-1][0]


def quantile_of(
    values: Sequence[Fraction], weights: Sequence[int], order: Fraction
) -> Fraction | None:
    """Return the linearly interpolated quantile (type 7 of Hyndman and Fan 1996)."""
    ordered, size = _sorted(values, weights), sum(weights)
    if not size:
        return None
    place = (size - 1) * order
    first = place.numerator // place.denominator
    low, high = _at(ordered, first), _at(ordered, min(first + 1, size - 1))
    return low + (place - first) * (high - low)


def neighbours_of(
    values: Sequence[Fraction], weights: Sequence[int], order: Fraction
) -> tuple[Fraction, Fraction] | None:
    """Return the values between which all nine definitions of a quantile lie (Hyndman and Fan 1996)."""
    ordered, size = _sorted(values, weights), sum(weights)
    if not size:
        return None
    place = int(size * order)
    return _at(ordered, max(place - 2, 0)), _at(ordered, min(place + 1, size - 1))
