"""Average width of the 95 % interval of a true value once its noisy value is known.

The shortest interval of the posterior of the true value given the noisy one and the column's distribution, averaged
over people, as a share of the domain's width; of the column where it is narrowest. At a nominal level of 100 % a
column whose values are all as likely keeps 65 % of its domain under uniform noise and 64 % under Gaussian. Whole
numbers are points: of two, one that is known with 95 % leaves a width of 0. It knows nothing of other columns.
"""

from __future__ import annotations

from treewarden.audit.measures import Parameters
from treewarden.audit.measures.noise import ColumnMeasure
from treewarden.audit.randomised.result import HiddenColumn


class RandomisationWidth(ColumnMeasure):
    """The least mean width of what is left of a value."""

    plain = "average width of the 95 % interval of a true value, for the least protected column"
    risk = "low"
    limits = (0.0, 1.0)

    def of_column(self, column: HiddenColumn, parameters: Parameters) -> float:
        return column.left.mean_width


MEASURE = RandomisationWidth()
