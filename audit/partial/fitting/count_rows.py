"""Linear rows over tables of people by group and place, and the cells of such tables that can hold people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray

# Linear rows over tables of people by group and place, and the cells of such tables that can hold somebody.

MOST_SPOKEN = 25_000_000
"""What cells count in all rows together, up to which rows are put in: 600 MB, by rows and by cells."""


@dataclass(frozen=True, slots=True)
class PlaceCells:
    """Where whom of R groups can be among J = ``places``: K cells, group by group.

    ``group`` and ``place`` (K,) are those of each cell, ``begins`` (R + 1,) the first cell of each group.
    """

    begins: IndexArray
    group: IndexArray
    place: IndexArray
    places: int

    def __len__(self) -> int:
        return len(self.group)

    def table(self, people: FloatArray) -> sparse.csr_array:
        """Return the table, (R, J), of so many people in each cell, (K,)."""
        shape = len(self.begins) - 1, self.places
        return sparse.csr_array((people, self.place, self.begins), shape=shape)


def cells_of(can: sparse.csr_array) -> PlaceCells:
    """Return the cells of a table that can hold somebody, (R, J), 1 where they can."""
    groups, places = can.shape
    able = sparse.csr_array(can != 0)
    able.sort_indices()
    group = np.repeat(np.arange(groups), np.diff(able.indptr))
    return PlaceCells(able.indptr.astype(np.intp), group, able.indices.astype(np.intp), places)


@dataclass(frozen=True, slots=True)
class Slopes:
    """C rows over a table of (R, J), whose groups of people are in B branches: ``branch`` (R,).

    In row c what is at (r, j) counts ``value[c, branch[r] * J + j]``, (C, B * J); ``least`` (C,) is asked for, and no
    more either where it ``is_equal``, (C,).
    """

    branch: IndexArray
    value: sparse.csr_array
    least: FloatArray
    is_equal: BoolArray

    def only(self, rows: IndexArray, groups: IndexArray, places: IndexArray, size: int) -> Slopes:
        """Return some of the rows, over some of the groups and of the J = ``size`` places."""
        branches = np.arange(self.value.shape[1] // size)
        cells = (branches[:, None] * size + places).ravel()
        value = sparse.csr_array(self.value[rows][:, cells])
        return Slopes(self.branch[groups], value, self.least[rows], self.is_equal[rows])

    def over(self, cells: PlaceCells) -> sparse.csr_array:
        """Return what each cell counts in each row, (C, K)."""
        at = self.branch[cells.group] * cells.places + cells.place
        is_spoken = np.zeros(self.value.shape[1], dtype=bool)
        is_spoken[self.value.indices] = True
        some = np.flatnonzero(is_spoken[at])
        found = sparse.csr_array(self.value[:, at[some]])
        shape = found.shape[0], len(cells)
        return sparse.csr_array((found.data, some[found.indices], found.indptr), shape=shape)


@dataclass(frozen=True, slots=True)
class CountRows:
    """C rows over K cells: what each counts by row, ``value`` (C, K), and by cell, ``across`` (K, C).

    ``least`` (C,) is asked for, and no more either where it ``is_equal``, (C,).
    """

    value: sparse.csr_array
    across: sparse.csr_array
    least: FloatArray
    is_equal: BoolArray

    def __len__(self) -> int:
        return len(self.least)


def rows_over(cells: PlaceCells, slopes: Sequence[Slopes]) -> CountRows | None:
    """Return rows over some cells; None where they speak of too many."""
    value, spoken = [sparse.csr_array((0, len(cells)))], 0
    for slope in slopes:
        value.append(slope.over(cells))
        spoken += value[-1].nnz
        if spoken > MOST_SPOKEN:
            return None
    whole = sparse.csr_array(sparse.vstack(value, format="csr"))
    least = np.concatenate([np.zeros(0), *(each.least for each in slopes)])
    is_equal = np.concatenate([np.zeros(0, dtype=bool), *(each.is_equal for each in slopes)])
    return CountRows(whole, sparse.csr_array(whole.T), least, is_equal)
