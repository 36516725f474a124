"""Whose whole rows a file proves: records rebuilt without a table, held against the people of the owner's table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import IntArray

NO_COUNTS = Undetermined("the file does not count the records of each class in its leaves")
NOT_REBUILT = Undetermined("whether the file proves whole records by itself was not asked")


@dataclass(frozen=True, slots=True, eq=False)
class RebuiltPeople:
    """People of the table whose whole row a file proves without any table. Arrays are by cell, (Z,).

    A cell is people whom all trees treat alike. ``people`` is how many the table has, ``proved`` how many rows, class
    and all, every table has by the counts of the file, and ``most`` how many it may be where that is open. ``leaf`` is
    how many people share the smallest leaf of theirs: what thresholds and the choice of splits tell of them beside
    counts is not worked out. It is 0 where a threshold alone may tell. ``records_proved`` counts records up to the
    values that their cells hold, and ``tables`` how many tables fit (None: not known). ``left`` is why something is
    open, "" where all was decided.
    """

    people: IntArray
    proved: IntArray
    most: IntArray
    leaf: IntArray
    records_proved: int | None = None
    tables: int | float | None = None
    left: str = ""

    def rows_in_groups(self, smaller_than: float) -> tuple[int, int]:
        """Return how many rows are proved, at least and at most, that fewer people than this have in common.

        Where counts prove no row, its smallest leaf says how many people share what else may tell of it.
        """
        is_small = self.people < smaller_than
        most = np.where(is_small, self.most, 0)
        most = np.where(self.leaf < smaller_than, self.people, most)
        return int(self.proved[is_small].sum()), int(most.sum())


def join_by_group(groups: IntArray, numbers: IntArray, size: int) -> IntArray:
    """Return the sums of numbers, (P,) or (P, m), by group, (size,) or (size, m)."""
    found = np.zeros((size, *numbers.shape[1:]), dtype=np.int64)
    np.add.at(found, groups, numbers)
    return found
