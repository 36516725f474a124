"""Holds the trees against each other: all were grown on the same people, and a record reached each leaf."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from audit.inverters import GrownCase
from audit.inverters._bounds import Bounds
from audit.inverters._rounds import Leafs
from audit.reading import Undetermined

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
        low, high = self.ends.get(leaves.output, (0.0, float(leaves.people.sum())))
        room = 2.0**-40 * float(leaves.people.sum())
        low = max(low, float(np.maximum(sums.low, 0).sum()) - room)
        high = min(high, float(np.minimum(sums.high, leaves.people).sum()) + room)
        self.ends[leaves.output] = low, high
        return Undetermined(DIFFERENT) if np.ceil(low) > np.floor(high) else None


def unreached(case: GrownCase, leaves: Leafs) -> Undetermined | None:
    """Return why a table cannot be the one of the training, where nobody reaches a leaf."""
    size = int((~np.isnan(case.growth.trees[leaves.tree].values)).sum())
    if len(leaves.nodes) == size and (leaves.people > 0).all():
        return None
    return Undetermined(
        f"nobody of this table reaches a leaf of tree {leaves.tree + 1}: the model was grown on another table"
    )
