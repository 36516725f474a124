"""The epsilon that labels were drawn with, as they show it: an exact interval from one file and its table.

Given the table, how many people the drawn labels have fewer than the commonest classes has a known distribution for
every epsilon; those that it does not refute are the interval (Clopper & Pearson 1934). It holds the true one with a
probability of ``confidence`` at least, over draws of the labels. The mechanism must be named and the tests known not to
hang on the noise.
"""

from __future__ import annotations

import math

from treewarden.audit.claims.result import ComposedClaim, why_not_measured
from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters
from treewarden.audit.reading import Interval, Measurement, Undetermined

OF_SEVERAL = Undetermined(
    "the epsilon that labels show is estimated for each release by itself, not for all of them"
)
NOTHING_TOLD = Undetermined(
    "no leaf could have had another label, so the labels do not bound epsilon"
)


class EpsilonUsed(Measure):
    """An interval of confidence, not of proof: it misses once in so many files."""

    unit = "nats"
    plain = "epsilon that the published labels suggest (confidence interval)"
    short = "epsilon that the labels show"
    risk = "high"
    limits = (0.0, math.inf)
    reads = frozenset({EvidenceSource.CLAIM, EvidenceSource.TRUTH})
    parameters = {"confidence": Parameter(0.95, "confidence level of the interval")}

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        found = evidence.claim
        if isinstance(found, ComposedClaim):
            return Measurement(OF_SEVERAL)
        if isinstance(found, Undetermined):
            return Measurement(found)
        reason = why_not_measured(found)
        if reason:
            return Measurement(Undetermined(reason))
        if isinstance(found.test, Undetermined):
            return Measurement(found.test)
        if not found.test.is_of_use:
            return Measurement(NOTHING_TOLD)
        confidence = min(1.0, float(parameters["confidence"]))
        return Measurement(Interval(*found.test.interval(confidence)))


MEASURE = EpsilonUsed()
