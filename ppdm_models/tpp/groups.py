"""The groups of a sanitised table: records with equal quasi-identifiers, and what is demanded of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.records.diversity import is_anonymous, is_diverse
from treewarden.ppdm_models.tree.column import CategoricalColumn, Columns


@dataclass(frozen=True, slots=True)
class Groups:
    """G groups of records: ``sizes`` (G,), records per sensitive value ``classes`` (G, s), each record's group (N,)."""

    sizes: FloatArray
    classes: FloatArray
    values: tuple[str, ...]
    group_of: IndexArray

    @property
    def k(self) -> int:
        """The smallest group."""
        return int(self.sizes.min())

    @property
    def largest_share(self) -> float:
        """The share of the most frequent sensitive value, in the group where it is largest."""
        return float((self.classes.max(axis=1) / self.sizes).max())


class Demand(Protocol):
    """Something that the groups of a sanitised table must meet."""

    def lack(self, groups: Groups) -> str:
        """Return what is missing, in words; nothing where the demand is met."""


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Every group holds k records or more (k-anonymity)."""

    k: int

    def lack(self, groups: Groups) -> str:
        if is_anonymous(groups.sizes, self.k).all():
            return ""
        return f"a group holds {groups.k} records, fewer than {self.k}"


@dataclass(frozen=True, slots=True)
class Diverse:
    """In every group the most frequent sensitive value has less than 1/l of the records (l-diversity, strong form)."""

    l: float  # noqa: E741  # the name the notion has

    def lack(self, groups: Groups) -> str:
        if is_diverse(groups.classes.max(axis=1), groups.sizes, self.l).all():
            return ""
        return (
            f"in a group {groups.largest_share:.1%} share one sensitive value, which is not less than "
            f"1/{self.l:g}"
        )


def grouped(columns: Columns, sensitive: CategoricalColumn) -> Groups:
    """Return the groups of records that no column tells apart, in the order of their values."""
    size = len(sensitive)
    group_of = np.zeros(size, dtype=np.intp)
    for column in columns.values():
        own = np.unique(column.keys, return_inverse=True)[1].reshape(-1)
        joint = group_of * (int(own.max()) + 1) + own
        group_of = np.unique(joint, return_inverse=True)[1].reshape(-1)
    count, width = int(group_of.max()) + 1, len(sensitive.categories)
    cells = np.bincount(group_of * width + sensitive.codes, minlength=count * width)
    classes = cells.reshape(count, width).astype(np.float64)
    return Groups(classes.sum(axis=1), classes, sensitive.categories, group_of)
