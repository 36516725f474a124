"""The people of several releases: which records of several tables are one person, and who is told apart by that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from audit.people.numbers import Numbers, numbers_of
from audit.people.population import Population
from audit.reading import Undetermined
from ppdm_models.arrays import BoolArray, FloatArray, IndexArray, alike
from ppdm_models.errors import TableError, TreewardenError
from ppdm_models.records.table import Table
from ppdm_models.tree.column import CategoricalColumn, Column, Columns, NumericColumn
from ppdm_models.tree.ensemble import Model

MEMBERSHIP = ("no", "yes")
NOBODY_SHARED = (
    "no record of it is in {} as well; name the column that says who is who with --id, or give the tables of the same "
    "people"
)
NO_ID = (
    "people left and joined, or are alike in all columns that the tables share, and without the column that says who "
    "is who (--id) others may be the same people, of whom more could be known"
)
NO_ID_SHARED = (
    "no {!r} of it is in {} as well; write ids in the same way in both, or give the tables of the same "
    "people"
)


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """Groups of people whom nothing tells apart that the adversary knows: their QI values, and who is in which release.

    R releases, in the order of their publication, have U groups. ``places`` (R, U) is the profile of each group in each
    release, -1 where the release does not hold it; ``counts`` (U,) are its people; ``truth`` (U, m) those of each
    class, in the order of the last release's classes, or why they are not known; ``numbers`` are those that they have
    where the models predict a number. ``orders`` (R, m) is the place there
    of each release's own classes. ``columns`` are those of each release's profiles. ``warnings`` are for the reader of
    the report, ``doubt`` is why some who were taken for several people may be one.
    """

    names: tuple[str, ...]
    places: IndexArray
    counts: FloatArray
    truth: FloatArray | Undetermined
    orders: IndexArray
    columns: tuple[Columns, ...] = ()
    warnings: tuple[str, ...] = ()
    doubt: str = ""
    numbers: Numbers | Undetermined = Undetermined("the target is no number")

    def groups(self, release: int) -> IndexArray:
        """Return the groups that a release holds."""
        return np.flatnonzero(self.places[release] >= 0)

    def part(self, first: int, end: int) -> Shared:
        """Return some releases that follow each other, and the people whom they hold."""
        held = np.flatnonzero((self.places[first:end] >= 0).any(axis=0))
        truth, numbers = self.truth, self.numbers
        return replace(
            self,
            names=self.names[first:end],
            places=self.places[first:end][:, held],
            counts=self.counts[held],
            truth=truth if isinstance(truth, Undetermined) else truth[held],
            orders=self.orders[first:end],
            columns=self.columns[first:end],
            numbers=numbers if isinstance(numbers, Undetermined) else numbers.of(held),
        )

    def others(self, release: int) -> tuple[str, ...]:
        """Return the names of the releases beside one."""
        return tuple(name for other, name in enumerate(self.names) if other != release)

    def moved(self, release: int) -> tuple[float, float, float]:
        """Return how many people a release holds, who joined and who left since the one before it."""
        has = self.places[release] >= 0
        had = self.places[release - 1] >= 0 if release else has
        people, joined, left = (
            float(self.counts[each].sum()) for each in (has, has & ~had, had & ~has)
        )
        return people, joined, left

    def seen_by(self, release: int, population: Population) -> Population:
        """Return a release's own people, its profiles parted by what else is known of them; one per group.

        That is which other releases hold whom, and columns that only another release tests, or has other values of.
        """
        groups = self.groups(release)
        own = self.places[release][groups]
        columns: dict[str, Column] = {
            name: column.take(own) for name, column in population.columns.items()
        }
        added = []
        for other in range(len(self.names)):
            there = self.places[other][groups]
            for name, column in self.columns[other].items() if other != release else ():
                known = _where_there(column, there)
                if name not in columns or _differs(columns[name], known, there >= 0):
                    called = name if name not in columns else f"{name} in {self.names[other]}"
                    called = _new_name(called, columns)
                    columns[called] = known
                    added.append(called)
        for other, name in enumerate(self.names):
            is_there = self.places[other][groups] >= 0
            if other != release and is_there.any() and not is_there.all():
                called = _new_name(f"in {name}", columns)
                columns[called] = CategoricalColumn(is_there.astype(np.int64), MEMBERSHIP)
                added.append(called)
        truth, values, numbers = self.truth, population.values, self.numbers
        if not isinstance(truth, Undetermined):
            truth = truth[groups][:, self.orders[release]]
        if not isinstance(values, Undetermined):
            values = values[own]
        if not isinstance(numbers, Undetermined):
            numbers = numbers.of(groups)
            values = numbers.sums / self.counts[groups]
        return replace(
            population,
            qi=(*population.qi, *added),
            columns=columns,
            counts=self.counts[groups],
            leaf=population.leaf[own],
            truth=truth,
            values=values,
            order=None,
            numbers=numbers,
        )


def shared_people(
    models: Sequence[Model],
    tables: Sequence[Table],
    populations: Sequence[Population],
    key: str | None = None,
) -> Shared:
    """Return the people of several releases, each with its table; a table that several share is the same object.

    Records of different tables are one person where the column ``key`` holds the same there, else where all columns
    that the tables share do.

    Raises:
        TableError: the models do not predict the same, the table has weights, the key is missing or not one person's,
            the tables have nobody in common, or somebody's value changed from one to the other.
        TreewardenError: the same of what quotes nobody.
    """
    orders = _orders(models)
    for table, population in zip(tables, populations, strict=True):
        if population.order is None:
            problem = "weights cannot be used with several releases; write each person as a row"
            raise TreewardenError(table.source, problem)
    persons = _persons(tables, key)
    size = 1 + max(int(each.max()) for each in persons)
    places = np.full((len(models), size), -1, dtype=np.intp)
    label, number = np.full(size, -1, dtype=np.intp), np.full(size, np.nan)
    for release, (person, population) in enumerate(zip(persons, populations, strict=True)):
        assert population.order is not None
        places[release, person] = population.order.profiles
        codes = population.order.classes
        own = np.full(len(person), -1) if codes is None else orders[release][codes]
        is_other = (label[person] >= 0) & (own >= 0) & (label[person] != own)
        said = population.order.numbers
        if said is not None:
            is_other |= ~np.isnan(number[person]) & (number[person] != said)
            number[person] = said
        changed = np.flatnonzero(is_other)
        if len(changed):
            raise TableError(
                tables[release].source,
                f"record {int(changed[0]) + 1} has another value of {population.sensitive!r} than the same person has "
                f"in another table ({len(changed)} such records); give each release the table that it was trained on, "
                "or audit it by itself",
            )
        label[person] = np.where(own >= 0, own, label[person])
    _, first, group = np.unique(places, axis=1, return_index=True, return_inverse=True)
    group, groups = group.reshape(-1), len(first)
    truth: FloatArray | Undetermined
    if (label < 0).any():
        told = (each.truth for each in populations)
        unknown = next((each for each in told if isinstance(each, Undetermined)), None)
        truth = unknown or Undetermined("the value of some people is not known")
    else:
        classes = len(models[-1].classes)
        truth = np.bincount(group * classes + label, minlength=groups * classes).astype(np.float64)
        truth = truth.reshape(groups, classes)
    counts = np.bincount(group, minlength=groups).astype(np.float64)
    warnings = tuple(_near_misses(tables, persons, key) if key else _moves(tables, persons))
    doubt = NO_ID if warnings and not key else ""
    columns = tuple(each.columns for each in populations)
    numbers: Numbers | Undetermined
    if np.isnan(number).any():
        reasons = (each.numbers for each in populations if isinstance(each.numbers, Undetermined))
        numbers = next(reasons, Undetermined("the number of some people is not known"))
    else:
        numbers = numbers_of(number, np.ones(size), group)
    found = _names(models), places[:, first], counts, truth, orders, columns
    return Shared(*found, warnings, doubt, numbers)


def _orders(models: Sequence[Model]) -> IndexArray:
    """Return the place of each model's classes among the last one's, (R, m)."""
    last = models[-1]
    for model in models:
        if model.task is not last.task or set(model.classes) != set(last.classes):
            raise TreewardenError(
                model.source,
                f"does not predict what {last.source} does ({_said(model)}; there {_said(last)}); releases are joined "
                "where they predict the same, so audit each by itself",
            )
        if model.target and last.target and model.target != last.target:
            raise TreewardenError(
                model.source,
                f"predicts {model.target!r}, and {last.source} {last.target!r}; releases are joined where they predict "
                "the same, so audit each by itself",
            )
    return np.array(
        [[last.classes.index(name) for name in model.classes] for model in models], dtype=np.intp
    ).reshape(len(models), len(last.classes))


def _names(models: Sequence[Model]) -> tuple[str, ...]:
    """Return what each release is called: its file's name, with its place where two have one name."""
    names = [model.source for model in models]
    return tuple(
        name if names.count(name) == 1 else f"{name} ({place})"
        for place, name in enumerate(names, start=1)
    )


