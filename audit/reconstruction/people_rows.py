"""The different rows of a table's people, whose values can be exchanged, and what a file proves of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.consistent_tables.facts.exact import SLACK_SHARE
from treewarden.audit.inverters import inverters
from treewarden.audit.population.file_only_population import ROWS_BESIDE_WEIGHTS
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.reconstruction.cells import CellMethod, CellProofs, join_by_group
from treewarden.audit.reconstruction.domain import DeclaredColumn, DeclaredDomain, Domain
from treewarden.ppdm_models.arrays import (
    BoolArray,
    IndexArray,
    IntArray,
    alike,
    distinct,
    kinds_of,
    ranks,
)
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.plain_splits import class_counts_of
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Tree


class WrongProofError(ArithmeticError):
    """A record is proved to be in every table that fits, and the owner's table, which fits, does not have it."""


@dataclass(frozen=True, slots=True, eq=False)
class PeopleRows:
    """The R different rows of people: their cell (R,), class and values of factors (R, 1 + F), and how many have it.

    ``profile`` (R,) is one profile of the people with each row.
    """

    cell: IntArray
    coordinates: IntArray
    people: IntArray
    profile: IntArray

    def can_swap(self, *, is_within_class: bool = False) -> BoolArray:
        """Whether so many others of the cell differ in two coordinates: swapping one of these makes two other rows.

        ``is_within_class`` asks for others of the same class. Then each node keeps all its values of each column with
        their classes, so that every learner that compares columns one by one grows the same trees.
        """
        columns = [*self.coordinates.T]
        fixed = [self.cell, columns.pop(0)] if is_within_class else [self.cell]
        group = kinds_of(fixed)
        others = np.bincount(group, self.people)[group] - self.people
        for place in range(len(columns)):
            kind = kinds_of([*fixed, *columns[:place], *columns[place + 1 :]])
            others -= np.bincount(kind, self.people)[kind] - self.people
        return np.asarray(others >= self.people)

    @property
    def sharing(self) -> IntArray:
        """How many people have the values of a row, whatever their class, (R,)."""
        kind = kinds_of([*self.coordinates[:, 1:].T, self.cell])
        return np.asarray(np.bincount(kind, self.people)[kind], dtype=np.int64)

    def is_held(self, place: int) -> tuple[BoolArray, BoolArray]:
        """Whether another row of the cell holds a row's value of a coordinate, and others a different one.

        The second is whether another row of the table holds the value.
        """
        column = self.coordinates[:, place]
        first, within = alike([self.cell, column])
        cells = int(self.cell.max(initial=0)) + 1
        is_many = np.bincount(self.cell[first], minlength=cells)[self.cell] > 1
        anywhere = kinds_of([column])
        in_cell = np.bincount(within)[within] > 1
        return np.asarray(in_cell & is_many), np.asarray(np.bincount(anywhere)[anywhere] > 1)


FEWEST_INDICATORS = 3
"""Of fewer columns, exactly one may be 1 by chance."""


def domain_of(population: Population, trees: Sequence[Tree]) -> DeclaredDomain:
    """Return the values that a table has in each column that trees test; indicators of one attribute go together."""
    tested = {feature.name for tree in trees for feature in tree.used_features()}
    columns = {name: column for name, column in population.columns.items() if name in tested}
    groups = _indicators(columns)
    grouped = {name for group in groups for name in group}
    values = {name: _values(column) for name, column in columns.items() if name not in grouped}
    return DeclaredDomain(values, groups)


def _values(column: Column) -> DeclaredColumn:
    has_gaps, there = bool(column.missing.any()), ~column.missing
    values: tuple[str, ...] | tuple[float, ...]
    if isinstance(column, CategoricalColumn):
        values = tuple(column.categories[code] for code in distinct(column.codes[there]).tolist())
    else:
        values = tuple(np.unique(column.numbers[there]).tolist())
    return DeclaredColumn(values or None, has_gaps, is_seen=True)


def _indicators(columns: Mapping[str, Column]) -> tuple[tuple[str, ...], ...]:
    """Return runs of neighbouring columns of which exactly one is 1, and the others are 0, in every record."""
    found: list[tuple[str, ...]] = []
    names = [*columns]
    start = 0
    while start < len(names):
        total = np.zeros(len(columns[names[start]]))
        stop = start
        while stop < len(names):
            column = columns[names[stop]]
            if not isinstance(column, NumericColumn) or not np.isin(column.numbers, (0, 1)).all():
                break
            total = total + column.numbers
            stop += 1
            if (total > 1).any() or (total == 1).all():
                break
        is_run = stop - start >= FEWEST_INDICATORS and bool((total == 1).all())
        if is_run:
            found.append(tuple(names[start:stop]))
        start = stop if is_run else start + 1
    return tuple(found)


