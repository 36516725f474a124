"""The people behind the tree: equivalence classes (profiles), how many records each has, and the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.population.table_counts import (
    Weights,
    check_counts,
    count_gaps,
    fitting_column,
    has_sums,
    has_unnamed_weights,
    weighing,
)
from treewarden.audit.population.target import (
    Contributions,
    TargetNumbers,
    check_target,
    numbers_of,
    rival,
)
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, alike, ranks
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.matching import matched, target_in
from treewarden.ppdm_models.tables.routing import NOWHERE, SEVERAL, route
from treewarden.ppdm_models.tables.table import Table, listed
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn, number_text
from treewarden.ppdm_models.tree.ensemble import Model, trees_of
from treewarden.ppdm_models.tree.tree import Feature, Task, Tree

NEARLY_UNIQUE_SHARE = 0.9
MOST_LISTED = 6
"""So many names stand in one warning."""
NO_SENSITIVE = "the file names no target that the table has; name the column: --sensitive COLUMN"


@dataclass(frozen=True, slots=True, eq=False)
class RecordOrder:
    """The records as they stand in the table, one person each: the profile of each, (n,), its class or its number."""

    profiles: IndexArray
    classes: IndexArray | None
    numbers: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Population:
    """Distinct profiles of quasi-identifier (QI) values: the equivalence classes of the table.

    ``columns`` hold one value per profile; ``counts`` are records per profile, shape (P,); ``leaf`` is the index of the
    node where each profile stops, shape (P,); ``truth`` holds records per profile and class, shape (P, m), or why it is
    not known; ``values`` is the mean of a numeric target per profile, shape (P,), and ``numbers`` all that is said of
    such a target. ``warnings`` are for the reader of the report.

    ``counts`` and ``truth`` are people. ``weight`` (P,) is the sampling weight of one person of the profile, None where
    each counts once; the adversary is taken to know it like the QI values. ``weights`` says what the rows of
    the table carried. ``sensitive`` is the sensitive column that was named, "" where none was; ``rival``
    another column that a file without a target may have been trained on as well. ``is_absent`` says that there is no
    table: then the profiles are the leaves, as far as the file tells how many are in them. ``order`` is that of the
    records, None where rows do not stand for one person each. ``contributions`` are what they add to totals, record by
    record, None where only profiles are known.
    """

    qi: tuple[str, ...]
    columns: Mapping[str, Column]
    counts: FloatArray
    leaf: IndexArray
    truth: FloatArray | Undetermined
    warnings: tuple[str, ...] = ()
    values: FloatArray | Undetermined = Undetermined("the target is no number")
    weight: FloatArray | None = None
    weights: Weights = Weights.NONE
    sensitive: str = ""
    rival: str = ""
    is_absent: bool = False
    order: RecordOrder | None = None
    numbers: TargetNumbers | Undetermined = Undetermined("the target is no number")
    contributions: Contributions | None = None

    @property
    def records(self) -> float:
        """How many people there are."""
        return float(self.counts.sum())

    @property
    def weighed_counts(self) -> FloatArray:
        """What a file counts of each profile: its people, or the sum of their sampling weights, shape (P,)."""
        return self.counts if self.weight is None else self.counts * self.weight

    @property
    def weighed_truth(self) -> FloatArray | Undetermined:
        """The same per profile and class, shape (P, m)."""
        if isinstance(self.truth, Undetermined) or self.weight is None:
            return self.truth
        return self.truth * self.weight[:, None]

    def hides_weights(self, tree: Tree) -> bool:
        """Whether class numbers of the tree that these people stop in are sums of weights that nobody named."""
        here = None
        if self.weights is Weights.FREQUENCIES:
            stops = self.leaf >= 0
            here = np.bincount(self.leaf[stops], self.counts[stops], len(tree.nodes)).astype(
                np.float64
            )
        return has_unnamed_weights(tree, self.weights, here)

    def describe(self, profile: int) -> str:
        """Return one profile as people write it: ``age = 30, sex = F``."""
        said = [(name, self.columns[name].text(profile)) for name in self.qi]
        if self.weight is not None:
            said.append(("sampling weight", number_text(float(self.weight[profile]))))
        return ", ".join(
            f"{name} = {'(missing)' if value is None else value}" for name, value in said
        )


def build_population(
    tree: Model,
    table: Table,
    *,
    sensitive: str | None,
    qi: Sequence[str] | None = None,
    weights: str | None = None,
    sampling_weights: str | None = None,
) -> Population:
    """Return the people of a table as the tree sees them, after checking that the table is the tree's.

    ``qi`` defaults to the tree's features; columns whose names differ from theirs in spelling only are taken for them,
    and said so. Columns that are neither QI nor sensitive are not read. ``weights`` names the column of how many people
    each row stands for; ``sampling_weights`` that of a survey's weights, under which a row is one person and records of
    unequal weight are of unequal profiles. For an ensemble ``leaf`` says nowhere; ``forest_of`` sends its people
    through the trees.

    Raises:
        TableError: a column is missing or of the wrong type, the sensitive column is not the tree's target or has one
            value or a class the tree does not know, a record falls in no leaf, or a leaf holds another number of
            records than the file publishes.
    """
    taken = tuple(name for name in (weights, sampling_weights) if name is not None)
    names = matched(tree, table, sensitive=sensitive, qi=qi, taken=taken)
    table, sensitive = names.table, names.sensitive
    features = _quasi_identifiers(tree, table, sensitive, names.qi)
    columns = {feature.name: table.column(feature) for feature in features}
    rows = weighing(table, weights, sampling_weights)
    grouping = _grouped(columns, rows.people, rows.sampling)
    classes, truth_reason = _classes(tree, table, sensitive)
    profiles = {name: column.take(grouping.first_record) for name, column in columns.items()}
    counts = grouping.totals(grouping.profile_of_record, grouping.profiles)
    targets = _targets(tree, table, sensitive, grouping.counted)
    numbers = (
        targets
        if isinstance(targets, Undetermined)
        else numbers_of(targets, grouping.weight, grouping.profile_of_record)
    )
    order = RecordOrder(
        grouping.profile_of_record, classes, None if isinstance(targets, Undetermined) else targets
    )
    population = Population(
        qi=tuple(feature.name for feature in features),
        columns=profiles,
        counts=counts,
        leaf=_leaves(tree, table, profiles, grouping),
        truth=_truth(tree, classes, truth_reason, grouping),
        warnings=(
            *table.notes,
            *names.notes,
            *rows.warnings,
            *_warnings(tree, table, features, columns, sensitive),
        ),
        values=numbers if isinstance(numbers, Undetermined) else numbers.sums / counts,
        weight=None if rows.sampling is None else rows.sampling[grouping.first_record],
        weights=rows.kind,
        sensitive=sensitive or "",
        order=_order(table, rows.people, order),
        numbers=numbers,
        contributions=grouping.contributions(targets, rows.sampling),
    )
    if not isinstance(tree, Tree):
        return population
    stop_of_record = population.leaf[grouping.profile_of_record]
    if not target_in(tree, table) and classes is not None:
        others = (sensitive or "", *population.qi, *taken)
        stops = np.zeros(table.rows, dtype=np.intp)
        stops[grouping.counted] = stop_of_record
        other = rival(tree, table, stops, np.where(rows.people > 0, rows.people, 0.0), others)
        population = replace(population, rival=other)
    return _checked(tree, population, table, stop_of_record, sensitive)


def read_register(
    model: Model,
    table: Table,
    *,
    sensitive: str | None,
    qi: Sequence[str],
    weights: str | None = None,
) -> Population:
    """Return the people of a register, any of whom may be in a model's table: counts of the file say nothing of them.

    Nobody of them stops anywhere yet. Without the ``sensitive`` column their classes are not known.

    Raises:
        TableError: a column is missing or of the wrong type, or the sensitive column has a class the model does not
            know, or lacks a value.
    """
    taken = () if weights is None else (weights,)
    names = matched(model, table, sensitive=sensitive, qi=qi, taken=taken)
    table = names.table
    features = _quasi_identifiers(model, table, names.sensitive, names.qi)
    columns = {feature.name: table.column(feature) for feature in features}
    people = weighing(table, weights, None).people
    grouping = _grouped(columns, people, None)
    classes, reason = _classes(model, table, names.sensitive)
    order = RecordOrder(grouping.profile_of_record, classes)
    return Population(
        qi=tuple(feature.name for feature in features),
        columns={name: column.take(grouping.first_record) for name, column in columns.items()},
        counts=grouping.totals(grouping.profile_of_record, grouping.profiles),
        leaf=np.full(grouping.profiles, NOWHERE, dtype=np.intp),
        truth=_truth(model, classes, reason, grouping),
        warnings=(*table.notes, *names.notes),
        sensitive=names.sensitive or "",
        order=_order(table, people, order),
    )


@dataclass(frozen=True, slots=True)
class _Grouping:
    """Records by profile: the K that count, what each stands for, the profile of each, and the first of each profile.

    ``counted`` (K,) and ``first_record`` (P,) are rows of the table.
    """

    counted: IndexArray
    weight: FloatArray
    profile_of_record: IndexArray
    first_record: IndexArray

    @property
    def profiles(self) -> int:
        """How many profiles there are."""
        return len(self.first_record)

    def contributions(
        self, targets: FloatArray | Undetermined, sampling: FloatArray | None
    ) -> Contributions:
        """Return what the records add to totals: their ``targets``, (K,); ``sampling`` are weights of all rows."""
        return Contributions(
            self.counted,
            self.profile_of_record,
            self.weight,
            None if isinstance(targets, Undetermined) else targets,
            None if sampling is None else sampling[self.counted],
        )

    def totals(self, group_of_record: IndexArray, groups: int) -> FloatArray:
        """Return what the records of each group stand for together."""
        return _sums(group_of_record, self.weight, groups)


def _grouped(
    columns: Mapping[str, Column], people: FloatArray, sampling: FloatArray | None
) -> _Grouping:
    """Group the records that count by their quasi-identifiers, and by their sampling weight where they have one."""
    counted = np.flatnonzero(people > 0)
    is_whole = len(counted) == len(people)
    told_apart = [column if is_whole else column.take(counted) for column in columns.values()]
    if sampling is not None:
        told_apart.append(NumericColumn(sampling[counted]))
    first, profile_of_record = distinct(told_apart)
    return _Grouping(counted, people[counted], profile_of_record, counted[first])


def _truth(
    tree: Model, classes: IndexArray | None, reason: str, grouping: _Grouping
) -> FloatArray | Undetermined:
    """Return how many records of each class each profile has, (P, m), or why that is not known."""
    if classes is None:
        return Undetermined(reason)
    shape = grouping.profiles, len(tree.classes)
    cells = grouping.profile_of_record * len(tree.classes) + classes[grouping.counted]
    return grouping.totals(cells, shape[0] * shape[1]).reshape(shape)


def _leaves(
    tree: Model, table: Table, profiles: Mapping[str, Column], grouping: _Grouping
) -> IndexArray:
    """Return the node where each profile stops in one tree; of an ensemble nowhere."""
    if isinstance(tree, Tree):
        return _stops(tree, table, profiles, grouping.first_record)
    return np.full(grouping.profiles, NOWHERE, dtype=np.intp)


def rerouted(tree: Tree, population: Population) -> Population:
    """Return the same people in the leaves of another tree over the same features."""
    stops = route(tree, population.columns)
    if (stops < 0).any():
        profile = population.describe(int(np.flatnonzero(stops < 0)[0]))
        raise TableError(tree.source, f"the record {profile} falls in no leaf")
    return replace(population, leaf=stops)


def _quasi_identifiers(
    tree: Model, table: Table, sensitive: str | None, qi: Sequence[str] | None
) -> tuple[Feature, ...]:
    features = {feature.name: feature for feature in tree.features}
    names = list(dict.fromkeys(features if qi is None else qi))
    if not names:
        raise TableError(
            table.source,
            (
                "there are no quasi-identifiers; name the columns that an adversary knows: --qi "
                "COLUMN,..."
            ),
        )
    # A name that the table lacks is told first: it may be a slip for one that is missing.
    guessed = {name: table.guessed(name) for name in names if name not in features}
    tested = dict.fromkeys(
        feature.name for part in trees_of(tree) for feature in part.used_features()
    )
    missing = [name for name in tested if name not in names]
    if missing:
        raise TableError(
            table.source,
            (
                f"{tree.source} tests {listed(missing)}, which --qi does not name; add: --qi "
                f"{','.join(missing)}"
            ),
        )
    if sensitive is not None and sensitive in names:
        raise TableError(table.source, _twice(tree, table, sensitive))
    return tuple(features[name] if name in features else guessed[name] for name in names)


def distinct(columns: Sequence[Column]) -> tuple[IndexArray, IndexArray]:
    """Return the first record of each distinct profile, and each record's profile; a missing value is a value."""
    return alike(
        [
            column.codes if isinstance(column, CategoricalColumn) else ranks(column.keys)[0]
            for column in columns
        ]
    )


