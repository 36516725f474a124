"""The facts of an audit in whole records: what every world, an integer table of profiles by classes, must obey.

Profiles stand in the order of the leaves (``Members.order``), so that the profiles below a node are one slice.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from treewarden.audit.facts.case import Case
from treewarden.audit.facts.kind import COUNT_TOLERANCE_RECORDS, TRUTH_TOLERANCE_SHARE
from treewarden.audit.facts.rows import LeafMass, Linear, Origin
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System
from treewarden.audit.worlds.clock import FOREVER, Clock
from treewarden.audit.worlds.facts.places import Place, tightened
from treewarden.audit.worlds.facts.splits import Chosen, Split, chosen_of, split_of
from treewarden.audit.worlds.facts.ties import parted
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray, distinct
from treewarden.ppdm_models.tree.tree import Tree

MOST_RECORDS = 2**52
"""Above this a count read as a float may not be whole."""
MOST_WEIGHT = 2**10
"""Up to this weight the sum over ``MOST_RECORDS`` records fits in 64 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """``low <= sum(weights * table[positions, classes]) <= high`` in whole numbers; ``node`` is the lowest above."""

    node: int
    positions: IndexArray
    classes: IndexArray
    weights: tuple[int, ...]
    low: int
    high: int
    origin: Origin
    _short: IntArray | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        # Most weights are 1 and -1, and their sums are asked for very often.
        if max(map(abs, self.weights), default=0) <= MOST_WEIGHT:
            object.__setattr__(self, "_short", np.array(self.weights, dtype=np.int64))

    def value(self, table: IntArray, start: int = 0) -> int:
        """Return the sum for a table whose first row is the profile at position ``start``."""
        cells = table[self.positions - start, self.classes]
        if self._short is not None:
            return int(self._short @ cells)
        return sum(w * x for w, x in zip(self.weights, cells.tolist(), strict=True))

    def holds(self, table: IntArray, start: int = 0) -> bool:
        """Return whether a table obeys the row."""
        return self.low <= self.value(table, start) <= self.high


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Everything that a world must obey. ``counts`` (P,) and tables are in position order; ``order`` maps to profiles.

    ``splits`` and ``lines`` are by node, ``places`` by the node where records stop. ``strict`` says that the learner
    takes the first of equally good splits.
    """

    case: Case
    strict: bool
    order: IndexArray
    counts: IntArray
    classes: int
    places: dict[int, Place]
    splits: dict[int, tuple[Split, ...]]
    lines: dict[int, tuple[Line, ...]]
    notes: tuple[str, ...] = ()

    @property
    def tree(self) -> Tree:
        """The tree."""
        return self.case.tree

    def span(self, node: int) -> slice:
        """Return the positions of the profiles that pass a node."""
        members = self.case.members
        return slice(int(members.start[node]), int(members.end[node]))

    def path(self, node: int) -> tuple[int, ...]:
        """Return the nodes from one up to the root."""
        return tuple(step.index for step in reversed(self.tree.path(node)))

    def place_of(self) -> IndexArray:
        """Return the node where each position's records stop."""
        return self.case.population.leaf[self.order]

    def arranged(self, table: FloatArray) -> IntArray:
        """Return a table by profiles as one by positions."""
        return np.rint(table[self.order]).astype(np.int64)

    def profiles(self, table: NDArray[np.generic]) -> NDArray[np.generic]:
        """Return what stands by positions by profiles."""
        back = np.empty_like(table)
        back[self.order] = table
        return back


def facts_of(system: System, strict: bool = False, clock: Clock = FOREVER) -> Facts | Undetermined:
    """Return the facts of a system, or why there are no whole records to reason over.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    bare = without_splits(system, strict)
    return bare if isinstance(bare, Undetermined) else with_splits(bare, system, clock)


def without_splits(system: System, strict: bool = False) -> Facts | Undetermined:
    """Return the facts of a system but for the choice of its splits, which take far longer to arrange."""
    case = system.case
    counts = case.population.counts
    if len(counts) == 0 or not counts.sum():
        return Undetermined("the table has no records")
    if (counts != np.rint(counts)).any() or counts.sum() > MOST_RECORDS:
        return Undetermined("weighted records: the table's counts are not whole numbers of people")
    if (case.population.leaf < 0).any():
        return Undetermined("some records stop in no leaf, or are spread over several")
    order = case.members.order
    position = _positions(order)
    whole = np.rint(counts[order]).astype(np.int64)
    places, notes = _places(system, whole)
    lines: dict[int, list[Line]] = {}
    for row in system.across:
        line = _line(case, row, position)
        lines.setdefault(line.node, []).append(line)
    return Facts(
        case,
        strict,
        order,
        whole,
        len(case.tree.classes),
        places,
        {},
        {node: tuple(found) for node, found in lines.items()},
        tuple(notes),
    )


def _positions(order: IndexArray) -> IndexArray:
    """Return where each profile stands."""
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return position


def with_splits(facts: Facts, system: System, clock: Clock = FOREVER) -> Facts:
    """Return the facts with the choice of each split.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    case, position = facts.case, _positions(facts.order)
    splits: dict[int, list[Split]] = {}
    known: dict[tuple[int, int, bool], Chosen] = {}
    places = sorted(facts.places.values(), key=_start)
    for one in system.families:
        clock.check()
        # All families of a node share the array that says how it was parted.
        key = one.node, id(one.chosen), one.weights is None
        if key not in known:
            here = facts.span(one.node)
            first, last = (bisect_left(places, end, key=_start) for end in (here.start, here.stop))
            known[key] = chosen_of(one, position, places[first:last])
        for family, is_strict in parted(case, one, facts.strict):
            split = split_of(family, known[key], facts.counts, is_strict)
            splits.setdefault(one.node, []).append(split)
    return replace(facts, splits={node: tuple(found) for node, found in splits.items()})


