"""Coefficients of a linear regression (least squares) of the class, coded 1 for one class and 0 for the other.

As R's ``summary(lm)`` or statsmodels' OLS writes them: a column of t values tells it from a logistic regression. Where
there is none, as in broom's tables, a row ``(model),linear`` does. Terms as in a logistic regression.
"""

from __future__ import annotations

from treewarden.ppdm_models.outputs.published import Entry, Family, TableColumns
from treewarden.ppdm_models.outputs.readers import OutputReader
from treewarden.ppdm_models.outputs.readers._regression import family_of, regression_entries
from treewarden.ppdm_models.outputs.sheets import CellSheet


class LinearRegression(OutputReader):
    """Reads the estimates; each is a sum over people."""

    def recognises(self, sheet: CellSheet, columns: TableColumns) -> bool:
        return family_of(sheet) is Family.LINEAR

    def entries(self, sheet: CellSheet, columns: TableColumns) -> tuple[Entry, ...]:
        return regression_entries(sheet, columns, Family.LINEAR)


READER = LinearRegression()
