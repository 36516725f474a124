"""How each learner makes the threshold of a numeric split from records of the node: one file per learner.

Most learners cut half way between two neighbouring values **of the node's own records**. A published threshold then
says that some member has the value below it, that some member has the value above it, and that no member lies between.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.plugins import PluginIndex, discover
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Feature


class LearnerCuts(ABC):
    """Knows how one learner makes thresholds."""

    @abstractmethod
    def compared(self, feature: Feature, numbers: FloatArray) -> FloatArray:
        """Return the numbers of a column as the learner compares them, (n,) in 64 bits."""

    @abstractmethod
    def threshold(self, below: FloatArray, above: FloatArray) -> FloatArray:
        """Return the threshold between neighbouring values of a node's records, (n,), in the learner's arithmetic."""


def learner_cuts() -> PluginIndex[LearnerCuts]:
    """Return what is known of each learner's thresholds, by its name."""
    return discover(sys.modules[__name__], "CUTS", LearnerCuts)


def cuts_of(tool: Tool) -> LearnerCuts | None:
    """Return how a learner makes thresholds; None where it is not known."""
    index, name = learner_cuts(), tool.value.replace("-", "_")
    return index.get(name)
