"""A tree as somebody sees it who knows only some columns of the people in it: what he believes, and what is certain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.clock import Clock
from treewarden.audit.consistent_tables.result import ConsistentTables, Witness
from treewarden.audit.entropy.posterior import Posterior, SolverReport
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.partial.class_rows import classed
from treewarden.audit.partial.cutting_planes import CutProblem, Some, enforced
from treewarden.audit.partial.envelope import shown_by_both, spanning
from treewarden.audit.partial.flows import Network, Rooms, ends, filled, network, table_of
from treewarden.audit.partial.functional_dependencies import closed, guess_of
from treewarden.audit.partial.leaf_table import (
    SIZES_UNKNOWN,
    Ground,
    LeafTable,
    are_sizes_published,
    are_told_apart,
    can_hold,
    unsized_estimate,
    unsized_proofs,
    unsized_worlds,
)
from treewarden.audit.partial.margin_fitting import GAP, Spread, spread
from treewarden.audit.partial.partial_view import Knower, knower
from treewarden.audit.partial.reachability import (
    Proofs,
    Ranges,
    Reachability,
    bounded,
    proofs,
    ranges,
    reach,
    shares,
)
from treewarden.audit.partial.splits import SplitChoiceView, place_people
from treewarden.audit.partial.unmodelled_knowledge import (
    NO_SIZES,
    NOT_COMPARED,
    NOT_WHOLE,
    ONLY_CLASSES,
    SPLITS_NOT_USED,
    WEIGHED,
    WITH_AND_WITHOUT,
    choice_of,
    doubts_of,
    why_broken,
)
from treewarden.audit.partial.value_rules import NOT_USED, OPEN, SPANNING, outcome_said, target_of
from treewarden.audit.partial.work_budget import FULL, AdversaryBudget, Allowance, allowed
from treewarden.audit.population.merged_profiles import merged
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.tree import Task

# What somebody makes of a tree who knows the class of some people, as columns that he knows say it.


def with_outcome(
    found: Reachability,
    said: IndexArray,
    population: Population,
    people: Population,
    of: IndexArray,
    leaves: LeafTable,
    choice: SplitChoiceView | None,
    doubts: tuple[str, ...],
    work: int,
    allowance: Allowance,
) -> tuple[Posterior | Undetermined, ConsistentTables, float]:
    """Return what is believed of classes, what is proved, and how far the spread is from the optimum at most.

    ``said`` is the class that is known of each of the merged ``people``, (P,), ``of`` the place among these of each
    profile of the ``population``. The number of each class in each leaf is known. ``doubts`` are why more may be known;
    ``choice`` is what is used of how splits were chosen, and ``allowance`` what putting it in may cost.

    Raises:
        SolverError: the wanted solver is not there.
    """
    parts = classed(leaves, population)
    lump_of, arcs = parts.parted(found.lump_of, found.over(leaves.nodes), said)
    place = lump_of[of[parts.of]], parts.population.leaf
    world = sparse.coo_array((parts.population.counts, place), shape=arcs.shape).tocsr()
    net = network(arcs, world)
    placed = spread(net)
    sizes = parts.leaves.sizes
    values = shares(net, placed, parts.shares, sizes)[lump_of]
    believed: Posterior | Undetermined = Posterior(
        values, (placed.gap <= GAP)[lump_of], values, values
    )
    whole = parts.shares * sizes[:, None]
    problem = f"no estimate: {'; '.join(doubts)}" if doubts else ""
    if choice is not None:
        placed_estimate = parts.by_class(
            place_people(people.counts, lump_of, net, placed, sizes), len(leaves.nodes)
        )
        problem = why_broken(choice, [placed_estimate])
        if problem and problem != NOT_COMPARED:
            cut_problem = CutProblem(
                choice, (Some(placed_estimate, net, placed.gap),), parts.class_counts
            )
            more_told = enforced(cut_problem, values, allowance)
            believed, problem = (more_told, "") if more_told is not None else (believed, problem)
    if problem:
        believed = Undetermined(problem)
    lumps = proofs(net, whole, whole)
    proved = Proofs(lumps.certain[lump_of], lumps.excluded[lump_of], lumps.possible[lump_of])
    groups, size, counts, supply = (
        np.rint(each).astype(np.int64)
        for each in (net.over_groups(whole), net.demand, people.counts, net.supply)
    )
    rooms = Rooms(groups, size[:, None] - groups)
    flows = ends(net, lambda _, at: rooms.at(at), values.shape[1], work)
    more = ranges(counts, lump_of, supply, flows, flows)
    worlds = bounded(people, proved, is_exact=not doubts, more=more)
    return believed, worlds, float(placed.gap.max(initial=0.0))


# Tables that fit, for who knows some columns only: in each, as few people of a profile as can be have their value.

MOST_SHOWN = 3
"""Profiles of which a table is shown, those of most people first."""
MOST_PLACES = 200_000
"""Places where lumps can be, and profiles, up to which tables are worth their time."""


def find_witness_tables(
    net: Network,
    lump_of: IndexArray,
    people: Population,
    held: IntArray,
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
        by_lump = table_of(net, int(lump_of[profile]), value, held, up=False)
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


IN_ALL_LEAVES = "every leaf that can hold such a person holds this value alone"


@dataclass(frozen=True, slots=True)
class TargetInference:
    """What an adversary makes of a tree who knows only some columns.

    ``population`` are the people as he tells them apart. ``doubts`` are why more may be known than was used: what is
    proved holds, and nothing else is decided. ``gap`` is how far the spread over leaves is from the optimum at most, in
    records times nats. ``said`` is what else he was taken to know,
    ``prior`` what he believed before the tree, None where that is the same as of who knows all. ``is_outcome_said``
    says that columns tell him classes of people, so that tables that fit for who knows all need not fit for him.
    ``report`` is of the solver, where one was asked for the estimate of everybody.
    """

    population: Population
    posterior: Posterior | Undetermined
    worlds: ConsistentTables | Undetermined
    doubts: tuple[str, ...]
    gap: float
    said: tuple[str, ...] = ()
    prior: Posterior | Undetermined | None = None
    is_outcome_said: bool = False
    report: SolverReport | None = None


def seen_by(
    ground: Ground,
    known: Collection[str],
    until: Clock,
    options: AuditOptions = DEFAULT,
    effort: AdversaryBudget = FULL,
) -> TargetInference | Undetermined:
    """Return what somebody makes of a tree's people of whom he knows these columns, and the tree's leaves.

    What these give away of others in the table he is taken to know too.
    The estimate is the greatest entropy over everybody's place and class at once; certain, possible and excluded
    are exact where there are no doubts. ``effort`` is what may be spent.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
        SolverError: the wanted solver is not there.
        TableError: no table with these leaves has these numbers.
    """
    tree, population, knowledge = ground.tree, ground.population, ground.knowledge
    if tree.task is not Task.CLASSIFICATION:
        return ONLY_CLASSES
    if population.weight is not None:
        return WEIGHED
    leaves = ground.leaves
    is_sized = are_sizes_published(tree, leaves.nodes)
    if not is_sized and not are_told_apart(leaves):
        return NO_SIZES
    told = closed(ground.table, known)
    people, of = merged(population, told.known)
    unseen = ground.hidden_from(known)
    hidden = {name: value_kinds for name, value_kinds in unseen.items() if name not in told.known}
    guesses = {name: guess_of(told, name, of, len(people.counts)) for name in told.guesses}
    guesses = {name: guess for name, guess in guesses.items() if name in hidden}
    doubts = doubts_of(ground.branches, leaves, knowledge, (*told.known, *told.guesses), hidden)
    outcome = outcome_said(ground.tests, population, told.known, told.values)
    target = target_of(tree, population)
    is_used = is_sized and leaves.are_counted
    if outcome is not None and not is_used:
        doubts = (*doubts, outcome.words(NOT_USED, target))
    size = len(people.counts)
    knowers = [knower(ground.branches, people.columns, hidden, guesses, size)]
    if told.said:
        knowers.append(knowers[0].hiding(unseen))
    choice = choice_of(tree, population, people, leaves, knowledge, doubts)
    believed, gaps = [], []
    reaches = [reach(who) for who in reversed(knowers)]
    for reachability in reaches:
        net = _network(reachability, population, of, leaves)
        placed = spread(net)
        own = _posterior(reachability, net, placed, leaves, people, choice, doubts, options, effort)
        believed.append(own)
        gaps.append(float(placed.gap.max(initial=0.0)))
    worlds = _worlds(reachability, net, population, people, leaves, until, doubts, effort)
    said = (*told.said, WITH_AND_WITHOUT) if told.said else ()
    if outcome is not None and is_used:
        known_class = np.full(size, OPEN, dtype=np.intp)
        known_class[of] = outcome.of
        work = 0 if until.is_over else effort.flows
        for each in reaches:
            more, shown_too, gap = with_outcome(
                each,
                known_class,
                population,
                people,
                of,
                leaves,
                choice,
                doubts,
                work,
                allowed(options, effort.enforcing),
            )
            believed.insert(0, more)
            gaps.append(gap)
            worlds = shown_by_both(worlds, shown_too)
        said = (*said, outcome.words(SPANNING, target))
    target_inference = TargetInference(
        people,
        spanning(believed[-1], *believed[:-1]),
        worlds,
        doubts,
        max(gaps),
        said,
        is_outcome_said=outcome is not None,
    )
    return (
        target_inference
        if is_sized
        else _without_sizes(target_inference, knowers, reachability, leaves, knowledge, options)
    )


def _without_sizes(
    sized: TargetInference,
    knowers: Sequence[Knower],
    found: Reachability,
    leaves: LeafTable,
    knowledge: Knowledge,
    options: AuditOptions,
) -> TargetInference:
    """Return what is made of a tree that does not publish its sizes, given what would be if it did.

    Without them the choice of any split may say more: no class counts are known by which splits were compared.
    """
    doubts = sized.doubts
    if knowledge.split is not SplitLevel.NONE:
        doubts = tuple(dict.fromkeys((SPLITS_NOT_USED, *doubts)))
    posterior: Posterior | Undetermined = Undetermined(f"no estimate: {'; '.join(doubts)}")
    if not doubts:
        believed = [unsized_estimate(who, leaves, sized.posterior, options) for who in knowers]
        posterior = spanning(*believed)
    proved = unsized_proofs(found, can_hold(len(knowers[0].tree.nodes), leaves))
    lumps = found.lump_of
    of_profile = Proofs(proved.certain[lumps], proved.excluded[lumps], proved.possible[lumps])
    worlds = unsized_worlds(sized.population, of_profile, sized.worlds, IN_ALL_LEAVES)
    said = (*sized.said, SIZES_UNKNOWN)
    return replace(sized, posterior=posterior, worlds=worlds, doubts=doubts, said=said)


def _network(
    found: Reachability, population: Population, of: IndexArray, leaves: LeafTable
) -> Network:
    """Return who can be where, among the leaves that hold somebody."""
    there = np.searchsorted(leaves.nodes, population.leaf)
    shape = found.crowds.shape[0], len(leaves.nodes)
    world = sparse.coo_array((population.counts, (found.lump_of[of], there)), shape=shape).tocsr()
    crowds, place_of = np.unique(found.crowd_of[leaves.nodes], return_inverse=True)
    return network(sparse.csr_array(found.crowds[:, crowds]), world, place_of)


def _posterior(
    found: Reachability,
    net: Network,
    placed: Spread,
    leaves: LeafTable,
    people: Population,
    choice: SplitChoiceView | None,
    doubts: tuple[str, ...],
    options: AuditOptions,
    effort: AdversaryBudget,
) -> Posterior | Undetermined:
    if doubts and choice is None:
        return Undetermined(f"no estimate: {'; '.join(doubts)}")
    own = leaves.estimate(options)
    if isinstance(own, Undetermined):
        return own
    if choice is not None:
        placed_estimate = place_people(people.counts, found.lump_of, net, placed, leaves.sizes)
        by_class = placed_estimate.of_classes(own.values)
        problem = why_broken(choice, [by_class])
        if problem == NOT_COMPARED:
            return Undetermined(problem)
        if problem:
            some = Some(by_class, net, placed.gap)
            posterior = enforced(
                CutProblem(choice, (some,), own.values * leaves.sizes[:, None]),
                shares(net, placed, own.values, leaves.sizes)[found.lump_of],
                allowed(options, effort.enforcing),
            )
            return Undetermined(problem) if posterior is None else posterior
    of_lump = [
        shares(net, placed, each, leaves.sizes)[found.lump_of]
        for each in (own.values, own.low, own.high)
    ]
    decided = (placed.gap <= GAP)[found.lump_of]
    return Posterior(of_lump[0], decided, of_lump[1], of_lump[2])


def _worlds(
    found: Reachability,
    net: Network,
    population: Population,
    people: Population,
    leaves: LeafTable,
    until: Clock,
    doubts: tuple[str, ...],
    effort: AdversaryBudget,
) -> ConsistentTables | Undetermined:
    """Return what is certain of each profile; with doubts, what is neither proved nor true is not decided."""
    if (population.counts != np.rint(population.counts)).any():
        return NOT_WHOLE
    own = leaves.proved(until)
    if isinstance(own, Undetermined):
        return own
    reached = own.reached_high.astype(np.float64)
    proved = proofs(net, own.high.astype(np.float64), np.maximum(reached, 0.0))
    certain, excluded, possible = (
        each[found.lump_of] for each in (proved.certain, proved.excluded, proved.possible)
    )
    work = 0 if until.is_over else effort.flows
    more = _ranges(found, net, people, leaves, own, work)
    worlds = bounded(people, Proofs(certain, excluded, possible), is_exact=not doubts, more=more)
    sure = np.flatnonzero(worlds.certain & (worlds.counts > 0)).tolist()
    left = tuple(dict.fromkeys((*doubts, *own.left)))
    tables: tuple[Witness, ...] = ()
    if work and not doubts and (own.low == own.high).all() and not until.is_over:
        held = _of_groups(net, own.low)
        tables = find_witness_tables(
            net, found.lump_of, people, held, worlds, leaves.system.case.tree.classes
        )
    return replace(
        worlds,
        reasons=dict.fromkeys(sure, IN_ALL_LEAVES),
        left=left,
        not_decided=left,
        witnesses=tables,
    )


def _ranges(
    found: Reachability,
    net: Network,
    people: Population,
    leaves: LeafTable,
    own: ConsistentTables,
    work: int,
) -> Ranges:
    """Return how many people of each profile can have each class, given what is proved of each leaf's classes.

    Where these are open, the true table's are one way how they can be.
    """
    size, values = np.rint(net.demand).astype(np.int64)[:, None], own.low.shape[1]
    low, high = _of_groups(net, own.low), _of_groups(net, own.high)
    room = Rooms(high, size - low)
    outer = ends(net, lambda _, at: room.at(at), values, work)
    inner, truth = outer, leaves.system.case.population.truth
    if not (own.low == own.high).all():
        if isinstance(truth, Undetermined):
            inner = replace(outer, asked=np.zeros_like(outer.asked))
        else:
            held = _of_groups(net, truth)
            real = Rooms(held, size - held)
            inner = ends(net, lambda _, at: real.at(at), values, work)
    counts, supply = (np.rint(each).astype(np.int64) for each in (people.counts, net.supply))
    return ranges(counts, found.lump_of, supply, outer, inner)


def _of_groups(net: Network, leaves: FloatArray | IntArray) -> IntArray:
    """Return how many people of each class groups of leaves have, (G, m), given how many each leaf has, (L, m)."""
    return np.rint(net.over_groups(leaves.astype(np.float64))).astype(np.int64)
