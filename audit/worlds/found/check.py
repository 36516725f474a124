"""Whether an integer table is a world: every fact re-checked exactly, node by node."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treewarden.audit.worlds.clock import FOREVER, Clock
from treewarden.audit.worlds.facts.explain import would_have_split
from treewarden.audit.worlds.facts.facts import Facts
from treewarden.audit.worlds.facts.splits import Split
from treewarden.ppdm_models.arrays import BoolArray, IntArray


def node_holds(facts: Facts, node: int, tables: IntArray, clock: Clock = FOREVER) -> BoolArray:
    """Return whether tables (K, S, m) of a node's positions obey the node's own rows; exact.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    good = np.ones(len(tables), dtype=bool)
    start = facts.span(node).start
    for line in facts.lines.get(node, ()):
        for k in np.flatnonzero(good):
            good[k] = line.holds(tables[k], start)
    for split in facts.splits.get(node, ()):
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
    notes = list(facts.notes)
    places = {}
    for node, place in facts.places.items():
        if place.holds(truth[place.start : place.end].sum(axis=0)):
            places[node] = place
            continue
        size = facts.classes
        places[node] = replace(
            place,
            low=(0,) * size,
            high=(place.records,) * size,
            label=None,
            margin=0,
            before=frozenset(),
        )
        notes.append(f"the classes of {facts.tree.where(facts.tree.nodes[node])} are not as told")
    lines = {
        node: tuple(line for line in found if line.holds(truth))
        for node, found in facts.lines.items()
    }
    return replace(facts, lines=lines, places=places, notes=tuple(notes))


def without_false_splits(facts: Facts, truth: IntArray, clock: Clock = FOREVER) -> Facts:
    """Return the facts without the split rows that the true table breaks when it is counted exactly.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    notes, splits = list(facts.notes), {}
    for node, found in facts.splits.items():
        kept: list[Split] = []
        for split in found:
            clock.check()
            held, said = _held(facts, split, truth[facts.span(node)])
            kept += held
            notes += said
        if kept:
            splits[node] = tuple(kept)
    return replace(facts, splits=splits, notes=tuple(notes))


def _held(facts: Facts, split: Split, here: IntArray) -> tuple[list[Split], list[str]]:
    """Return what the true table (S, m) of a node leaves of a split's rows, and what it takes away, in words.

    A candidate that had to be worse and is only as good still cannot be better.
    """
    broken = split.broken(here)
    if not broken:
        return [split], []
    held = [split.without(broken)] if len(broken) < split.size else []
    if split.strict:
        others = np.setdiff1d(np.arange(split.size), broken)
        tied = replace(split.without(others.tolist()), strict=False, low=None, high=None)
        more, said = _held(facts, tied, here)
        return held + more, said
    first = would_have_split(facts, split, broken[0])
    return held, [f"{len(broken)} rows left out, as the true table breaks them: {first}"]
