"""Number of columns that are published unchanged without being declared harmless.

What such a column gives away cannot be told from the noise in others: a name makes all noise useless, a coarse group
none of it. So the reading is anything from 0 to their number. The class of each record, published on purpose, is not
among them.
"""

from __future__ import annotations

import math

from treewarden.audit.measures import NoiseMeasure, Parameters
from treewarden.audit.randomised.result import Randomisation
from treewarden.audit.reading import Interval, Measurement, Spot


class RandomisationClear(NoiseMeasure):
    """The number of columns in clear that nobody vouched for."""

    unit = "columns"
    plain = "columns in clear that may give people away"
    risk = "high"
    limits = (0.0, math.inf)

    def reading_of(self, randomised: Randomisation, parameters: Parameters) -> Measurement:
        spots = (Spot("column", at, 0.0, 1.0, name) for at, name in enumerate(randomised.clear))
        return Measurement(Interval(0.0, float(len(randomised.clear))), tuple(spots))


MEASURE = RandomisationClear()