def _said(model: Model) -> str:
    return ", ".join(map(repr, model.classes[:6])) or f"a {model.task.value}"


def _persons(tables: Sequence[Table], key: str | None) -> list[IndexArray]:
    """Return the number of the person that each record of each table is, the same in all tables."""
    if all(table is tables[0] for table in tables):
        return [np.arange(tables[0].rows)] * len(tables)
    codes = _by_key(tables, key) if key is not None else _by_values(tables)
    found, _ = _numbered(codes, [table.rows for table in tables])
    for table, person in zip(tables[1:], found[1:], strict=True):
        if not np.isin(person, found[0]).any():
            first = tables[0].source
            said = NOBODY_SHARED.format(first) if key is None else NO_ID_SHARED.format(key, first)
            raise TreewardenError(table.source, said)
    return found


def _near_misses(tables: Sequence[Table], persons: Sequence[IndexArray], key: str) -> Iterator[str]:
    """Yield where records whose ids are in one table alone hold the same as others, but for these: a slip, perhaps."""
    for (one, own), (other, others) in combinations(zip(tables, persons, strict=True), 2):
        if one is other:
            continue
        codes = _by_values((one, other), without=key)
        before, after = codes[: one.rows], codes[one.rows :]
        left, new = before[~np.isin(own, others)], after[~np.isin(others, own)]
        same = sum((Counter(left.tolist()) & Counter(new.tolist())).values())
        if same:
            yield (
                f"{same} of {len(left)} records of {one.source} whose {key!r} is not in {other.source} hold the same "
                f"as records there whose {key!r} is new: are they the same people, their ids written otherwise? They "
                "were taken for others, who left and who joined"
            )


