"""The constraint system: all rows of all constraints, each checked on the truth before anyone relies on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from treewarden.audit import constraints
from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.impurity_rows import excesses
from treewarden.audit.facts.kinds import KINDS
from treewarden.audit.facts.rows import (
    COUNT_TOLERANCE_RECORDS,
    TRUTH_TOLERANCE_SHARE,
    Case,
    DroppedRow,
    Kinds,
    LeafMass,
    LeftOut,
    Linear,
    Plurality,
    Row,
    RowContent,
    RowKind,
    SplitFamily,
    WholeRecords,
    kind_of,
)
from treewarden.audit.knowledge.knowledge import (
    is_program_known,
    possible_criteria,
    suppositions,
)
from treewarden.audit.progress import Clock, Share, counted_by
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models import gc_control
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, grouped
from treewarden.ppdm_models.plugins import PluginIndex, discover

Fact = Row | LeftOut | WholeRecords


@dataclass(frozen=True)
class System:
    """Rows that hold in the true table (where there is one), and those that do not. ``case`` is what they speak of.

    ``left_out`` may hold too, which is not known: no row says it. ``whole`` holds of whole records, and is no part of
    the estimate. What the rows say together is worked out once, when it is first asked for.
    """

    case: Case
    rows: tuple[Row, ...]
    dropped: tuple[DroppedRow, ...]
    left_out: tuple[LeftOut, ...] = ()
    whole: tuple[Linear, ...] = ()
    kinds: Kinds = field(default_factory=lambda: KINDS, repr=False)

    def kind(self, row: Row) -> RowKind[Row]:
        """Return what interprets a row."""
        return kind_of(self.kinds, row)

    @cached_property
    def contents(self) -> tuple[RowContent, ...]:
        """What each row says, in their order."""
        return tuple(self.kind(row).content_of(self.case, row) for row in self.rows)

    @cached_property
    def families(self) -> tuple[SplitFamily, ...]:
        """The candidates that learners compared; their places here are their numbers."""
        return tuple(family for row_content in self.contents for family in row_content.families)

    @cached_property
    def across(self) -> tuple[Linear, ...]:
        """The rows that may be about several leaves; their places here are their numbers."""
        return tuple(line for row_content in self.contents for line in row_content.across)

    @cached_property
    def ends(self) -> Mapping[int, tuple[LeafMass, ...]]:
        """What is known of single classes of those who stop at a node, by node."""
        found: dict[int, list[LeafMass]] = {}
        for row_content in self.contents:
            for end in row_content.ends:
                found.setdefault(end.node, []).append(end)
        return {node: tuple(ends) for node, ends in found.items()}

    @cached_property
    def leads(self) -> Mapping[int, Plurality]:
        """Which class leads among those who stop at a node, by node.

        Raises:
            ValueError: two rows say it of one node.
        """
        pluralities: dict[int, Plurality] = {}
        for row_content in self.contents:
            for lead in row_content.leads:
                if lead.node in pluralities:
                    raise ValueError(f"two rows say which class leads at node {lead.node}")
                pluralities[lead.node] = lead
        return pluralities

    @cached_property
    def estimated(self) -> System:
        """The system that an estimate is made of: with what is supposed of that which was left out."""
        truth, rows = self.case.population.truth, list(self.rows)
        supposed = (row for left_out in self.left_out for row in left_out.supposed)
        for row in supposed:
            if isinstance(truth, Undetermined):
                rows.append(row)
                continue
            kept = self.kind(row).keep_true(self.case, row, truth)[0]
            rows += [] if kept is None else [kept]
        return self if len(rows) == len(self.rows) else replace(self, rows=tuple(rows))

    @property
    def size(self) -> int:
        """The number of rows, each candidate split counted as one; the profiles' own totals not counted."""
        return sum(self.kind(row).statements(row) for row in self.rows)


def build_system(case: Case, share: Share | None = None) -> System:
    """Collect the rows of every constraint and drop those that the true table breaks.

    ``share`` is told how many splits were listed, and then how many comparisons were held against the table.

    Raises:
        KnowledgeError: the adversary is said to know what cannot be known here.
    """
    with gc_control.paused():  # rows hold no cycles
        return system_of(case, facts_of(case, share), share=share)


