"""Smallest c for which every leaf is recursively (c, l)-diverse: dominance of the most common value.

Recursive (c, l)-diversity (Machanavajjhala et al. 2007): with class counts d_1 >= d_2 >= ... >= d_m a leaf must have
d_1 < c (d_l + ... + d_m). Sharkey et al. 2008, section 3.1, adapt it to a leaf that publishes only hits and misses:
l <= miss + 1 and hit < c miss / (l - 1); their text starts the sum of the first form one index earlier than its source.
Under sampling weights the reading spans the ratio of people, who are harmed, and that of their weights, which the file
publishes.
"""

from __future__ import annotations

import math

import numpy as np

from treewarden.audit.measures import LeafMeasure, Parameter, Parameters
from treewarden.audit.population.leaves import Leaves
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tables.diversity import crowding, ranked


class RecursiveDiversity(LeafMeasure):
    """The infimum of the c that hold. The inequality is strict, so the tree is not diverse at the reading itself."""

    unit = "times"
    plain = (
        "people with the most common value, divided by those with rarer values (infinite: nobody has one), in the "
        "worst leaf"
    )
    short = "ratio of most common to rarer"
    risk = "high"
    limits = (0.0, math.inf)
    is_open = True
    of_shares = True
    parameters = {
        "l": Parameter(2.0, "how many values must be well represented", low=2.0, whole=True),
        "basis": Parameter(
            "real",
            "the owner's real class counts, or the hits and misses that the file publishes",
            choices=("real", "published"),
        ),
    }

    def values(self, leaves: Leaves, parameters: Parameters) -> FloatArray | Undetermined:
        rank = int(parameters["l"])
        if parameters["basis"] == "published":
            if isinstance(leaves.published, Undetermined):
                return leaves.published
            hits, misses = leaves.published.T
            return crowding(hits * (rank - 1), np.where(misses >= rank - 1, misses, 0.0))
        if isinstance(leaves.classes, Undetermined):
            return leaves.classes
        top, tails = ranked(leaves.classes)
        return crowding(top, tails[:, rank - 1] if rank <= tails.shape[1] else np.zeros(len(top)))


MEASURE = RecursiveDiversity()
