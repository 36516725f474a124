"""Width of the narrowest proved interval of a person's number, in the target's unit.

As value_disclosure, for the person about whom most is known: the least width, over all people, of the values that are
still possible in some table that gives these leaves. 0 says that somebody's number is determined exactly. At the low
end is what no proof excludes: how far apart the values are that tables were found with; at the high end is the
narrowest interval that is proved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters, PerPlace
from treewarden.audit.measures._shared import interval_note, known_numbers
from treewarden.audit.reading import Interval, Measurement, Undetermined, worst_spots
from treewarden.ppdm_models.arrays import FloatArray

if TYPE_CHECKING:  # of models that predict a number
    from treewarden.audit.regression.result import ValueBounds


class ValueWidth(Measure):
    """The least width over people of what can be true of them."""

    unit = "in the unit of the target"
    plain = "width of the narrowest proved interval of a person's number"
    short = "narrowest proved interval of a number"
    risk = "low"
    limits = (0.0, np.inf)
    reads = frozenset({EvidenceSource.NUMBERS, EvidenceSource.TRUTH})
    places = "profile"

    def per_place(self, evidence: Evidence, parameters: Parameters) -> PerPlace | Undetermined:
        numbers = known_numbers(evidence)
        if isinstance(numbers, Undetermined):
            return numbers
        return PerPlace(np.arange(len(numbers.counts), dtype=np.intp), *_ends(numbers))

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        numbers = known_numbers(evidence)
        if isinstance(numbers, Undetermined):
            return Measurement(numbers)
        profiles = np.flatnonzero(numbers.counts > 0)
        low, high = (end[profiles] for end in _ends(numbers))

        def note(position: int) -> str:
            return interval_note(numbers, int(profiles[position]))

        spots = worst_spots("profile", profiles, (low, high), self.risk, note)
        return Measurement(Interval(float(low.min()), float(high.min())), spots)


def _ends(numbers: ValueBounds) -> tuple[FloatArray, FloatArray]:
    """Return the width of each interval as tables reach it and as it is proved, (P,) each."""
    width = np.where(numbers.is_exact, 0.0, numbers.width)
    return np.minimum(numbers.reached, width), width


MEASURE = ValueWidth()