def _moves(tables: Sequence[Table], persons: Sequence[IndexArray]) -> Iterator[str]:
    """Yield where no id was named, and some may be the same people whose values changed, or others than was taken."""
    ends = np.cumsum([table.rows for table in tables])[:-1]
    held = np.split(_by_values(tables), ends)
    for first, second in combinations(range(len(tables)), 2):
        one, other, own, others = tables[first], tables[second], persons[first], persons[second]
        left, new = int((~np.isin(own, others)).sum()), int((~np.isin(others, own)).sum())
        if left and new:
            yield (
                f"{left} records of {one.source} are not in {other.source}, and {new} of that are new: they were taken "
                "for different people. Where some are the same, whose values changed, name the column that says who is "
                "who (--id)"
            )
        elif one is not other and _are_paired_by_order(
            (held[first], held[second]), (_by_values((one,)), _by_values((other,)))
        ):
            yield (
                f"several records of {one.source} and of {other.source} hold the same in all columns that both have, "
                "and differ in others: which of them are the same people was taken from their order. Name the column "
                "that says who is who (--id)"
            )


def _are_paired_by_order(parts: Sequence[IndexArray], wholes: Sequence[IndexArray]) -> bool:
    """Return whether records of two tables could be paired otherwise, with another end.

    ``parts`` say what each record holds in the columns by which records were matched, ``wholes`` what it holds in all
    of its own table's. Records that are alike in the first and not in the second may be paired otherwise where that is
    so in both tables, or in one that has more or fewer of them.
    """
    size = int(max(part.max(initial=-1) for part in parts)) + 1
    counts = [np.bincount(part, minlength=size) for part in parts]
    kinds = []
    for part, whole in zip(parts, wholes, strict=True):
        distinct = np.unique(np.stack((part, whole)), axis=1)[0]
        kinds.append(np.bincount(distinct, minlength=size))
    both = (kinds[0] > 1) & (kinds[1] > 1)
    either = ((kinds[0] > 1) | (kinds[1] > 1)) & (counts[0] != counts[1])
    return bool(((counts[0] > 0) & (counts[1] > 0) & (both | either)).any())


