"""One node of a tree, and all that was published about it."""

from __future__ import annotations

from dataclasses import dataclass, field

from treewarden.ppdm_models.tree.impurity import Impurity
from treewarden.ppdm_models.tree.other_split import OtherSplit
from treewarden.ppdm_models.tree.predicate import Always, Predicate

Band = tuple[float, float]
"""The least and the most that a count can be."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node and all that was published about it.

    ``test`` is the condition under which the parent sends a record here. ``class_counts`` follows the tree's classes;
    an entry is None where that count is not published. ``class_shares`` are published fractions without counts.
    ``outputs`` are the numbers that a leaf of a boosted or multi-target tree adds to each output of its ensemble.
    ``bands`` stand in a leaf in place of its counts: what each class's count lies between, ends included.
    ``impurity`` is how mixed the classes of all records that pass are, where that is printed.
    ``line`` is where the node stands in its file, ``other_splits`` what it says of splits that were not taken, and
    ``spread`` between which ends the mean squared distance of its records' numbers from their mean lies, as published:
    no part of its value.
    """

    index: int
    name: str
    parent: int | None
    children: tuple[int, ...] = ()
    test: Predicate = field(default_factory=Always)
    score: str | float | None = None
    records: float | None = None
    class_counts: tuple[float | None, ...] | None = None
    class_shares: tuple[float, ...] | None = None
    outputs: tuple[float, ...] | None = None
    default_child: int | None = None
    line: int | None = field(default=None, compare=False)
    bands: tuple[Band | None, ...] | None = None
    impurity: Impurity | None = None
    other_splits: tuple[OtherSplit, ...] = field(default=(), compare=False)
    spread: Band | None = field(default=None, compare=False)

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no children."""
        return not self.children
