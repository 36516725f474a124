"""Bits that the choice of the splits discloses beyond the leaves.

Minus the binary logarithm of the share of data sets that fit the leaves in which no candidate beats a chosen split.
Counted exactly where the tables are few, else from the acceptance of independent draws (99 % intervals).
"""

from __future__ import annotations

import math

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters
from treewarden.audit.measures._shared import known_worlds
from treewarden.audit.reading import Measurement, Undetermined


class SplitBits(Measure):
    """Bits of information about the data set in the split choices."""

    unit = "bits"
    plain = "bits that the choice of splits reveals about people"
    short = "bits that the choice of splits reveals"
    risk = "high"
    limits = (0.0, math.inf)
    reads = frozenset({EvidenceSource.WORLDS})
    is_of_knowledge = False
    """It is what the splits tell whoever knows all that they were chosen by."""

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        worlds = known_worlds(evidence)
        return Measurement(
            worlds if isinstance(worlds, Undetermined) else worlds.enumeration.split_bits
        )


MEASURE = SplitBits()
