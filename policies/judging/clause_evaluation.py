"""Holds one clause against what was read: of the model as a whole, or of each of its leaves, profiles or trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Literal

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import LeafMeasure, MeasureCall, PerPlace, measures
from treewarden.audit.population.leaves import Leaves
from treewarden.audit.reading import Interval, Measurement, Reading, Undetermined, exactly
from treewarden.policies.clause import Atom, Clause, Pack, Part, Scope, is_same_anywhere
from treewarden.policies.judging.figures import limit_text
from treewarden.policies.rules import rules
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray

if TYPE_CHECKING:
    from treewarden.ppdm_models.methods.tpp.sanitise import RecordGroups

# Verdicts of combinations: all is the worst of its parts, any the best, not swaps PASS and FAIL.
#
# What could not be told stays so under not, and is never a pass. A verdict stands for a place here: a leaf, a profile,
# a tree or the whole model, many at a time.

UNDETERMINED = PolicyVerdict.UNDETERMINED
OpenEnds = tuple[FloatArray, FloatArray] | Undetermined
"""The two ends of a reading, one a place; or why there are none."""
EVERY: dict[Scope, str] = {
    "leaf": "every leaf",
    "profile": "every profile",
    "tree": "every tree",
    "model": "the model as a whole",
}


def combined(part: Part, of_atom: Callable[[Atom], IndexArray]) -> IndexArray:
    """Return the verdicts of a part, one a place, from those of its atoms."""
    if part.form == "atom":
        return of_atom(part.atom)
    each = [combined(inner, of_atom) for inner in part.parts]
    if part.form == "not":
        return np.asarray(PolicyVerdict.FAIL - each[0])
    return np.asarray(reduce(np.maximum if part.form == "all" else np.minimum, each))


def whole_verdict(part: Part, reading: Callable[[Atom], Reading]) -> PolicyVerdict:
    """Return the verdict of a part on readings of the model as a whole."""

    def of_atom(atom: Atom) -> IndexArray:
        verdict = rules()[atom.rule].judge(reading(atom), atom.limit)
        return np.array([verdict], dtype=np.intp)

    return PolicyVerdict(int(combined(part, of_atom)[0]))


def verdicts(atom: Atom, ends: OpenEnds, places: int) -> IndexArray:
    """Return the verdict of an atom at each place; all undetermined where its ends are.

    Places whose ends are on the same sides of the limit have one verdict: a rule reads nothing else of them.

    Raises:
        ValueError: the ends of a place are no numbers, or not in order.
    """
    if isinstance(ends, Undetermined):
        return np.full(places, UNDETERMINED, dtype=np.intp)
    low, high = ends
    if not (low <= high).all():
        raise ValueError("a place has ends that are no numbers, or not in order")
    rule, limit = rules()[atom.rule], atom.limit
    low_side, high_side = (1 * (end >= limit) + (end > limit) for end in ends)
    _, first, which = np.unique(3 * low_side + high_side, return_index=True, return_inverse=True)
    each = [rule.judge(Interval(float(low[at]), float(high[at])), limit) for at in first.tolist()]
    return np.array(each, dtype=np.intp)[which.reshape(-1)]


def atom_words(atom: Atom) -> str:
    """Return what an atom asks for, in plain words."""
    measure = measures()[atom.call.measure]
    plain = measure.words(dict(atom.call.parameters))
    return f"{plain}: {limit_text(rules()[atom.rule].words, atom.limit, measure.unit)}"


def words(part: Part) -> str:
    """Return what a part asks for, as a sentence without its stop; inner combinations stand in parentheses."""
    if part.form == "atom":
        return atom_words(part.atom)
    each = [f"({words(inner)})" for inner in part.parts]
    if part.form == "not":
        return f"not {each[0]}"
    return f" {'and' if part.form == 'all' else 'or'} ".join(each)


# What a measure reads of each leaf, profile or tree: the places that a clause with a scope is judged at.
#
# A measure of leaves has for a profile the value of its leaf (of the worst, in several trees); one of profiles has for
# a leaf that of the worst profile which stops there; and a tree has that of its worst place. Every place is looked at.
#
# Without a table nobody knows which leaves of several trees the same people share. There a profile is whoever is in one
# leaf, who may be in a worse one of another tree.

NOWHERE = Undetermined("some records reach no leaf, so they cannot be assigned to one")


@dataclass(frozen=True, slots=True)
class Locations:
    """The places of a scope, one an entry: nodes of leaves, or profiles, or trees, and which tree each is in."""

    kind: Literal["leaf", "profile", "tree"]
    indices: IndexArray
    trees: IndexArray


def places_of(
    kind: Literal["leaf", "profile", "tree"], evidence: Evidence
) -> Locations | Undetermined:
    """Return every leaf, profile or tree that has records."""
    if kind == "profile":
        profiles = np.flatnonzero(evidence.population.counts > 0)
        if not len(profiles):
            return Undetermined("the table has no records")
        return Locations(kind, profiles, _first_trees(evidence.stops, profiles))
    leaves = evidence.leaves
    if isinstance(leaves, Undetermined):
        return leaves
    if kind == "leaf":
        return Locations(kind, leaves.nodes, leaves.trees)
    trees = np.unique(leaves.trees)
    return Locations(kind, trees, trees)


def _first_trees(stops: IndexArray, profiles: IndexArray) -> IndexArray:
    """Return the first tree in which each of some profiles stops; the first of all where none says it."""
    found = np.zeros(len(profiles), dtype=np.intp)
    is_open = np.ones(len(profiles), dtype=bool)
    for tree, stopped in enumerate(stops):
        here = is_open & (stopped[profiles] >= 0)
        found[here] = tree
        is_open &= ~here
        if not is_open.any():
            break
    return found


def ends_at(measure_call: MeasureCall, evidence: Evidence, places: Locations) -> OpenEnds:
    """Return what a measure reads at each place; anything is possible where it has no value."""
    measure = measures()[measure_call.measure]
    found = measure.per_place(evidence, dict(measure_call.parameters))
    if isinstance(found, Undetermined):
        return found
    worst = _Worst(len(places.indices), measure.risk == "low")
    if measure.places == "leaf":
        _from_leaves(found, evidence, places, worst)
    elif not _from_profiles(found, evidence, places, worst):
        return NOWHERE
    low, high = worst.ends
    if places.kind == "profile" and evidence.population.is_absent and len(evidence.trees) > 1:
        if measure.risk == "low":
            return np.full(len(low), low.min(initial=np.inf)), high
        return low, np.full(len(high), high.max(initial=-np.inf))
    return low, high


class _Worst:
    """Gathers the worst of what is read at each place."""

    def __init__(self, size: int, is_low: bool) -> None:
        """Start with nothing read anywhere."""
        self._pick = np.minimum if is_low else np.maximum
        start = np.inf if is_low else -np.inf
        self._low, self._high = np.full(size, start), np.full(size, start)
        self._seen: BoolArray = np.zeros(size, dtype=bool)

    def add(self, at: IndexArray, low: FloatArray, high: FloatArray) -> None:
        """Take in one reading for each of these places; a negative place is none."""
        here = at >= 0
        self._pick.at(self._low, at[here], low[here])
        self._pick.at(self._high, at[here], high[here])
        self._seen[at[here]] = True

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """The two ends at each place; where nothing was read anything is possible."""
        return np.where(self._seen, self._low, -np.inf), np.where(self._seen, self._high, np.inf)


def _from_leaves(per_place: PerPlace, evidence: Evidence, places: Locations, worst: _Worst) -> None:
    trees = (
        np.zeros(len(per_place.indices), dtype=np.intp)
        if per_place.trees is None
        else per_place.trees
    )
    if places.kind == "tree":
        worst.add(_position(places.indices, trees), per_place.low, per_place.high)
        return
    for tree in np.unique(trees):
        own = trees == tree
        nodes, low, high = per_place.indices[own], per_place.low[own], per_place.high[own]
        if places.kind == "leaf":
            here = np.flatnonzero(places.trees == tree)
            at = _position(places.indices[here], nodes)
            worst.add(np.where(at >= 0, here[at], -1), low, high)
            continue
        at = _position(nodes, evidence.stops[tree, places.indices])
        everyone = np.arange(len(places.indices), dtype=np.intp)
        worst.add(np.where(at >= 0, everyone, -1), low[at], high[at])


def _from_profiles(
    per_place: PerPlace, evidence: Evidence, places: Locations, worst: _Worst
) -> bool:
    """Gather what is read of profiles; False where some of them stop in no leaf, and leaves are asked for."""
    if places.kind == "profile":
        worst.add(_position(places.indices, per_place.indices), per_place.low, per_place.high)
        return True
    counted = evidence.population.counts > 0
    for tree in np.unique(places.trees):
        stops = evidence.stops[tree]
        if (stops[counted] < 0).any():
            return False
        here = np.flatnonzero(places.trees == tree)
        if places.kind == "tree":
            at = np.full(len(per_place.indices), here[0], dtype=np.intp)
        else:
            among = _position(places.indices[here], stops[per_place.indices])
            at = np.where(among >= 0, here[among], -1)
        worst.add(at, per_place.low, per_place.high)
    return True


def _position(among: IndexArray, numbers: IndexArray) -> IndexArray:
    """Return where each wanted number stands among others, each there once; -1 where it does not."""
    if not len(among):
        return np.full(len(numbers), -1, dtype=np.intp)
    order = np.argsort(among, kind="stable")
    at = np.minimum(np.searchsorted(among[order], numbers), len(among) - 1)
    return np.where(among[order][at] == numbers, order[at], -1)


NOT_BELIEVED = Undetermined("it is not believed here")
Read = Callable[[MeasureCall], Measurement]
UNITS: dict[Scope, str] = {
    "leaf": "leaves",
    "profile": "profiles",
    "tree": "trees",
    "model": "models",
}


@dataclass(frozen=True, slots=True)
class ClauseEvaluation:
    """What came of a clause. ``places`` are those it was judged at, with the verdict of each and what was read there.

    None where it was judged on readings of the model as a whole.
    """

    verdict: PolicyVerdict
    reading: Reading
    places: Locations | None = None
    each: IndexArray | None = None
    ends: tuple[OpenEnds, ...] = ()


def evaluate_clause(
    clause: Clause, evidence: Evidence, read: Read, unknown: Sequence[str] = ()
) -> ClauseEvaluation:
    """Return the verdict of a clause, whatever its form and scope; ``read`` gives readings of the model as a whole.

    Measures that are ``unknown`` are taken to be undetermined everywhere.
    """

    def whole(measure_call: MeasureCall) -> Reading:
        return NOT_BELIEVED if measure_call.measure in unknown else read(measure_call).reading

    def at(measure_call: MeasureCall, places: Locations) -> OpenEnds:
        return (
            NOT_BELIEVED
            if measure_call.measure in unknown
            else ends_at(measure_call, evidence, places)
        )

    is_of_worst = _tells_the_worst_alone(clause, evidence)
    if is_plain(clause) or (is_of_worst and not clause.is_combined):
        reading = whole(clause.atom.call)
        return ClauseEvaluation(
            rules()[clause.atom.rule].judge(reading, clause.atom.limit), reading
        )
    kind = clause.scope
    if kind is None or kind == "model" or is_of_worst:
        readings = {atom.call: whole(atom.call) for atom in clause.atoms}
        verdict = whole_verdict(clause, lambda atom: readings[atom.call])
        return ClauseEvaluation(
            verdict, counted(np.array([verdict], dtype=np.intp), [*readings.values()])
        )
    places = places_of(kind, evidence)
    if isinstance(places, Undetermined):
        return ClauseEvaluation(PolicyVerdict.UNDETERMINED, places)
    ends = {atom.call: at(atom.call, places) for atom in clause.atoms}
    size = len(places.indices)
    each = combined(clause, lambda atom: verdicts(atom, ends[atom.call], size))
    reasons = [end for end in ends.values() if isinstance(end, Undetermined)]
    found = tuple(ends[atom.call] for atom in clause.atoms)
    reading = counted(each, reasons) if clause.is_combined else _worst(clause, found[0])
    return ClauseEvaluation(PolicyVerdict(int(each.max())), reading, places, each, found)


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


def counted(verdicts: IndexArray, readings: Sequence[Reading]) -> Reading:
    """Return how many places break a clause; where nothing fails and a reading is missing, why it could not be told."""
    fails, open_ = (
        int((verdicts == verdict).sum())
        for verdict in (PolicyVerdict.FAIL, PolicyVerdict.UNDETERMINED)
    )
    reasons = [reading for reading in readings if isinstance(reading, Undetermined)]
    if open_ and not fails and reasons:
        return Undetermined(
            "; ".join(dict.fromkeys(reason.reason.rstrip(".") for reason in reasons))
        )
    return Interval(float(fails), float(fails + open_))


def _worst(clause: Clause, ends: OpenEnds) -> Reading:
    if isinstance(ends, Undetermined):
        return ends
    pick = np.min if measures()[clause.measure].risk == "low" else np.max
    return Interval(float(pick(ends[0])), float(pick(ends[1])))


# A policy's clauses about leaves, judged on the groups of a sanitised table as if each group were a leaf.


@dataclass(frozen=True, slots=True)
class Clauses:
    """Every group meets the clauses about leaves that count; its label is its most frequent sensitive value.

    A combination of measures of leaves is held against each group too, unless it is judged over the whole.

    Clauses about what a tree as a whole gives away say nothing of a table, and are ``not_judged``; those about what
    stands beside the tree in its own file are no matter of the table.
    """

    pack: Pack

    @property
    def judged(self) -> tuple[Clause, ...]:
        """The clauses that groups can be held against."""
        return tuple(
            clause
            for clause in self.pack.counting
            if all(isinstance(measures()[atom.call.measure], LeafMeasure) for atom in clause.atoms)
        )

    @property
    def not_judged(self) -> tuple[str, ...]:
        """The ids of the other clauses that count."""
        judged = {clause.id for clause in self.judged}
        return tuple(
            clause.id
            for clause in self.pack.counting
            if clause.id not in judged
            and not all(measures()[atom.call.measure].is_of_file for atom in clause.atoms)
        )

    def lack(self, groups: RecordGroups) -> str:
        """Return the first clause that a group does not meet, in words."""
        leaves = leaves_of(groups)
        for clause in self.judged:
            said = _combined_lack(clause, leaves) if clause.is_combined else _lack(clause, leaves)
            if said:
                return said
        return ""


def _lack(clause: Clause, leaves: Leaves) -> str:
    atom = clause.atom
    values = _values(atom, leaves)
    if isinstance(values, Undetermined):
        return f"check {clause.id!r} cannot be decided: {values.reason}"
    worst = _worst_group(atom, values)
    if rules()[atom.rule].judge(exactly(worst), atom.limit) is PolicyVerdict.PASS:
        return ""
    wanted = f"{atom.rule.replace('_', ' ')} {atom.limit:g}"
    return f"check {clause.id!r} requires {atom.call.measure} {wanted}; a group has {worst:g}"


def _combined_lack(clause: Clause, leaves: Leaves) -> str:
    """Return whether a group breaks a combination, or all of them together where it is judged over the whole."""
    found = {atom: _values(atom, leaves) for atom in clause.atoms}
    for values in found.values():
        if isinstance(values, Undetermined):
            return f"check {clause.id!r} cannot be decided: {values.reason}"

    def of_atom(atom: Atom) -> IndexArray:
        values = found[atom]
        assert not isinstance(values, Undetermined)
        if clause.scope not in ("leaf", "profile"):
            values = np.array([_worst_group(atom, values)])
        return verdicts(atom, (values, values), len(values))

    if combined(clause, of_atom).max() == PolicyVerdict.PASS:
        return ""
    return f"check {clause.id!r} requires {words(clause)}; a group does not meet that"


def _values(atom: Atom, leaves: Leaves) -> FloatArray | Undetermined:
    measure = measures()[atom.call.measure]
    assert isinstance(measure, LeafMeasure)
    return measure.values(leaves, dict(atom.call.parameters))


def _worst_group(atom: Atom, values: FloatArray) -> float:
    is_low = measures()[atom.call.measure].risk == "low"
    return float(values.min() if is_low else values.max())


def leaves_of(groups: RecordGroups) -> Leaves:
    """Return the groups as leaves that publish their most frequent sensitive value and how many have it."""
    labels = groups.classes.argmax(axis=1)
    hits = groups.classes.max(axis=1)
    return Leaves(
        np.arange(len(groups.sizes), dtype=np.intp),
        groups.sizes,
        groups.classes,
        labels,
        np.stack([hits, groups.sizes - hits], axis=1),
        np.zeros(len(groups.sizes), dtype=np.intp),
        whole=groups.classes.sum(axis=0),
    )
