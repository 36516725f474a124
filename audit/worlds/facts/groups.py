"""A partition of some positions, kept so that sums over its groups are quick."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.sparse import csc_matrix

from treewarden.ppdm_models.arrays import IndexArray, NumberArray, ShortArray

MANY_CELLS = 20_000
MANY_POSITIONS = 100
"""From here on a sparse product is quicker than sums over slices, and worth its making."""


@dataclass(frozen=True, eq=False)
class Groups:
    """A partition of the node's positions: ``of`` (S,) numbers each one's group; the rest makes sums fast.

    Groups begin at ``starts`` in ``order``, which has one after the other. There are as many of these as nodes times
    attributes, so that their numbers are short, and nothing of large ones is kept but ``of``.
    """

    of: ShortArray
    starts: IndexArray

    def sums(self, tables: NumberArray) -> NumberArray:
        """Return the sums per group of tables (K, S, ...), shape (K, groups, ...).

        Quickest where the tables are a view of an array with the positions first.
        """
        first = tables.swapaxes(0, 1)
        if len(self.of) < MANY_POSITIONS or first.size < MANY_CELLS:
            found = np.add.reduceat(first.take(self.order, axis=0), self.starts, axis=0)
        else:
            found = self._matrix @ first.reshape(len(first), -1)
        return found.reshape(len(self.starts), *first.shape[1:]).swapaxes(0, 1)

    @cached_property
    def order(self) -> ShortArray:
        """The positions, those of one group after those of the other."""
        # Sorting is far quicker over few bits.
        labels = self.of.astype(np.uint16) if len(self.starts) <= 2**16 else self.of
        return np.argsort(labels, kind="stable").astype(np.int32)

    @cached_property
    def _matrix(self) -> csc_matrix:
        """Ones where a position (a column) is in a group (a row)."""
        size = len(self.of)
        entries = _ones(size), self.of, _counting(size + 1)
        return csc_matrix(entries, shape=(len(self.starts), size))


def _ones(size: int) -> ShortArray:
    """Return so many ones, which all partitions share."""
    return _some_ones(1 << (size - 1).bit_length())[:size]


@cache
def _some_ones(size: int) -> ShortArray:
    return np.ones(size, dtype=np.int32)


def _counting(size: int) -> ShortArray:
    """Return so many numbers from 0 on, which all partitions share."""
    return _some_numbers(1 << (size - 1).bit_length())[:size]


@cache
def _some_numbers(size: int) -> ShortArray:
    return np.arange(size, dtype=np.int32)


def groups(of: IndexArray | ShortArray) -> Groups:
    """Return a partition from each member's label; labels that nobody has are left out."""
    sizes = np.bincount(of)
    used = sizes > 0
    compact = of if used.all() else (np.cumsum(used) - 1)[of]
    starts = (np.cumsum(sizes) - sizes)[used]
    return Groups(compact.astype(np.int32, copy=False), starts)
