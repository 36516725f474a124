"""The people behind the tree: equivalence classes (profiles), how many records each has, and the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.population.audited_columns import (
    REGISTER_HAS_ONE_VALUE,
    classes_of_records,
    column_warnings,
    cut_names,
    quasi_identifier_features,
    targets_of_records,
)
from treewarden.audit.population.table_counts import (
    RowWeights,
    Weights,
    check_counts,
    check_rounding,
    count_gaps,
    fitting_column,
    has_sums,
    has_unnamed_weights,
    weighing,
)
from treewarden.audit.population.target import (
    Contributions,
    TargetNumbers,
    numbers_of,
    rival,
)
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, alike, ranks
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.matching import matched, target_in
from treewarden.ppdm_models.tables.routing import NOWHERE, SEVERAL, route
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn, number_text
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.tree import Tree


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
    each counts once; the adversary is taken to know it like the QI values. ``rows`` says what the rows of
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
    values: FloatArray | Undetermined = Undetermined("the target is not a number")
    weight: FloatArray | None = None
    rows: RowWeights = RowWeights()
    sensitive: str = ""
    rival: str = ""
    is_absent: bool = False
    order: RecordOrder | None = None
    numbers: TargetNumbers | Undetermined = Undetermined("the target is not a number")
    contributions: Contributions | None = None

    @property
    def weights(self) -> Weights:
        """What weights the rows of the table carried."""
        return self.rows.kind

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
    features = quasi_identifier_features(tree, table, sensitive, names.qi)
    columns = {feature.name: table.column(feature) for feature in features}
    rows = weighing(table, weights, sampling_weights)
    grouping = _grouped(columns, rows.people, rows.sampling)
    classes, truth_reason = classes_of_records(tree, table, sensitive)
    profiles = {name: column.take(grouping.first_record) for name, column in columns.items()}
    counts = grouping.totals(grouping.profile_of_record, grouping.profiles)
    targets = targets_of_records(tree, table, sensitive, grouping.counted)
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
            *column_warnings(tree, table, features, columns, sensitive),
        ),
        values=numbers if isinstance(numbers, Undetermined) else numbers.sums / counts,
        weight=None if rows.sampling is None else rows.sampling[grouping.first_record],
        rows=rows.rows,
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
    features = quasi_identifier_features(model, table, names.sensitive, names.qi)
    columns = {feature.name: table.column(feature) for feature in features}
    people = weighing(table, weights, None).people
    grouping = _grouped(columns, people, None)
    classes, reason = classes_of_records(
        model, table, names.sensitive, one_value=REGISTER_HAS_ONE_VALUE
    )
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
        problem = f"no leaf takes the record {profile}; check the tests of the changed tree"
        raise TableError(tree.source, problem)
    return replace(population, leaf=stops)


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
                f"{record} has no value of {cut_names(lacking)}, and {tree.source} does not say where "
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
    is_weighed = population.weight is not None
    check_rounding(tree, population.columns, table.source, weighed=is_weighed)
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
