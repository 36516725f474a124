"""CatBoost: half the sum of neighbouring values of the whole table, in 32 bits.

See ``library/cpp/grid_creator/binarization.cpp``, ``RegularBorder``: whichever borders are chosen, each is moved half
way between the two values beside it. Where that rounds to the greater one, the smaller is the border.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.membership.learners import LearnerCuts
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Feature


class CatboostCuts(LearnerCuts):
    """Borders are made from all records, or from a sample of 200,000 (``dev_max_subset_size_for_build_borders``)."""

    is_of_table = True
    most_records = 200_000

    def compared(self, feature: Feature, numbers: FloatArray) -> FloatArray:
        return numbers.astype(np.float32).astype(np.float64)

    def threshold(self, below: FloatArray, above: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            middle = ((below + above).astype(np.float32) * np.float32(0.5)).astype(np.float64)
        return np.where((middle == above) | ~np.isfinite(middle), below, middle)


CUTS = CatboostCuts()
