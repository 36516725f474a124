"""The linked people of several releases: which records are one person, and which profiles that tells apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.option_spec import KEY_OPTION, KeySetting
from treewarden.audit.population.population import Population
from treewarden.audit.population.record_linkage import (
    id_candidates,
    is_one_table,
    link_records,
    lookalike_warnings,
)
from treewarden.audit.population.target import TargetNumbers, numbers_of
from treewarden.audit.reading import NOT_LINKED, Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.errors import TableError, TreewardenError
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, Columns, NumericColumn
from treewarden.ppdm_models.tree.ensemble import Model

MEMBERSHIP = ("no", "yes")
WEIGHT = "sampling weight"


@dataclass(frozen=True, slots=True, eq=False)
class NumbersOfGroups:
    """The numbers that people of groups have, an entry (K,) for each group and number: ``people`` of it have it."""

    group: IndexArray
    number: FloatArray
    people: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class KnownGroups:
    """Groups of people whom nothing tells apart that the adversary knows: their QI values, and who is in which release.

    R releases, in the order of their publication, have U groups. ``places`` (R, U) is the profile of each group in each
    release, -1 where the release does not hold it; ``counts`` (U,) are its people; ``truth`` (U, m) those of each
    class, in the order of the last release's classes, or why they are not known; ``numbers`` are those that they have
    where the models predict a number. ``orders`` (R, m) is the place there of each release's own classes. ``columns``
    are those of each release's profiles, their sampling weights among them, where there are any. ``warnings`` are for
    the reader of the report. ``each_number`` is which people have which number, None where that is not known.
    """

    names: tuple[str, ...]
    places: IndexArray
    counts: FloatArray
    truth: FloatArray | Undetermined
    orders: IndexArray
    columns: tuple[Columns, ...] = ()
    warnings: tuple[str, ...] = ()
    numbers: TargetNumbers | Undetermined = Undetermined("the target is not a number")
    each_number: NumbersOfGroups | None = None

    def groups(self, release: int) -> IndexArray:
        """Return the groups that a release holds."""
        return np.flatnonzero(self.places[release] >= 0)

    def part(self, first: int, end: int) -> KnownGroups:
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
            numbers=numbers if isinstance(numbers, Undetermined) else numbers.select(held),
            each_number=None,
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
            name: column.take(own) for name, column in _with_weights(population).items()
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
            numbers = numbers.select(groups)
            values = numbers.sums / self.counts[groups]
        return replace(
            population,
            qi=(*population.qi, *added),
            columns={name: columns[name] for name in (*population.columns, *added)},
            counts=self.counts[groups],
            leaf=population.leaf[own],
            truth=truth,
            values=values,
            order=None,
            numbers=numbers,
            contributions=None,
            weight=None if population.weight is None else population.weight[own],
        )


def shared_people(
    models: Sequence[Model],
    tables: Sequence[Table],
    populations: Sequence[Population],
    key: str | None = None,
) -> KnownGroups:
    """Return the people of several releases, each with its table; a table that several share is the same object.

    Records of different tables are one person where the column ``key`` holds the same there, and nowhere else: what
    else they hold, the sensitive value above all, never links them.

    Raises:
        TableError: the key is missing or not one person's, it is written in two ways, or somebody's value changed from
            one table to the other.
        TreewardenError: the models do not predict the same, a table has rows that are not one person each, or the
            tables have nobody in common.
        ValueError: there are several tables and no key.
    """
    check_joinable(models, tables, populations)
    orders = _orders(models)
    persons = link_records(tables, key)
    size = 1 + max(int(each.max()) for each in persons)
    places = np.full((len(models), size), -1, dtype=np.intp)
    label, number = np.full(size, -1, dtype=np.intp), np.full(size, np.nan)
    for release, (person, population) in enumerate(zip(persons, populations, strict=True)):
        order = population.order
        assert order is not None
        places[release, person] = order.profiles
        codes = order.classes
        own = np.full(len(person), -1) if codes is None else orders[release][codes]
        is_other = (label[person] >= 0) & (own >= 0) & (label[person] != own)
        said = order.numbers
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
    warnings = tuple(lookalike_warnings(tables, persons, key)) if key else ()
    columns = tuple(_with_weights(each) for each in populations)
    numbers: TargetNumbers | Undetermined
    each_number = None
    if np.isnan(number).any():
        reasons = (each.numbers for each in populations if isinstance(each.numbers, Undetermined))
        numbers = next(reasons, Undetermined("the number of some people is not known"))
    else:
        numbers = numbers_of(number, np.ones(size), group)
        each_number = _numbers_of_groups(group, number)
    found = release_labels(models), places[:, first], counts, truth, orders, columns
    return KnownGroups(*found, warnings, numbers, each_number)


def _numbers_of_groups(group: IndexArray, number: FloatArray) -> NumbersOfGroups:
    """Return the people by group and number, from those of each person."""
    values, place = np.unique(number, return_inverse=True)
    keys, people = np.unique(group * len(values) + place.reshape(-1), return_counts=True)
    return NumbersOfGroups(
        (keys // len(values)).astype(np.intp), values[keys % len(values)], people.astype(np.float64)
    )


def check_joinable(
    models: Sequence[Model], tables: Sequence[Table], populations: Sequence[Population]
) -> None:
    """Raise where releases cannot be audited together, whoever is in them.

    Raises:
        TreewardenError: the models do not predict the same, or a table has rows that are not one person each.
    """
    _orders(models)
    for table, population in zip(tables, populations, strict=True):
        if population.order is None:
            problem = (
                "rows that stand for nobody, or for several people (weights), cannot be used with several "
                "releases; write one row for each person"
            )
            raise TreewardenError(table.source, problem)


def _with_weights(population: Population) -> Columns:
    """Return the columns of a release's profiles, the sampling weights among them."""
    if population.weight is None:
        return population.columns
    name = _new_name(WEIGHT, population.columns)
    return {**population.columns, name: NumericColumn(population.weight)}


