"""Trees grown from the counts of profiles: the split that lowers the impurity most comes first."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.scale.tables import CLASSES, SENSITIVE, People
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.learn.growers import BestFirst
from treewarden.ppdm_models.learn.splits import Response
from treewarden.ppdm_models.tree.tree import Tree, rebuilt


@dataclass(frozen=True, slots=True)
class Counted(Response):
    """The classes of cells that stand for several records each, ``records`` (N,)."""

    records: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def sums(self, rows: IndexArray, cells: IndexArray | IntArray, size: int) -> FloatArray:
        width = len(self.classes)
        flat = np.bincount(
            cells * width + self.values[rows], self.records[rows], minlength=size * width
        )
        return flat.reshape(size, width)


def tree_of(people: People, leaves: int) -> Tree:
    """Return the tree with so many leaves, whose nodes publish how many records of each class they hold."""
    profile, code = np.nonzero(people.counts)
    columns = {name: column.take(profile) for name, column in people.columns.items()}
    response = Counted(SENSITIVE, code, CLASSES, records=people.counts[profile, code])
    grown = BestFirst().growth(columns, response, leaves - 1).tree(leaves - 1)
    nodes = [replace(node, records=sum(node.class_counts or ())) for node in grown.nodes]
    return rebuilt(grown, nodes)
