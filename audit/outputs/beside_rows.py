"""Outputs published beside a model, as rows over its people; each output is first checked against the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.outputs.conditions import ModelPredictions, keys_of, no_predictions
from treewarden.audit.outputs.described_people import (
    ContradictedError,
    DescribedPeople,
    EntryRows,
)
from treewarden.audit.outputs.performance_rows import performance_rows
from treewarden.audit.outputs.record_groups import record_rows
from treewarden.audit.outputs.regression_rows import regression_rows
from treewarden.audit.outputs.survival_rows import survival_rows
from treewarden.audit.outputs.whole_row import RowOwner, WholeRow
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import IndexArray, IntArray, alike
from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    AnonymisedEntry,
    DescriptiveEntry,
    Entry,
    OpenEntry,
    PerformanceEntry,
    PredictedCondition,
    PublishedOutput,
    RegressionEntry,
    ScoreCondition,
    Statistic,
    SurvivalEntry,
    TableColumns,
)
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn

NEEDS_NUMBERS = frozenset(Statistic) - {
    Statistic.COUNT,
    Statistic.SHARE,
    Statistic.CLASS_SHARE,
    Statistic.MISSING,
}


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
        problem = f"it cannot be checked, because the true classes are not known: {truth.reason}"
        raise OutputsError(outputs[0].source, problem)
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
        unused=tuple(
            f"{entry.where}: {entry.words} ({each.why})"
            for entry, each in zip(entries, found, strict=True)
            if each.why
        ),
    )


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
        problem = (
            f"{entry.words}: the published {error.statistic} is {error.printed}, but the table "
            f"gives {error.true}"
        )
        raise OutputsError(
            entry.where, f"{problem}; correct one of them, or remove the output"
        ) from error
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
