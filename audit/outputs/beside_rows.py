"""Outputs published beside a model, as rows over its people; each output is first checked against the table.

How well the model predicts these people is a row too. What it says of each person is known, so that accuracy and Brier
score are sums over those who have the class. Of y with midranks R of their scores, ``AUC x n1 x n0 = sum of R y -
n1 (n1 + 1) / 2`` (Hanley and McNeil 1982): a sum once it is known how many people have the class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from treewarden.audit.outputs.conditions import ModelPredictions, keys_of, no_predictions
from treewarden.audit.outputs.described_people import (
    ContradictedError,
    DescribedPeople,
    EntryRows,
    hold,
)
from treewarden.audit.outputs.group_rows import record_rows, survival_rows
from treewarden.audit.outputs.regression_rows import regression_rows
from treewarden.audit.outputs.whole_row import Ends, RowOwner, WholeRow
from treewarden.audit.population.audited_columns import uncheckable
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import IndexArray, IntArray, alike
from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    AnonymisedEntry,
    DescriptiveEntry,
    Entry,
    OpenEntry,
    Performance,
    PerformanceEntry,
    PredictedCondition,
    PrintedNumber,
    PublishedOutput,
    RegressionEntry,
    ScoreCondition,
    Statistic,
    SurvivalEntry,
    TableColumns,
)
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn

NO_TOTAL = "no output says how many people have each class, which it depends on"
NOT_ALL = "the model predicts nothing for some people"
ONE_CLASS = "all people have one class, so that there is none"


def performance_rows(
    entry: PerformanceEntry,
    population: Population,
    predictions: ModelPredictions,
    number: int,
    truth: IntArray,
    *,
    has_totals: bool,
) -> EntryRows:
    """Return what one metric says; ``truth`` (P, 2), and ``has_totals``: how many people have each class is known.

    Raises:
        ContradictedError: the table has another value.
    """
    klass = predictions.classes.index(entry.group)
    people = np.rint(population.counts).astype(np.int64)
    owner, true = RowOwner(number, klass, people), truth[:, klass]
    if entry.statistic is Performance.ACCURACY:
        if (predictions.label[people > 0] < 0).any():
            return EntryRows((), is_open=True, why=NOT_ALL)
        return _accuracy(entry.printed, owner, true, (predictions.label == klass).tolist())
    if isinstance(predictions.shares, Undetermined):
        return EntryRows((), is_open=True, why=predictions.shares.reason)
    if (predictions.leaf[people > 0] < 0).any():
        return EntryRows((), is_open=True, why=NOT_ALL)
    shares = predictions.shares
    scores = [
        shares[leaf][klass] if leaf in shares else Fraction(0) for leaf in predictions.leaf.tolist()
    ]
    if entry.statistic is Performance.BRIER:
        return _brier(entry.printed, owner, true, scores)
    return _area(entry.printed, owner, true, scores, has_totals=has_totals)


def _accuracy(
    printed: PrintedNumber, owner: RowOwner, true: IntArray, is_predicted: Sequence[bool]
) -> EntryRows:
    sizes = owner.people.tolist()
    weights = [1 if here else -1 for here in is_predicted]
    right_if_none = sum(size for size, here in zip(sizes, is_predicted, strict=True) if not here)
    return EntryRows(
        (_mean_row(Performance.ACCURACY, printed, owner, true, weights, right_if_none),)
    )


def _brier(
    printed: PrintedNumber, owner: RowOwner, true: IntArray, scores: Sequence[Fraction]
) -> EntryRows:
    """Return that the mean of ``(score - y)^2 = score^2 + (1 - 2 score) y`` is as it is printed."""
    sizes = owner.people.tolist()
    fixed = sum((score**2 * size for score, size in zip(scores, sizes, strict=True)), Fraction(0))
    weights = [1 - 2 * score for score in scores]
    return EntryRows((_mean_row(Performance.BRIER, printed, owner, true, weights, fixed),))


def _mean_row(
    name: Performance,
    printed: PrintedNumber,
    owner: RowOwner,
    true: IntArray,
    weights: Sequence[Fraction | int],
    fixed: Fraction | int,
) -> WholeRow:
    """Return that ``(fixed + sum of weights)`` over all people is as it is printed."""
    total = sum(weight * count for weight, count in zip(weights, true.tolist(), strict=True))
    size = int(owner.people.sum())
    hold(str(name), printed, Fraction(total + fixed) / size)
    whole = printed.times(Fraction(size))
    return owner.row(weights, _ends(whole, Fraction(fixed)))


def _ends(printed: PrintedNumber, less: Fraction) -> Ends:
    low, high = (None if end is None else end - less for end in (printed.low, printed.high))
    return Ends(low, high)


def _area(
    printed: PrintedNumber,
    owner: RowOwner,
    true: IntArray,
    scores: Sequence[Fraction],
    *,
    has_totals: bool,
) -> EntryRows:
    size, members = int(owner.people.sum()), int(true.sum())
    pairs = members * (size - members)
    if not pairs:
        return EntryRows((), is_open=True, why=ONE_CLASS)
    ranks = _midranks(scores, owner.people.tolist())
    total = sum(rank * count for rank, count in zip(ranks, true.tolist(), strict=True))
    lowest = Fraction(members * (members + 1), 2)
    hold(str(Performance.AUC), printed, (total - lowest) / pairs)
    if not has_totals:
        return EntryRows((), is_open=True, why=NO_TOTAL)
    sums = printed.times(Fraction(pairs))
    return EntryRows((owner.row(ranks, _ends(sums, -lowest)),))


def _midranks(scores: Sequence[Fraction], people: Sequence[int]) -> list[Fraction]:
    """Return the mean rank, from 1, of those who share each one's score."""
    held: dict[Fraction, int] = {}
    for score, size in zip(scores, people, strict=True):
        held[score] = held.get(score, 0) + size
    below, rank_of = 0, dict[Fraction, Fraction]()
    for score, size in sorted(held.items()):
        rank_of[score] = below + Fraction(size + 1, 2)
        below += size
    return [rank_of[score] for score in scores]