def codes_of_people(population: Population, domain: Domain) -> IntArray:
    """Return the value of each factor of the domain that each profile of people has, as a number: (P, F)."""
    codes = np.zeros((len(population.counts), len(domain.factors)), dtype=np.int64)
    for place, factor in enumerate(domain.factors):
        columns = [population.columns[n] for n in factor.columns if n in population.columns]
        if columns:
            keys = [ranks(each.keys)[0] for each in columns]
            codes[:, place] = keys[0] if len(keys) == 1 else kinds_of(keys)
    return codes


def rows_of_people(codes: IntArray, cell: IntArray, truth: IntArray) -> PeopleRows:
    """Return the rows of profiles with such codes (P, F), in such cells (P,), with records by class (P, m)."""
    first, point = alike([*codes.T])
    by_point = join_by_group(point, truth, len(first))
    row, code = np.nonzero(by_point)
    own = first[row]
    return PeopleRows(cell[own], np.column_stack([code, codes[own]]), by_point[row, code], own)


@dataclass(frozen=True, slots=True, eq=False)
class OpenRows:
    """Rows of people that are not decided, (R,): their cell, how many have the row, and how many its values."""

    cell: IntArray
    people: IntArray
    sharing: IntArray

    def in_groups(self, smaller_than: float, cells: int) -> IntArray:
        """Return how many people have such rows with values that fewer people than this share, by cell."""
        is_small = self.sharing < smaller_than
        return join_by_group(self.cell[is_small], self.people[is_small], cells)


@dataclass(frozen=True, slots=True, eq=False)
class ValueRows:
    """Rows of people, (R,), of which the rules of the learner prove so many, class and all, in every table.

    ``sharing`` is how many people have the values of a row, and ``profile`` one profile of these. ``tables`` is how
    many tables obey the rules (None: not known).
    """

    cell: IntArray
    proved: IntArray
    sharing: IntArray
    profile: IntArray
    tables: int | float | None = None

    def in_groups(self, smaller_than: float, cells: int) -> IntArray:
        """Return how many rows are proved with values that fewer people than this share, by cell."""
        is_small = self.sharing < smaller_than
        return join_by_group(self.cell[is_small], self.proved[is_small], cells)


@dataclass(frozen=True, slots=True, eq=False)
class RebuiltPeople:
    """People of the table whose whole row a file proves without any table. Arrays are by cell, (Z,).

    A cell is people whom all trees treat alike. ``people`` is how many the table has, ``proved`` how many rows, class
    and all, every table has by the counts of the file, and ``most`` how many it may be where that is open. ``leaf`` is
    how many people share the smallest leaf of theirs: what thresholds and the choice of splits tell of them beside
    counts is not worked out. It is 0 where a threshold alone may tell. ``records_proved`` counts records up to the
    values that their cells hold, and ``tables`` how many tables fit (None: not known). ``method`` is how cells were
    found, None where they were not. ``left`` is why something is open, "" where all was decided. ``proofs`` is what is
    proved of all cells of the domain, None where none was sought, and ``profile`` (Z,) the first profile of people in
    each cell. ``open_rows`` are those that the choice of splits may prove however many people share a leaf, and
    ``values`` what it was found to prove of rows (None: not searched).
    """

    people: IntArray
    proved: IntArray
    most: IntArray
    leaf: IntArray
    records_proved: int | None = None
    tables: int | float | None = None
    method: CellMethod | None = None
    left: str = ""
    proofs: CellProofs | None = None
    profile: IndexArray | None = None
    open_rows: OpenRows | None = None
    values: ValueRows | None = None

    def rows_in_groups(self, smaller_than: float) -> tuple[int, int]:
        """Return how many rows are proved, at least and at most, that fewer people than this have in common.

        Where counts prove no row, its smallest leaf says how many people share what thresholds may tell of it, and how
        many people have it that the choice of splits may.
        """
        is_small = self.people < smaller_than
        most = np.where(is_small, self.most, 0)
        if self.open_rows is not None:
            most = np.maximum(most, self.open_rows.in_groups(smaller_than, len(most)))
        most = np.where(self.leaf < smaller_than, self.people, most)
        least = np.where(is_small, self.proved, 0)
        if self.values is not None:
            least = np.maximum(least, self.values.in_groups(smaller_than, len(least)))
        return int(least.sum()), int(np.maximum(most, least).sum())

    def proved_profiles(self, smaller_than: float) -> tuple[IntArray, IntArray]:
        """Return profiles of people with proved rows that so few have in common, and how many rows each stands for."""
        assert self.profile is not None
        chosen = np.flatnonzero((self.people < smaller_than) & (self.proved > 0))
        profiles, proved = self.profile[chosen], self.proved[chosen]
        if self.values is None:
            return profiles, proved
        values = self.values
        is_more = (values.proved > 0) & (values.sharing < smaller_than)
        is_more &= ~np.isin(values.cell, chosen)
        first, kind = np.unique(values.profile[is_more], return_inverse=True)
        added = join_by_group(kind, values.proved[is_more], len(first))
        return np.concatenate([profiles, first]), np.concatenate([proved, added])


