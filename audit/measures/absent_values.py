"""Negative attribute disclosure: the most sensitive values that nobody in a leaf has.

max over leaves of |{c : n_c = 0}|, over all classes that the model tells apart. Learning that a group does not have
an attribute is group attribute disclosure as much as learning that all of it has (Hundepool et al. 2024, Handbook on
Statistical Disclosure Control, section 5.2). The structural attack of SACRO-ML calls this class disclosure: some
class's predicted share is 0 in a group; ACRO asks the same of tables where zeros are disclosive. Counted on the
owner's records, whatever the file publishes; people, whatever sampling weights they carry.
"""

from __future__ import annotations

import math

import numpy as np

from treewarden.audit.measures import LeafMeasure, Parameters
from treewarden.audit.population.leaves import Leaves
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray


class AbsentValues(LeafMeasure):
    """The number of classes without a record, in the leaf with the most; 0 where every leaf has people of each."""

    of_presence = True
    unit = "values"
    plain = "largest number of values that no person of a leaf has"
    short = "values that no person of a leaf has"
    risk = "high"
    limits = (0.0, math.inf)

    def values(self, leaves: Leaves, parameters: Parameters) -> FloatArray | Undetermined:
        if isinstance(leaves.classes, Undetermined):
            return leaves.classes
        return np.asarray((leaves.classes <= 0).sum(axis=1), dtype=np.float64)


MEASURE = AbsentValues()
