"""People whom the file proves to have been in the training table: membership inference by proof, not by attack.

Of a register of candidates (``--population``), who is in every table that grows this file. The counts of a leaf, the
values that its cuts need and the choice of its splits leave no other. What was proved counts at the low end; whoever
is neither proved nor shown to be open by another table that grows the file counts at the high end too. Attacks by
trial (LiRA, RMIA) are lower bounds of what the exact posterior gives (Neyman and Pearson's lemma), and prove nothing.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters
from treewarden.audit.reading import Interval, Measurement, Undetermined


class MembershipProved(Measure):
    """Members only; how many are proved not to have been in the table stands beside it."""

    unit = "records"
    plain = "people proved to have been in the training table"
    short = "people proved to be in the table"
    risk = "high"
    limits = (0.0, np.inf)
    reads = frozenset({EvidenceSource.MEMBERS})

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        found = evidence.membership
        if isinstance(found, Undetermined):
            return Measurement(found)
        proved = float(found.proved_in.sum())
        return Measurement(Interval(proved, max(proved, float(found.may_be_in.sum()))))


MEASURE = MembershipProved()
