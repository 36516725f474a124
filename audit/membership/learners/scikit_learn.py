"""scikit-learn: half of one 32-bit value plus half of the next, in 64 bits (``sklearn/tree/_splitter.pyx``).

Where that sum is the greater value itself, or infinite, the smaller value is the threshold.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.membership.learners import LearnerCuts
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Feature


class ScikitLearnCuts(LearnerCuts):
    """The splitter ``best``; ``random`` draws its thresholds, which no midpoint of the members then fits."""

    def compared(self, feature: Feature, numbers: FloatArray) -> FloatArray:
        return numbers.astype(np.float32).astype(np.float64)

    def threshold(self, below: FloatArray, above: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            middle = below / 2.0 + above / 2.0
        return np.where((middle == above) | ~np.isfinite(middle), below, middle)


CUTS = ScikitLearnCuts()
