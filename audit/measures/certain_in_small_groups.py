"""People whose value is proved, except those who share it with a large enough group.

A record counts where its value is the same in every integer table that fits (as in ``certain_disclosure``) and fewer
than ``size`` people are proved together. Those are all who stop at one leaf, where the value of everybody there is
proved and is the same: what the leaf says of one of them is said by the others (Dwork & Roth 2014, section 1). Else, as
where the choice of splits proves the value of some in a mixed leaf, they are those who share all quasi-identifiers.
What was neither proved nor refuted counts at the high end, in the group that it is in for certain, and at the low end
only makes the groups of others larger. Which size is large enough is a judgement; with infinite size everybody counts.
Our own measure.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters
from treewarden.audit.measures._shared import known_worlds
from treewarden.audit.reading import Interval, Measurement, Undetermined, people, worst_spots
from treewarden.ppdm_models.arrays import FloatArray, IndexArray


class CertainInSmallGroups(Measure):
    """Records that are certain, in groups of fewer than ``size``."""

    unit = "records"
    plain = "people whose value is proved in small groups"
    short = "proved values shared by few people"
    risk = "high"
    limits = (0.0, np.inf)
    reads = frozenset({EvidenceSource.WORLDS})
    parameters = {
        "size": Parameter(20.0, "a group of this many people or more does not count", low=2.0),
    }

    def words(self, parameters: Parameters) -> str:
        return f"people whose value is proved in groups of fewer than {parameters['size']:g}"

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        worlds = known_worlds(evidence)
        if isinstance(worlds, Undetermined):
            return Measurement(worlds)
        size = float(parameters["size"])
        is_certain, said = worlds.certain, worlds.certain_class
        groups = _groups(evidence, worlds, said)
        largest = _groups(evidence, worlds, _may_be(worlds))
        low, high = (
            np.where(is_certain & (each < size), worlds.counts, 0).astype(np.float64)
            for each in (largest, groups)
        )
        may_be = worlds.open_profiles & (worlds.counts < size)
        at_most = np.where(may_be, worlds.counts, high).astype(np.float64)
        profiles = np.flatnonzero(at_most > 0)

        def note(position: int) -> str:
            profile = int(profiles[position])
            who = people(worlds.counts[profile])
            if not is_certain[profile]:
                return f"{who} whose value is neither proved nor ruled out; counted as proved"
            value = evidence.classes[said[profile]]
            return (
                f"{who} proved to have “{value}”, in a group of {groups[profile]:g}: "
                f"{worlds.reasons[profile]}"
            )

        ends = (low[profiles], at_most[profiles])
        spots = worst_spots("profile", profiles, ends, self.risk, note)
        return Measurement(Interval(float(low.sum()), float(at_most.sum())), spots)


def _may_be(worlds: ConsistentTables) -> IndexArray:
    """Return the class that each profile is certain to have or may yet be proved to have, -1 elsewhere, shape (P,)."""
    size = worlds.counts[:, None]
    holds_all = (np.minimum(worlds.reached_low, worlds.high) == size) & (size > 0)
    open_class = np.where(worlds.open_profiles, holds_all.argmax(axis=1), -1)
    return np.where(worlds.certain, worlds.certain_class, open_class)


def _groups(evidence: Evidence, worlds: ConsistentTables, certain_class: IndexArray) -> FloatArray:
    """Return how many people are proved together with each profile, itself included, shape (P,).

    ``certain_class`` is the class that each profile is taken to be certain of, -1 where it is of none.
    """
    stops = evidence.stops[0]
    groups = worlds.counts.astype(np.float64)
    for stop in np.unique(stops[worlds.certain]):
        here = stops == stop
        if (certain_class[here] == certain_class[here][0]).all():
            groups[here] = worlds.counts[here].sum()
    return groups


MEASURE = CertainInSmallGroups()
