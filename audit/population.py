"""The people behind the tree: distinct quasi-identifier profiles, how many records each has, and the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from audit.posterior import FloatArray
from audit.reading import Undetermined
from ppdm_models.ensemble import Model, trees_of
from ppdm_models.errors import TableError
from ppdm_models.predicate import Column
from ppdm_models.routing import NOWHERE, SEVERAL, route
from ppdm_models.table import Table
from ppdm_models.tree import Feature, Task, Tree, count_of

NEARLY_UNIQUE_SHARE = 0.9
COUNT_TOLERANCE_SHARE = 1e-6


@dataclass(frozen=True, slots=True)
class Population:
    """Distinct profiles of quasi-identifier (QI) values.

    ``columns`` hold one value per profile; ``counts`` are records per profile, shape (P,); ``leaf`` is the index of the
    node where each profile stops, shape (P,); ``truth`` holds records per profile and class, shape (P, m), or why it is
    not known; ``values`` is the mean of a numeric target per profile, shape (P,). ``warnings`` are for the reader of
    the report.
    """

    qi: tuple[str, ...]
    columns: Mapping[str, Column]
    counts: FloatArray
    leaf: NDArray[np.intp]
    truth: FloatArray | Undetermined
    warnings: tuple[str, ...] = ()
    values: FloatArray | Undetermined = Undetermined("the target is no number")

    @property
    def records(self) -> float:
        """The number of records (the sum of weights, where rows carry them)."""
        return float(self.counts.sum())

    def describe(self, profile: int) -> str:
        """Return one profile as people write it: ``age = 30, sex = F``."""
        said = ((name, self.columns[name].text(profile)) for name in self.qi)
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
) -> Population:
    """Return the people of a table as the tree sees them, after checking that the table is the tree's.

    ``qi`` defaults to the tree's features. Columns that are neither QI nor sensitive are not read. For an ensemble
    ``leaf`` says nowhere; ``forest_of`` sends its people through the trees.

    Raises:
        TableError: a column is missing or of the wrong type, the sensitive column is not the tree's target or has one
            value or a class the tree does not know, a record falls in no leaf, or a leaf holds another number of
            records than the file publishes.
    """
    features = _quasi_identifiers(tree, table, sensitive, qi)
    columns = {feature.name: table.column(feature) for feature in features}
    weight = _weights(table, weights)
    kept = np.flatnonzero(weight > 0)
    first, profile_of = _distinct([columns[feature.name].take(kept) for feature in features])
    classes, truth_reason = _classes(tree, table, sensitive)
    profiles = {name: column.take(kept[first]) for name, column in columns.items()}
    counts = _sums(profile_of, weight[kept], len(first))
    truth: FloatArray | Undetermined = Undetermined(truth_reason)
    if classes is not None:
        cells = profile_of * len(tree.classes) + classes[kept]
        flat = _sums(cells, weight[kept], len(first) * len(tree.classes))
        truth = flat.reshape(len(first), len(tree.classes))
    leaf = np.full(len(first), NOWHERE, dtype=np.intp)
    if isinstance(tree, Tree):
        leaf = _stops(tree, table, profiles, kept[first])
    population = Population(
        qi=tuple(feature.name for feature in features),
        columns=profiles,
        counts=counts,
        leaf=leaf,
        truth=truth,
        warnings=tuple(_warnings(tree, table, features, columns)),
        values=_values(tree, table, sensitive, kept, weight, profile_of),
    )
    if isinstance(tree, Tree):
        check_counts(tree, population, table.source)
    return population


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
    known = {feature.name: feature for feature in tree.features}
    names = list(dict.fromkeys(known if qi is None else qi))
    if not names:
        raise TableError(table.source, "there are no quasi-identifiers; name the columns with --qi")
    wanted = set(names)
    for part in trees_of(tree):
        for feature in part.used_features():
            if feature.name not in wanted:
                raise TableError(
                    table.source,
                    f"the tree tests {feature.name!r}, which is not among the quasi-identifiers; add it to --qi",
                )
    if sensitive is not None and sensitive in names:
        raise TableError(
            table.source, f"column {sensitive!r} cannot be sensitive and a quasi-identifier at once"
        )
    return tuple(known[name] if name in known else table.guessed(name) for name in names)


def _weights(table: Table, name: str | None) -> FloatArray:
    if name is None:
        return np.ones(table.rows)
    weight = table.column(Feature(name, numeric=True)).numbers
    assert weight is not None
    bad = np.flatnonzero(~(weight >= 0))
    if len(bad):
        raise TableError(
            table.source, f"column {name!r}, record {bad[0] + 1}: a weight must be 0 or more"
        )
    if not weight.sum():
        raise TableError(
            table.source, f"column {name!r}: all weights are 0, so there are no records"
        )
    return weight


def _distinct(columns: Sequence[Column]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first record of each distinct profile, and each record's profile; a missing value is a value."""
    codes = []
    for column in columns:
        values = column.numbers if column.numbers is not None else column.codes
        assert values is not None
        codes.append(np.unique(values, return_inverse=True)[1])
    _, first, profile_of = np.unique(
        np.stack(codes, axis=1), axis=0, return_index=True, return_inverse=True
    )
    return first, profile_of.reshape(-1)