NEEDS_NUMBERS = frozenset(Statistic) - {
    Statistic.COUNT,
    Statistic.SHARE,
    Statistic.CLASS_SHARE,
    Statistic.MISSING,
}
OF_COUNTS = frozenset({Statistic.COUNT, Statistic.MISSING})
OF_SHARES = frozenset({Statistic.SHARE, Statistic.CLASS_SHARE})
KIND_OF_ENTRY: Mapping[type, str] = {
    RegressionEntry: "regression",
    PerformanceEntry: "metric",
    SurvivalEntry: "survival",
    AnonymisedEntry: "records",
}
MOST_UNUSED = 50
"""So many numbers that are not used are named, each with its reason."""


@dataclass(frozen=True, slots=True, eq=False)
class BesideRows:
    """What outputs say: their entries, the output of each (E,), and rows; ``stronger`` rows agree with all entries.

    ``open_entries`` are numbers of entries of which no rows are known that agree for certain; ``unused`` are those of
    which there are no rows at all, in words with the reason.
    """

    outputs: tuple[PublishedOutput, ...]
    entries: tuple[Entry, ...]
    output_of_entry: IndexArray
    rows: tuple[WholeRow, ...]
    stronger: tuple[WholeRow, ...]
    open_entries: tuple[int, ...]
    unused: tuple[str, ...] = ()

    def words(self, entry: int) -> str:
        """Return an entry with its file, as messages name it."""
        found = self.entries[entry]
        return f"{found.where}: {found.words}"

    def kind(self, entry: int) -> str:
        """Return which kind of number an entry is: kinds have costs where numbers are withheld."""
        found = self.entries[entry]
        if not isinstance(found, DescriptiveEntry):
            return KIND_OF_ENTRY.get(type(found), "statistic")
        more = found.numbers.keys() - OF_COUNTS
        return "statistic" if more - OF_SHARES else "share" if more else "count"

    def source(self, entry: int) -> str:
        """Return the name of an entry's file."""
        return self.outputs[int(self.output_of_entry[entry])].source


