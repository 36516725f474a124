"""Additive Bayes leakage: how much publication adds to the expected share of correct guesses.

``V(after) - V(before)``, V the vulnerability that ``bayes_vulnerability`` reads, before and after publication (Alvim et
al. 2020, chapter 5): 0 where publication tells nothing. Before it, the adversary has what the audit assumes without
the model. With k ``tries`` it is the g-leakage of k guesses.
"""

from __future__ import annotations

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters
from treewarden.audit.measures._shared import TRIES, vulnerability
from treewarden.audit.reading import Interval, Measurement, Undetermined


class AdditiveLeakage(Measure):
    """Of both ends of each vulnerability the pair that is farthest apart."""

    unit = "share"
    plain = "how much publication adds to the expected share of correct guesses"
    short = "added to expected correct guesses"
    risk = "high"
    limits = (-1.0, 1.0)
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
        return Measurement(Interval(after.low - before.high, after.high - before.low))


MEASURE = AdditiveLeakage()
