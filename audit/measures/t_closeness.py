"""t-closeness: largest distance between the values of a leaf and those of the whole table.

t-closeness (Li, Li & Venkatasubramanian 2007, ICDE, section 4.1): the earth mover's distance between the distribution
of the values in a leaf and in the table is at most t. Any two values are equally far apart, so that the distance is
sum_c |P_leaf(c) - P_table(c)| / 2. On the owner's real class counts. Under sampling weights the reading spans the
shares of people, who are harmed, and those of their weights, which the file publishes.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.measures import LeafMeasure, Parameters
from treewarden.audit.population.leaves import Leaves
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray


class Closeness(LeafMeasure):
    """The smallest t for which every leaf is t-close: 0 where each is like the table."""

    unit = "share"
    plain = "largest distance of a leaf's values from those of the whole table"
    short = "distance of a leaf from the whole table"
    risk = "high"
    limits = (0.0, 1.0)
    of_shares = True

    def values(self, leaves: Leaves, parameters: Parameters) -> FloatArray | Undetermined:
        if isinstance(leaves.classes, Undetermined):
            return leaves.classes
        if isinstance(leaves.whole, Undetermined):
            return leaves.whole
        here = leaves.classes / leaves.classes.sum(axis=1, keepdims=True)
        table = leaves.whole / leaves.whole.sum()
        return np.asarray(np.abs(here - table).sum(axis=1) / 2)


MEASURE = Closeness()
