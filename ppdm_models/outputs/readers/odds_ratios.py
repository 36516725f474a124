"""Odds ratios of a logistic regression of the class: terms and ratios, with or without log odds beside them.

Columns ``term`` and ``odds_ratio`` (or ``OR``). A printed ratio is an interval, and so is its logarithm. Limits of
confidence may be Wald's or those of the profile likelihood, which nobody can tell from the file: they are left open.
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


class OddsRatios(OutputReader):
    """Reads odds ratios as coefficients of the regression that they come from; it needs all of its terms."""

    def recognises(self, sheet: CellSheet, columns: TableColumns) -> bool:
        return family_of(sheet) is Family.LOGISTIC and has_ratios(sheet)

    def entries(self, sheet: CellSheet, columns: TableColumns) -> tuple[Entry, ...]:
        return regression_entries(sheet, columns, Family.LOGISTIC)


READER = OddsRatios()