def supposed_systems(case: Case) -> tuple[System, ...]:
    """Return the rows by each criterion of splits that an adversary may suppose, where none is known.

    Of a program that is not known a criterion is only guessed: none by which the true table has a better split.
    """
    if case.tree.learner.claims_privacy or case.population.hides_weights(case.tree):
        return ()
    found, is_known = [], is_program_known(case.knowledge, case.tree)
    for criterion in possible_criteria(case.knowledge, case.tree):
        for knowledge in suppositions(case.knowledge, case.tree, criterion):
            system = build_system(replace(case, knowledge=knowledge))
            untrue = {dropped_row.constraint for dropped_row in system.dropped}
            if is_known or "split_choice" not in untrue:
                found.append(system)
                break
    return tuple(found)


def facts_of(case: Case, share: Share | None = None) -> tuple[Fact, ...]:
    """Return what all constraints yield.

    Raises:
        KnowledgeError: the adversary is said to know what cannot be known here.
    """
    facts: list[Fact] = []
    seen: set[int] = set()
    splits = sum(not node.is_leaf for node in case.tree.nodes)
    for constraint in kinds_of_facts().values():
        for fact in constraint.rows(case):
            facts.append(fact)
            if share is not None and isinstance(fact, SplitFamily) and fact.node not in seen:
                seen.add(fact.node)
                share(len(seen), splits, "splits listed")
    return tuple(facts)


def kinds_of_facts() -> PluginIndex[Constraint]:
    """Return all constraints by name."""
    return discover(constraints, "CONSTRAINT", Constraint)


def system_of(
    case: Case, facts: Iterable[Fact], kinds: Kinds = KINDS, share: Share | None = None
) -> System:
    """Return the system of some facts, without the rows that the true table breaks."""
    rows: list[Row] = []
    left_out: list[LeftOut] = []
    whole: list[Linear] = []
    for fact in facts:
        if isinstance(fact, LeftOut):
            left_out.append(fact)
        elif isinstance(fact, WholeRecords):
            whole.append(fact.row)
        else:
            rows.append(fact)
    truth = case.population.truth
    if isinstance(truth, Undetermined):
        return System(case, tuple(rows), (), tuple(left_out), tuple(whole), kinds)
    sure = _surely_held(case, rows, truth, kinds, share)
    checked = [
        (row, None) if number in sure else kind_of(kinds, row).keep_true(case, row, truth)
        for number, row in enumerate(rows)
    ]
    kept = tuple(row for row, _ in checked if row is not None)
    dropped = [dropped_row for _, dropped_row in checked if dropped_row is not None]
    true = []
    for row in whole:
        row_held, untrue = kind_of(kinds, row).keep_true(case, row, truth)
        true += [] if row_held is None else [row_held]
        dropped += [] if untrue is None else [untrue]
    return System(case, kept, tuple(dropped), tuple(left_out), tuple(true), kinds)


def _surely_held(
    case: Case, rows: Sequence[Row], truth: FloatArray, kinds: Kinds, share: Share | None
) -> set[int]:
    """Return the numbers of rows that the true table obeys, among those kinds that are many and soon looked at."""
    found: set[int] = set()
    if kinds[SplitFamily] is KINDS[SplitFamily]:
        families = [(n, row) for n, row in enumerate(rows) if isinstance(row, SplitFamily)]
        checked = excesses(families, truth)
        for number, over in counted_by(share, checked, len(families), "comparisons checked"):
            if not (over > TRUTH_TOLERANCE_SHARE).any():
                found.add(number)
    masses = [(n, row) for n, row in enumerate(rows) if isinstance(row, LeafMass)]
    if kinds[Plurality] is KINDS[Plurality]:
        found.update(_surely_led(case, enumerate(rows), truth))
    if masses and kinds[LeafMass] is KINDS[LeafMass]:
        held = grouped(case.population.leaf, truth, len(case.tree.nodes))
        value = held[[row.node for _, row in masses], [row.klass for _, row in masses]]
        low, high = np.array([(row.low, row.high) for _, row in masses]).T
        is_held = np.maximum(low - value, value - high) <= COUNT_TOLERANCE_RECORDS / 2
        found.update(n for (n, _), is_sure in zip(masses, is_held.tolist(), strict=True) if is_sure)
    return found


def _surely_led(case: Case, rows: Iterable[tuple[int, Row]], mass: FloatArray) -> set[int]:
    """Return the numbers of those labels that lead all classes as they are said to, by masses (P, m).

    Sums by leaf add one profile after the other, as the rows do it one by one.
    """
    leads = [(number, row) for number, row in rows if isinstance(row, Plurality)]
    leaf = case.population.leaf
    if not leads or (leaf < 0).any():
        return set()
    totals = grouped(leaf, mass, len(case.tree.nodes))[[row.node for _, row in leads]]
    at = np.arange(len(leads)), np.array([row.label for _, row in leads])
    margin = np.array([row.margin for _, row in leads])
    short = totals + margin[:, None] - totals[at][:, None]
    short[at] = 0.0
    by = totals[at][:, None] - totals - (margin[:, None] + 1)
    return {
        number
        for (number, row), is_led, others in zip(
            leads, (short <= 0).all(axis=1).tolist(), by, strict=True
        )
        if is_led and (others[list(row.before)] >= 0).all()
    }


