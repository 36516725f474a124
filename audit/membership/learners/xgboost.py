"""XGBoost, ``tree_method`` hist or approx: a value of the table itself, in 32 bits; records below it go left.

See ``src/common/quantile.cc``, ``AddCutPoint``: cuts are values that the sketch of a column kept. The least value of a
column is none, and one cut lies beyond the greatest.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.membership.learners import LearnerCuts
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Feature


class XgboostCuts(LearnerCuts):
    """Some member has the value of each threshold; what the members below it have is not said."""

    is_of_table = True
    is_value = True

    def compared(self, feature: Feature, numbers: FloatArray) -> FloatArray:
        return numbers.astype(np.float32).astype(np.float64)

    def threshold(self, below: FloatArray, above: FloatArray) -> FloatArray:
        return above


CUTS = XgboostCuts()
