"""People for whom some value is proved impossible: no consistent table gives it to them.

With two values this is ``certain_disclosure``; with more, ruling values out is the step before it.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters, PerPlace
from treewarden.audit.measures._shared import known_worlds
from treewarden.audit.reading import Interval, Measurement, Undetermined, people, worst_spots


class ExcludedValues(Measure):
    """Records of profiles of which at least so many values are excluded in every consistent integer table."""

    unit = "records"
    plain = "people for whom the file rules out a value"
    short = "people for whom a value is ruled out"
    risk = "high"
    limits = (0.0, np.inf)
    reads = frozenset({EvidenceSource.WORLDS, EvidenceSource.CELLS})
    places = "profile"
    parameters = {
        "values": Parameter(1.0, "how many values must be ruled out", low=1.0, whole=True),
    }

    def words(self, parameters: Parameters) -> str:
        if parameters["values"] == 1:
            return self.plain
        return f"people for whom the file rules out {parameters['values']:g} values"

    def per_place(self, evidence: Evidence, parameters: Parameters) -> PerPlace | Undetermined:
        worlds = known_worlds(evidence)
        if isinstance(worlds, Undetermined):
            return worlds
        excluded = worlds.excluded.sum(axis=1)
        open_ = worlds.open_exclusions.sum(axis=1)
        least = float(parameters["values"])
        proved = np.where(excluded >= least, worlds.counts, 0).astype(np.float64)
        at_most = np.where(excluded + open_ >= least, worlds.counts, 0).astype(np.float64)
        return PerPlace(np.arange(len(proved), dtype=np.intp), proved, at_most)

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        worlds, found = known_worlds(evidence), self.per_place(evidence, parameters)
        if isinstance(worlds, Undetermined):
            return Measurement(worlds)
        if isinstance(found, Undetermined):
            return Measurement(found)
        proved, at_most = found.low, found.high
        profiles = np.flatnonzero(at_most > 0)
        classes, excluded = evidence.classes, worlds.excluded

        def note(position: int) -> str:
            profile = int(profiles[position])
            names = [classes[klass] for klass in np.flatnonzero(excluded[profile])]
            said = f"certainly not {', '.join(names)}" if names else "not decided"
            return f"{people(worlds.counts[profile])} {said}"

        spots = worst_spots(
            "profile", profiles, (proved[profiles], at_most[profiles]), self.risk, note
        )
        return Measurement(Interval(float(proved.sum()), float(at_most.sum())), spots)


MEASURE = ExcludedValues()
