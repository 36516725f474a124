"""Distinct l-diversity: fewest different sensitive values in a leaf.

Distinct l-diversity (Machanavajjhala et al. 2007), on the owner's real class counts: people, whatever sampling weights
they carry.
"""

from __future__ import annotations

import math

import numpy as np

from treewarden.audit.measures import LeafMeasure, Parameters
from treewarden.audit.population.leaves import Leaves
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray


class DistinctDiversity(LeafMeasure):
    """The number of classes with at least one record, in the leaf with the fewest."""

    of_presence = True
    unit = "values"
    plain = "fewest different values among the people in a leaf"
    short = "fewest different values in a leaf"
    risk = "low"
    limits = (1.0, math.inf)

    def values(self, leaves: Leaves, parameters: Parameters) -> FloatArray | Undetermined:
        if isinstance(leaves.classes, Undetermined):
            return leaves.classes
        return np.asarray((leaves.classes > 0).sum(axis=1), dtype=np.float64)


MEASURE = DistinctDiversity()
