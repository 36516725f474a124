"""The facts of an audit in whole records: what every consistent table (integers, profiles by classes) must obey.

Profiles stand in the order of the leaves (``Members.order``), so that the profiles below a node are one slice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from treewarden.audit.bounds import StoppingPlace, tightened
from treewarden.audit.consistent_tables.facts.splits import (
    AttributeSplits,
    ChosenSplit,
    chosen_of,
    split_of,
)
from treewarden.audit.engine.problem import ExactRows, IntegerRow, Problem, SpanRows
from treewarden.audit.facts.rows import (
    COUNT_TOLERANCE_RECORDS,
    MISSING,
    TRUTH_TOLERANCE_SHARE,
    Case,
    Grouping,
    LeafMass,
    Linear,
    SplitFamily,
    once_per_case,
)
from treewarden.audit.progress import FOREVER, Clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray, distinct
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.predicate import features_of
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Tree

if TYPE_CHECKING:  # of sets of categories only
    from treewarden.audit.consistent_tables.facts.category_orders import OrderedSets

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


def loses_ties(case: Case, family: SplitFamily, tool: Tool) -> BoolArray:
    """Return which candidates (A,) the program surely leaves for the chosen split, or may, where both part alike.

    Numbers that are computed from the same counts are the same then. scikit-learn keeps the first of equally good cuts
    of a column, upwards; which column comes first is drawn (``node_split_best``). treewarden's own learners keep the
    first, by attribute in the order of the file. Of other programs none is known to be left, nor any that may be.
    """
    chosen, admissible = _chosen(case, family.node), family.admissible
    never = np.zeros(len(admissible), dtype=bool)
    if tool not in (Tool.SCIKIT_LEARN, Tool.TREEWARDEN) or not chosen:
        return never
    if chosen == family.attribute:
        first = family.chosen == family.chosen[family.bins.argmin()]
        cut = family.bins[first].max()
        is_cut = family.grouping is Grouping.THRESHOLD and MISSING not in family.bin_names
        is_cut &= bool((family.bins[~first] > cut).all()) and len(np.unique(family.chosen)) == 2
        return np.asarray(admissible > cut) if is_cut else never
    if tool is Tool.SCIKIT_LEARN:
        return ~never
    names = [feature.name for feature in case.tree.features]
    is_known = {chosen, family.attribute} <= {*names}
    return ~never if is_known and names.index(family.attribute) > names.index(chosen) else never


MOST_RECORDS = 2**52
"""Above this a count read as a float may not be whole."""
Row = TypeVar("Row", IntegerRow, AttributeSplits)


def _by_node(rows: Iterable[Row]) -> dict[int, tuple[Row, ...]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.node, []).append(row)
    return {node: tuple(integer_rows) for node, integer_rows in found.items()}


@dataclass(frozen=True, eq=False)
class Facts:
    """One tree's ``problem``, everything that a world must obey, and where its rows are in the tree.

    Groups are profiles in position order, ``order`` maps positions to profiles. ``strict`` says that the learner takes
    the first of equally good splits. ``sets`` are columns of which other tables may have other sets of categories
    compared: what a table that shows what is possible must obey beside its rows.
    """

    case: Case
    strict: bool
    order: IndexArray
    problem: Problem
    notes: tuple[str, ...] = ()
    sets: tuple[OrderedSets, ...] = ()

    @property
    def counts(self) -> IntArray:
        """The records of each position, (P,)."""
        return self.problem.sizes

    @property
    def classes(self) -> int:
        """The number of classes."""
        return self.problem.classes

    @property
    def exact(self) -> ExactRows:
        """The rows beside those of leaves."""
        assert self.problem.exact is not None
        return self.problem.exact

    @cached_property
    def starts(self) -> IndexArray:
        """Where the positions of each leaf begin, (L,)."""
        return np.asarray(self.problem.matrix.starts[:: self.classes])

    @cached_property
    def ends(self) -> tuple[IntArray, IntArray]:
        """The least and the greatest count of each class of each leaf, (L, m)."""
        low, high = self.problem.low, self.problem.high
        return low.reshape(-1, self.classes), high.reshape(-1, self.classes)

    @cached_property
    def leaf_numbers(self) -> IndexArray:
        """The number of each position's leaf, (P,)."""
        return np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(self.counts)))

    @cached_property
    def places(self) -> dict[int, StoppingPlace]:
        """What is known of each leaf, by its node."""
        columns = [
            self.problem.nodes[:: self.classes],
            self.starts,
            np.append(self.starts[1:], len(self.counts)),
            np.add.reduceat(self.counts, self.starts),
            *self.ends,
            self.exact.label,
            self.exact.leads,
        ]
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {row[0]: StoppingPlace(*row) for row in rows}

    @cached_property
    def splits(self) -> dict[int, tuple[AttributeSplits, ...]]:
        """The choices of splits, by node."""
        return _by_node(split for split in self.exact.splits if isinstance(split, AttributeSplits))

    @cached_property
    def lines(self) -> dict[int, tuple[IntegerRow, ...]]:
        """The rows across leaves, by the lowest node above all of their people."""
        return _by_node(self.exact.lines)

    def of_splits(self, splits: Iterable[AttributeSplits]) -> Facts:
        """Return the facts with these rows of splits."""
        exact = replace(self.exact, splits=tuple(splits))
        return replace(self, problem=replace(self.problem, exact=exact))

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
    case, m = system.case, len(system.case.tree.classes)
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
    lines = tuple(_line(case, row, position) for row in system.across)
    return Facts(case, strict, order, _problem(places, lines, whole, m), tuple(notes))


