"""Multiplicative Bayes leakage: the factor of expected correct guesses by publication.

``V(after) / V(before)``, V the vulnerability that ``bayes_vulnerability`` reads, before and after publication (Alvim et
al. 2020, chapter 5): 1 where publication tells nothing. Before it, the adversary has what the audit assumes without
the model. With k ``tries`` it is the g-leakage of k guesses.
"""

from __future__ import annotations

import math

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters
from treewarden.audit.measures._shared import TRIES, vulnerability
from treewarden.audit.reading import Interval, Measurement, Undetermined

NOTHING_BEFORE = Undetermined("before publication, no guess is correct, so there is no factor")


class MultiplicativeLeakage(Measure):
    """Of both ends of each vulnerability the pair that is farthest apart."""

    unit = "times"
    plain = "factor by which publication raises the expected correct guesses"
    short = "factor of expected correct guesses"
    risk = "high"
    limits = (0.0, math.inf)
    reads = frozenset({EvidenceSource.ESTIMATE})
    parameters = {"tries": TRIES}

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        tries = int(parameters["tries"])
        after = vulnerability(evidence, tries)
        if isinstance(after, Undetermined):
            return Measurement(after)
        before = vulnerability(evidence, tries, is_before=True)
        if isinstance(before, Undetermined):
            return Measurement(before)
        if before.low <= 0:
            return Measurement(NOTHING_BEFORE)
        return Measurement(Interval(after.low / before.high, after.high / before.low))


MEASURE = MultiplicativeLeakage()