def _sums(groups: NDArray[np.intp], weight: FloatArray, size: int) -> FloatArray:
    return np.bincount(groups, weights=weight, minlength=size).astype(np.float64)


def _classes(
    tree: Model, table: Table, sensitive: str | None
) -> tuple[NDArray[np.intp] | None, str]:
    """Return each record's class, or None and the reason why the truth is not known."""
    if tree.task is Task.REGRESSION:
        return None, "the tree predicts a number, not a class; only its leaves can be measured"
    if sensitive is None:
        return None, "no sensitive column was named (--sensitive COLUMN)"
    _check_target(tree, table, sensitive)
    if sensitive not in table.columns:
        return None, f"the table has no column {sensitive!r}"
    column = table.column(Feature(sensitive, numeric=False, values=tree.classes))
    assert column.codes is not None
    if column.missing.any():
        row = int(np.flatnonzero(column.missing)[0]) + 1
        raise TableError(
            table.source,
            f"column {sensitive!r}, record {row}: no value; leave out the records that the tree was not trained on",
        )
    if len(column.categories) < 2:
        raise TableError(
            table.source,
            f"the sensitive column {sensitive!r} holds one value, {column.categories[0]!r}, so everything "
            "about it is known already; check the column",
        )
    unknown = [value for value in column.categories if value not in tree.classes]
    if unknown:
        raise TableError(
            table.source,
            f"column {sensitive!r} holds {unknown[0]!r}, which the tree does not know; "
            f"its classes are {', '.join(repr(name) for name in tree.classes[:12])}",
        )
    return np.array([tree.classes.index(value) for value in column.categories])[column.codes], ""


def _check_target(tree: Model, table: Table, sensitive: str) -> None:
    if tree.target and sensitive != tree.target:
        raise TableError(
            table.source,
            f"the sensitive column {sensitive!r} is not the tree's target {tree.target!r}; "
            "other sensitive columns are not supported yet",
        )


def _values(
    tree: Model,
    table: Table,
    sensitive: str | None,
    kept: NDArray[np.intp],
    weight: FloatArray,
    profile_of: NDArray[np.intp],
) -> FloatArray | Undetermined:
    """Return the mean of a numeric target per profile, or why it is not known."""
    if tree.task is not Task.REGRESSION:
        return Undetermined("the target is no number")
    if sensitive is None:
        return Undetermined("no sensitive column was named (--sensitive COLUMN)")
    _check_target(tree, table, sensitive)
    if sensitive not in table.columns:
        return Undetermined(f"the table has no column {sensitive!r}")
    try:
        numbers = table.column(Feature(sensitive, numeric=True)).numbers
    except TableError as error:
        return Undetermined(error.problem)
    assert numbers is not None
    if np.isnan(numbers[kept]).any():
        return Undetermined(f"column {sensitive!r} lacks values")
    size = int(profile_of.max(initial=-1)) + 1
    total = _sums(profile_of, weight[kept] * numbers[kept], size)
    return np.asarray(total / _sums(profile_of, weight[kept], size))


