"""People whose whole row the file proves by itself: extraction of training records from the model alone, by proof.

An adversary needs no table, only the public domain of the columns: the values that each can have. A row is proved where
every table that has the counts of the file's nodes holds it, with its value of every tested column and its class. What
was proved counts at the low end, what was neither proved nor shown to be otherwise at the high end too. The domain is
what was declared, else the values that the table has. What thresholds and the choice of splits tell of rows is searched
in trees of scikit-learn over few values; elsewhere it counts as open, and as shared by the people of a leaf. For the
test: EDPB, Opinion 28/2024, extraction of personal data from a model.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters
from treewarden.audit.reading import (
    Interval,
    Measurement,
    Spot,
    Undetermined,
    people,
    worst_spots,
)
from treewarden.audit.reconstruction.people_rows import RebuiltPeople

MOST_SAID = 10**9
"""More tables than this are not told by number."""


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
        group = float(parameters["group"]) or np.inf
        low, high = found.rows_in_groups(group)
        if low == 0 < high and found.left:
            return Measurement(Undetermined(found.left))
        return Measurement(Interval(float(low), float(high)), _spots(found, group))


def _spots(rebuilt: RebuiltPeople, group: float) -> tuple[Spot, ...]:
    """Return the proved records that so few people share, and in how many tables they stand."""
    if rebuilt.profile is None:
        return ()
    profiles, proved = rebuilt.proved_profiles(group)
    tables = rebuilt.tables
    if tables == 1:
        which = "the only table that is consistent with the file"
    elif tables is None or tables > MOST_SAID:
        which = "every table that is consistent with the file"
    else:
        which = f"each of the {tables:,} tables that are consistent with the file"

    def note(position: int) -> str:
        return f"{people(float(proved[position]))} in {which}"

    numbers = proved.astype(np.float64)
    return worst_spots("profile", profiles, (numbers, numbers), "high", note)


MEASURE = RecordsRebuilt()