def _problem(
    places: Sequence[StoppingPlace], lines: tuple[IntegerRow, ...], counts: IntArray, classes: int
) -> Problem:
    """Return a row for each class of each leaf, and the rows across leaves."""
    starts, ends, nodes = np.repeat(
        np.array([(place.start, place.end, place.node) for place in places]).T, classes, axis=1
    )
    label, leads = (np.array([getattr(p, name) for p in places]) for name in ("label", "leads"))
    return Problem(
        matrix=SpanRows(starts, ends, len(counts)),
        low=np.array([place.low for place in places], dtype=np.int64).ravel(),
        high=np.array([place.high for place in places], dtype=np.int64).ravel(),
        output=np.tile(np.arange(classes), len(places)),
        trees=np.zeros(len(starts), dtype=np.intp),
        nodes=nodes,
        sizes=counts,
        classes=classes,
        exact=ExactRows(label, leads, lines),
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
    splits: list[AttributeSplits] = []
    chosen_splits: dict[tuple[int, int, bool], ChosenSplit] = {}
    places = list(facts.places.values())
    for split_family in system.families:
        clock.check()
        # All families of a node share the array that says how it was parted.
        key = split_family.node, id(split_family.chosen), split_family.weights is None
        if key not in chosen_splits:
            here = facts.span(split_family.node)
            first, last = np.searchsorted(facts.starts, (here.start, here.stop))
            chosen_splits[key] = chosen_of(split_family, position, places[first:last])
        for family, is_strict in parted(case, split_family, facts.strict):
            splits.append(split_of(family, chosen_splits[key], facts.counts, is_strict))
    return facts.of_splits(splits)


def with_class_counts(facts: Facts, table: IntArray) -> Facts:
    """Return the facts with every place's class counts known to be those of a table (P, m)."""
    totals = np.add.reduceat(table, facts.starts).ravel()
    problem = replace(facts.problem, low=totals, high=totals, exact=facts.exact.without_leads())
    return replace(facts, problem=problem)


def _places(system: System, counts: IntArray) -> tuple[list[StoppingPlace], list[str]]:
    """Return what is known of each leaf, in the order of positions."""
    case, m = system.case, len(system.case.tree.classes)
    stopping_places, notes = [], []
    for node in np.unique(case.population.leaf).tolist():
        start, end = int(case.members.start[node]), int(case.members.own_end[node])
        records = int(counts[start:end].sum())
        low, high = [0] * m, [records] * m
        label, leads = -1, [0] * m
        for leaf_mass in system.ends.get(node, ()):
            ends, note = _whole_ends(leaf_mass)
            low[leaf_mass.klass] = max(low[leaf_mass.klass], ends[0])
            high[leaf_mass.klass] = min(high[leaf_mass.klass], ends[1])
            notes += [note] if note else []
        lead = system.leads.get(node)
        if lead is not None:
            label, margin = lead.label, math.ceil(lead.margin - COUNT_TOLERANCE_RECORDS)
            leads = [margin + (klass in lead.before) for klass in range(m)]
        stopping_places.append(
            tightened(StoppingPlace(node, start, end, records, low, high, label=label, leads=leads))
        )
    return sorted(stopping_places, key=lambda place: place.start), notes


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
    is_plain = bool((row.weights == 1).all())  # most rows count people
    weights, scale = ([1] * len(positions), 1) if is_plain else units_of(row.weights)
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
    starts, ends = _places_of_nodes(case)
    nodes, node = case.tree.nodes, 0
    while True:
        for child in nodes[node].children:
            if starts[child] <= first and last < ends[child]:
                node = child
                break
        else:
            return node


@once_per_case
def _places_of_nodes(case: Case) -> tuple[list[int], list[int]]:
    """Return where the positions of each node begin, and where they end."""
    return case.members.start.tolist(), case.members.end.tolist()


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
