"""What a measure reads of each leaf, profile or tree: the places that a clause with a scope is judged at.

A measure of leaves has for a profile the value of its leaf (of the worst, in several trees); one of profiles has for a
leaf that of the worst profile which stops there; and a tree has that of its worst place. Every place is looked at.

Without a table nobody knows which leaves of several trees the same people share. There a profile is whoever is in one
leaf, who may be in a worse one of another tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import MeasureCall, PerPlace, measures
from treewarden.audit.reading import Undetermined
from treewarden.policies.judging.combining import OpenEnds
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray

NOWHERE = Undetermined("some records stop in no leaf, so what is read of them belongs to none")


@dataclass(frozen=True, slots=True)
class Places:
    """The places of a scope, one an entry: nodes of leaves, or profiles, or trees, and which tree each is in."""

    kind: Literal["leaf", "profile", "tree"]
    indices: IndexArray
    trees: IndexArray


def places_of(
    kind: Literal["leaf", "profile", "tree"], evidence: Evidence
) -> Places | Undetermined:
    """Return every leaf, profile or tree that has records."""
    if kind == "profile":
        profiles = np.flatnonzero(evidence.population.counts > 0)
        if not len(profiles):
            return Undetermined("the table has no records")
        return Places(kind, profiles, _first_trees(evidence.stops, profiles))
    leaves = evidence.leaves
    if isinstance(leaves, Undetermined):
        return leaves
    if kind == "leaf":
        return Places(kind, leaves.nodes, leaves.trees)
    trees = np.unique(leaves.trees)
    return Places(kind, trees, trees)


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


def ends_at(asked: MeasureCall, evidence: Evidence, places: Places) -> OpenEnds:
    """Return what a measure reads at each place; anything is possible where it has no value."""
    measure = measures()[asked.measure]
    found = measure.per_place(evidence, dict(asked.parameters))
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


def _from_leaves(found: PerPlace, evidence: Evidence, places: Places, worst: _Worst) -> None:
    trees = np.zeros(len(found.indices), dtype=np.intp) if found.trees is None else found.trees
    if places.kind == "tree":
        worst.add(_position(places.indices, trees), found.low, found.high)
        return
    for tree in np.unique(trees):
        own = trees == tree
        nodes, low, high = found.indices[own], found.low[own], found.high[own]
        if places.kind == "leaf":
            here = np.flatnonzero(places.trees == tree)
            at = _position(places.indices[here], nodes)
            worst.add(np.where(at >= 0, here[at], -1), low, high)
            continue
        at = _position(nodes, evidence.stops[tree, places.indices])
        everyone = np.arange(len(places.indices), dtype=np.intp)
        worst.add(np.where(at >= 0, everyone, -1), low[at], high[at])


def _from_profiles(found: PerPlace, evidence: Evidence, places: Places, worst: _Worst) -> bool:
    """Gather what is read of profiles; False where some of them stop in no leaf, and leaves are asked for."""
    if places.kind == "profile":
        worst.add(_position(places.indices, found.indices), found.low, found.high)
        return True
    counted = evidence.population.counts > 0
    for tree in np.unique(places.trees):
        stops = evidence.stops[tree]
        if (stops[counted] < 0).any():
            return False
        here = np.flatnonzero(places.trees == tree)
        if places.kind == "tree":
            at = np.full(len(found.indices), here[0], dtype=np.intp)
        else:
            among = _position(places.indices[here], stops[found.indices])
            at = np.where(among >= 0, here[among], -1)
        worst.add(at, found.low, found.high)
    return True


def _position(among: IndexArray, wanted: IndexArray) -> IndexArray:
    """Return where each wanted number stands among others, each there once; -1 where it does not."""
    if not len(among):
        return np.full(len(wanted), -1, dtype=np.intp)
    order = np.argsort(among, kind="stable")
    at = np.minimum(np.searchsorted(among[order], wanted), len(among) - 1)
    return np.where(among[order][at] == wanted, order[at], -1)
