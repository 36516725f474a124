"""Measures of tables of noisy records that have one value per column: the reading is that of the worst column."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.evidence import Evidence
from treewarden.audit.locations import people
from treewarden.audit.measures import NoiseMeasure, Parameters
from treewarden.audit.randomised.result import HiddenColumn, Randomisation
from treewarden.audit.reading import Measurement, Spot, Undetermined, exactly
from treewarden.audit.regression.result import ValueBounds
from treewarden.ppdm_models.arrays import BoolArray
from treewarden.ppdm_models.methods.randomised.attacks import MOST_CLASSES
from treewarden.ppdm_models.tree.column import brief

TOO_MANY_CLASSES = Undetermined(
    f"the class in clear has more than {MOST_CLASSES} values, and what they tell of hidden columns is not reckoned "
    "with; leave it out, or make it coarser"
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

    def of(self, randomised: Randomisation, parameters: Parameters) -> Measurement:
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


# What is common to measures of the numbers that people have: each person's interval, in words.

NOBODY = Undetermined("the table has no records")


def known_numbers(evidence: Evidence) -> ValueBounds | Undetermined:
    """Return between which ends people's numbers lie, of a table that has any."""
    numbers = evidence.numbers
    if isinstance(numbers, Undetermined):
        return numbers
    return numbers if (numbers.counts > 0).any() else NOBODY


def interval_note(numbers: ValueBounds, profile: int) -> str:
    """Return what is known of the people of a profile, as reports say it."""
    who = people(numbers.counts[profile])
    low, high = float(numbers.low[profile]), float(numbers.high[profile])
    if numbers.is_exact[profile]:
        return f"{who}: {brief((low + high) / 2)}, determined exactly"
    said = f"{who}: proved to lie between {brief(low)} and {brief(high)}"
    least, most = float(numbers.reached_low[profile]), float(numbers.reached_high[profile])
    if most - least < high - low:
        said += f"; tables that fit reach from {brief(least)} to {brief(most)}"
    return said


# What the measures of exact worlds share.


def known_worlds(evidence: Evidence) -> ConsistentTables | Undetermined:
    """Return the worlds, or why nothing can be read from them."""
    worlds = evidence.worlds
    if isinstance(worlds, ConsistentTables) and not worlds.counts.sum():
        return Undetermined("the table has no records")
    return worlds


def true_values(evidence: Evidence, worlds: ConsistentTables) -> BoolArray:
    """Return which values some record of each profile truly has, (P, m); where that is not known, all that may be."""
    truth = evidence.population.truth
    return np.asarray(worlds.high > 0 if isinstance(truth, Undetermined) else truth > 0)
