"""Width of a range of equally likely values that would hide as well as a noisy value: 2^h(X|W).

Agrawal & Aggarwal (2001), section 3: h(X|W) is the differential entropy of the true value given the noisy one, in bits,
averaged over people. As a share of the domain's width; of the column where it is smallest. For X and W - X uniform on
[0, 1] it is e^-1/2 = 61 %. Of whole numbers H(X|W) is the discrete entropy, and the reading (2^H(X|W) - 1) / (n - 1)
for a domain of n of them: 0 where they are known.
"""

from __future__ import annotations

from treewarden.audit.measures import Parameters
from treewarden.audit.measures.noise import ColumnMeasure
from treewarden.audit.randomised.result import HiddenColumn


class RandomisationEntropy(ColumnMeasure):
    """The least 2^h(X|W)."""

    plain = (
        "width of a uniform distribution with the same uncertainty, for the least protected column"
    )
    risk = "low"
    limits = (0.0, 1.0)

    def of_column(self, column: HiddenColumn, parameters: Parameters) -> float:
        return column.left.equivalent_width


MEASURE = RandomisationEntropy()
