"""LightGBM: the next number above half the sum of neighbouring values of the whole table, in 64 bits.

See ``src/io/bin.cpp``, ``GreedyFindBin``: with more values than bins, and where few records share a bin, boundaries are
left out, and none is moved. Values up to 1e-35 are a bin of their own, whose ends say nothing of anybody.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.membership.learners import LearnerCuts
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Feature

LARGEST_ZERO = 2e-35


class LightgbmCuts(LearnerCuts):
    """Bins are made from all records, or from a sample of 200,000 (``bin_construct_sample_cnt``)."""

    is_of_table = True
    most_records = 200_000

    def compared(self, feature: Feature, numbers: FloatArray) -> FloatArray:
        return numbers

    def threshold(self, below: FloatArray, above: FloatArray) -> FloatArray:
        return np.asarray(np.nextafter((below + above) / 2.0, np.inf))

    def says(self, threshold: float) -> bool:
        return abs(threshold) > LARGEST_ZERO


CUTS = LightgbmCuts()
