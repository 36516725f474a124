"""Smallest delta for which every leaf is delta-disclosure-private: change of a value's chance by the path.

delta-disclosure privacy (Brickell & Shmatikov 2008, KDD): |ln(P_leaf(c) / P_table(c))| < delta for every class c that
the table has; natural logarithm, so that e^delta is the factor. Infinite where a leaf lacks such a class: whoever is
in it is sure not to have it. On the owner's real class counts. Under sampling weights the reading spans the shares of
people, who are harmed, and those of their weights, which the file publishes.
"""

from __future__ import annotations

import math

import numpy as np

from treewarden.audit.measures import LeafMeasure, Parameters
from treewarden.audit.population.leaves import Leaves
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray


class DeltaDisclosure(LeafMeasure):
    """The infimum of the deltas that hold. The inequality is strict, so it does not hold at the reading itself."""

    unit = "nats"
    plain = "largest difference between a value's share in a leaf and in the whole table"
    short = "value's share: leaf against table"
    risk = "high"
    limits = (0.0, math.inf)
    is_open = True
    of_shares = True

    def values(self, leaves: Leaves, parameters: Parameters) -> FloatArray | Undetermined:
        if isinstance(leaves.classes, Undetermined):
            return leaves.classes
        if isinstance(leaves.whole, Undetermined):
            return leaves.whole
        there = leaves.whole > 0
        table = leaves.whole[there] / leaves.whole.sum()
        here = leaves.classes[:, there] / leaves.classes.sum(axis=1, keepdims=True)
        moved = np.full(here.shape, math.inf)
        np.log(here / table, out=moved, where=here > 0)
        return np.asarray(np.abs(moved).max(axis=1))


MEASURE = DeltaDisclosure()
