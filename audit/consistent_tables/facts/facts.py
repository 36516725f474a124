"""The facts of an audit in whole records: what every consistent table (integers, profiles by classes) must obey.

Profiles stand in the order of the leaves (``Members.order``), so that the profiles below a node are one slice.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from treewarden.audit.consistent_tables.facts.splits import (
    AttributeSplits,
    ChosenSplit,
    StoppingPlace,
    chosen_of,
    split_of,
    tightened,
)
from treewarden.audit.facts.rows import (
    COUNT_TOLERANCE_RECORDS,
    MISSING,
    TRUTH_TOLERANCE_SHARE,
    Case,
    Grouping,
    LeafMass,
    Linear,
    Origin,
    SplitFamily,
)
from treewarden.audit.progress import FOREVER, Clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray, distinct
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.predicate import features_of
from treewarden.ppdm_models.tree.tree import Tree

# Candidates that a learner with a known order compared before the split that it chose: none of them is as good.


def parted(
    case: Case, family: SplitFamily, strict_ties: bool
) -> Iterator[tuple[SplitFamily, bool]]:
    """Yield a family's candidates with whether they must be strictly worse than the chosen split.

    ID3 takes the first of equally good splits: by attribute in the order of the file, by threshold upwards within one.
    So those before the chosen split are worse, and those after it may be as good. Where the order is not known (trees
    of two branches, attributes that the file does not list) all may be.
    """
    names = [feature.name for feature in case.tree.features]
    chosen = _chosen(case, family.node)
    if (
        not strict_ties
        or not case.tree.learner.multiway
        or not {chosen, family.attribute} <= {*names}
    ):
        yield family, False
    elif chosen != family.attribute or family.grouping is not Grouping.THRESHOLD:
        yield family, names.index(family.attribute) < names.index(chosen)
    else:
        cut = family.bins[family.chosen == family.chosen[family.bins.argmin()]].max()
        for inside, is_before in (
            (family.admissible < cut, True),
            (family.admissible > cut, False),
        ):
            if inside.any():
                yield replace(family, admissible=np.asarray(family.admissible[inside])), is_before


def _chosen(case: Case, node: int) -> str:
    """Return the attribute that a node splits on; "" where it is not one."""
    tree = case.tree
    used = {
        name for child in tree.nodes[node].children for name in features_of(tree.nodes[child].test)
    }
    return used.pop() if len(used) == 1 else ""


MOST_RECORDS = 2**52
"""Above this a count read as a float may not be whole."""
MOST_WEIGHT = 2**31
MOST_SUM = 2**62
"""Up to this, weight times records, sums of 64 bits are exact."""


@dataclass(frozen=True, slots=True, eq=False)
class IntegerRow:
    """``low <= sum(weights * table[positions, classes]) <= high`` in whole numbers; ``node`` is the lowest above."""

    node: int
    positions: IndexArray
    classes: IndexArray
    weights: tuple[int, ...]
    low: int
    high: int
    origin: Origin
    _short: IntArray | None = field(default=None, init=False)
    _most_records: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        # Most weights are 1 and -1, or hundredths of a survey, and their sums are asked for very often.
        most = max(map(abs, self.weights), default=0)
        if most <= MOST_WEIGHT:
            object.__setattr__(self, "_short", np.array(self.weights, dtype=np.int64))
            object.__setattr__(self, "_most_records", MOST_SUM // max(most, 1))

    def value(self, table: IntArray, start: int = 0) -> int:
        """Return the sum for a table whose first row is the profile at position ``start``."""
        cells = table[self.positions - start, self.classes]
        if self._short is not None and int(np.abs(cells).sum()) <= self._most_records:
            return int(self._short @ cells)
        return sum(w * x for w, x in zip(self.weights, cells.tolist(), strict=True))

    def holds(self, table: IntArray, start: int = 0) -> bool:
        """Return whether a table obeys the row."""
        return self.low <= self.value(table, start) <= self.high

    def holds_each(self, tables: IntArray, start: int = 0) -> BoolArray:
        """Return which of some tables (K, S, m) obey the row, (K,)."""
        cells = tables[:, self.positions - start, self.classes]
        most = int(np.abs(cells).sum(axis=1).max(initial=0))
        if self._short is None or most > self._most_records:
            return np.array([self.holds(table, start) for table in tables], dtype=bool)
        values = cells @ self._short
        return np.asarray((values >= self.low) & (values <= self.high))


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
    places: dict[int, StoppingPlace]
    splits: dict[int, tuple[AttributeSplits, ...]]
    lines: dict[int, tuple[IntegerRow, ...]]
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
        return Undetermined("some records reach no leaf, or are spread over several")
    order = case.members.order
    position = _positions(order)
    whole = np.rint(counts[order]).astype(np.int64)
    places, notes = _places(system, whole)
    lines: dict[int, list[IntegerRow]] = {}
    for row in system.across:
        line = _line(case, row, position)
        lines.setdefault(line.node, []).append(line)
    return Facts(
        case=case,
        strict=strict,
        order=order,
        counts=whole,
        classes=len(case.tree.classes),
        places=places,
        splits={},
        lines={node: tuple(integer_rows) for node, integer_rows in lines.items()},
        notes=tuple(notes),
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
    splits: dict[int, list[AttributeSplits]] = {}
    chosen_splits: dict[tuple[int, int, bool], ChosenSplit] = {}
    places = sorted(facts.places.values(), key=_start)
    for split_family in system.families:
        clock.check()
        # All families of a node share the array that says how it was parted.
        key = split_family.node, id(split_family.chosen), split_family.weights is None
        if key not in chosen_splits:
            here = facts.span(split_family.node)
            first, last = (bisect_left(places, end, key=_start) for end in (here.start, here.stop))
            chosen_splits[key] = chosen_of(split_family, position, places[first:last])
        for family, is_strict in parted(case, split_family, facts.strict):
            split = split_of(family, chosen_splits[key], facts.counts, is_strict)
            splits.setdefault(split_family.node, []).append(split)
    return replace(facts, splits={node: tuple(found) for node, found in splits.items()})


def _start(place: StoppingPlace) -> int:
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


def _places(system: System, counts: IntArray) -> tuple[dict[int, StoppingPlace], list[str]]:
    case, m = system.case, len(system.case.tree.classes)
    stopping_places, notes = {}, []
    for node in np.unique(case.population.leaf).tolist():
        start, end = int(case.members.start[node]), int(case.members.own_end[node])
        records = int(counts[start:end].sum())
        low, high = [0] * m, [records] * m
        label, margin, before = None, 0, frozenset[int]()
        for leaf_mass in system.ends.get(node, ()):
            ends, note = _whole_ends(leaf_mass)
            low[leaf_mass.klass] = max(low[leaf_mass.klass], ends[0])
            high[leaf_mass.klass] = min(high[leaf_mass.klass], ends[1])
            notes += [note] if note else []
        lead = system.leads.get(node)
        if lead is not None:
            label, margin = lead.label, math.ceil(lead.margin - COUNT_TOLERANCE_RECORDS)
            before = frozenset(lead.before)
        stopping_places[node] = tightened(
            StoppingPlace(
                node=node,
                start=start,
                end=end,
                records=records,
                low=low,
                high=high,
                label=label,
                margin=margin,
                before=before,
            )
        )
    return stopping_places, notes


def _whole_ends(row: LeafMass) -> tuple[tuple[int, int], str]:
    """Return the whole numbers a published mass allows; a rounded share that meets none is read as its neighbours."""
    low = math.ceil(row.low - COUNT_TOLERANCE_RECORDS)
    high = math.floor(row.high + COUNT_TOLERANCE_RECORDS)
    if low <= high:
        return (low, high), ""
    return (math.floor(row.low), math.ceil(row.high)), f"{row.origin.where} is not a whole number"


def _line(case: Case, row: Linear, position: IndexArray) -> IntegerRow:
    from treewarden.audit.outputs.whole_row import units_of  # of rows across leaves only

    positions = position[row.profiles]
    weights, scale = units_of(row.weights)
    people = float(case.population.counts[distinct(row.profiles)].sum())
    miss = Fraction(
        max(COUNT_TOLERANCE_RECORDS, 2 * TRUTH_TOLERANCE_SHARE * people)
        if row.slack is None
        else row.slack
    )
    low, high = _end(row.low, -miss, scale), _end(row.high, miss, scale)
    most = scale * int(people + 1) * (1 + int(np.abs(row.weights).max(initial=0.0)))
    return IntegerRow(
        node=lowest_above(case, positions),
        positions=positions,
        classes=row.classes.astype(np.intp),
        weights=tuple(weights),
        low=-most if low is None else math.ceil(low),
        high=most if high is None else math.floor(high),
        origin=row.origin,
    )


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


# A candidate split, and what a proof rests on, in words.

MOST_NAMES = 8
MOST_SPLITS = 2
SPLIT = "would have split"


def candidate_text(split: AttributeSplits, candidate: int, *, is_single: bool = False) -> str:
    """Return a candidate as people write it: ``chol <= 245``, ``sex in {F}``, ``occupation``.

    ``is_single`` shortens numbers that the learner read with 32 bits to what the table has.
    """
    family, code = split.family, int(split.family.admissible[candidate])
    if family.grouping is Grouping.MULTIWAY:
        return family.attribute
    if family.grouping is Grouping.THRESHOLD:
        return _threshold_text(family, code, is_single)
    if family.grouping is Grouping.ONE_AGAINST_REST:
        return f"{family.attribute} = {family.bin_names[code]}"
    inside = [name for bin_, name in enumerate(family.bin_names) if code >> bin_ & 1]
    said = ", ".join(inside[:MOST_NAMES]) + (", ..." if len(inside) > MOST_NAMES else "")
    return f"{family.attribute} in {{{said}}}"


def _threshold_text(family: SplitFamily, code: int, is_single: bool) -> str:
    first, last = family.bin_names[0] == MISSING, family.bin_names[-1] == MISSING
    name = family.bin_names[code]
    if first and code == 0 or last and code == len(family.bin_names) - 2:
        return f"{family.attribute} missing"
    value = number_text(float(str(np.float32(name)))) if is_single else name
    beside = " or missing" if first else ""
    return f"{family.attribute} <= {value}{beside}"


def _shortened(splits: Sequence[str]) -> Iterator[str]:
    """Yield splits in words, without the node where it is that of the one before."""
    before = ""
    for split in splits:
        node, _, test = split.partition(f" {SPLIT} ")
        yield test if node == before else split
        before = node


def would_have_split(facts: Facts, split: AttributeSplits, candidate: int) -> str:
    """Return why a world cannot be: the learner would have taken another split."""
    name = facts.tree.nodes[split.node].name
    is_single = any(f.single and f.name == split.family.attribute for f in facts.tree.features)
    return f"node {name} {SPLIT} on {candidate_text(split, candidate, is_single=is_single)}"


def joined(facts: Facts, node: int, says: Sequence[str]) -> str:
    """Return what a proof over the worlds below a node rests on, the strongest row first.

    Every other table breaks one of the rows, so splits are joined by "or".
    """
    splits = [say for say in says if SPLIT in say]
    others = [say for say in says if SPLIT not in say]
    said = ", or ".join(_shortened(splits[:MOST_SPLITS]))
    if len(splits) > MOST_SPLITS:
        more = len(splits) - MOST_SPLITS
        said += f", or {'another split' if more == 1 else f'one of {more} other splits'} would have been chosen"
    if others and said:
        said += f" (given also: {'; '.join(others[:MOST_SPLITS])})"
    if not said:
        name = facts.tree.nodes[node].name
        said = "; ".join(others[:MOST_SPLITS]) or f"the counts of the leaves below node {name}"
    return said
