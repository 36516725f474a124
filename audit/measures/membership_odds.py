"""How much more likely somebody was in the training table than before the file: posterior odds over prior odds.

The greatest of all candidates of the register. Before the file each is as likely as any other; after it the estimate
is the one of maximum entropy that fits all that the file says; of boosted models it is bounded. Infinite where somebody
is proved to be a member.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters
from treewarden.audit.reading import Interval, Measurement, Undetermined, exactly

EVERYBODY = Undetermined("everybody in the register is in the table, so membership is no secret")


class MembershipOdds(Measure):
    """1 where the file says nothing of anybody's membership."""

    unit = "times"
    plain = "greatest odds that a candidate was in the training table, relative to the odds before"
    short = "greatest change of the odds of being in the table"
    risk = "high"
    limits = (1.0, np.inf)
    reads = frozenset({EvidenceSource.MEMBERS})

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        found = evidence.membership
        if isinstance(found, Undetermined):
            return Measurement(found)
        share = found.candidates.members_in_all / found.candidates.people
        if share >= 1:
            return Measurement(EVERYBODY)
        if found.proved_in.any():
            return Measurement(exactly(np.inf))
        if not isinstance(found.probability, Undetermined):
            return Measurement(exactly(_odds(float(found.probability.max()), share)))
        if found.is_nothing_proved:
            return Measurement(found.probability)
        # The mean of all probabilities is the share, so that the greatest is no less.
        low, high = found.posterior_ends
        least, most = float(low.max()), float(high.max())
        lowest = _odds(max(least, share), share)
        return Measurement(Interval(lowest, max(lowest, _odds(most, share))))


def _odds(probability: float, share: float) -> float:
    """Return the odds relative to those before the file."""
    if probability >= 1:
        return float(np.inf)
    return probability / (1 - probability) * (1 - share) / share


MEASURE = MembershipOdds()
