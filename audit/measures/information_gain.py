"""Information gain: how much nearer to the truth the tree brings the inference.

D_overall of the estimate before the tree less D_overall with it (Zhu & Du 2010, section 5, for both), natural
logarithm. Negative where the tree misleads. Averaged over people, whatever sampling weights they carry.
"""

from __future__ import annotations

import math

from treewarden.audit.entropy.posterior import overall_divergence
from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters
from treewarden.audit.reading import Interval, Measurement, Undetermined


class InformationGain(Measure):
    """Nats per record by which the divergence falls."""

    unit = "nats per record"
    plain = "average gain of an inference from the model"
    short = "information that the model adds"
    risk = "high"
    limits = (0.0, math.inf)
    reads = frozenset({EvidenceSource.ESTIMATE, EvidenceSource.TRUTH})

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        truth = evidence.truth
        if isinstance(truth, Undetermined):
            return Measurement(truth)
        before, after = evidence.estimate_before, evidence.estimate
        if isinstance(before, Undetermined):
            return Measurement(before)
        if isinstance(after, Undetermined):
            return Measurement(after)
        was, now = overall_divergence(before, truth), overall_divergence(after, truth)
        return Measurement(Interval(was.low - now.high, was.high - now.low))


MEASURE = InformationGain()
