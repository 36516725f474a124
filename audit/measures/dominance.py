"""Dominance (n, k): the share of a leaf's total that its n largest contributors add, worst leaf.

(x_1 + ... + x_n) / X, where x_1 >= x_2 >= ... are the contributions to a leaf's total X, its mean times its people.
The (n, k)-rule calls a cell of a table sensitive where this is more than k % (Hundepool et al., Handbook on Statistical
Disclosure Control, section 4.2.1, and sdcTable, rule "nk"), so a policy says at_most k / 100. It is read off the
owner's true table, without any estimate. Several records of one contributor (--id) are one contribution. Where all add
0 the reading is 1: the total says so of each; sdcTable does not look at this. Negative contributions have no such
reading.

Inner nodes are the sub-totals of a hierarchy whose cells are the leaves. The n largest contributors of a sum of cells
add at most what the n largest of each cell do, so that a sum never breaks what every leaf keeps; the same holds for
p_percent and contributors. Leaves whose number is withheld, hierarchies of categories that the model does not test, and
differences of several releases are not looked at by these rules.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.measures import Parameter, Parameters
from treewarden.audit.measures._shared import (
    WEIGHTS,
    LeafTotalMeasure,
    contributors_in_words,
)
from treewarden.audit.population.target import RankedContributions
from treewarden.ppdm_models.arrays import FloatArray


class Dominance(LeafTotalMeasure):
    """The largest share over leaves."""

    plain = "largest share of a leaf's total that comes from its largest contributors"
    short = "share of a leaf's total from its largest contributors"
    risk = "high"
    limits = (0.0, 1.0)
    parameters = {
        "n": Parameter(2.0, "how many of the largest contributors", low=1.0, whole=True),
        "weights": WEIGHTS,
    }

    def words(self, parameters: Parameters) -> str:
        largest = int(parameters["n"])
        subject = "largest contributor" if largest == 1 else f"{largest} largest contributors"
        return f"largest share of a leaf's total that comes from its {subject}"

    def values(self, ranked: RankedContributions, parameters: Parameters) -> FloatArray:
        totals = ranked.totals
        top = ranked.largest(int(parameters["n"]))
        return np.where(totals > 0, top / np.where(totals > 0, totals, 1.0), 1.0)

    def note(self, contributors: float, value: float, parameters: Parameters) -> str:
        largest = f"the {int(parameters['n'])} largest add {100 * value:.4g} % of the total"
        return f"{contributors_in_words(contributors)}; {largest}"


MEASURE = Dominance()
