"""Margin of the p % rule: how far off the second largest contributor is about the largest, at least, over all leaves.

(X - x_1 - x_2) / x_1, where x_1 >= x_2 >= ... are the contributions to a leaf's total X, its mean times its people: by
that share of x_1 the second largest contributor overestimates it, who subtracts its own part from the total. The p %
rule calls a cell of a table sensitive where this is less than p % (Hundepool et al., Handbook on Statistical Disclosure
Control, section 4.2.1, and sdcTable, rule "p"), so a policy says at_least p / 100. With ``q`` below 1 it is the (p, q)
rule: others are known to within q beforehand. It is read off the owner's true table, without any estimate. Several
records of one contributor (--id) are one contribution. Where all add 0 the reading is 0: the total says so of each,
which sdcTable does not look at. Negative contributions have no such reading.
"""

from __future__ import annotations

import math

import numpy as np

from treewarden.audit.measures import Parameter, Parameters
from treewarden.audit.measures._shared import (
    WEIGHTS,
    LeafTotalMeasure,
    contributors_in_words,
)
from treewarden.audit.population.target import RankedContributions
from treewarden.ppdm_models.arrays import FloatArray


class PPercent(LeafTotalMeasure):
    """The least margin over leaves."""

    plain = "how closely one contributor can estimate the largest contributor's amount (worst leaf)"
    short = "margin of error about the largest contributor"
    risk = "low"
    limits = (0.0, math.inf)
    parameters = {
        "q": Parameter(1.0, "the margin within which all other contributions are known beforehand"),
        "weights": WEIGHTS,
    }

    def values(self, ranked: RankedContributions, parameters: Parameters) -> FloatArray:
        largest = ranked.largest(1)
        other_total = float(parameters["q"]) * ranked.without_largest(2)
        return np.where(largest > 0, other_total / np.where(largest > 0, largest, 1.0), 0.0)

    def note(self, contributors: float, value: float, parameters: Parameters) -> str:
        return f"{contributors_in_words(contributors)}; the largest can be estimated to within {100 * value:.4g} %"


MEASURE = PPercent()
