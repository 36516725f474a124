"""Average distance of the inference from the truth (KL divergence): small means much is disclosed.

D_overall = sum_q P(q) sum_c P(c|q) ln(P(c|q) / P*(c|q)) (Zhu & Du 2010, section 5), natural logarithm.
P(q) is the share of people, whatever sampling weights they carry.
"""

from __future__ import annotations

import math

from treewarden.audit.entropy.posterior import overall_divergence
from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters
from treewarden.audit.reading import Measurement, Undetermined


class OverallDivergence(Measure):
    """Nats per record. A true value that the estimate rules out makes the high end infinite, never the low one."""

    unit = "nats per record"
    plain = "average distance of inferences from the truth"
    short = "average distance from the truth"
    risk = "low"
    limits = (0.0, math.inf)
    reads = frozenset({EvidenceSource.ESTIMATE, EvidenceSource.TRUTH})

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        truth = evidence.truth
        if isinstance(truth, Undetermined):
            return Measurement(truth)
        estimate = evidence.estimate
        if isinstance(estimate, Undetermined):
            return Measurement(estimate)
        return Measurement(overall_divergence(estimate, truth))


MEASURE = OverallDivergence()
