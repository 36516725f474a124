"""Holds one clause against what was read: of the model as a whole, or of each of its leaves, profiles or trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import LeafMeasure, MeasureCall, measures
from treewarden.audit.reading import Interval, Measurement, Reading, Undetermined
from treewarden.policies.clause import Clause, Scope
from treewarden.policies.comparing import is_same_anywhere
from treewarden.policies.judging.combining import OpenEnds, combined, verdicts, whole_verdict
from treewarden.policies.judging.places import Places, ends_at, places_of
from treewarden.policies.rules import rules
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.arrays import IndexArray

NOT_BELIEVED = Undetermined("it is not believed here")
Read = Callable[[MeasureCall], Measurement]
UNITS: dict[Scope, str] = {
    "leaf": "leaves",
    "profile": "profiles",
    "tree": "trees",
    "model": "models",
}


@dataclass(frozen=True, slots=True)
class Held:
    """What came of a clause. ``places`` are those it was judged at, with the verdict of each and what was read there.

    None where it was judged on readings of the model as a whole.
    """

    verdict: Verdict
    reading: Reading
    places: Places | None = None
    each: IndexArray | None = None
    ends: tuple[OpenEnds, ...] = ()


def held(clause: Clause, evidence: Evidence, read: Read, unknown: Sequence[str] = ()) -> Held:
    """Return the verdict of a clause, whatever its form and scope; ``read`` gives readings of the model as a whole.

    Measures that are ``unknown`` are taken to be undetermined everywhere.
    """

    def whole(asked: MeasureCall) -> Reading:
        return NOT_BELIEVED if asked.measure in unknown else read(asked).reading

    def at(asked: MeasureCall, places: Places) -> OpenEnds:
        return NOT_BELIEVED if asked.measure in unknown else ends_at(asked, evidence, places)

    is_of_worst = _tells_the_worst_alone(clause, evidence)
    if is_plain(clause) or (is_of_worst and not clause.is_combined):
        reading = whole(clause.atom.call)
        return Held(rules()[clause.atom.rule].judge(reading, clause.atom.limit), reading)
    kind = clause.scope
    if kind is None or kind == "model" or is_of_worst:
        readings = {atom.call: whole(atom.call) for atom in clause.atoms}
        verdict = whole_verdict(clause, lambda atom: readings[atom.call])
        return Held(verdict, counted(np.array([verdict], dtype=np.intp), [*readings.values()]))
    places = places_of(kind, evidence)
    if isinstance(places, Undetermined):
        return Held(Verdict.UNDETERMINED, places)
    ends = {atom.call: at(atom.call, places) for atom in clause.atoms}
    size = len(places.indices)
    each = combined(clause, lambda atom: verdicts(atom, ends[atom.call], size))
    reasons = [found for found in ends.values() if isinstance(found, Undetermined)]
    found = tuple(ends[atom.call] for atom in clause.atoms)
    reading = counted(each, reasons) if clause.is_combined else _worst(clause, found[0])
    return Held(Verdict(int(each.max())), reading, places, each, found)


def is_plain(clause: Clause) -> bool:
    """Return whether it is an atom that the reading of the whole model decides."""
    if clause.is_combined:
        return False
    if clause.scope is None or clause.scope == "model":
        return True
    return clause.scope == "leaf" and isinstance(measures()[clause.measure], LeafMeasure)


def _tells_the_worst_alone(clause: Clause, evidence: Evidence) -> bool:
    """Return whether there is no table and no leaf is sure, and the worst that a measure reads is all it takes."""
    is_unknown = evidence.population.is_absent and isinstance(evidence.leaves, Undetermined)
    return is_unknown and is_same_anywhere(clause)


def of_worlds(clause: Clause) -> bool:
    """Return whether anything in a clause reads what is proved over whole records."""
    return any(measures()[atom.call.measure].is_of_worlds for atom in clause.atoms)


def counted(each: IndexArray, readings: Sequence[Reading]) -> Reading:
    """Return how many places break a clause; where nothing fails and a reading is missing, why it could not be told."""
    fails, open_ = (
        int((each == verdict).sum()) for verdict in (Verdict.FAIL, Verdict.UNDETERMINED)
    )
    reasons = [found for found in readings if isinstance(found, Undetermined)]
    if open_ and not fails and reasons:
        return Undetermined("; ".join(dict.fromkeys(found.reason.rstrip(".") for found in reasons)))
    return Interval(float(fails), float(fails + open_))


def _worst(clause: Clause, ends: OpenEnds) -> Reading:
    if isinstance(ends, Undetermined):
        return ends
    pick = np.min if measures()[clause.measure].risk == "low" else np.max
    return Interval(float(pick(ends[0])), float(pick(ends[1])))