def _numbered(codes: IndexArray, rows: Sequence[int]) -> tuple[list[IndexArray], int]:
    """Return who each record is, by table, where ``codes`` (n,) of all tables' records say what it holds.

    Of several records of a table that hold the same, the first is the first of the other tables', and so on.
    """
    ends = np.cumsum([0, *rows])
    parts = [codes[start:end] for start, end in zip(ends[:-1], ends[1:], strict=True)]
    first, person = alike([codes, np.concatenate([_occurrence(part) for part in parts])])
    return np.split(person, ends[1:-1]), len(first)


def _occurrence(codes: IndexArray) -> IndexArray:
    """Return how many records before each one hold the same."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, len(codes)])
    found = np.empty(len(codes), dtype=np.intp)
    found[order] = np.arange(len(codes)) - np.repeat(starts, lengths)
    return found


def _by_key(tables: Sequence[Table], key: str) -> IndexArray:
    """Return a code for each record of all tables, the same where the key is."""
    texts = []
    for table in tables:
        if key not in table.columns:
            problem = f"{table.lacks(key)}; name the column that says who is who"
            raise TreewardenError(table.source, problem)
        column = table.categories(key)
        missing = np.flatnonzero(column.missing)
        if len(missing):
            problem = f"column {key!r}, record {int(missing[0]) + 1}: no value, so it does not say who this is"
            raise TableError(table.source, f"{problem}; give each person one")
        if len(column.categories) < table.rows:
            problem = f"column {key!r} holds the same for several records, so it does not say who is who; name another"
            raise TableError(table.source, problem)
        texts.append(np.array(column.categories, dtype=object)[column.codes])
    return _coded(np.concatenate(texts).astype(str))


def _by_values(tables: Sequence[Table], without: str = "") -> IndexArray:
    """Return a code for each record of all tables, the same where all columns are that the tables share.

    One column may be left out.
    """
    names = [
        name
        for name in tables[-1].columns
        if name != without and all(name in each.columns for each in tables)
    ]
    if not names:
        raise TreewardenError(tables[-1].source, NOBODY_SHARED.format(tables[0].source))
    codes = np.zeros(sum(table.rows for table in tables), dtype=np.intp)
    for name in names:
        if all(table.columns[name].is_numeric() for table in tables):
            here = np.concatenate([table.numbers(name).numbers for table in tables])
            own = _coded(here)
        else:
            parts = [table.categories(name) for table in tables]
            texts = [np.array((*part.categories, ""), dtype=object)[part.codes] for part in parts]
            own = _coded(np.concatenate(texts).astype(str))
        codes = _coded(codes * (int(own.max(initial=0)) + 1) + own)
    return codes


def _coded(values: np.ndarray[tuple[int], np.dtype[np.generic]]) -> IndexArray:
    """Return the place of each value among the distinct ones."""
    found: IndexArray = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.intp)
    return found


def _where_there(column: Column, places: IndexArray) -> Column:
    """Return what a column holds at places, missing where a place is -1."""
    found = column.take(np.maximum(places, 0))
    if isinstance(found, CategoricalColumn):
        return replace(found, codes=np.where(places < 0, -1, found.codes))
    return replace(found, numbers=np.where(places < 0, np.nan, found.numbers))


def _differs(one: Column, other: Column, there: BoolArray) -> bool:
    """Return whether two columns say something else of anybody who is there."""
    rows = np.flatnonzero(there)
    if isinstance(one, NumericColumn) and isinstance(other, NumericColumn):
        return not np.array_equal(one.numbers[rows], other.numbers[rows], equal_nan=True)
    return any(one.text(row) != other.text(row) for row in rows.tolist())


def _new_name(name: str, columns: dict[str, Column]) -> str:
    """Return a name that no column has yet."""
    while name in columns:
        name += "'"
    return name
