"""Smallest distance of the inference from the truth (KL divergence), for the group that is known best.

D_individual(q) = sum_c P(c|q) ln(P(c|q) / P*(c|q)) (Zhu & Du 2010, section 5), natural logarithm; the reading is the
smallest over the profiles. A profile of mixed records whose mixture is known exactly has 0 though nobody in it is sure
to have any one value: read it beside ``disclosure``.
"""

from __future__ import annotations

import math

import numpy as np

from treewarden.audit.entropy.posterior import individual_divergences
from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters, PerPlace
from treewarden.audit.reading import Interval, Measurement, Undetermined, people, worst_spots


class SmallestDivergence(Measure):
    """Nats, for the profile whose true shares the estimate comes closest to."""

    unit = "nats"
    plain = "how far the adversary's best inference is from the truth (0: exactly right)"
    short = "distance to the truth (0: exact)"
    risk = "low"
    limits = (0.0, math.inf)
    reads = frozenset({EvidenceSource.ESTIMATE, EvidenceSource.TRUTH})
    places = "profile"

    def per_place(self, evidence: Evidence, parameters: Parameters) -> PerPlace | Undetermined:
        truth = evidence.truth
        if isinstance(truth, Undetermined):
            return truth
        estimate = evidence.estimate
        if isinstance(estimate, Undetermined):
            return estimate
        profiles = np.flatnonzero(truth.sum(axis=1) > 0)
        low, high = (end[profiles] for end in individual_divergences(estimate, truth))
        return PerPlace(profiles, low, high)

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        truth, found = evidence.truth, self.per_place(evidence, parameters)
        if isinstance(truth, Undetermined):
            return Measurement(truth)
        if isinstance(found, Undetermined):
            return Measurement(found)
        records = truth.sum(axis=1)
        profiles, low, high = found.indices, found.low, found.high
        spots = worst_spots(
            "profile",
            profiles,
            (low, high),
            self.risk,
            lambda position: people(records[profiles[position]]),
        )
        return Measurement(Interval(float(low.min()), float(high.min())), spots)


MEASURE = SmallestDivergence()