def _start(place: Place) -> int:
    return place.start


def with_class_counts(facts: Facts, table: IntArray) -> Facts:
    """Return the facts with every place's class counts known to be those of a table (P, m)."""
    places = {}
    for node, place in facts.places.items():
        totals = tuple(table[place.start : place.end].sum(axis=0).tolist())
        places[node] = replace(
            place, low=totals, high=totals, label=None, margin=0, before=frozenset()
        )
    return replace(facts, places=places)


def _places(system: System, counts: IntArray) -> tuple[dict[int, Place], list[str]]:
    case, m = system.case, len(system.case.tree.classes)
    found, notes = {}, []
    for node in np.unique(case.population.leaf).tolist():
        start, end = int(case.members.start[node]), int(case.members.own_end[node])
        records = int(counts[start:end].sum())
        low, high = [0] * m, [records] * m
        label, margin, before = None, 0, frozenset[int]()
        for known in system.ends.get(node, ()):
            ends, note = _whole_ends(known)
            low[known.klass] = max(low[known.klass], ends[0])
            high[known.klass] = min(high[known.klass], ends[1])
            notes += [note] if note else []
        lead = system.leads.get(node)
        if lead is not None:
            label, margin = lead.label, math.ceil(lead.margin - COUNT_TOLERANCE_RECORDS)
            before = frozenset(lead.before)
        found[node] = tightened(Place(node, start, end, records, low, high, label, margin, before))
    return found, notes


def _whole_ends(row: LeafMass) -> tuple[tuple[int, int], str]:
    """Return the whole numbers a published mass allows; a rounded share that meets none is read as its neighbours."""
    low = math.ceil(row.low - COUNT_TOLERANCE_RECORDS)
    high = math.floor(row.high + COUNT_TOLERANCE_RECORDS)
    if low <= high:
        return (low, high), ""
    return (math.floor(row.low), math.ceil(row.high)), f"{row.origin.where} is no whole number"


def _line(case: Case, row: Linear, position: IndexArray) -> Line:
    positions = position[row.profiles]
    weights, scale = _in_whole_units(row.weights)
    people = float(case.population.counts[distinct(row.profiles)].sum())
    miss = Fraction(
        max(COUNT_TOLERANCE_RECORDS, 2 * TRUTH_TOLERANCE_SHARE * people)
        if row.slack is None
        else row.slack
    )
    low, high = _end(row.low, -miss, scale), _end(row.high, miss, scale)
    most = scale * int(people + 1) * (1 + int(np.abs(row.weights).max(initial=0.0)))
    return Line(
        lowest_above(case, positions),
        positions,
        row.classes.astype(np.intp),
        weights,
        -most if low is None else math.ceil(low),
        most if high is None else math.floor(high),
        row.origin,
    )


def _in_whole_units(weights: FloatArray) -> tuple[tuple[int, ...], int]:
    """Return weights as whole numbers of one unit, and how many units make 1.

    A weight is read as it is written: a survey prints 1.37, and sums of such numbers are exact in hundredths.
    """
    if (weights == np.rint(weights)).all() and np.abs(weights).max(initial=0.0) < MOST_RECORDS:
        return tuple(
            weights.astype(np.int64).tolist()
        ), 1  # fractions take long where rows are many
    exact = [Fraction(repr(float(weight))) for weight in weights]
    scale = math.lcm(*(weight.denominator for weight in exact))
    return tuple(int(weight * scale) for weight in exact), scale


def _end(end: float, miss: Fraction, scale: int) -> Fraction | None:
    return (Fraction(end) + miss) * scale if math.isfinite(end) else None


def lowest_above(case: Case, positions: Sequence[int] | IndexArray) -> int:
    """Return the lowest node whose subtree holds all these positions."""
    first, last = int(np.min(positions)), int(np.max(positions))
    start, end = case.members.start, case.members.end
    node = 0
    while True:
        inside = [
            child
            for child in case.tree.nodes[node].children
            if start[child] <= first and last < end[child]
        ]
        if not inside:
            return node
        node = inside[0]
