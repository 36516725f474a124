"""Measures of tables of noisy records, of which a model has none: an audit of a model imports none of them.

Most have one value for each hidden column: the reading is that of the worst column (``ColumnMeasure``).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from treewarden.audit.measures import NoiseMeasure, Parameters
from treewarden.audit.randomised.result import HiddenColumn, Randomisation
from treewarden.audit.reading import Measurement, Spot, Undetermined, exactly
from treewarden.ppdm_models.methods.randomised.attacks import MOST_CLASSES

TOO_MANY_CLASSES = Undetermined(
    f"the unchanged class column has more than {MOST_CLASSES} values, too many to evaluate; "
    "remove the column, or merge values"
)


class ColumnMeasure(NoiseMeasure):
    """A value for each hidden column; the reading is the worst, and the places are the columns, worst first.

    ``knows_class`` says that it depends on what the class in clear tells.
    """

    unit: ClassVar[str] = "share"
    knows_class: ClassVar[bool] = True

    @abstractmethod
    def of_column(self, column: HiddenColumn, parameters: Parameters) -> float | Undetermined:
        """Return the value of one column, or why it has none."""

    def reading_of(self, randomised: Randomisation, parameters: Parameters) -> Measurement:
        if not randomised.records:
            return Measurement(Undetermined("the table has no records"))
        if self.knows_class and randomised.has_too_many_classes:
            return Measurement(TOO_MANY_CLASSES)
        spots = []
        for number, hidden_column in enumerate(randomised.columns):
            value = self.of_column(hidden_column, parameters)
            if isinstance(value, Undetermined):
                return Measurement(value)
            spots.append(Spot("column", number, value, value, hidden_column.said.name))
        ordered = sorted(spots, key=lambda spot: spot.low if self.risk == "low" else -spot.high)
        return Measurement(exactly(ordered[0].low), tuple(ordered))