def _orders(models: Sequence[Model]) -> IndexArray:
    """Return the place of each model's classes among the last one's, (R, m)."""
    last = models[-1]
    for model in models:
        if model.task is not last.task or set(model.classes) != set(last.classes):
            raise TreewardenError(
                model.source,
                (
                    f"predicts {_model_words(model)}, but {last.source} predicts {_model_words(last)}; audit each "
                    "release by itself"
                ),
            )
        if model.target and last.target and model.target != last.target:
            raise TreewardenError(
                model.source,
                (
                    f"predicts {model.target!r}, but {last.source} predicts {last.target!r}; audit each "
                    "release by itself"
                ),
            )
    return np.array(
        [[last.classes.index(name) for name in model.classes] for model in models], dtype=np.intp
    ).reshape(len(models), len(last.classes))


def release_labels(models: Sequence[Model]) -> tuple[str, ...]:
    """Return what each release is called: its file's name, with its place where two have one name."""
    names = [model.source for model in models]
    return tuple(
        name if names.count(name) == 1 else f"{name} ({place})"
        for place, name in enumerate(names, start=1)
    )


def _model_words(model: Model) -> str:
    return ", ".join(map(repr, model.classes[:6])) or f"a {model.task.value}"


def _where_there(column: Column, places: IndexArray) -> Column:
    """Return what a column holds at places, missing where a place is -1."""
    found = column.take(np.maximum(places, 0))
    if isinstance(found, CategoricalColumn):
        return replace(found, codes=np.where(places < 0, -1, found.codes))
    return replace(found, numbers=np.where(places < 0, np.nan, found.numbers))


def _differs(one: Column, second: Column, there: BoolArray) -> bool:
    """Return whether two columns say something else of anybody who is there."""
    rows = np.flatnonzero(there)
    if isinstance(one, NumericColumn) and isinstance(second, NumericColumn):
        return not np.array_equal(one.numbers[rows], second.numbers[rows], equal_nan=True)
    return any(one.text(row) != second.text(row) for row in rows.tolist())


def _new_name(name: str, columns: Columns) -> str:
    """Return a name that no column has yet."""
    while name in columns:
        name += "'"
    return name


# Releases whose tables are not linked: no option says which of their records are the same people.

REASON = f"{NOT_LINKED}: no column was named that identifies a person ({{}})"
GAP = (
    "{}: a person may have left while a similar one joined, so proofs from the releases "
    "combined are not decided"
)
CANDIDATE = (
    "column {!r} has a different value in every record of each table. If it identifies a "
    "person, {} (a row number does not)"
)


@dataclass(frozen=True, slots=True, eq=False)
class SameTable:
    """Releases of one table, by their places among all: ``shared`` are its people, None where the release is alone."""

    releases: tuple[int, ...]
    shared: KnownGroups | None


@dataclass(frozen=True, slots=True, eq=False)
class UnlinkedReleases:
    """Releases of several tables without a column that says who is who.

    Any record of a table may be anybody of another one, or nobody of it: that nobody is shared is possible whatever the
    tables hold, so that nothing is proved beyond what the releases of each table prove by themselves (``parts``). How
    much more somebody can prove who knows who is who is not known (``reason``), so that nothing passes.
    """

    names: tuple[str, ...]
    parts: tuple[SameTable, ...]
    warnings: tuple[str, ...] = ()
    reason: str = REASON.format(KEY_OPTION.name)

    @property
    def gap(self) -> str:
        """Why what the releases prove together is not known."""
        return GAP.format(self.reason)

    def others(self, release: int) -> tuple[str, ...]:
        """Return the names of the releases beside one."""
        return tuple(name for other, name in enumerate(self.names) if other != release)


def link_releases(
    models: Sequence[Model],
    tables: Sequence[Table],
    populations: Sequence[Population],
    key: str | None = None,
    setting: KeySetting = KEY_OPTION,
) -> KnownGroups | UnlinkedReleases:
    """Return the people of several releases, or that nothing says who is who in their tables.

    A table that several share is the same object. ``setting`` is what messages call the naming of such a column.

    Raises:
        TableError, TreewardenError: as ``shared_people``.
    """
    if key is not None or is_one_table(tables):
        return shared_people(models, tables, populations, key)
    check_joinable(models, tables, populations)
    groups: dict[int, list[int]] = {}
    for number, table in enumerate(tables):
        groups.setdefault(id(table), []).append(number)
    parts = [_part(models, tables, populations, releases) for releases in groups.values()]
    found = _candidates(models, tables, populations)
    warnings = tuple(CANDIDATE.format(name, setting.advice(name)) for name in found)
    reason = REASON.format(setting.name)
    return UnlinkedReleases(release_labels(models), tuple(parts), warnings, reason)


def _part(
    models: Sequence[Model],
    tables: Sequence[Table],
    populations: Sequence[Population],
    releases: Sequence[int],
) -> SameTable:
    if len(releases) == 1:
        return SameTable(tuple(releases), None)
    shared = shared_people(
        [models[number] for number in releases],
        [tables[number] for number in releases],
        [populations[number] for number in releases],
    )
    return SameTable(tuple(releases), shared)


def _candidates(
    models: Sequence[Model], tables: Sequence[Table], populations: Sequence[Population]
) -> tuple[str, ...]:
    """Return columns that may say who is who: neither what a model predicts nor what is known of people by it."""
    features = {feature.name for model in models for feature in model.features}
    targets = {population.sensitive for population in populations if population.sensitive}
    return id_candidates(
        tables, features | targets | {n for population in populations for n in population.qi}
    )