def table_columns(population: Population, classes: Sequence[str], target: str) -> TableColumns:
    """Return the columns that outputs may be about: the quasi-identifiers, which the adversary knows."""
    categories: dict[str, tuple[str, ...] | None] = {}
    for name in population.qi:
        column = population.columns[name]
        categories[name] = column.categories if isinstance(column, CategoricalColumn) else None
    return TableColumns(target, tuple(classes), categories)


def beside_rows(
    outputs: Sequence[PublishedOutput],
    population: Population,
    classes: Sequence[str],
    predictions: ModelPredictions | None = None,
    *,
    has_totals: bool = False,
) -> BesideRows:
    """Return outputs as rows over profiles; ``predictions`` are what the model says of each.

    ``has_totals`` says that the adversary knows how many people have each class anyway.

    Raises:
        OutputsError: the table contradicts one, its true classes are not known, or its people carry weights.
    """
    truth = population.truth
    if isinstance(truth, Undetermined):
        raise OutputsError(outputs[0].source, uncheckable("classes", truth.reason))
    if population.weight is not None or (population.counts != np.rint(population.counts)).any():
        problem = (
            "the table has sampling weights, but outputs are audited only for unweighted people; "
            "remove the output"
        )
        raise OutputsError(outputs[0].source, problem)
    table = _CheckedTable(
        population,
        tuple(classes),
        np.rint(truth).astype(np.int64),
        predictions or no_predictions(population, tuple(classes)),
        has_totals or _has_total(outputs),
    )
    entries: list[Entry] = []
    places: list[int] = []
    found: list[EntryRows] = []
    for place, output in enumerate(outputs):
        for entry in output.entries:
            found.append(_rows_of(entry, table, len(entries)))
            entries.append(entry)
            places.append(place)
    return BesideRows(
        outputs=tuple(outputs),
        entries=tuple(entries),
        output_of_entry=np.array(places, dtype=np.intp),
        rows=tuple(row for each in found for row in each.rows),
        stronger=tuple(row for each in found for row in each.stronger),
        open_entries=tuple(number for number, each in enumerate(found) if each.is_open),
        unused=_unused(entries, found),
    )


def _unused(entries: Sequence[Entry], rows: Sequence[EntryRows]) -> tuple[str, ...]:
    """Return in words the entries without rows, and why; of very many the first ones and how many more there are."""
    words = tuple(
        f"{entry.where}: {entry.words} ({each.why})"
        for entry, each in zip(entries, rows, strict=True)
        if each.why
    )
    if len(words) <= MOST_UNUSED:
        return words
    more = len(words) - MOST_UNUSED
    return (*words[:MOST_UNUSED], f"{more:,} more published numbers of which no rows can be made")


@dataclass(frozen=True, slots=True, eq=False)
class _CheckedTable:
    """The table that outputs are held against: its people, their classes (P, m), and what the model says of them."""

    population: Population
    classes: tuple[str, ...]
    true: IntArray
    predictions: ModelPredictions
    has_totals: bool


def _has_total(outputs: Sequence[PublishedOutput]) -> bool:
    """Whether some output says how many people have one of the classes."""
    return any(
        isinstance(entry, DescriptiveEntry)
        and entry.group is not None
        and not entry.conditions
        and Statistic.COUNT in entry.numbers
        and entry.numbers[Statistic.COUNT].low == entry.numbers[Statistic.COUNT].high
        for output in outputs
        for entry in output.entries
    )


def _rows_of(entry: Entry, table: _CheckedTable, number: int) -> EntryRows:
    """Return what one entry says; of all people it is only held against the table.

    Raises:
        OutputsError: the table contradicts it.
    """
    if isinstance(entry, OpenEntry):
        return EntryRows((), is_open=True, why=entry.why)
    try:
        rows = _formed(entry, table, number)
    except ContradictedError as error:
        raise OutputsError(entry.where, error.describe(entry.words)) from error
    broken = [row for row in rows.rows if not row.holds(table.true)]
    if broken and not _is_of_all(entry):
        raise AssertionError(f"{entry.where}: a row that the table breaks")
    if _is_of_all(entry):
        return EntryRows(())
    # Where the truth breaks a stronger row, no table can be told to agree by them.
    if any(not row.holds(table.true) for row in rows.stronger):
        return EntryRows(rows.rows, is_open=True, why=rows.why)
    return rows


