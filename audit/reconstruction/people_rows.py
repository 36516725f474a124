"""The different rows of a table's people: class and value of each tested column, and whose values can be exchanged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.population.population import Population
from treewarden.audit.reconstruction.cells import join_by_group
from treewarden.audit.reconstruction.domain import Domain
from treewarden.ppdm_models.arrays import BoolArray, IntArray, alike


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
