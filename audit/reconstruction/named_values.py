"""Values that a file names, which may mean that somebody has them: lists of values are mostly of the training table.

A name says nothing, or that some record of the table has the value, or some record of the node whose test names it. No
proof of a row rests on names, and no row passes that they prove (docs/engineering/reconstruction.md, named values).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.population.forest import Forest
from treewarden.audit.population.leaves import NodeGroups
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Clock
from treewarden.audit.reconstruction.domain import Domain, tests_by_column
from treewarden.audit.reconstruction.people_rows import rows_of_people
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.plain_splits import plain_of
from treewarden.ppdm_models.tree.predicate import CategoryTest, atoms
from treewarden.ppdm_models.tree.tree import Tree

if TYPE_CHECKING:
    from treewarden.audit.reconstruction.result import Reconstruction


@dataclass(frozen=True, slots=True, eq=False)
class NamedValues:
    """Which values of people a file names: ``codes`` (P, F) are their values of each factor of the domain.

    ``is_listed`` (P, F) says whose are named anywhere, ``is_tested`` (P, F) whose by a test, which may mean that some
    record of the test's node has it. ``categories`` are the factor of each column of categories, and their codes.
    """

    codes: IntArray
    is_listed: BoolArray
    is_tested: BoolArray
    categories: Mapping[str, tuple[int, Mapping[str, int]]]

    def node_names(self, tree: Tree) -> Iterator[tuple[int, int, IndexArray]]:
        """Yield each node that has tests for categories below it, with the factor and the codes that they name."""
        if isinstance(tree.nodes, NodeTable) and plain_of(tree) is not None:
            return
        for node in tree.nodes:
            names: dict[str, set[str]] = {}
            for child in node.children:
                for test in atoms(tree.nodes[child].test):
                    if isinstance(test, CategoryTest) and test.feature in self.categories:
                        names.setdefault(test.feature, set()).update(test.values)
            for name, values in names.items():
                place, codes = self.categories[name]
                yield node.index, place, np.array([codes[v] for v in values if v in codes], np.intp)

    def shared_rows(
        self, cell: IntArray, truth: IntArray, is_open: BoolArray, is_cut: BoolArray
    ) -> IntArray:
        """Return of each cell, (Z,), how many people share a row that named values may prove; many where none is.

        A row is proved in no reading of the names where its people can have another value, or swap one with others of
        their cell, and no value is lost from the cell. They can where the file does not name theirs, or only lists it,
        and other rows of the table hold it. ``is_open`` (Z, F) says which factors a cell leaves open, and ``is_cut`` of
        which of these some cut limits the numbers.
        """
        rows = rows_of_people(self.codes, cell, truth)
        here, own = rows.cell, rows.profile
        may_move, is_free = is_open[here], is_open[here] & ~is_cut[here]
        is_listed, is_tested = self.is_listed[own], self.is_tested[own]
        is_told = (may_move & is_listed).any(axis=1) & ~(is_free & ~is_listed).any(axis=1)
        for factor in range(is_open.shape[1]):
            if not is_told.any():
                break
            stays, has_others = rows.is_held(factor + 1)
            is_told &= ~(may_move[:, factor] & stays)
            is_told &= ~(is_free[:, factor] & ~is_tested[:, factor] & has_others)
        if is_told.any():
            is_told &= ~rows.can_swap()
        found = np.full(len(is_open), int(truth.sum()), dtype=np.int64)
        np.minimum.at(found, here[is_told], rows.people[is_told])
        return found


def named_values(
    forest: Forest, population: Population, domain: Domain, codes: IntArray
) -> NamedValues | None:
    """Return which values of people, by their codes (P, F), the file names; None where it names none."""
    tests, codes = tests_by_column(forest.trees), codes.copy()
    shape = codes.shape
    is_listed, is_tested = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    categories: dict[str, tuple[int, dict[str, int]]] = {}
    parts = {id(tree.features): tree.features for tree in forest.trees}.values()
    for place, factor in enumerate(domain.factors):
        columns = [population.columns[n] for n in factor.columns if n in population.columns]
        if not columns or len(factor.columns) > 1:
            continue
        name, column = next(iter(factor.columns)), columns[0]
        features = [f for part in parts for f in part if f.name == name]
        treatments = {one for feature in features for one in feature.treatments}
        named: set[str | float] = {value for one in treatments for value in one.values}
        if isinstance(column, NumericColumn):
            ends = {
                end
                for one in treatments
                for low, _, high, _ in one.intervals
                for end in (low, high)
            }
            numbers = [float(value) for value in (*named, *ends)]
            is_listed[:, place] = np.isin(column.numbers, numbers)
            continue
        codes[:, place] = column.codes
        tested = {
            v for test in tests.get(name, ()) if isinstance(test, CategoryTest) for v in test.values
        }
        named |= tested | {v for feature in features for v in feature.values}
        is_tested[:, place] = _is_among(column, tested)
        is_listed[:, place] = _is_among(column, named)
        categories[name] = place, {value: n for n, value in enumerate(column.categories)}
    return NamedValues(codes, is_listed, is_tested, categories) if is_listed.any() else None


def _is_among(column: CategoricalColumn, names: Set[object]) -> BoolArray:
    return np.array([*(name in names for name in column.categories), False], dtype=bool)[
        column.codes
    ]


@dataclass(frozen=True, slots=True, eq=False)
class CellPlaces:
    """The cell of each profile of people, (P,), which cell of the file each of these is, and its records, (Z, m)."""

    cell: IntArray
    places: IntArray
    by_class: IntArray


MOST_NAMED = 2_000_000
"""So many entries have the rows that some record has each named value."""


def show_named(
    reconstruction: Reconstruction,
    forest: Forest,
    named: NamedValues,
    people: CellPlaces,
    until: Clock,
) -> IntArray | None:
    """Return the least numbers of records, (C, m), in tables in which some record has each value that a file names.

    Values that a test names are taken to be of some record of its node. A name that nobody has says nothing. None where
    no table is found that surely has the values.
    """
    from scipy import sparse  # for cells of one value each

    from treewarden.audit.reconstruction.problem import CellRows
    from treewarden.audit.reconstruction.proved import prove_counts

    table = np.zeros_like(reconstruction.counts.low)
    np.add.at(table, people.places, people.by_class)
    named_rows = []
    for row in _named_rows(reconstruction, forest, named, people.places[people.cell]):
        if row is None:
            return None
        named_rows.append(row)
    rows, classes = reconstruction.rows, table.shape[1]
    lengths = [len(here) * classes for here, _ in named_rows]
    if sum(lengths) > MOST_NAMED or not isinstance(rows, CellRows):
        return None
    where = [(here[:, None] * classes + np.arange(classes)).reshape(-1) for here, _ in named_rows]
    more = sparse.csr_array(
        (
            np.ones(sum(lengths), dtype=np.int64),
            np.concatenate(where),
            np.concatenate([[0], np.cumsum(lengths)]),
        ),
        shape=(len(named_rows), table.size),
    )
    least = np.array([number for _, number in named_rows], dtype=np.int64)
    if (more @ table.reshape(-1) < least).any():
        return None
    nothing = np.zeros(len(least), dtype=np.intp)
    both = CellRows(
        matrix=sparse.csr_array(sparse.vstack([rows.matrix, more], format="csr")),
        low=np.concatenate([rows.low, least]),
        high=np.concatenate([rows.high, more @ rows.most.reshape(-1)]),
        trees=np.concatenate([rows.trees, nothing]),
        nodes=np.concatenate([rows.nodes, nothing]),
        most=rows.most,
    )
    return prove_counts(both, reconstruction.cells.sizes, until).shown_low


def _named_rows(
    reconstruction: Reconstruction, forest: Forest, named: NamedValues, place_of_profile: IntArray
) -> Iterator[tuple[IndexArray, int] | None]:
    """Yield some cells, and how many records these have at least; None where no such rows say it all.

    In cells of one option, so many records as it has named values can have each of them once.
    """
    only = reconstruction.cells.only_option()
    trees_of_option: dict[tuple[int, int], set[int]] = {}
    for factor in np.flatnonzero(named.is_listed.any(axis=0)).tolist():
        option = only[place_of_profile, factor]
        for chosen, number in _values_by_option(
            option, named.codes[:, factor], named.is_listed[:, factor]
        ):
            yield None if chosen < 0 else (np.flatnonzero(only[:, factor] == chosen), number)
    for place, tree in enumerate(forest.trees):
        node_names = list(named.node_names(tree))
        if not node_names:
            continue
        groups, cells = (
            NodeGroups(tree, stops[place]) for stops in (forest.stops, reconstruction.cells.stops)
        )
        for node, factor, names in node_names:
            people, here = groups.at(node), cells.at(node)
            codes = named.codes[people, factor]
            option = only[place_of_profile[people], factor]
            for chosen, number in _values_by_option(option, codes, np.isin(codes, names)):
                of_trees = trees_of_option.setdefault((factor, chosen), set())
                of_trees.add(place)
                is_apart = number > 1 and len(of_trees) > 1
                some = here[only[here, factor] == chosen]
                yield None if chosen < 0 or is_apart else (some, number)


def _values_by_option(
    option: IndexArray, codes: IntArray, is_named: BoolArray
) -> Iterator[tuple[int, int]]:
    """Yield each option of some people, and how many named values they have of it; -1 of values of no single one."""
    pairs = np.unique(np.stack([option[is_named], codes[is_named]]), axis=1)
    told = pairs[1, pairs[0] >= 0]
    for chosen in np.unique(pairs[0]).tolist():
        values = pairs[1, pairs[0] == chosen]
        if chosen >= 0 or not np.isin(values, told).all():
            yield chosen, len(values)