def _stops(
    tree: Tree, table: Table, profiles: Mapping[str, Column], records: NDArray[np.intp]
) -> NDArray[np.intp]:
    stops = route(tree, {name: profiles[name] for name in profiles})
    lost = np.flatnonzero(stops < 0)
    if len(lost):
        record = int(records[lost[0]]) + 1
        if stops[lost[0]] == SEVERAL:
            problem = f"record {record} is spread over several leaves ({tree.missing}); leave such records out"
        else:
            problem = (
                f"record {record} falls in no leaf of {tree.source}; the tree has a gap, calls a value invalid, or the "
                "table is another"
            )
        raise TableError(table.source, problem)
    return stops


def check_counts(tree: Tree, population: Population, source: str) -> None:
    """Check that each leaf holds as many records as the file says.

    Raises:
        TableError: a leaf disagrees; names the worst one, both counts, and the likely cause.
    """
    gaps = count_gaps(tree, population)
    if not gaps:
        return
    worst = max(gaps, key=lambda index: (abs(gaps[index][0] - gaps[index][1]), -index))
    published, here = gaps[worst]
    total = sum(count for count in map(count_of, tree.leaves) if count is not None)
    raise TableError(
        source,
        f"{tree.where(tree.nodes[worst])} publishes {published:g} records, but {here:g} of this table "
        f"fall there ({len(gaps)} of {len(tree.leaves)} leaves disagree); {_cause(total, population.records)}",
    )


def count_gaps(tree: Tree, population: Population) -> dict[int, tuple[float, float]]:
    """Return the leaves that publish another number of records than stop there: both numbers, by node index."""
    if not tree.has_people:
        return {}
    inside = population.leaf >= 0
    here = np.bincount(
        population.leaf[inside], population.counts[inside], minlength=len(tree.nodes)
    )
    said = ((leaf.index, count_of(leaf)) for leaf in tree.leaves)
    return {
        index: (count, float(here[index]))
        for index, count in said
        if count is not None and abs(count - here[index]) > COUNT_TOLERANCE_SHARE * max(1.0, count)
    }


def _cause(published: float, found: float) -> str:
    if abs(published - found) <= COUNT_TOLERANCE_SHARE * max(published, 1.0):
        return (
            "the totals agree, so the tree was probably grown on a bootstrap sample or on another table, "
            "or its thresholds were rounded; give the table (or --weights) it was grown on"
        )
    if found < published:
        return (
            f"the file speaks of {published:g} records and the table holds {found:g}: rows were dropped, "
            "or rows carry weights (--weights COLUMN)"
        )
    return (
        f"the file speaks of {published:g} records and the table holds {found:g}: the tree was trained on a part of "
        "it, or on another table; give the training table"
    )


def _warnings(
    tree: Model, table: Table, features: Sequence[Feature], columns: Mapping[str, Column]
) -> list[str]:
    said = []
    for feature in features:
        column = columns[feature.name]
        values = column.numbers if column.numbers is not None else column.codes
        assert values is not None
        distinct = len(np.unique(values))
        if table.rows >= 20 and distinct > NEARLY_UNIQUE_SHARE * table.rows:
            said.append(
                f"quasi-identifier {feature.name!r} is nearly unique per record ({distinct} values in {table.rows} "
                "records); if it is a name or an id, leave it out with --qi"
            )
        strange = [
            value for value in column.categories if feature.values and value not in feature.values
        ]
        if strange:
            said.append(
                f"column {feature.name!r} holds {strange[0]!r}, which {tree.source} does not declare"
            )
    return said