def doubled(system: System, until: Clock) -> tuple[System, tuple[int, ...]]:
    """Return the system with what was left out as if it held, and the nodes below which nobody can tell what holds.

    A table that obeys it, and is as the true one below those nodes, obeys whatever of it does hold.

    Raises:
        OutOfTimeError: time is over before all of it was looked at.
    """
    case, truth = system.case, system.case.population.truth
    rows: list[Row] = list(system.rows)
    open_nodes = {left_out.node for left_out in system.left_out if left_out.is_open}
    for one in system.left_out:
        if one.is_open:
            continue
        until.check()
        if isinstance(truth, Undetermined):
            rows += [*one.possible, *one.implying, *one.lines]
            continue
        for family in one.possible:
            until.check()
            row = system.kind(family).keep_true(case, family, truth)[0]
            rows += [] if row is None else [row]
        implying: tuple[Row, ...] = (*one.implying, *one.lines)
        checked = [system.kind(row).keep_true(case, row, truth) for row in implying]
        if any(dropped_row for _, dropped_row in checked):
            open_nodes.add(one.node)
        else:
            rows += [row for row, _ in checked if row is not None]
    narrow = replace(system, rows=tuple(rows), left_out=(), whole=())
    return narrow, tuple(sorted(open_nodes))


def left_out_in_words(system: System) -> tuple[str, ...]:
    """Return what was left out, each kind once, with the attributes and how many nodes it concerns."""
    kinds: dict[str, tuple[dict[str, None], set[int]]] = {}
    for left_out in system.left_out:
        names, nodes = kinds.setdefault(left_out.why, ({}, set()))
        names[repr(left_out.attribute)] = None
        nodes.add(left_out.node)
    return tuple(
        f"not used, though it may prove more: {why.replace('{}', ', '.join(names))}"
        f"{f' (at {len(nodes)} nodes)' if len(nodes) > 1 else ''}"
        for why, (names, nodes) in kinds.items()
    )


def max_violation(
    system: System,
    mass: FloatArray,
    over: Mapping[int, FloatArray] | None = None,
    numbers: Iterable[int] | None = None,
) -> float:
    """Return the largest relative violation over all rows, re-computed from their definitions.

    ``over`` is what ``impurity_rows.excess`` says of families at this very mass, by their numbers,
    where that is known. With ``numbers``, only these rows are looked at.
    """
    chosen = range(len(system.rows)) if numbers is None else sorted(numbers)
    rows = {id(system.rows[number]): number for number in chosen}
    families = [family for family in system.families if id(family) in rows]
    found = {
        rows[id(family)]: over[number]
        for number, family in enumerate(system.families)
        if over is not None and number in over and id(family) in rows
    }
    if system.kinds[SplitFamily] is KINDS[SplitFamily]:
        asked = (
            (rows[id(split_family)], split_family)
            for split_family in families
            if rows[id(split_family)] not in found
        )
        found.update(excesses(asked, mass))
    led: set[int] = set()
    if numbers is None and system.kinds[Plurality] is KINDS[Plurality]:
        led = _surely_led(system.case, enumerate(system.rows), mass)
    worst = 0.0
    for number in chosen:
        if number in led:
            continue
        row, broken = system.rows[number], found.get(number)
        if broken is None:
            broken = system.kind(row).broken(system.case, row, mass)
        worst = max(worst, float(broken.max(initial=0.0)))
    return worst


def rows_by_leaf(system: System) -> dict[int, list[int]]:
    """Return the numbers of the rows that concern the people of each node where records stop.

    A row that gives no node and no profiles concerns all of them.
    """
    leaf = system.case.population.leaf
    found: dict[int, list[int]] = {int(node): [] for node in np.unique(leaf)}
    for number, content in enumerate(system.contents):
        nodes = {end.node for end in content.ends} | {lead.node for lead in content.leads}
        profiles = [line.profiles for line in content.across]
        profiles += [family.profiles for family in content.families]
        for part in profiles:
            nodes.update(np.unique(leaf[part]).tolist())
        for node in nodes or found:
            found.setdefault(node, []).append(number)
    return found


# What the leaf rows together say about each node where records stop, and the estimate they give on their own.


