"""Lowest level of noise of any noisy column.

The width of the interval that holds the true value with the stated confidence, as a share of the domain's width
(Agrawal & Srikant 2000, section 2). It is what the owner chose, before anything else is known: what is left of it once
the distribution and the other columns are known is read by ``randomisation_width`` and ``randomisation_attack``.
"""

from __future__ import annotations

from treewarden.audit.measures import Parameters
from treewarden.audit.measures.noise import ColumnMeasure
from treewarden.audit.randomised.result import HiddenColumn


class RandomisationLevel(ColumnMeasure):
    """The least nominal level."""

    plain = "chosen noise level, for the column with the least noise"
    risk = "low"
    limits = (0.0, 10.0)
    knows_class = False

    def of_column(self, column: HiddenColumn, parameters: Parameters) -> float:
        return column.said.level


MEASURE = RandomisationLevel()
