"""Highest proved share of a true value in a group: no consistent table goes below.

For profile q and class c the share n[q, c] / n_q lies in [min, max] over all consistent integer tables. The reading is
the largest min over values that some record truly has: what is proved (outer bound) at the low end, the least that any
table found so far has (inner bound) at the high end.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters, PerPlace
from treewarden.audit.measures._shared import known_worlds, true_values
from treewarden.audit.reading import Interval, Measurement, Undetermined, worst_spots
from treewarden.ppdm_models.arrays import FloatArray


class WorldBounds(Measure):
    """The largest share of a profile's records that provably have a value; spots give each profile's ranges."""

    unit = "share"
    plain = "largest share of a group that provably has the same value"
    short = "share of a group that provably agrees"
    risk = "high"
    limits = (0.0, 1.0)
    reads = frozenset({EvidenceSource.WORLDS, EvidenceSource.CELLS})
    places = "profile"

    def per_place(self, evidence: Evidence, parameters: Parameters) -> PerPlace | Undetermined:
        worlds = known_worlds(evidence)
        if isinstance(worlds, Undetermined):
            return worlds
        low, high = (end.max(axis=1) for end in _ends(evidence, worlds))
        return PerPlace(np.arange(len(worlds.counts), dtype=np.intp), low, high)

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        worlds = known_worlds(evidence)
        if isinstance(worlds, Undetermined):
            return Measurement(worlds)
        low, high = _ends(evidence, worlds)
        value = high.argmax(axis=1)
        classes = evidence.classes

        def note(profile: int) -> str:
            klass = int(value[profile])
            ends = worlds.low[profile, klass], worlds.high[profile, klass]
            return (
                f"{classes[klass]}: {ends[0]} to {ends[1]} of {worlds.counts[profile]} proved,"
                f" {worlds.reached_low[profile, klass]} to {worlds.reached_high[profile, klass]} found"
                if worlds.reached_low[profile, klass] <= worlds.reached_high[profile, klass]
                else f"{classes[klass]}: {ends[0]} to {ends[1]} of {worlds.counts[profile]} proved"
            )

        everyone = np.arange(len(worlds.counts), dtype=np.intp)
        ends = low.max(axis=1), high.max(axis=1)
        spots = worst_spots("profile", everyone, ends, self.risk, note)
        return Measurement(Interval(float(ends[0].max()), float(ends[1].max())), spots)


def _ends(evidence: Evidence, worlds: ConsistentTables) -> tuple[FloatArray, FloatArray]:
    """Return both ends of the share of each profile that provably has each value, (P, m)."""
    size = np.maximum(worlds.counts, 1)[:, None]
    true = true_values(evidence, worlds) & (worlds.counts > 0)[:, None]
    reached = np.clip(worlds.reached_low, worlds.low, worlds.high)
    return np.where(true, worlds.low / size, 0.0), np.where(true, reached / size, 0.0)


MEASURE = WorldBounds()