# What a learner makes of an exchange of values.

MEASURED = (Criterion.GINI, Criterion.ENTROPY)
"""The criteria whose impurities are computed here."""


def compares_columns(forest: Forest) -> bool:
    """Whether it may be known which columns each node compared: all, or those that a published seed draws.

    An estimator that stands in PMML as text has its seed there, and a number of columns that may be all of them.
    """
    if any(tree.learner.all_features or _is_printed(tree) for tree in forest.trees):
        return True
    if isinstance(forest.model, Ensemble) and forest.model.sampling.resampled:
        return bool(forest.model.sampling.seeds)
    return any(tree.format in ROWS_BESIDE_WEIGHTS for tree in forest.trees)


def _is_printed(tree: Tree) -> bool:
    return tree.learner.tool is Tool.SCIKIT_LEARN and tree.learner.stopping is not None


DRAWS_FOR_SPLITS = ("catboost",)
"""Libraries that choose splits on drawn weights of records, though leaves count all records."""


def is_sampled(model: Model) -> bool:
    """Whether the splits of trees may have been chosen on samples of the records."""
    if not isinstance(model, Ensemble):
        return False
    if model.growth is None:
        return model.sampling.resampled is not False
    if model.sampling.resampled or model.growth.library in DRAWS_FOR_SPLITS:
        return True
    return inverters()[model.growth.library].is_sampled(model.growth) is not False


def tells_choices(tree: Tree) -> bool:
    """Whether a tree is one of scikit-learn or rpart whose file tells how its splits were chosen, and of no others.

    Where its file does not say when it stopped, some settings, or pruning by hand, leave the same leaves of any table.
    """
    learner = tree.learner
    is_known = learner.tool in (Tool.SCIKIT_LEARN, Tool.RPART) and learner.criterion in MEASURED
    is_plain = not (learner.unmodelled or learner.draws_cuts or learner.saw_noise or tree.unused)
    is_pruned = learner.stopping is not None and (
        learner.tool is Tool.RPART or learner.stopping.pruning_alpha > 0
    )
    return is_known and is_plain and tree.has_people and not is_pruned


def hides_splits(forest: Forest, rows: PeopleRows) -> BoolArray:
    """Whether some leaf of each row of people, (R,), may have been split further before the tree was pruned.

    That it was pruned tells of several columns together, so that no exchange surely leaves it as it is.
    """
    found = np.zeros(len(rows.cell), dtype=bool)
    for tree, stops in zip(forest.trees, forest.stops, strict=True):
        found |= _hides_splits(tree)[stops[rows.profile]]
    return found


def _hides_splits(tree: Tree) -> BoolArray:
    """Whether each node of a tree is a leaf that may have been split and pruned again, (N,).

    Not where it could not be split, or where rpart would have pruned any subtree, as the leaf costs no more than one
    leaf more (the smallest subtree of least cost; Breiman et al. 1984, section 3.3). In scikit-learn such a subtree
    took part in the draws of columns for later nodes. Nor where the file does not say how rpart or scikit-learn
    stopped: people may have pruned it as they liked. Weka raises subtrees, and a policy tree with a seed was pruned by
    folds, which hang on the order of records.
    """
    found = np.zeros(len(tree.nodes), dtype=bool)
    learner, stopping = tree.learner, tree.learner.stopping
    alpha = 0.0 if stopping is None else stopping.pruning_alpha
    if learner.tool is Tool.WEKA or (learner.tool is Tool.POLICY_TREE and learner.unmodelled):
        return ~found
    if not (
        learner.tool is Tool.SPARK
        or alpha > 0
        or (learner.tool is Tool.RPART and stopping is not None)
    ):
        return found
    leaves = np.array([leaf.index for leaf in tree.leaves])
    counts = class_counts_of(tree, leaves)
    if np.isnan(counts).any():
        found[leaves] = True
        return found
    records, whole = counts.sum(axis=1), counts.sum(axis=0)
    fewest = 2 * learner.min_leaf_records
    if stopping is not None:
        fewest = max(fewest, stopping.min_split_records)
    found[leaves] = ((counts > 0).sum(axis=1) > 1) & (records >= fewest)
    if learner.tool is Tool.RPART and learner.criterion is not None:
        cost, least = records - counts.max(axis=1), whole.sum() - whole.max()
        found[leaves] &= cost > alpha * least * (1 - float(SLACK_SHARE))
    return found
