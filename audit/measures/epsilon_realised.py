"""What the file cost the person who lost most: |ln P(file | table) - ln P(file | table without the person)|.

The ex-post loss (Ligett et al. 2017; for one table Wang 2017), by the mechanism that is named, in closed form for every
person. At most epsilon where the claim is true. What private splits cost is known by its bound alone. Of several
releases it is the sum over the files that hold a person. It is a fact about the table, so it stands in internal reports
only.
"""

from __future__ import annotations

import math

from treewarden.audit.claims.result import why_not_measured
from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters
from treewarden.audit.reading import Interval, Measurement, Undetermined

DIGITS = 12
"""So many digits of a loss are right; the others are of rounding, and would put a loss of epsilon above it."""


class EpsilonRealised(Measure):
    """Known only of a claim that nothing speaks against: elsewhere nobody knows how the labels were drawn."""

    unit = "nats"
    plain = "largest privacy loss of one person from this file"
    short = "largest loss of one person"
    risk = "high"
    limits = (0.0, math.inf)
    reads = frozenset({EvidenceSource.CLAIM, EvidenceSource.TRUTH})

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        found = evidence.claim
        if isinstance(found, Undetermined):
            return Measurement(found)
        reason = why_not_measured(found)
        if reason:
            return Measurement(Undetermined(reason))
        if isinstance(found.loss, Undetermined):
            return Measurement(found.loss)
        low, high = (float(f"{end:.{DIGITS}g}") for end in found.loss.ends_of_persons)
        return Measurement(Interval(low, high))


MEASURE = EpsilonRealised()
