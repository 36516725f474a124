"""Witness tables found so far, and how far they reach in every cell: each one shows what is possible.

Every table is re-checked exactly, and cells that are not decided are ordered by what they would mean for a person.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from treewarden.audit.bounds import CellBounds
from treewarden.audit.consistent_tables.facts.facts import Facts, loses_ties, would_have_split
from treewarden.audit.consistent_tables.facts.splits import AttributeSplits, TieRule
from treewarden.audit.facts.grower import grower
from treewarden.audit.facts.rows import Grouping
from treewarden.audit.progress import FOREVER, Clock
from treewarden.ppdm_models.arrays import BoolArray, IntArray

MOST_TABLES = 64


@dataclass(frozen=True, slots=True)
class Swap:
    """Two records of one leaf trade classes.

    In the base world one of ``first`` has ``klass`` and one of ``second`` ``other``; afterwards the other way round.
    Where ``second`` is None the record of ``first`` alone changes.
    """

    first: int
    klass: int
    second: int | None
    other: int

    def applied(self, table: IntArray) -> IntArray:
        """Return the table after the swap."""
        changed = table.copy()
        changed[self.first, self.klass] -= 1
        changed[self.first, self.other] += 1
        if self.second is not None:
            changed[self.second, self.other] -= 1
            changed[self.second, self.klass] += 1
        return changed


@dataclass(frozen=True, slots=True, eq=False)
class TableChanges:
    """K changes of a table, shape (K,) each.

    A record of ``first`` gets the class ``to`` instead of ``own``, and one of ``second`` gets ``own`` instead of
    ``other``. Where one record alone changes, ``second`` is ``first`` and ``other`` is ``own``.
    """

    first: IntArray
    own: IntArray
    second: IntArray
    other: IntArray
    to: IntArray

    def __len__(self) -> int:
        return len(self.first)

    def select(self, these: BoolArray | IntArray) -> TableChanges:
        """Return some of the changes."""
        parts = (self.first, self.own, self.second, self.other, self.to)
        return TableChanges(*(part[these] for part in parts))

    def moves(self) -> tuple[tuple[IntArray, IntArray], ...]:
        """Return the positions that get records of the first class, and how many each, (K,) both, of each record."""
        own, other, to = (
            np.equal(klass, 0).astype(np.int64) for klass in (self.own, self.other, self.to)
        )
        return (self.first, to - own), (
            self.second,
            np.where(self.second != self.first, own - other, 0),
        )

    def applied(self, number: int, table: IntArray) -> IntArray:
        """Return the table after one of the changes."""
        changed = table.copy()
        changed[self.first[number], self.own[number]] -= 1
        changed[self.first[number], self.to[number]] += 1
        if self.second[number] != self.first[number]:
            changed[self.second[number], self.other[number]] -= 1
            changed[self.second[number], self.own[number]] += 1
        return changed


@dataclass(eq=False)
class WitnessPool:
    """Worlds, each checked exactly, and the least and greatest count that they reach per cell, shape (P, m).

    ``facts`` are those of tables that show what is possible (``facts_of_witnesses``), ``unsure`` the cells (P, m) that
    other tables move, which rest on a tie, or on a set that is not compared there; ``base`` is one of those,
    where no other is known. ``swaps`` holds, per cell and side, the swap that moved it and the number of the world it
    starts from. Of the first ``changed`` tables each record was changed alone.
    """

    facts: Facts
    tables: list[IntArray] = field(default_factory=list)
    low: IntArray = field(init=False)
    high: IntArray = field(init=False)
    swaps: dict[int, tuple[int, Swap]] = field(default_factory=dict)
    size: int = 0
    changed: int = 0
    unsure: BoolArray = field(init=False)
    base: IntArray | None = None

    def __post_init__(self) -> None:
        shape = (len(self.facts.counts), self.facts.classes)
        self.low = np.broadcast_to(self.facts.counts[:, None], shape).astype(np.int64)
        self.high = np.zeros(shape, dtype=np.int64)
        self.unsure = np.zeros(shape, dtype=bool)

    @property
    def is_empty(self) -> bool:
        """Whether no world is known that shows what is possible."""
        return not self.tables

    @property
    def first(self) -> IntArray | None:
        """The world that others are made of, (P, m): it may itself rest on a tie, and then shows nothing."""
        return self.tables[0] if self.tables else self.base

    def add_truth(self, table: IntArray) -> None:
        """Add the true table (P, m): the learner came to the published splits in it, whatever they rest on."""
        self._add(table[None])

    def has_compared(self, tables: IntArray) -> BoolArray:
        """Return in which tables (K, P, m) the learner compares each published set of categories."""
        has: BoolArray = np.ones(len(tables), dtype=bool)
        for ordered in self.facts.sets if len(tables) else ():
            has &= ordered.allows(tables)
        return has

    def add(self, tables: IntArray) -> None:
        """Add worlds, shape (K, P, m), that were checked; those whose published sets are compared."""
        if self.facts.sets:
            has = self.has_compared(tables)
            self._leave_open(tables[~has])
            tables = tables[has]
        self._add(tables)

    def _add(self, tables: IntArray) -> None:
        if not len(tables):
            return
        np.minimum(self.low, tables.min(axis=0), out=self.low)
        np.maximum(self.high, tables.max(axis=0), out=self.high)
        self.size += len(tables)
        # A world that was asked for is worth keeping, for its neighbours.
        most = MOST_TABLES if len(tables) > 1 else 8 * MOST_TABLES
        self.tables += list(np.array(tables[: max(0, most - len(self.tables))], dtype=np.int64))

    def add_those_that_show(self, facts: Facts, tables: IntArray, clock: Clock) -> None:
        """Add those worlds, shape (K, P, m), of the facts that proofs rest on which show what is possible.

        Raises:
            OutOfTimeError: the budget is used up.
        """
        shows: BoolArray = np.ones(len(tables), dtype=bool)
        for node in self.facts.splits if self.facts is not facts else ():
            left = np.flatnonzero(shows)
            shows[left] = node_holds(
                self.facts, node, tables[left][:, self.facts.span(node)], clock
            )
        self.add_some(tables, shows)

    def add_some(self, tables: IntArray, shows: BoolArray) -> None:
        """Add those worlds, shape (K, P, m), that show what is possible, and note which cells others move."""
        self.add(tables[shows])
        self._leave_open(tables[~shows])

    def _leave_open(self, others: IntArray) -> None:
        """Note which cells tables (K, P, m) move that show nothing."""
        if len(others):
            self.base = others[0] if self.base is None else self.base
            self.unsure |= (others != others[0]).any(axis=0) | (others.min(axis=0) < self.low)
            self.unsure |= others.max(axis=0) > self.high

    def add_swap(self, base: int, swap: Swap) -> None:
        """Note a checked neighbour of one of the pool's worlds."""
        table = self.tables[base]
        self.size += 1
        touched = [(swap.first, swap.klass, -1), (swap.first, swap.other, 1)]
        if swap.second is not None:
            touched += [(swap.second, swap.other, -1), (swap.second, swap.klass, 1)]
        for position, klass, change in touched:
            value = table[position, klass] + change
            self.low[position, klass] = min(self.low[position, klass], value)
            self.high[position, klass] = max(self.high[position, klass], value)
            self.swaps.setdefault(position, (base, swap))

    def add_changes(self, base: int, changes: TableChanges) -> None:
        """Note the worlds that checked changes of one of the pool's worlds lead to."""
        table, first, second = self.tables[base], changes.first, changes.second
        own, other, to = changes.own, changes.other, changes.to
        both = second != first
        np.minimum.at(self.low, (first, own), table[first, own] - 1)
        np.maximum.at(self.high, (first, to), table[first, to] + 1)
        np.minimum.at(self.low, (second[both], other[both]), table[second, other][both] - 1)
        np.maximum.at(self.high, (second[both], own[both]), table[second, own][both] + 1)
        self.size += len(changes)
        # A pair of which one gets what the other has is a swap; of each profile the first is kept.
        swaps = np.flatnonzero(~both | (to == other))
        people, at = np.unique(np.stack([first, second], axis=1)[swaps].ravel(), return_index=True)
        for position, number in zip(people.tolist(), swaps[at // 2].tolist(), strict=True):
            if position not in self.swaps:
                partner = int(second[number]) if both[number] else None
                swap = Swap(int(first[number]), int(own[number]), partner, int(to[number]))
                self.swaps[position] = (base, swap)

    def is_moved_by(self, swap: Swap) -> bool:
        """Return whether a swap may move a cell that no world moves."""
        return any(
            self.low[row, klass] == self.high[row, klass]
            for row in (swap.first, swap.second)
            if row is not None
            for klass in (swap.klass, swap.other)
        )

    def stuck(self, low: IntArray, high: IntArray) -> BoolArray:
        """Return the cells that no world moves although their proved ends differ, shape (P, m)."""
        return np.asarray((low < high) & (self.low == self.high))


# Whether an integer table is consistent: every fact re-checked exactly, node by node.


def node_holds(
    facts: Facts, node: int, tables: IntArray, clock: Clock = FOREVER, *, splits: bool = True
) -> BoolArray:
    """Return whether tables (K, S, m) of a node's positions obey the node's own rows; exact.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    good = np.ones(len(tables), dtype=bool)
    start = facts.span(node).start
    for line in facts.lines.get(node, ()):
        left = np.flatnonzero(good)
        good[left] = line.holds_each(tables[left], start)
    for split in facts.splits.get(node, ()) if splits else ():
        left = np.flatnonzero(good)
        if not len(left):
            break
        clock.check()
        good[left] = split.holds(tables[left])
    return good


def path_holds(facts: Facts, node: int, table: IntArray, clock: Clock = FOREVER) -> bool:
    """Return whether a whole table (P, m) obeys the rows of a node and of all nodes above it.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    return all(
        bool(node_holds(facts, above, table[None, facts.span(above)], clock)[0])
        for above in facts.path(node)
    )


def scope_holds(facts: Facts, node: int, table: IntArray, clock: Clock = FOREVER) -> bool:
    """Return whether a whole table (P, m) obeys everything that is said of the profiles below a node.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    span = facts.span(node)
    here = table[span]
    if (here < 0).any() or (here.sum(axis=1) != facts.counts[span]).any():
        return False
    for place in facts.places.values():
        if span.start <= place.start < span.stop:
            totals = table[place.start : place.end].sum(axis=0)
            if not place.holds(totals):
                return False
    return all(
        bool(node_holds(facts, step.index, table[None, facts.span(step.index)], clock)[0])
        for step in facts.tree.below(node)
        if step.index in facts.splits or step.index in facts.lines
    )


def first_broken(facts: Facts, table: IntArray, clock: Clock = FOREVER) -> str | None:
    """Return the first fact that a table (P, m) breaks, in words; None where it is a world.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    if (table < 0).any() or (table.sum(axis=1) != facts.counts).any():
        return "the number of records of some profile"
    for place in facts.places.values():
        if not place.holds(table[place.start : place.end].sum(axis=0)):
            return f"what {facts.tree.where(facts.tree.nodes[place.node])} says of its classes"
    for node in sorted({*facts.lines, *facts.splits}):
        here = table[facts.span(node)]
        for line in facts.lines.get(node, ()):
            if not line.holds(table):
                return line.origin.where
        for split in facts.splits.get(node, ()):
            clock.check()
            broken = split.broken(here)
            if broken:
                return would_have_split(facts, split, broken[0])
    return None


def without_false_places(facts: Facts, truth: IntArray) -> Facts:
    """Return the facts without what is said of leaves' classes and across leaves that the true table breaks.

    What splits say rests on the leaves, so it is worked out afterwards (``with_splits``).
    """
    tree, places = facts.tree, facts.places
    holds = [place.holds(truth[place.start : place.end].sum(axis=0)) for place in places.values()]
    is_false = ~np.array(holds, dtype=bool)
    low, high = (end.copy() for end in facts.ends)
    records = np.add.reduceat(facts.counts, facts.starts)
    low[is_false], high[is_false] = 0, records[is_false, None]
    said = (
        f"the classes of {tree.where(tree.nodes[node])} are not as told"
        for node, is_left_out in zip(places, is_false, strict=True)
        if is_left_out
    )
    exact = replace(
        facts.exact.without_leads(is_false),
        lines=tuple(line for line in facts.exact.lines if line.holds(truth)),
    )
    problem = replace(facts.problem, low=low.ravel(), high=high.ravel(), exact=exact)
    return replace(facts, problem=problem, notes=(*facts.notes, *said))


def without_false_splits(facts: Facts, truth: IntArray, clock: Clock = FOREVER) -> Facts:
    """Return the facts without the split rows that the true table breaks when it is counted exactly.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    notes, splits = list(facts.notes), list[AttributeSplits]()
    for node, found in facts.splits.items():
        for split in found:
            clock.check()
            held, said = _rows_left(facts, split, truth[facts.span(node)])
            splits += held
            notes += said
    return replace(facts.of_splits(splits), notes=tuple(notes))


def _rows_left(
    facts: Facts, split: AttributeSplits, here: IntArray
) -> tuple[list[AttributeSplits], list[str]]:
    """Return what the true table (S, m) of a node leaves of a split's rows, and what it takes away, in words.

    A candidate that had to be worse and is only as good still cannot be better.
    """
    broken = split.broken(here)
    if not broken:
        return [split], []
    held = [split.without(broken)] if len(broken) < split.size else []
    if split.strict:
        others = np.setdiff1d(np.arange(split.size), broken)
        tied = split.without(others.tolist())
        tied = replace(tied, ties=TieRule(), low=None, high=None)
        more, said = _rows_left(facts, tied, here)
        return held + more, said
    first = would_have_split(facts, split, broken[0])
    return held, [f"{len(broken)} rows left out, as the true table breaks them: {first}"]


def facts_of_witnesses(facts: Facts, truth: IntArray | None, clock: Clock = FOREVER) -> Facts:
    """Return what a table must obey to show what is possible: in it, the learner comes to the published splits too.

    Of equally good splits a learner takes one for sure, or may take either (``loses_ties``). Proofs take each of them
    as possible; a table that rests on a tie shows something only where the learner may have resolved it so.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    from treewarden.audit.consistent_tables.facts.intervals import (  # of splits only
        tied_splits,
        without_unsure_ties,
    )

    by = grower(facts.case)
    every = [split for found in facts.splits.values() for split in found]
    tied = tied_splits([split for split in every if split.low is not None], clock)
    splits, is_same = list[AttributeSplits](), True
    for split in every:
        if split.low is None or id(split) in tied:
            clock.check()
            loses = loses_ties(facts.case, split.family, by.tool)
            # Of sets that an order names, the learner may not have compared in the true table what it does in another.
            is_set = split.family.grouping in (Grouping.SUBSET, Grouping.ONE_AGAINST_REST)
            rule = TieRule(split.strict, loses, None if is_set and by.orders_sets else truth)
            split = replace(split, ties=rule)
            split = split if split.low is None else without_unsure_ties(split)
            is_same = False
        splits.append(split)
    return facts if is_same else facts.of_splits(splits)


# Cells (P, m) that neither a proof nor a witness has decided so far, by what they would mean for a person.


def may_be_certain(facts: Facts, bounds: CellBounds, pool: WitnessPool) -> BoolArray:
    """Return the cells that hold all of their profile's records in every world so far, where that is not proved."""
    size = facts.counts[:, None]
    is_certain = (bounds.low == size).any(axis=1, keepdims=True)
    holds_all = np.minimum(pool.low, bounds.high) == size
    return np.asarray(holds_all & ~is_certain & (size > 0))


def not_moved(facts: Facts, bounds: CellBounds, pool: WitnessPool) -> BoolArray:
    """Return the cells that no world moves, where it is not proved that none does: values that may be ruled out too."""
    return np.asarray(pool.stuck(bounds.low, bounds.high) & (facts.counts > 0)[:, None])