NEEDS_TWO = (RegressionEntry, PerformanceEntry, SurvivalEntry)


def _formed(entry: Entry, table: _CheckedTable, number: int) -> EntryRows:
    population, true = table.population, table.true
    if isinstance(entry, NEEDS_TWO) and len(table.classes) != 2:
        what = entry.words.partition(":")[0]
        problem = f"{what}: it has two classes, but the model has others; remove the output"
        raise OutputsError(entry.where, problem)
    if isinstance(entry, RegressionEntry):
        return regression_rows(entry, population, number, true)
    if isinstance(entry, PerformanceEntry):
        return performance_rows(
            entry, population, table.predictions, number, true, has_totals=table.has_totals
        )
    if isinstance(entry, SurvivalEntry):
        return survival_rows(entry, population, number, true)
    if isinstance(entry, AnonymisedEntry):
        return record_rows(entry, population, number, true, table.classes)
    assert isinstance(entry, DescriptiveEntry)
    return _described(entry, table, number)


def _is_of_all(entry: Entry) -> bool:
    return isinstance(entry, DescriptiveEntry) and entry.group is None


def _described(entry: DescriptiveEntry, table: _CheckedTable, number: int) -> EntryRows:
    population, predictions = table.population, table.predictions
    needs = NEEDS_NUMBERS & set(entry.numbers)
    if needs and not isinstance(population.columns[entry.column], NumericColumn):
        raise OutputsError(entry.where, f"{entry.column!r} contains no numbers; remove the row")
    unknown = _unknown_predictions(entry, predictions)
    if unknown:
        return EntryRows((), is_open=True, why=unknown)
    first, kind_of_profile = _kinds(entry, population, predictions)
    people = _summed(kind_of_profile, np.rint(population.counts).astype(np.int64))
    columns = {name: column.take(first) for name, column in population.columns.items()}
    kinds = replace(population, columns=columns, counts=people.astype(np.float64))
    klass = 0 if entry.group is None else table.classes.index(entry.group)
    of_group = people if entry.group is None else _summed(kind_of_profile, table.true[:, klass])
    owner = RowOwner(number, klass, people)
    found = DescribedPeople(entry, kinds, owner, of_group, predictions.take(first)).rows()
    rows, stronger = (
        tuple(replace(row, weights=row.weights[kind_of_profile]) for row in part)
        for part in (found.rows, found.stronger)
    )
    return replace(found, rows=rows, stronger=stronger)


def _unknown_predictions(entry: DescriptiveEntry, predictions: ModelPredictions) -> str:
    """Return why it is not known whom an entry is about, "" where it is."""
    for condition in entry.conditions:
        if isinstance(condition, ScoreCondition) and isinstance(predictions.shares, Undetermined):
            return predictions.shares.reason
        if isinstance(condition, PredictedCondition) and (predictions.label < 0).all():
            return "what the model predicts for these people is not known"
    return ""


def _kinds(
    entry: DescriptiveEntry, population: Population, predictions: ModelPredictions
) -> tuple[IndexArray, IndexArray]:
    """Return one profile of each kind that an entry tells apart, and the kind of each, (P,): those are far fewer."""
    keys = keys_of(population, entry.conditions, entry.column, predictions)
    codes = [np.unique(key, return_inverse=True)[1].reshape(-1) for key in keys]
    return alike(codes or [np.zeros(len(population.counts), dtype=np.int64)])


def _summed(kind_of_profile: IndexArray, people: IntArray) -> IntArray:
    found = np.zeros(int(kind_of_profile.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(found, kind_of_profile, people)
    return found
