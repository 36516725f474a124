"""How many places break a clause in each leaf, where they are more than a report lists: all are counted, none is named.

A list of places is cut at ``MOST_SPOTS``, worst first, so it cannot say that nothing was added beyond its end. The
groups can: a baseline holds them, and compares them with those of the next audit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import measures
from treewarden.audit.reading import Spot, Undetermined
from treewarden.policies.clause import Clause
from treewarden.policies.judging.clause_evaluation import ClauseEvaluation, verdicts
from treewarden.policies.judging.decision import LeafNames, PlaceGroup
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, alike

PEOPLE = "profiles "
"""How the name of a group begins whose people are in no leaf."""
LETTERS = 24
DIGITS = 9
"""Ends of readings are compared to so many digits where nothing else tells people apart."""


@dataclass(frozen=True, slots=True)
class BrokenPlaces:
    """All places that do not pass a clause, one an entry: what they are, which tree each is in, and what was read."""

    kind: str
    indices: IndexArray
    trees: IndexArray
    verdicts: IndexArray
    low: FloatArray
    high: FloatArray
    note: Callable[[int], str] | None


def groups_of_reading(
    clause: Clause, evidence: Evidence, names: LeafNames
) -> tuple[PlaceGroup, ...]:
    """Return the groups of a clause that is judged on the reading of the whole model; none where it has no places."""
    atom = clause.atom
    measure = measures()[atom.call.measure]
    read = measure.per_place(evidence, dict(atom.call.parameters))
    if measure.places is None or isinstance(read, Undetermined):
        return ()
    trees = np.zeros(len(read.indices), dtype=np.intp) if read.trees is None else read.trees
    judged = verdicts(atom, (read.low, read.high), len(read.indices))
    broken = np.flatnonzero(judged != PolicyVerdict.PASS)
    places = BrokenPlaces(
        kind=measure.places,
        indices=read.indices[broken],
        trees=trees[broken],
        verdicts=judged[broken],
        low=read.low[broken],
        high=read.high[broken],
        note=None,
    )
    return tuple(_groups(places, evidence, names, is_low=measure.risk == "low"))


def groups_of_scope(
    clause: Clause,
    evaluation: ClauseEvaluation,
    evidence: Evidence,
    names: LeafNames,
    note: Callable[[int], str],
) -> tuple[PlaceGroup, ...]:
    """Return the groups of a clause that was judged at every place; ``note`` says what was read at one of them."""
    if evaluation.places is None or evaluation.each is None or evaluation.places.kind == "tree":
        return ()
    broken = np.flatnonzero(evaluation.each != PolicyVerdict.PASS)
    judged = evaluation.each[broken]
    low, high = np.where(judged == PolicyVerdict.FAIL, 1.0, 0.0), np.ones(len(broken))
    is_low = False
    if not clause.is_combined and not isinstance(evaluation.ends[0], Undetermined):
        low, high = (end[broken] for end in evaluation.ends[0])
        is_low = measures()[clause.measure].risk == "low"
    places = BrokenPlaces(
        kind=evaluation.places.kind,
        indices=evaluation.places.indices[broken],
        trees=evaluation.places.trees[broken],
        verdicts=judged,
        low=low,
        high=high,
        note=(lambda at: note(int(broken[at]))) if clause.is_combined else None,
    )
    return tuple(_groups(places, evidence, names, is_low=is_low))


def _groups(
    places: BrokenPlaces, evidence: Evidence, names: LeafNames, *, is_low: bool
) -> Iterator[PlaceGroup]:
    """Yield a group for each leaf, and one for all people who are in no leaf; nothing where an end is no number."""
    if np.isnan(places.low).any() or np.isnan(places.high).any():
        return
    leaf_of_place, leaves = _leaves(places, evidence, names)
    order = np.argsort(leaf_of_place, kind="stable")
    ends = np.cumsum(np.bincount(leaf_of_place, minlength=len(leaves)))
    pick = np.min if is_low else np.max
    for leaf, members in zip(leaves, np.split(order, ends[:-1]), strict=False):
        notes: list[str] = []
        if places.note is not None:
            notes = sorted(filter(None, map(places.note, members.tolist())))
        yield PlaceGroup(
            leaf=leaf or _digest_of_people(places, members, evidence),
            places=len(members),
            verdict=PolicyVerdict(int(places.verdicts[members].max())),
            low=float(pick(places.low[members])),
            high=float(pick(places.high[members])),
            notes=(_digest(notes),) if notes else (),
        )


def _leaves(
    places: BrokenPlaces, evidence: Evidence, names: LeafNames
) -> tuple[IndexArray, list[str]]:
    """Return which leaf each place is, or is in, (n,), of fingerprints in order; "" stands for people in none."""
    kind: Literal["leaf", "profile"] = "leaf" if places.kind == "leaf" else "profile"
    nodes = places.indices
    if kind == "profile":
        nodes = evidence.stops[places.trees, places.indices]
    first, leaf_of_place = alike([places.trees, nodes])
    known = [
        names.fingerprint_of(Spot(kind, index, 0.0, 0.0, "", tree))
        for index, tree in zip(
            places.indices[first].tolist(), places.trees[first].tolist(), strict=True
        )
    ]
    leaves = sorted(set(known))
    place = {leaf: number for number, leaf in enumerate(leaves)}
    return np.array([place[leaf] for leaf in known], dtype=np.intp)[leaf_of_place], leaves


def _digest_of_people(places: BrokenPlaces, members: IndexArray, evidence: Evidence) -> str:
    """Return what stands for people in no leaf: the same only where all are the same, and all that is read of them."""
    counts = evidence.population.counts
    people = sorted(
        [
            evidence.population.describe(index),
            int(counts[index].sum()),
            f"{low:.{DIGITS}g}",
            f"{high:.{DIGITS}g}",
        ]
        for index, low, high in zip(
            places.indices[members].tolist(), places.low[members], places.high[members], strict=True
        )
    )
    return f"{PEOPLE}{_digest(people)}"


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode("ascii")).hexdigest()[:LETTERS]
