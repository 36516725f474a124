"""Highest confidence in a correct inference: the largest P* of a person's true value.

max over profiles q and classes c that some record of q truly has, of P*(c|q), P* the maximum-entropy estimate (Zhu & Du
2010, section 4). Never above ``confidence``, which also counts beliefs in false values. Sampling weights play no part
beyond the estimate: all people of a profile have the same.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters, PerPlace
from treewarden.audit.reading import Interval, Measurement, Undetermined, people, worst_spots
from treewarden.ppdm_models.arrays import by_rows


class Disclosure(Measure):
    """The largest probability given to a record's own value."""

    unit = "share"
    plain = "highest probability that the adversary gives to a person's true value"
    short = "highest probability: true value"
    risk = "high"
    limits = (0.0, 1.0)
    reads = frozenset({EvidenceSource.ESTIMATE, EvidenceSource.TRUTH})
    places = "profile"

    def per_place(self, evidence: Evidence, parameters: Parameters) -> PerPlace | Undetermined:
        truth = evidence.truth
        if isinstance(truth, Undetermined):
            return truth
        estimate = evidence.estimate
        if isinstance(estimate, Undetermined):
            return estimate
        profiles = np.flatnonzero(by_rows(np.add, truth) > 0)
        true = truth[profiles] > 0
        low, high = (
            by_rows(np.maximum, np.where(true, end[profiles], 0.0))
            for end in (estimate.low, estimate.high)
        )
        return PerPlace(profiles, low, high)

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        truth = evidence.truth
        if isinstance(truth, Undetermined):
            return Measurement(truth)
        estimate = evidence.estimate
        if isinstance(estimate, Undetermined):
            return Measurement(estimate)
        profiles = np.flatnonzero(by_rows(np.add, truth) > 0)
        true = truth[profiles] > 0
        low = by_rows(np.maximum, np.where(true, estimate.low[profiles], 0.0))
        held = np.where(true, estimate.high[profiles], 0.0)
        high, value = by_rows(np.maximum, held), held.argmax(axis=1)
        spots = worst_spots(
            "profile",
            profiles,
            (low, high),
            self.risk,
            lambda position: (
                f"{people(truth[profiles[position], value[position]])} with the true value"
                f" {evidence.classes[value[position]]}"
            ),
        )
        return Measurement(Interval(float(low.max()), float(high.max())), spots)


MEASURE = Disclosure()
