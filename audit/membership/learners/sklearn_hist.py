"""scikit-learn's HistGradientBoosting: half the sum of neighbouring values of the whole table, in 64 bits.

See ``_hist_gradient_boosting/binning.py``, ``_find_binning_threshold``. With more values than bins thresholds are
quantiles, which may be values themselves.
"""

from __future__ import annotations

from treewarden.audit.membership.learners import LearnerCuts
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Feature


class SklearnHistCuts(LearnerCuts):
    """Bins are made from all records, or from a sample of 200,000."""

    is_of_table = True
    most_records = 200_000
    may_be_value = True

    def compared(self, feature: Feature, numbers: FloatArray) -> FloatArray:
        return numbers

    def threshold(self, below: FloatArray, above: FloatArray) -> FloatArray:
        return (below + above) * 0.5


CUTS = SklearnHistCuts()
