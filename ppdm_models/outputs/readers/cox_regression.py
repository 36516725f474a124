"""Coefficients or hazard ratios of a Cox regression, in which the class says who had the event.

As R's ``summary(coxph)``, broom or lifelines write them. A row ``(time),COLUMN`` names the column with the times, and
``(ties),breslow`` says how events at one time were counted; without it only times that all differ are used. Terms as
in a logistic regression, without a constant.
"""

from __future__ import annotations

from treewarden.ppdm_models.outputs.published import Entry, Family, TableColumns
from treewarden.ppdm_models.outputs.readers import OutputReader
from treewarden.ppdm_models.outputs.readers._regression import family_of, regression_entries
from treewarden.ppdm_models.outputs.sheets import CellSheet


class CoxRegression(OutputReader):
    """Reads the coefficients or their exponentials."""

    def recognises(self, sheet: CellSheet, columns: TableColumns) -> bool:
        return family_of(sheet) is Family.COX

    def entries(self, sheet: CellSheet, columns: TableColumns) -> tuple[Entry, ...]:
        return regression_entries(sheet, columns, Family.COX)


READER = CoxRegression()
