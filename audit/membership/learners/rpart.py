"""rpart: half of the sum of neighbouring values, in 64 bits (``rpart/src/gini.c``, ``anova.c``)."""

from __future__ import annotations

from treewarden.audit.membership.learners import LearnerCuts
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Feature


class RpartCuts(LearnerCuts):
    """Records that lack the value have no part in the cut."""

    def compared(self, feature: Feature, numbers: FloatArray) -> FloatArray:
        return numbers

    def threshold(self, below: FloatArray, above: FloatArray) -> FloatArray:
        return (below + above) / 2.0


CUTS = RpartCuts()