def _order(table: Table, people: FloatArray, order: RecordOrder) -> RecordOrder | None:
    """Return the order of the records; None where some rows stand for nobody, or for several people."""
    return order if table.counts is None and (people == 1).all() else None


def _sums(groups: IndexArray, weight: FloatArray, size: int) -> FloatArray:
    return np.bincount(groups, weights=weight, minlength=size).astype(np.float64)


def _twice(tree: Model, table: Table, sensitive: str) -> str:
    """Return why a column cannot be both what is private and what is known, and what to name instead."""
    target = target_in(tree, table)
    if target and target != sensitive:
        return (
            f"{tree.source} does not predict {sensitive!r}; use --sensitive {target}, or add "
            f"--secret {sensitive} to protect that column"
        )
    return (
        f"column {sensitive!r} cannot be both sensitive and a quasi-identifier; remove it from "
        "--sensitive or from --qi"
    )


def _classes(tree: Model, table: Table, sensitive: str | None) -> tuple[IndexArray | None, str]:
    """Return each record's class, or None and the reason why the truth is not known."""
    if tree.task is Task.REGRESSION:
        return None, "the model predicts a number, not a class"
    if sensitive is None:
        return None, NO_SENSITIVE
    check_target(tree, table, sensitive)
    if not tree.classes:
        return None, "the file names no class, so only its leaves were measured"
    if sensitive not in table.columns:
        return None, f"the table has no column {sensitive!r}{table.meant(sensitive)}"
    column = table.categories(sensitive, tree.classes)
    if column.missing.any():
        where = table.place(int(np.flatnonzero(column.missing)[0]))
        raise TableError(
            table.source,
            (
                f"column {sensitive!r}, {where}: no value; remove the records that the tree was not "
                "trained on"
            ),
        )
    if len(column.categories) < 2:
        raise TableError(
            table.source,
            (
                f"the sensitive column {sensitive!r} has only one value, so everything about it is "
                "known already; check the column"
            ),
        )
    unknown = [code for code, value in enumerate(column.categories) if value not in tree.classes]
    if unknown:
        where = table.place(int(np.isin(column.codes, unknown).argmax()))
        raise TableError(
            table.source,
            f"column {sensitive!r}, {where}: a value that the model does not have; "
            f"its classes are {', '.join(repr(name) for name in tree.classes[:12])}",
        )
    return np.array([tree.classes.index(value) for value in column.categories])[column.codes], ""


