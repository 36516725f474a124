"""Rebuilt records that single somebody out: proved by the file alone, and of one person only by the known columns.

A record that the file proves (see ``records_rebuilt``) and whose tested columns no other person of the table shares can
be linked to a register that holds these columns: then it says whose record it is. For the notion: Article 29 Working
Party, Opinion 05/2014 on anonymisation techniques, section 2.2.2, singling out and linkability.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters
from treewarden.audit.reading import Interval, Measurement, Undetermined


class RebuiltLinkable(Measure):
    """At most as many as ``records_rebuilt``."""

    unit = "records"
    plain = "people whose whole record can be rebuilt from the file alone, and is unique"
    short = "unique records the file reveals"
    risk = "high"
    limits = (0.0, np.inf)
    reads = frozenset({EvidenceSource.REBUILT, EvidenceSource.TRUTH})

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        found = evidence.rebuilt
        if isinstance(found, Undetermined):
            return Measurement(found)
        low, high = found.rows_in_groups(2)
        if low == 0 < high and found.left:
            return Measurement(Undetermined(found.left))
        return Measurement(Interval(float(low), float(high)))


MEASURE = RebuiltLinkable()
