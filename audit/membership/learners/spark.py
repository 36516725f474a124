"""Spark: half the sum of neighbouring values of the whole table, in 64 bits.

See ``org/apache/spark/ml/tree/impl/RandomForest.scala``, ``findSplitsForContinuousFeature``. With more values than bins
some thresholds are left out, and none is moved. Tables of more than 10,000 records may be sampled.
"""

from __future__ import annotations

from treewarden.audit.membership.learners import LearnerCuts
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Feature


class SparkCuts(LearnerCuts):
    """Thresholds are chosen before trees are grown."""

    is_of_table = True
    most_records = 10_000

    def compared(self, feature: Feature, numbers: FloatArray) -> FloatArray:
        return numbers

    def threshold(self, below: FloatArray, above: FloatArray) -> FloatArray:
        return (below + above) / 2.0


CUTS = SparkCuts()
