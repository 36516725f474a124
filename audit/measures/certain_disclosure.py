"""Exact attribute disclosure: people whose sensitive value is the same in every consistent table.

A record is disclosed for certain where all records of its profile have one class in every integer table that is
consistent with the leaves and with the choice of every split. What was proved counts at the low end; what was neither
proved nor refuted by another table counts at the high end too. Records are people, whatever sampling weights they
carry; in a table that fits, the weights of whole people sum to what the file publishes.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters, PerPlace
from treewarden.audit.measures._shared import known_worlds
from treewarden.audit.reading import Interval, Measurement, Undetermined, people, worst_spots


class CertainDisclosure(Measure):
    """Records of profiles that are certain; the reason of each stands in its spot."""

    unit = "records"
    plain = "people whose value is proved by the file"
    short = "people whose value is proved"
    risk = "high"
    limits = (0.0, np.inf)
    reads = frozenset({EvidenceSource.WORLDS})
    places = "profile"

    def per_place(self, evidence: Evidence, parameters: Parameters) -> PerPlace | Undetermined:
        worlds = known_worlds(evidence)
        if isinstance(worlds, Undetermined):
            return worlds
        proved = np.where(worlds.certain, worlds.counts, 0).astype(np.float64)
        at_most = np.where(worlds.open_profiles, worlds.counts, proved).astype(np.float64)
        return PerPlace(np.arange(len(proved), dtype=np.intp), proved, at_most)

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        worlds, found = known_worlds(evidence), self.per_place(evidence, parameters)
        if isinstance(worlds, Undetermined):
            return Measurement(worlds)
        if isinstance(found, Undetermined):
            return Measurement(found)
        proved, at_most = found.low, found.high
        profiles = np.flatnonzero(at_most > 0)
        classes, is_certain, said = evidence.classes, worlds.certain, worlds.certain_class

        def note(position: int) -> str:
            profile = int(profiles[position])
            who = people(worlds.counts[profile])
            if not is_certain[profile]:
                return f"{who}: neither proved nor refuted"
            value = classes[said[profile]]
            return f"{who} proved to have “{value}”: {worlds.reasons[profile]}"

        spots = worst_spots(
            "profile", profiles, (proved[profiles], at_most[profiles]), self.risk, note
        )
        return Measurement(Interval(float(proved.sum()), float(at_most.sum())), spots)


MEASURE = CertainDisclosure()
