"""All outputs that are published beside a model, as rows over its people, once the table has borne each of them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.outputs.described_people import (
    ContradictedError,
    DescribedPeople,
    EntryRows,
)
from treewarden.audit.outputs.logistic_rows import logistic_rows
from treewarden.audit.outputs.whole_row import RowOwner, WholeRow
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import IndexArray, IntArray, alike
from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    DescriptiveEntry,
    Entry,
    LogisticEntry,
    PublishedOutput,
    Statistic,
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

    ``open_entries`` are numbers of entries of which no rows are known that agree for certain.
    """

    outputs: tuple[PublishedOutput, ...]
    entries: tuple[Entry, ...]
    output_of_entry: IndexArray
    rows: tuple[WholeRow, ...]
    stronger: tuple[WholeRow, ...]
    open_entries: tuple[int, ...]

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
    outputs: Sequence[PublishedOutput], population: Population, classes: Sequence[str]
) -> BesideRows:
    """Return outputs as rows over profiles.

    Raises:
        OutputsError: the table contradicts one, its true classes are not known, or its people carry weights.
    """
    truth = population.truth
    if isinstance(truth, Undetermined):
        problem = f"the true classes are needed to check it, and are not known: {truth.reason}"
        raise OutputsError(outputs[0].source, problem)
    if population.weight is not None or (population.counts != np.rint(population.counts)).any():
        problem = "the table carries sampling weights; outputs are audited over whole people only, leave it out"
        raise OutputsError(outputs[0].source, problem)
    true = np.rint(truth).astype(np.int64)
    entries: list[Entry] = []
    places: list[int] = []
    found: list[EntryRows] = []
    for place, output in enumerate(outputs):
        for entry in output.entries:
            found.append(_rows_of(entry, population, len(entries), true, classes))
            entries.append(entry)
            places.append(place)
    return BesideRows(
        outputs=tuple(outputs),
        entries=tuple(entries),
        output_of_entry=np.array(places, dtype=np.intp),
        rows=tuple(row for each in found for row in each.rows),
        stronger=tuple(row for each in found for row in each.stronger),
        open_entries=tuple(number for number, each in enumerate(found) if each.is_open),
    )


def _rows_of(
    entry: Entry,
    population: Population,
    number: int,
    true: IntArray,
    classes: Sequence[str],
) -> EntryRows:
    """Return what one entry says; of all people it is only held against the table.

    Raises:
        OutputsError: the table contradicts it.
    """
    try:
        if isinstance(entry, LogisticEntry):
            if len(classes) != 2:
                problem = "a logistic regression is of two classes, and the model has others; leave it out"
                raise OutputsError(entry.where, problem)
            rows = logistic_rows(entry, population, number, true)
        else:
            rows = _described(entry, population, number, true, classes)
    except ContradictedError as error:
        problem = f"{entry.words}: the {error.statistic} {error.printed} is published, and the table has {error.true}"
        raise OutputsError(
            entry.where, f"{problem}; correct one of them, or leave the output out"
        ) from error
    broken = [row for row in rows.rows if not row.holds(true)]
    if broken and not _is_of_all(entry):
        raise AssertionError(f"{entry.where}: a row that the table breaks")
    if _is_of_all(entry):
        return EntryRows(())
    # Where the truth breaks a stronger row, no table can be told to agree by them.
    if any(not row.holds(true) for row in rows.stronger):
        return EntryRows(rows.rows, is_open=True)
    return rows


def _is_of_all(entry: Entry) -> bool:
    return isinstance(entry, DescriptiveEntry) and entry.group is None


def _described(
    entry: DescriptiveEntry,
    population: Population,
    number: int,
    true: IntArray,
    classes: Sequence[str],
) -> EntryRows:
    needs = NEEDS_NUMBERS & set(entry.numbers)
    if needs and not isinstance(population.columns[entry.column], NumericColumn):
        raise OutputsError(entry.where, f"{entry.column!r} holds no numbers; leave the row out")
    first, kind_of_profile = _kinds(entry, population)
    people = _summed(kind_of_profile, np.rint(population.counts).astype(np.int64))
    columns = {name: column.take(first) for name, column in population.columns.items()}
    kinds = replace(population, columns=columns, counts=people.astype(np.float64))
    klass = 0 if entry.group is None else list(classes).index(entry.group)
    of_group = people if entry.group is None else _summed(kind_of_profile, true[:, klass])
    found = DescribedPeople(entry, kinds, RowOwner(number, klass, people), of_group).rows()
    rows, stronger = (
        tuple(replace(row, weights=row.weights[kind_of_profile]) for row in part)
        for part in (found.rows, found.stronger)
    )
    return replace(found, rows=rows, stronger=stronger)


def _kinds(entry: DescriptiveEntry, population: Population) -> tuple[IndexArray, IndexArray]:
    """Return one profile of each kind that an entry tells apart, and the kind of each, (P,): those are far fewer."""
    names = {condition.column for condition in entry.conditions} | {entry.column}
    keys = (population.columns[name].keys for name in sorted(names - {""}))
    codes = [np.unique(key, return_inverse=True)[1].reshape(-1) for key in keys]
    return alike(codes or [np.zeros(len(population.counts), dtype=np.int64)])


def _summed(kind_of_profile: IndexArray, people: IntArray) -> IntArray:
    found = np.zeros(int(kind_of_profile.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(found, kind_of_profile, people)
    return found


def rows_of_entries(rows: Sequence[WholeRow], chosen: Sequence[int]) -> tuple[WholeRow, ...]:
    """Return the rows of some entries."""
    numbers = set(chosen)
    return tuple(row for row in rows if row.entry in numbers)
