"""Width of that interval for the 1 % of people who are hidden least.

Known domains leak at their ends: with uniform noise, whoever's noisy value is the largest that can be has the largest
value there is. The reading is the 1 % quantile, over people, of the width of the shortest interval that holds the true
value with 95 %, as a share of the domain's width; of the column where it is smallest.
"""

from __future__ import annotations

from treewarden.audit.measures import Parameters
from treewarden.audit.measures.noise import ColumnMeasure
from treewarden.audit.randomised.result import HiddenColumn


class RandomisationWorstWidth(ColumnMeasure):
    """The least width that is left to the 1 % who are hidden least."""

    plain = "width of the 95 % interval of a true value for the 1 % least protected people"
    risk = "low"
    limits = (0.0, 1.0)

    def of_column(self, column: HiddenColumn, parameters: Parameters) -> float:
        return column.left.worst_width


MEASURE = RandomisationWorstWidth()
