"""The different rows of a table's people, whose values can be exchanged, and what a file proves of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.population.population import Population
from treewarden.audit.reconstruction.cells import CellMethod, CellProofs, join_by_group
from treewarden.audit.reconstruction.domain import Domain
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray, alike


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
        group = alike(fixed)[1]
        others = np.bincount(group, self.people)[group] - self.people
        for place in range(len(columns)):
            kind = alike([*fixed, *columns[:place], *columns[place + 1 :]])[1]
            others -= np.bincount(kind, self.people)[kind] - self.people
        return np.asarray(others >= self.people)

    @property
    def sharing(self) -> IntArray:
        """How many people have the values of a row, whatever their class, (R,)."""
        kind = alike([*self.coordinates[:, 1:].T, self.cell])[1]
        return np.asarray(np.bincount(kind, self.people)[kind], dtype=np.int64)

    def is_held(self, place: int) -> tuple[BoolArray, BoolArray]:
        """Whether another row of the cell holds a row's value of a coordinate, and others a different one.

        The second is whether another row of the table holds the value.
        """
        column = self.coordinates[:, place]
        first, within = alike([self.cell, column])
        cells = int(self.cell.max(initial=0)) + 1
        is_many = np.bincount(self.cell[first], minlength=cells)[self.cell] > 1
        anywhere = alike([column])[1]
        in_cell = np.bincount(within)[within] > 1
        return np.asarray(in_cell & is_many), np.asarray(np.bincount(anywhere)[anywhere] > 1)


def codes_of_people(population: Population, domain: Domain) -> IntArray:
    """Return the value of each factor of the domain that each profile of people has, as a number: (P, F)."""
    codes = np.zeros((len(population.counts), len(domain.factors)), dtype=np.int64)
    for place, factor in enumerate(domain.factors):
        columns = [population.columns[n] for n in factor.columns if n in population.columns]
        if columns:
            keys = [np.unique(each.keys, return_inverse=True)[1].reshape(-1) for each in columns]
            codes[:, place] = alike(keys)[1]
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
class RebuiltPeople:
    """People of the table whose whole row a file proves without any table. Arrays are by cell, (Z,).

    A cell is people whom all trees treat alike. ``people`` is how many the table has, ``proved`` how many rows, class
    and all, every table has by the counts of the file, and ``most`` how many it may be where that is open. ``leaf`` is
    how many people share the smallest leaf of theirs: what thresholds and the choice of splits tell of them beside
    counts is not worked out. It is 0 where a threshold alone may tell. ``records_proved`` counts records up to the
    values that their cells hold, and ``tables`` how many tables fit (None: not known). ``method`` is how cells were
    found, None where they were not. ``left`` is why something is open, "" where all was decided. ``proofs`` is what is
    proved of all cells of the domain, None where none was sought, and ``profile`` (Z,) the first profile of people in
    each cell. ``open_rows`` are those that the choice of splits may prove however many people share a leaf.
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
        return int(self.proved[is_small].sum()), int(most.sum())