@dataclass(frozen=True, slots=True)
class LeafKnowledge:
    """All that is known of the records that stop at one node.

    Their number, each class's mass in [low, high], and which class leads by ``margin``; ``named`` (m,) says which
    classes the rows tell apart.
    """

    node: int
    records: float
    low: FloatArray
    high: FloatArray
    label: int | None
    margin: float
    named: BoolArray

    @property
    def known_masses(self) -> FloatArray:
        """The mass of each class, NaN where it is not known exactly."""
        return np.where(self.low == self.high, self.low, np.nan)


def leaf_knowledge(system: System) -> dict[int, LeafKnowledge]:
    """Return what the leaf rows say together, per node where records stop."""
    population, m = system.case.population, len(system.case.tree.classes)
    sizes = np.bincount(population.leaf, weights=population.counts)
    there = np.flatnonzero(np.bincount(population.leaf))
    low = {node: np.zeros(m) for node in there.tolist()}
    high = {node: np.full(m, sizes[node]) for node in low}
    named = {node: np.zeros(m, dtype=bool) for node in low}
    for node, ends in system.ends.items():
        for end in ends:
            low[node][end.klass] = max(low[node][end.klass], end.low)
            high[node][end.klass] = min(high[node][end.klass], end.high)
            named[node][end.klass] = True
    for node, lead in system.leads.items():
        named[node][lead.label] = True
    by_leaf = {}
    for node in low:
        complete(low[node], high[node], float(sizes[node]))
        label = system.leads.get(node)
        by_leaf[node] = LeafKnowledge(
            node=node,
            records=float(sizes[node]),
            low=low[node],
            high=high[node],
            label=None if label is None else label.label,
            margin=0.0 if label is None else label.margin,
            named=named[node],
        )
    return by_leaf


def complete(low: FloatArray, high: FloatArray, records: float) -> None:
    """Tighten each class's ends by what the others leave of the node's records; exact masses stay exact."""
    rest_high = records - (low.sum() - low)
    rest_low = records - (high.sum() - high)
    open_ends = low < high
    tiny = 1e-9 * max(records, 1.0)
    np.copyto(high, np.maximum(np.minimum(high, rest_high), low), where=open_ends)
    np.copyto(low, np.minimum(np.maximum(low, rest_low), high), where=open_ends)
    np.copyto(low, high, where=open_ends & (high - low <= tiny))


def closed_form(leaf: LeafKnowledge) -> FloatArray:
    """Return the maximum-entropy shares of one leaf from its own rows alone, shape (m,) (Zhu & Du 2010, section 5).

    Known masses stand; what is left is spread evenly over the other classes, within their ends; a strict label leads.
    """
    known = leaf.known_masses
    free = np.isnan(known)
    masses = np.where(free, 0.0, known)
    rest = leaf.records - masses.sum()
    if free.any():
        masses[free] = _even(rest, leaf.low[free], leaf.high[free])
    if leaf.label is not None and free[leaf.label] and leaf.margin > 0:
        masses = _led(leaf, masses, free)
    return np.maximum(masses, 0.0) / leaf.records


def _even(mass: float, low: FloatArray, high: FloatArray) -> FloatArray:
    """Spread a mass evenly within ends: the water level at which the clipped values sum to it."""
    level = mass / len(low)
    if (low <= level).all() and (level <= high).all():
        return np.full(len(low), level)
    bottom, top = float(low.min()), float(high.max())
    ends = list(zip(low.tolist(), high.tolist(), strict=True))
    for _ in range(200):
        level = (bottom + top) / 2
        if level in (bottom, top):
            break  # no float lies between
        bottom, top = (level, top) if _filled(level, ends) < mass else (bottom, level)
    spread = np.clip((bottom + top) / 2, low, high)
    inside = (spread > low) & (spread < high)
    if inside.any():
        spread[inside] += (mass - spread.sum()) / inside.sum()
    return np.asarray(spread)


def _filled(level: float, ends: list[tuple[float, float]]) -> float:
    """Return the sum of a level clipped to each pair of ends; for so few of them a loop is the quickest."""
    total = 0.0
    for low, high in ends:
        total += min(max(level, low), high)
    return total


def _led(leaf: LeafKnowledge, masses: FloatArray, free: FloatArray) -> FloatArray:
    """Give the label its lead over the highest other class, the rest even."""
    assert leaf.label is not None
    others = free.astype(bool).copy()
    others[leaf.label] = False
    pool = masses[others].sum() + masses[leaf.label]
    level = (pool - leaf.margin) / (others.sum() + 1)
    led = masses.copy()
    led[others], led[leaf.label] = level, level + leaf.margin
    return led
