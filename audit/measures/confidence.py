"""Highest confidence in any inference about a person, right or wrong: the largest P*.

max over profiles q and classes c of P*(c|q), P* the maximum-entropy estimate (Zhu & Du 2010, section 4). A belief in a
false value can harm too, so the truth plays no part.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters, PerPlace
from treewarden.audit.reading import Interval, Measurement, Undetermined, worst_spots
from treewarden.ppdm_models.arrays import by_rows


class Confidence(Measure):
    """The largest probability given to any value of any profile; needs no sensitive column."""

    unit = "share"
    plain = "highest probability that the adversary gives to any value, even a wrong one"
    short = "highest probability: any value"
    risk = "high"
    limits = (0.0, 1.0)
    reads = frozenset({EvidenceSource.ESTIMATE})
    places = "profile"

    def per_place(self, evidence: Evidence, parameters: Parameters) -> PerPlace | Undetermined:
        estimate = evidence.estimate
        if isinstance(estimate, Undetermined):
            return estimate
        profiles = np.flatnonzero(evidence.population.counts > 0)
        low, high = (by_rows(np.maximum, end[profiles]) for end in (estimate.low, estimate.high))
        return PerPlace(profiles, low, high)

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        estimate, found = evidence.estimate, self.per_place(evidence, parameters)
        if isinstance(estimate, Undetermined):
            return Measurement(estimate)
        if isinstance(found, Undetermined):
            return Measurement(found)
        profiles, low, high = found.indices, found.low, found.high
        likely = estimate.high[profiles].argmax(axis=1)
        spots = worst_spots(
            "profile",
            profiles,
            (low, high),
            self.risk,
            lambda position: f"most likely {evidence.classes[likely[position]]}",
        )
        return Measurement(Interval(float(low.max()), float(high.max())), spots)


MEASURE = Confidence()
