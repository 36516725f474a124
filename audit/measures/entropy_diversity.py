"""Entropy l-diversity: effective number of sensitive values in the least diverse leaf, exp of its entropy.

Entropy l-diversity (Machanavajjhala et al. 2007): a leaf is l-diverse when -sum p ln p >= ln l, so the largest l is
exp(entropy). On the owner's real class counts; natural logarithm. Under sampling weights the reading spans the shares
of people, who are harmed, and those of their weights, which the file publishes.
"""

from __future__ import annotations

import math

import numpy as np

from treewarden.audit.measures import LeafMeasure, Parameters
from treewarden.audit.population.leaves import Leaves
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray


class EntropyDiversity(LeafMeasure):
    """The largest l for which every leaf is entropy l-diverse: 1 where a leaf holds one value only."""

    unit = "values"
    plain = "diversity of values in the least diverse leaf (1: all people have the same value)"
    short = "diversity of values (1: none)"
    risk = "low"
    limits = (1.0, math.inf)
    of_shares = True

    def values(self, leaves: Leaves, parameters: Parameters) -> FloatArray | Undetermined:
        if isinstance(leaves.classes, Undetermined):
            return leaves.classes
        shares = leaves.classes / leaves.classes.sum(axis=1, keepdims=True)
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        return np.asarray(np.exp(-(shares * logs).sum(axis=1)))


MEASURE = EntropyDiversity()
