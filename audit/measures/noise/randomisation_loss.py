"""Share of a column's privacy that is lost by publishing noisy values: 1 - 2^-I(X;W).

Agrawal & Aggarwal (2001), section 3: I(X;W) is the mutual information of the true and the noisy value, in bits. 0 where
a noisy value tells nothing, towards 1 where it tells all; of the column where it is largest. Of whole numbers it cannot
exceed 1 - 2^-H(X), half for two that are equally likely: of few values, hold a width as well.
"""

from __future__ import annotations

from treewarden.audit.measures import Parameters
from treewarden.audit.measures.noise import ColumnMeasure
from treewarden.audit.randomised.result import HiddenColumn


class RandomisationLoss(ColumnMeasure):
    """The largest loss of privacy."""

    plain = "share of a column's uncertainty that its noisy values remove, at worst"
    risk = "high"
    limits = (0.0, 1.0)

    def of_column(self, column: HiddenColumn, parameters: Parameters) -> float:
        return column.left.loss


MEASURE = RandomisationLoss()