def _targets(
    tree: Model, table: Table, sensitive: str | None, kept: IndexArray
) -> FloatArray | Undetermined:
    """Return the numeric target of the records that are kept, or why it is not known."""
    if tree.task is not Task.REGRESSION:
        return Undetermined("the target is no number")
    if sensitive is None:
        return Undetermined(NO_SENSITIVE)
    check_target(tree, table, sensitive)
    if sensitive not in table.columns:
        return Undetermined(f"the table has no column {sensitive!r}{table.meant(sensitive)}")
    try:
        numbers = table.numbers(sensitive).numbers
    except TableError as error:
        return Undetermined(error.problem)
    if not np.isfinite(numbers[kept]).all():
        return Undetermined(f"column {sensitive!r} lacks values")
    return numbers[kept]


def _stops(
    tree: Tree, table: Table, profiles: Mapping[str, Column], records: IndexArray
) -> IndexArray:
    stops = route(tree, {name: profiles[name] for name in profiles})
    lost = np.flatnonzero(stops < 0)
    if len(lost):
        record = table.place(int(records[lost[0]]))
        if stops[lost[0]] == SEVERAL:
            problem = (
                f"{record} is spread over several leaves ({tree.missing}); remove such records from the "
                "table"
            )
        elif lacking := _lacking(tree, profiles, int(lost[0])):
            problem = (
                f"{record} has no value of {_cut(lacking)}, and {tree.source} does not say where "
                "missing values go; export the model in a format that does (docs/recipes), or train it "
                "without such records"
            )
        else:
            problem = (
                f"{record} reaches no leaf of {tree.source}: the tree has a gap, a value is invalid, or "
                "this is another table; give the training table"
            )
        raise TableError(table.source, problem)
    return stops


