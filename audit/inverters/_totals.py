"""Holds the trees against each other: all were grown on the same people, and a record reached each leaf."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from treewarden.audit.inverters import GrownCase
from treewarden.audit.inverters._bounds import Bounds
from treewarden.audit.inverters._rounds import Leafs
from treewarden.audit.reading import Undetermined

DIFFERENT = (
    "the trees do not agree on how many of the people have a class: the model was grown on another table, on a sample, "
    "with weights or with settings that are not published"
)


@dataclass(slots=True)
class Totals:
    """Between which ends the number of people with each class lies, by output, as all trees so far say."""

    ends: dict[int, tuple[float, float]] = field(default_factory=dict)

    def differing(self, leaves: Leafs, sums: Bounds) -> Undetermined | None:
        """Take the sums of one tree's leaves; return why they cannot be, where the trees contradict each other."""
        everybody = float(leaves.members.sum())
        low, high = self.ends.get(leaves.output, (0.0, everybody))
        room = 2.0**-40 * everybody
        low = max(low, float(np.maximum(sums.low, 0).sum()) - room)
        # Whoever the tree did not see may have the class or not.
        most = float(np.minimum(sums.high, leaves.people).sum()) + leaves.left_out
        high = min(high, most + room)
        self.ends[leaves.output] = low, high
        return Undetermined(DIFFERENT) if np.ceil(low) > np.floor(high) else None

    def whole(self, outputs: int) -> dict[int, tuple[int, int]]:
        """Return the ends as whole numbers, by the class counted."""
        return {
            1 if outputs == 1 else output: (int(np.ceil(low)), int(np.floor(high)))
            for output, (low, high) in self.ends.items()
        }


def unreached(case: GrownCase, leaves: Leafs) -> Undetermined | None:
    """Return why a table cannot be the one of the training, where nobody reaches a leaf that is not empty.

    Symmetric trees have leaves that no record reached, which add nothing.
    """
    tree = case.growth.trees[leaves.tree]
    is_empty = ~tree.is_leaf
    if tree.counts is not None:
        is_empty |= (tree.counts == 0) & (tree.values.reshape(len(is_empty), -1) == 0).all(axis=1)
    is_empty[leaves.nodes] = True
    if is_empty.all() and (leaves.people > 0).all():
        return None
    return Undetermined(
        f"nobody of this table reaches a leaf of tree {leaves.tree + 1} that has records: the model was grown on "
        "another table"
    )
