"""People who are alone in a leaf, so that its number or label is their value.

A leaf's number is the mean of its records' targets (Breiman et al. 1984, section 8.2), so that of one record is its
target. A boosted tree's is what the trees before it left over, times a learning rate eta and, of one record, divided by
1 + lambda (Chen & Guestrin 2016, equation 5): with eta = 1 and lambda = 0 the sum of the trees so far is the target.
Where the file says eta and lambda (a snapshot of XGBoost, LightGBM's parameters, CatBoost), both are undone for the
squared error. In classification the sign alone tells the class. Who is alone is counted on the owner's table, whatever
the file publishes; of a random sample, too, a leaf with one record can hold only that record.

The low end counts those whose value was checked against the table: what the leaf says is true of them. The high end
adds those who are alone, but whose value could not be read off: by settings that the file does not give (eta, lambda,
a link), or since the table's target is not known. Statistics of the target that the file gives beside its trees count
as read off where they are of one record, or sums of two.
"""

from __future__ import annotations

import math

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters
from treewarden.audit.measures._leaf_people import Alone, alone
from treewarden.audit.reading import MOST_SPOTS, Interval, Measurement, Spot, Undetermined
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import Task

TOLD = "one record, and the leaf shows its value"
OPEN = "one record, but the file does not contain its value"
SOLVABLE_RECORDS = {Task.REGRESSION: 2, Task.CLASSIFICATION: 1}
"""A sum and a sum of squares over two records give each of their targets; class counts only that of one."""


class ExposedValues(Measure):
    """The people who are alone in a leaf of some tree, where its number or label is their true value."""

    unit = "records"
    plain = "people alone in a leaf that shows their value"
    short = "people whose value is shown by their own leaf"
    risk = "high"
    limits = (0.0, math.inf)
    reads = frozenset({EvidenceSource.LEAVES, EvidenceSource.FILE})

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        if isinstance(evidence.leaves, Undetermined):
            return Measurement(evidence.leaves)
        told: set[int] = set()
        seen: set[int] = set()
        spots: list[Spot] = []
        for found in alone(evidence):
            told.update(found.profiles[found.told].tolist())
            seen.update(found.profiles.tolist())
            spots += _spots(found)
        beside = _solvable(evidence)
        low, high = max(len(told), beside), max(len(seen), beside)
        riskiest = sorted(spots, key=lambda spot: -spot.low)[:MOST_SPOTS]
        return Measurement(Interval(low, high), tuple(riskiest))


def _spots(alone: Alone) -> list[Spot]:
    """Return the worst places of one tree; more than a report holds are never needed."""
    order = (~alone.told).argsort(kind="stable")[:MOST_SPOTS]
    return [
        Spot(
            "leaf",
            int(alone.nodes[place]),
            float(alone.told[place]),
            1.0,
            TOLD if alone.told[place] else OPEN,
            alone.tree,
        )
        for place in order
    ]


def _solvable(evidence: Evidence) -> int:
    """Return for how many records at least the file gives statistics that their targets follow from."""
    if isinstance(evidence.leaks, Undetermined):
        return 0
    return max(
        (
            leak.records
            for leak in evidence.leaks
            if leak.kind in (LeakKind.TARGET_STATISTICS, LeakKind.EXACT_TARGETS)
            and leak.records is not None
            and leak.records <= SOLVABLE_RECORDS[evidence.task]
        ),
        default=0,
    )


MEASURE = ExposedValues()