def _lacking(tree: Tree, profiles: Mapping[str, Column], profile: int) -> list[str]:
    """Return the features that the tree tests and a profile lacks, as messages name them."""
    tested = [feature.name for feature in tree.used_features()]
    return [repr(name) for name in tested if profiles[name].missing[profile]]


def _checked(
    tree: Tree,
    population: Population,
    table: Table,
    leaf: IndexArray,
    sensitive: str | None,
) -> Population:
    """Return the people, held against the counts of the file; ``leaf`` is where each record stops."""
    hint = ""
    if population.weights is Weights.NONE:
        besides = tuple(feature.name for feature in tree.used_features()) + (sensitive or "",)
        people, _ = stopping(tree, population)
        if not tree.has_people or count_gaps(tree, people):
            hint = fitting_column(tree, table, leaf, besides)
    check_counts(tree, *stopping(tree, population), population.weights, table.source, hint)
    said: tuple[str, ...] = ()
    if hint:
        said = (f"{tree.source}: the numbers are sums of weights; {hint}",)
    elif population.weight is not None and not has_sums(tree):
        said = (f"{tree.source} publishes no counts to compare the sampling weights with",)
    return replace(population, warnings=(*population.warnings, *said))


def stopping(tree: Tree, population: Population) -> tuple[FloatArray, FloatArray | None]:
    """Return how many people stop at each node, shape (N,), and the sums of their sampling weights, if any."""
    inside = population.leaf >= 0
    leaf, size = population.leaf[inside], len(tree.nodes)
    people = np.bincount(leaf, population.counts[inside], size).astype(np.float64)
    if population.weight is None:
        return people, None
    return people, np.bincount(leaf, population.weighed_counts[inside], size).astype(np.float64)


