"""Minimum cell size: fewest people in a leaf who share a sensitive value that occurs there.

min over leaves and over classes with n_c > 0 of n_c, the number of a leaf's records of class c. A leaf that publishes
its class counts, or its shares and its size, is a row of a frequency table, and this is the smallest cell of it that
is not empty: what the minimum cell sizes of statistical offices are about. The structural attack of SACRO-ML calls
any 0 < n_c < threshold a small group; it multiplies predicted shares by the size of the leaf, while this counts the
owner's records, so that class weights, rounding and withheld numbers do not hide any. People are counted, whatever
sampling weights they carry.
"""

from __future__ import annotations

import math

import numpy as np

from treewarden.audit.measures import LeafMeasure, Parameters
from treewarden.audit.population.leaves import Leaves
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray


class SmallestClass(LeafMeasure):
    """The smallest count of a class that is not 0; a class that nobody in the leaf has is no group."""

    unit = "records"
    plain = "fewest people in a leaf with the same value"
    short = "fewest people in a leaf with the same value"
    risk = "low"
    limits = (1.0, math.inf)

    def values(self, leaves: Leaves, parameters: Parameters) -> FloatArray | Undetermined:
        if isinstance(leaves.classes, Undetermined):
            return leaves.classes
        return np.asarray(np.where(leaves.classes > 0, leaves.classes, math.inf).min(axis=1))


MEASURE = SmallestClass()
