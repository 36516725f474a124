"""XGBoost, ``tree_method`` exact: half the sum of neighbouring values of a node's records, in 32 bits.

See ``src/tree/updater_colmaker.cc``, ``UpdateEnumeration``.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.membership.learners import LearnerCuts
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Feature


class XgboostExactCuts(LearnerCuts):
    """The file does not say by which method a model was grown; without more, histograms were."""

    def compared(self, feature: Feature, numbers: FloatArray) -> FloatArray:
        return numbers.astype(np.float32).astype(np.float64)

    def threshold(self, below: FloatArray, above: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            middle = ((below + above).astype(np.float32) * np.float32(0.5)).astype(np.float64)
        return np.where(np.isfinite(middle), middle, below)


CUTS = XgboostExactCuts()
