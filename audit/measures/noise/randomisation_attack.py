"""Width of the 95 % interval that the best attack with all columns leaves.

3.92 times the root mean square distance of the attack's estimates to the true values, as a share of the domain's width;
of the column where it is narrowest. The linear Bayes estimate (Huang, Du & Chen 2005), the spectral filter (Kargupta et
al. 2003) and the best linear estimate are run; where columns go together they take away most of what a nominal level
promises. Who takes more than means and covariances may get back more: of one column alone ``randomisation_width`` says
what, and is smaller where values are few or far apart.
"""

from __future__ import annotations

from treewarden.audit.measures import Parameters
from treewarden.audit.measures.noise import ColumnMeasure
from treewarden.audit.randomised.result import HiddenColumn
from treewarden.audit.reading import Undetermined

TOO_FEW = Undetermined(
    "too few records have a value in every hidden column, so no attack could be tried; add "
    "noise to fewer columns, or remove columns with few values"
)


class RandomisationAttack(ColumnMeasure):
    """The least width that an attack leaves."""

    plain = "width of the 95 % interval of a true value after the best attack with all columns"
    risk = "low"
    limits = (0.0, 1.0)

    def of_column(self, column: HiddenColumn, parameters: Parameters) -> float | Undetermined:
        if not column.recovered:
            return TOO_FEW
        return min(recovered_column.width for recovered_column in column.recovered)


MEASURE = RandomisationAttack()
