"""Largest share of a leaf's people for whom the predicted class is true.

A label needs no number beside it to be believed: whoever believes the label of a pure leaf is right about everyone in
it. So this is read off the owner's real counts and no withholding of numbers lowers it. Our own measure; the attack is
the homogeneity attack of Machanavajjhala et al. 2007. Under sampling weights the reading spans the share of people, of
whom a guess is right or wrong, and that of their weights, which the file publishes. The leaves of a boosted model have
no label to believe, only numbers that are added up: it reads 0 where what these tell is known, which others judge.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import LeafMeasure, Parameters
from treewarden.audit.population.leaves import Leaves
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Task


class LabelDisclosure(LeafMeasure):
    """Records of the leaf's label / records of the leaf, in the leaf where that is largest."""

    unit = "share"
    plain = "largest share of people in a leaf who have the predicted value"
    short = "predicted value's share of a leaf"
    risk = "high"
    limits = (0.0, 1.0)
    of_shares = True

    def has_nothing(self, evidence: Evidence) -> bool:
        is_known = not isinstance(evidence.together, Undetermined)
        return is_known and all(tree.task is Task.REGRESSION for tree in evidence.trees)

    def values(self, leaves: Leaves, parameters: Parameters) -> FloatArray | Undetermined:
        if isinstance(leaves.classes, Undetermined):
            return leaves.classes
        if isinstance(leaves.labels, Undetermined):
            return leaves.labels
        right = leaves.classes[np.arange(len(leaves.labels)), leaves.labels]
        return np.asarray(right / leaves.records)


MEASURE = LabelDisclosure()