def _warnings(
    tree: Model,
    table: Table,
    features: Sequence[Feature],
    columns: Mapping[str, Column],
    sensitive: str | None,
) -> list[str]:
    said = []
    if sensitive is not None and not target_in(tree, table):
        says = f"names its target {tree.target!r}, the default of some tools"
        says = says if tree.target else "does not name its target"
        said.append(f"{tree.source} {says}. {sensitive!r} is used instead (--sensitive)")
    told_apart = [
        repr(feature.name)
        for feature in features
        if table.records >= 20
        and _has_more(columns[feature.name], NEARLY_UNIQUE_SHARE * table.records)
    ]
    if told_apart:
        several = len(told_apart) > 1
        said.append(
            f"nearly unique per record: {'quasi-identifiers' if several else 'quasi-identifier'} {_cut(told_apart)}; "
            "a name or an id that the tree does not test can be left out with --qi"
        )
    for feature in features:
        column = columns[feature.name]
        if isinstance(column, CategoricalColumn) and feature.values:
            strange = [repr(value) for value in column.categories if value not in feature.values]
            if strange:
                said.append(
                    f"column {feature.name!r} holds {_cut(strange)}, which {tree.source} does not declare"
                )
    return said


def _has_more(column: Column, values: float) -> bool:
    """Return whether a column has more different values, a missing one among them."""
    if isinstance(column, CategoricalColumn) and len(column.categories) + 1 <= values:
        return False
    return len(np.unique(column.keys)) > values


def _cut(names: Sequence[str]) -> str:
    """Return names as a list that stays readable, with a count of the rest."""
    more = len(names) - MOST_LISTED
    return ", ".join(names[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")
