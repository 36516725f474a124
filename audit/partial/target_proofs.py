"""What consistent tables prove of each profile's class, for an adversary who knows some columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.bounds import Bounds
from treewarden.audit.consistent_tables.result import ConsistentTables, Witness
from treewarden.audit.options import AuditOptions
from treewarden.audit.partial.fitting.flows import (
    AdversaryBudget,
    Network,
    filled,
    table_of,
)
from treewarden.audit.partial.fitting.splits import SplitChoiceView
from treewarden.audit.partial.functional_dependencies import AdversaryKnowledge
from treewarden.audit.partial.reachability import (
    Reachability,
    bound_tables,
    ends_by_class,
    proofs,
    ranges,
)
from treewarden.audit.partial.tree_context import LeafTable, TreeContext
from treewarden.audit.partial.unmodelled_knowledge import NOT_WHOLE
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray

IN_ALL_LEAVES = "every leaf that such a person can reach has only this value"


@dataclass(frozen=True, slots=True)
class TargetProblem:
    """Target inference by one adversary: the tree, what the adversary knows, and what may be spent on it.

    ``doubts`` are why more may be known than is used; ``choice`` is what is used of how splits were chosen, None where
    nothing is.
    """

    context: TreeContext
    knowledge: AdversaryKnowledge
    doubts: tuple[str, ...]
    choice: SplitChoiceView | None
    until: Clock
    options: AuditOptions
    effort: AdversaryBudget

    @property
    def leaves(self) -> LeafTable:
        """The leaves of the tree."""
        return self.context.leaves

    @property
    def people(self) -> Population:
        """The people as the adversary tells them apart."""
        return self.knowledge.people

    @property
    def flows(self) -> int:
        """How many arcs may be looked at for what consistent tables prove: none where the time is over."""
        return 0 if self.until.is_over else self.effort.flows


def prove_target(
    problem: TargetProblem, reachability: Reachability, net: Network
) -> ConsistentTables | Undetermined:
    """Return what is certain of each profile; with doubts, what is neither proved nor true is not decided.

    ``net`` is where people can be among the leaves that hold somebody.

    Raises:
        TableError: no table with these leaves has these numbers.
    """
    counts, people, doubts = problem.context.population.counts, problem.people, problem.doubts
    if (counts != np.rint(counts)).any():
        return NOT_WHOLE
    of_leaves = problem.leaves.proved(problem.until)
    if isinstance(of_leaves, Undetermined):
        return of_leaves
    lump_of = reachability.lump_of
    reached = of_leaves.reached_high.astype(np.float64)
    of_lump = proofs(net, of_leaves.high.astype(np.float64), np.maximum(reached, 0.0))
    proved = of_lump.of_profiles(lump_of)
    flows = problem.flows
    between = _ranges(problem, lump_of, net, of_leaves, flows)
    worlds = bound_tables(
        people, proved, is_exact=not doubts, between=between, reason=IN_ALL_LEAVES
    )
    left = tuple(dict.fromkeys((*doubts, *of_leaves.left)))
    tables: tuple[Witness, ...] = ()
    is_counted = bool((of_leaves.low == of_leaves.high).all())
    if flows and not doubts and is_counted and not problem.until.is_over:
        tables = find_witness_tables(
            net,
            lump_of,
            people,
            _of_groups(net, of_leaves.low),
            worlds,
            problem.context.tree.classes,
        )
    return replace(worlds, left=left, not_decided=left, witnesses=tables)


def _ranges(
    problem: TargetProblem,
    lump_of: IndexArray,
    net: Network,
    of_leaves: ConsistentTables,
    flows: int,
) -> Bounds[IntArray]:
    """Return how many people of each profile can have each class, given what is proved of each leaf's classes.

    Where these are open, the true table's are one way how they can be.
    """
    outer = ends_by_class(net, of_leaves.low, of_leaves.high, flows)
    inner, truth = outer, problem.leaves.system.case.population.truth
    if not (of_leaves.low == of_leaves.high).all():
        if isinstance(truth, Undetermined):
            inner = replace(outer, asked=np.zeros_like(outer.asked))
        else:
            inner = ends_by_class(net, truth, truth, flows)
    return ranges(problem.people.counts, lump_of, net.supply, outer, inner)


def _of_groups(net: Network, leaves: FloatArray | IntArray) -> IntArray:
    """Return how many people of each class groups of leaves have, (G, m), given how many each leaf has, (L, m)."""
    return np.rint(net.over_groups(leaves.astype(np.float64))).astype(np.int64)


# Witness tables in which as few people of a profile as possible have the value that most of them must have.

MOST_SHOWN = 3
"""Profiles of which a table is shown, those of most people first."""
MOST_PLACES = 200_000
"""Places where lumps can be, and profiles, up to which tables are worth their time."""


def find_witness_tables(
    net: Network,
    lump_of: IndexArray,
    people: Population,
    class_counts: IntArray,
    worlds: ConsistentTables,
    classes: tuple[str, ...],
) -> tuple[Witness, ...]:
    """Return tables that fit, given how many of each class each group of leaves has, (G, m).

    Each is of a profile that is not certain: as few of its people as can be have the value that most of them must have
    at least.
    """
    if net.movable.nnz + len(lump_of) > MOST_PLACES:
        return ()
    witnesses, movable = [], (worlds.counts > 0) & ~worlds.certain
    ranked = np.argsort(-worlds.counts, kind="stable")
    for profile in ranked[movable[ranked]][:MOST_SHOWN].tolist():
        value = int(worlds.low[profile].argmax())
        by_lump = table_of(net, int(lump_of[profile]), value, class_counts, up=False)
        table = _of_profiles(by_lump, lump_of, worlds.counts, profile, value)
        count = int(worlds.counts[profile])
        fewest = f"{table[profile, value]:,} of these {count:,} people have {classes[value]}"
        witnesses.append(Witness(profile, f"in a table that fits, no more than {fewest}", table))
    return tuple(witnesses)


def _of_profiles(
    by_lump: IntArray, lump_of: IndexArray, counts: IntArray, first: int, value: int
) -> IntArray:
    """Return a table of profiles, (P, m), given one of lumps: the first profile has a value last."""
    table = np.zeros((len(lump_of), by_lump.shape[1]), dtype=np.int64)
    last = np.argsort(np.arange(by_lump.shape[1]) == value, kind="stable")
    left = by_lump[lump_of[first]]
    table[first, last] = filled(counts[[first]], left[last])[0]
    order = np.argsort(lump_of, kind="stable")
    for profiles in np.split(order, np.flatnonzero(np.diff(lump_of[order])) + 1):
        lump, rest = lump_of[profiles[0]], profiles[profiles != first]
        own = left - table[first] if lump == lump_of[first] else by_lump[lump]
        table[rest] = filled(counts[rest], own)
    return table
