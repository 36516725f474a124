"""Content of the file beside its trees: how many such items a reader can find.

Raw records kept for verification, minima and maxima, histograms, categories that occur once, names and paths of the
people who made it. Few of them are needed to predict, and none shows in a measure of the leaves. Counted one by one,
as the weight of each depends on the case; the findings say what each is, where it stands, and for how many people at
least it speaks. ``kind`` is a kind of leak or a group of kinds: ``people`` (records, names, and what nobody could
judge), ``training`` (what is told of the training records as a whole), ``origin`` (who made the file, where and when).
"""

from __future__ import annotations

import math

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters
from treewarden.audit.reading import MOST_SPOTS, Interval, Measurement, Spot, Undetermined
from treewarden.ppdm_models.tree.side_channels import Leak, LeakGroup, LeakKind

ANY = "any"


class SideLeaks(Measure):
    """The number of things in the file that are no part of its trees and say something of people."""

    unit = "leaks"
    plain = "findings outside the trees of the file"
    short = "findings outside the trees"
    risk = "high"
    limits = (0.0, math.inf)
    reads = frozenset({EvidenceSource.FILE})
    parameters = {
        "kind": Parameter(
            ANY, "which of them count", choices=(ANY, *map(str, LeakGroup), *map(str, LeakKind))
        ),
    }

    def words(self, parameters: Parameters) -> str:
        kind = str(parameters["kind"])
        if kind in set(LeakGroup):
            return LeakGroup(kind).plain
        return self.plain if kind == ANY else f"{self.plain} ({kind})"

    def row_words(self, parameters: Parameters) -> str:
        kind = str(parameters["kind"])
        if kind in set(LeakGroup):
            return LeakGroup(kind).short
        return self.short if kind == ANY else f"{kind} outside the trees"

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        if isinstance(evidence.leaks, Undetermined):
            return Measurement(evidence.leaks)
        kind = str(parameters["kind"])
        found = [
            (position, leak) for position, leak in enumerate(evidence.leaks) if kind in _names(leak)
        ]
        riskiest = sorted(found, key=lambda entry: -(entry[1].records or 0))
        spots = tuple(
            Spot("file", position, 0.0 if leak.is_possible else 1.0, 1.0, leak.what)
            for position, leak in riskiest[:MOST_SPOTS]
        )
        sure = sum(not leak.is_possible for _, leak in found)
        return Measurement(Interval(float(sure), float(len(found))), spots)


def _names(leak: Leak) -> tuple[str, ...]:
    """Return everything that a policy may call a leak by."""
    return ANY, str(leak.kind), str(leak.kind.group)


MEASURE = SideLeaks()
