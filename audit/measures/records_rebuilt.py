"""People whose whole row the file proves by itself: extraction of training records from the model alone, by proof.

An adversary needs no table, only the public domain of the columns: the values that each can have. A row is proved where
every table that has the counts of the file's nodes holds it, with its value of every tested column and its class. What
was proved counts at the low end, what was neither proved nor shown to be otherwise at the high end too. The domain is
what was declared, else the values that the table has. What thresholds and the choice of splits may tell of rows is not
worked out: it counts as open, and as shared by the people of a leaf. For the test: EDPB, Opinion 28/2024, extraction of
personal data from a model.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters
from treewarden.audit.reading import Interval, Measurement, Undetermined


class RecordsRebuilt(Measure):
    """A row that many people have in common tells of no single one: ``group`` leaves those out."""

    unit = "records"
    plain = "people whose whole record the file alone proves"
    short = "records proved by the file alone"
    risk = "high"
    limits = (0.0, np.inf)
    reads = frozenset({EvidenceSource.REBUILT, EvidenceSource.TRUTH})
    parameters = {
        "group": Parameter(
            0,
            "count only records shared by fewer people than this; 0 counts all",
            whole=True,
        )
    }

    def words(self, parameters: Parameters) -> str:
        group = float(parameters["group"])
        if not group:
            return self.plain
        return f"{self.plain}, in groups of fewer than {group:g} people"

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        found = evidence.rebuilt
        if isinstance(found, Undetermined):
            return Measurement(found)
        low, high = found.rows_in_groups(float(parameters["group"]) or np.inf)
        if low == 0 < high and found.left:
            return Measurement(
                Undetermined(
                    f"it was not decided whether the file proves whole records: {found.left}"
                )
            )
        return Measurement(Interval(float(low), float(high)))


MEASURE = RecordsRebuilt()
