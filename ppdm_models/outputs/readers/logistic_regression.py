"""Coefficients of a logistic regression of the class: terms and estimates, as R, broom or statsmodels name them.

Columns ``term`` and ``estimate``. A term is ``(Intercept)`` or ``const``, a column of numbers, or a column and one of
its values (``sexM``, ``sex[T.M]``, ``sex_M``). A term ``(C)`` gives scikit-learn's inverse penalty, which its default
makes 1. Other columns, such as p-values, are named and left open.
"""

from __future__ import annotations

from treewarden.ppdm_models.outputs.published import Entry, Family, TableColumns
from treewarden.ppdm_models.outputs.readers import OutputReader
from treewarden.ppdm_models.outputs.readers._regression import (
    family_of,
    has_ratios,
    regression_entries,
)
from treewarden.ppdm_models.outputs.sheets import CellSheet


class LogisticRegression(OutputReader):
    """Reads log odds; odds ratios alone are a kind of their own."""

    def recognises(self, sheet: CellSheet, columns: TableColumns) -> bool:
        return family_of(sheet) is Family.LOGISTIC and not has_ratios(sheet)

    def entries(self, sheet: CellSheet, columns: TableColumns) -> tuple[Entry, ...]:
        return regression_entries(sheet, columns, Family.LOGISTIC)


READER = LogisticRegression()
