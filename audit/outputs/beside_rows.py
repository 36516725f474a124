"""Outputs published beside a model, as rows over its people; each output is first checked against the table.

The coefficients of a logistic regression give rows by its score equations.

At the fit b the score ``X'(y - m(b)) - P b`` is 0 (P: the penalty, 0 without one). For printed coefficients c, each
within d of b, and any matrix G, ``G X' y - G (X' m(c) + P c) = G H (b - c)``, where H is the mean curvature between c
and b. With ``|G H - I| <= M`` for every curvature that the rounding allows, the left side is within ``d + M d`` of 0:
one row for each coefficient. Where it is within ``d - M d``, a fit is within d of c (Krawczyk's test), so that those
rows, where the truth fulfils them, are ones that agree with what is printed for certain. G is the inverse of the
curvature at c in floating point; that it is not exact is in M.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from treewarden.audit.outputs.described_people import (
    ContradictedError,
    DescribedPeople,
    EntryRows,
    having,
)
from treewarden.audit.outputs.whole_row import Ends, RowOwner, WholeRow, as_fractions
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray, alike
from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    DescriptiveEntry,
    Entry,
    LogisticEntry,
    PublishedOutput,
    Statistic,
    TableColumns,
    Term,
    ValueCondition,
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
        problem = f"it cannot be checked, because the true classes are not known: {truth.reason}"
        raise OutputsError(outputs[0].source, problem)
    if population.weight is not None or (population.counts != np.rint(population.counts)).any():
        problem = (
            "the table has sampling weights, but outputs are audited only for unweighted people; "
            "remove the output"
        )
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
                problem = "a logistic regression has two classes, but the model has others; remove the regression"
                raise OutputsError(entry.where, problem)
            rows = logistic_rows(entry, population, number, true)
        else:
            rows = _described(entry, population, number, true, classes)
    except ContradictedError as error:
        problem = (
            f"{entry.words}: the published {error.statistic} is {error.printed}, but the table "
            f"gives {error.true}"
        )
        raise OutputsError(
            entry.where, f"{problem}; correct one of them, or remove the output"
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
        raise OutputsError(entry.where, f"{entry.column!r} contains no numbers; remove the row")
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


MOST_WEIGHT = 10**7
"""Weights are real numbers, and rounding finer than this says nothing more."""
PAD = 1e-10
"""What floating point may have done to sums over people, as a share of the sum of their sizes: far more than it can."""
NO_FIT = "no fit of either class"


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """A design ``matrix`` (P, K) over the profiles that have all values, and the printed coefficients (K,)."""

    matrix: FloatArray
    inside: BoolArray
    center: FloatArray
    half: FloatArray
    penalty: FloatArray


def logistic_rows(
    entry: LogisticEntry, population: Population, number: int, truth: IntArray
) -> EntryRows:
    """Return the rows of the class that the regression is of; ``truth`` (P, 2) decides which that is.

    Raises:
        ContradictedError: the table fulfils the rows of neither class.
    """
    fit = _fit_of(entry, population)
    people = np.where(fit.inside, np.rint(population.counts), 0).astype(np.int64)
    for klass in (1, 0):
        owner = RowOwner(number, klass, people, MOST_WEIGHT)
        rows, stronger = _rows(fit, owner)
        if all(row.holds(truth) for row in rows):
            return EntryRows(rows, stronger, is_open=not stronger)
    printed = ", ".join(number.text for _, number in entry.coefficients)
    raise ContradictedError("coefficients", printed, NO_FIT)


def _fit_of(entry: LogisticEntry, population: Population) -> _Fit:
    inside = np.ones(len(population.counts), dtype=bool)
    columns = []
    for term, _ in entry.coefficients:
        values, is_there = _column_of(term, population)
        columns.append(values)
        inside &= is_there
    numbers = [number for _, number in entry.coefficients]
    center = np.array([float(number.middle) for number in numbers])
    # The printed text need not be a floating-point number: half the width is rounded up by more than that.
    half = np.array(
        [float(number.high - number.middle) for number in numbers if number.high is not None]
    )
    half = half * (1 + 1e-12) + 1e-15 * np.abs(center)
    strength = 0.0 if entry.inverse_penalty is None else float(1 / entry.inverse_penalty)
    penalty = np.array([0.0 if not term.column else strength for term, _ in entry.coefficients])
    matrix = np.where(inside[:, None], np.column_stack(columns), 0.0)
    return _Fit(matrix, inside, center, half, penalty)


def _column_of(term: Term, population: Population) -> tuple[FloatArray, BoolArray]:
    """Return what a coefficient is multiplied by, (P,), and for whom that is known."""
    size = len(population.counts)
    if not term.column:
        return np.ones(size), np.ones(size, dtype=bool)
    column = population.columns[term.column]
    if term.value is not None:
        has = having(population, ValueCondition(term.column, term.value))
        return has.astype(np.float64), np.asarray(~column.missing)
    assert isinstance(column, NumericColumn)
    return np.where(column.missing, 0.0, column.numbers), np.asarray(~column.missing)


def _rows(fit: _Fit, owner: RowOwner) -> tuple[tuple[WholeRow, ...], tuple[WholeRow, ...]]:
    """Return the rows of one class, and the stronger ones, of which there are none where rounding is too coarse."""
    x, people = fit.matrix, owner.people.astype(np.float64)
    linear = x @ fit.center
    reach = np.abs(x) @ (fit.half + PAD * np.abs(fit.center))
    mean = _logistic(linear)
    middle = people * mean * (1 - mean)
    low, high = linear - reach, linear + reach
    ends = np.stack([_logistic(low) * _logistic(-low), _logistic(high) * _logistic(-high)])
    most = np.where(low * high < 0, 0.25, ends.max(axis=0)) * (1 + PAD)
    least = ends.min(axis=0) * (1 - PAD)
    spread = people * np.maximum(most - mean * (1 - mean), mean * (1 - mean) - least)
    curvature = x.T @ (middle[:, None] * x) + np.diag(fit.penalty)
    inverse = np.linalg.pinv(curvature)
    moved = x @ inverse.T  # row i is G x_i
    off = np.abs(inverse @ curvature - np.eye(len(inverse))) + np.abs(moved).T @ (
        spread[:, None] * np.abs(x)
    )
    off += PAD * (
        np.abs(inverse) @ (np.abs(x).T @ (middle[:, None] * np.abs(x)) + np.diag(fit.penalty))
    )
    shift = off @ fit.half
    goal = moved.T @ (people * mean) + inverse @ (fit.penalty * fit.center)
    room = PAD * (
        np.abs(moved).T @ people + np.abs(inverse) @ np.abs(fit.penalty * fit.center) + 1e-6
    )
    # The target itself moves with floating point: the means are off by as much as the linear predictor is.
    room += np.abs(moved).T @ (people * PAD * (np.abs(x) @ np.abs(fit.center) + 1.0))
    rows, stronger = [], []
    for term in range(len(fit.center)):
        weights = as_fractions(np.where(fit.inside, moved[:, term], 0.0))
        wide = fit.half[term] + shift[term] + room[term]
        narrow = fit.half[term] * (1 - 1e-9) - shift[term] - room[term]
        rows.append(owner.row(weights, _around(goal[term], wide)))
        if narrow > 0:
            stronger.append(owner.row(weights, _around(goal[term], narrow), is_outward=False))
    has_all = len(stronger) == len(rows) and all(_is_possible(row) for row in stronger)
    return tuple(rows), tuple(stronger) if has_all else ()


def _logistic(linear: FloatArray) -> FloatArray:
    """Return ``1 / (1 + exp(-linear))``, each to a few units of rounding of its own size."""
    power = np.exp(-np.abs(linear))
    return np.asarray(np.where(linear >= 0, 1.0, power) / (1.0 + power))


def _around(goal: float, half: float) -> Ends:
    return Ends(
        Fraction(float(goal)) - Fraction(float(half)), Fraction(float(goal)) + Fraction(float(half))
    )


def _is_possible(row: WholeRow) -> bool:
    return row.low is None or row.high is None or row.low <= row.high
