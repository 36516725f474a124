"""Target inference: what an adversary who knows some columns can infer of the value that a tree predicts.

An adversary who knows every column that the tree tests knows where everybody stops. The choice of splits is stated over
whole records here too, so that no less is inferred than with full knowledge. Where it is open whether the adversary
knows something, the estimate spans both cases, and consistent tables must fit both.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.consistent_tables.engine import reason_in_doubt
from treewarden.audit.consistent_tables.result import Consistency, ConsistentTables
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.entropy.posterior import Posterior, SolverReport, span_estimates
from treewarden.audit.facts.grower import incomplete_records
from treewarden.audit.facts.rows import Case
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.partial.class_rows import leaves_by_class
from treewarden.audit.partial.fitting.flows import (
    FULL,
    AdversaryBudget,
    Network,
    allowed,
    network,
)
from treewarden.audit.partial.fitting.margin_fitting import GAP, FittedMargins, fit_margins
from treewarden.audit.partial.fitting.split_constrained import (
    CutProblem,
    estimate_under_splits,
)
from treewarden.audit.partial.fitting.splits import place_people
from treewarden.audit.partial.partial_view import PartialView
from treewarden.audit.partial.reachability import (
    Reachability,
    bound_tables,
    ends_by_class,
    proofs,
    ranges,
    reach,
    shares,
)
from treewarden.audit.partial.target_proofs import IN_ALL_LEAVES, TargetProblem, prove_target
from treewarden.audit.partial.tree_context import TreeContext
from treewarden.audit.partial.unmodelled_knowledge import (
    NOT_COMPARED,
    SIZES_UNKNOWN,
    SPLITS_NOT_USED,
    WITH_AND_WITHOUT,
    can_hold,
    choice_of,
    doubts_of,
    no_inference,
    refusal_of,
    unsized_estimate,
    unsized_proofs,
    unsized_tables,
    why_broken,
)
from treewarden.audit.partial.value_rules import NOT_USED, OPEN, SPANNING, imply_classes, target_of
from treewarden.audit.population.population import Population
from treewarden.audit.population.record_linkage import merged
from treewarden.audit.population.target import members
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.result import ValueBounds
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.arrays import FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class TargetInference:
    """What an adversary who knows some columns can infer from a tree: of its target, or of a column that it tests.

    ``population`` are the people as the adversary tells them apart. ``doubts`` are why more may be known than was used:
    what is proved holds, and nothing else is decided. ``gap`` is how far the people's spread over leaves is from the
    optimum at most, in records times nats. ``said`` is what else the adversary was taken to know, ``prior`` the
    estimate before the tree, None where that is the same as with full knowledge. ``is_outcome_said`` says that known
    columns imply classes of people, so that tables that fit with full knowledge need not fit here. ``report`` is of the
    solver, where one was asked for the estimate of everybody. ``numbers`` is what is told of people's numbers, where
    the model predicts one.
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
    numbers: ValueBounds | None = None


@dataclass(frozen=True, slots=True)
class _ViewInference:
    """What follows of one view of the people, and where they can be: ``net``, among the leaves that hold somebody."""

    reachability: Reachability
    net: Network
    posterior: Posterior | Undetermined
    gap: float


@dataclass(frozen=True, slots=True)
class OutcomeInference:
    """What follows where the class of some people is known.

    ``gap`` is how far the spread is from the optimum at most, in records times nats.
    """

    posterior: Posterior | Undetermined
    worlds: ConsistentTables
    gap: float


def infer_target(
    context: TreeContext,
    columns: Collection[str],
    until: Clock,
    options: AuditOptions = DEFAULT,
    effort: AdversaryBudget = FULL,
) -> TargetInference | Undetermined:
    """Return what an adversary who knows these columns of a tree's people can infer of the tree's target.

    What these imply of other columns in the table counts as known too.
    The estimate is the greatest entropy over everybody's place and class at once; certain, possible and excluded
    are exact where there are no doubts. ``effort`` is what may be spent.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
        SolverError: the wanted solver is not there.
        TableError: no table with these leaves has these numbers.
    """
    refusal = refusal_of(context)
    if refusal is not None:
        return refusal
    knowledge = context.adversary_knowledge(columns)
    closure, target = knowledge.closure, target_of(context.tree, context.population)
    outcome = imply_classes(context.tests, context.population, closure.known, closure.values)
    is_used = context.are_sizes_published and context.leaves.are_counted
    doubts = doubts_of(context, knowledge.columns, knowledge.hidden)
    if outcome is not None and not is_used:
        doubts = (*doubts, outcome.words(NOT_USED, target))
    choice = choice_of(context, knowledge.people, doubts)
    problem = TargetProblem(
        context=context,
        knowledge=knowledge,
        doubts=doubts,
        choice=choice,
        until=until,
        options=options,
        effort=effort,
    )

    views = [_infer_from_view(problem, view) for view in reversed(knowledge.views)]
    full = views[-1]
    worlds = prove_target(problem, full.reachability, full.net)
    said = (*closure.said, WITH_AND_WITHOUT) if closure.said else ()
    outcomes: list[OutcomeInference] = []
    if outcome is not None and is_used:
        class_of_group = np.full(knowledge.groups, OPEN, dtype=np.intp)
        class_of_group[knowledge.group_of_profile] = outcome.of
        flows = problem.flows
        outcomes = [
            infer_with_outcome(problem, view.reachability, class_of_group, flows) for view in views
        ]
        said = (*said, outcome.words(SPANNING, target))
    for inference in outcomes:
        worlds = keep_common_tables(worlds, inference.worlds)
    others = (
        *(each.posterior for each in outcomes[::-1]),
        *(view.posterior for view in views[:-1]),
    )
    target_inference = TargetInference(
        knowledge.people,
        span_estimates(full.posterior, *others),
        worlds,
        doubts,
        max([*(view.gap for view in views), *(inference.gap for inference in outcomes)]),
        said,
        is_outcome_said=outcome is not None,
    )
    if context.are_sizes_published:
        return target_inference
    return _without_sizes(target_inference, problem, full.reachability)


def infer_with_outcome(
    problem: TargetProblem, reachability: Reachability, class_of_group: IndexArray, flows: int
) -> OutcomeInference:
    """Return what follows where the class of some people is known, ``class_of_group`` (G,), ``OPEN`` of the others.

    The number of each class in each leaf is known. ``flows`` is how many arcs may be looked at.

    Raises:
        SolverError: the wanted solver is not there.
    """
    people, leaves, doubts = problem.people, problem.leaves, problem.doubts
    parts = leaves_by_class(leaves, problem.context.population)
    lump_of, arcs = parts.parted(
        reachability.lump_of, reachability.over(leaves.nodes), class_of_group
    )
    place = lump_of[problem.knowledge.group_of_profile[parts.of]], parts.population.leaf
    world = sparse.coo_array((parts.population.counts, place), shape=arcs.shape).tocsr()
    net = network(arcs, world)
    placed = fit_margins(net)
    sizes = parts.leaves.sizes
    values = shares(net, placed, parts.shares, sizes)[lump_of]
    bare = Posterior(values, (placed.gap <= GAP)[lump_of], values, values)
    posterior: Posterior | Undetermined = bare
    if problem.choice is not None:
        spread = place_people(people.counts, lump_of, net, placed, sizes)
        by_class = parts.by_class(spread, len(leaves.nodes))
        cut = CutProblem(problem.choice, by_class, net, placed.gap, parts.class_counts)
        posterior = _under_choice(problem, cut, bare)
    elif doubts:
        posterior = no_inference(doubts)
    worlds = _prove_with_outcome(problem, net, lump_of, parts.shares * sizes[:, None], flows)
    return OutcomeInference(posterior, worlds, float(placed.gap.max(initial=0.0)))


def _prove_with_outcome(
    problem: TargetProblem,
    net: Network,
    lump_of: IndexArray,
    class_counts: FloatArray,
    flows: int,
) -> ConsistentTables:
    """Return what is proved of each profile where each part of a leaf has so many people of each class, (C, m)."""
    proved = proofs(net, class_counts, class_counts).of_profiles(lump_of)
    found = ends_by_class(net, class_counts, class_counts, flows)
    more = ranges(problem.people.counts, lump_of, net.supply, found, found)
    return bound_tables(problem.people, proved, is_exact=not problem.doubts, between=more)


def _infer_from_view(problem: TargetProblem, view: PartialView) -> _ViewInference:
    """Return where people can stop, and the estimate of their classes, as one view has it."""
    reachability, leaves, population = reach(view), problem.leaves, problem.context.population
    there = np.searchsorted(leaves.nodes, population.leaf)
    lump = reachability.lump_of[problem.knowledge.group_of_profile]
    shape = reachability.crowds.shape[0], len(leaves.nodes)
    world = sparse.coo_array((population.counts, (lump, there)), shape=shape).tocsr()
    crowds, place_of = np.unique(reachability.crowd_of[leaves.nodes], return_inverse=True)
    net = network(sparse.csr_array(reachability.crowds[:, crowds]), world, place_of)
    placed = fit_margins(net)
    posterior = _posterior(problem, reachability, net, placed)
    return _ViewInference(reachability, net, posterior, float(placed.gap.max(initial=0.0)))


def _posterior(
    problem: TargetProblem, reachability: Reachability, net: Network, placed: FittedMargins
) -> Posterior | Undetermined:
    """Return the estimate of each profile's class, with what the choice of splits says put in where it is used."""
    leaves, choice, lump_of = problem.leaves, problem.choice, reachability.lump_of
    if problem.doubts and choice is None:
        return no_inference(problem.doubts)
    of_leaves = leaves.estimate(problem.options)
    if isinstance(of_leaves, Undetermined):
        return of_leaves
    values, low, high = (
        shares(net, placed, each, leaves.sizes)[lump_of]
        for each in (of_leaves.values, of_leaves.low, of_leaves.high)
    )
    bare = Posterior(values, (placed.gap <= GAP)[lump_of], low, high)
    if choice is None:
        return bare
    spread = place_people(problem.people.counts, lump_of, net, placed, leaves.sizes)
    by_class, counts = spread.of_classes(of_leaves.values), of_leaves.values * leaves.sizes[:, None]
    return _under_choice(problem, CutProblem(choice, by_class, net, placed.gap, counts), bare)


def _under_choice(
    problem: TargetProblem, cut: CutProblem, without: Posterior
) -> Posterior | Undetermined:
    """Return the estimate with what the choice of splits says put in, given that without; why not, else."""
    reason = why_broken(cut.choice, cut.held)
    if not reason:
        return without
    if reason == NOT_COMPARED:
        return Undetermined(reason)
    until = allowed(problem.options, problem.effort.enforcing)
    posterior = estimate_under_splits(cut, without.values, until)
    return Undetermined(reason) if posterior is None else posterior


def _without_sizes(
    sized: TargetInference, problem: TargetProblem, reachability: Reachability
) -> TargetInference:
    """Return what is inferred from a tree that does not publish its sizes, given what would be if it did.

    Without them the choice of any split may say more: no class counts are known by which splits were compared.
    """
    context, leaves, doubts = problem.context, problem.leaves, sized.doubts
    if context.knowledge.split.is_criterion:
        doubts = tuple(dict.fromkeys((SPLITS_NOT_USED, *doubts)))
    posterior: Posterior | Undetermined = no_inference(doubts)
    if not doubts:
        posterior = span_estimates(
            *(
                unsized_estimate(view, leaves, sized.posterior, problem.options)
                for view in problem.knowledge.views
            )
        )
    proved = unsized_proofs(reachability, can_hold(len(context.tree.nodes), leaves))
    of_profile = proved.of_profiles(reachability.lump_of)
    worlds = unsized_tables(sized.population, of_profile, sized.worlds, IN_ALL_LEAVES)
    said = (*sized.said, SIZES_UNKNOWN)
    return replace(sized, posterior=posterior, worlds=worlds, doubts=doubts, said=said)


def knows_all_tested(context: TreeContext, columns: Collection[str]) -> bool:
    """Return whether every column that the tree tests is known, and no fact is, which may be about another one."""
    return context.tests.keys() <= set(columns) and not context.knowledge.facts


def with_whole_records(
    seen: TargetInference,
    context: TreeContext,
    until: Clock,
    options: AuditOptions,
    *,
    asks_rest: bool,
) -> TargetInference:
    """Return what such an adversary infers, given that with the choice of splits stated over shares.

    Where columns say people's outcome the estimate spans both, and what is proved stays as it is.

    Raises:
        SolverError: the wanted solver is not there.
    """
    tree, everybody, knowledge = context.tree, context.population, context.knowledge
    people, of = merged(everybody, seen.population.qi)
    leaf = np.zeros(len(people.counts), dtype=np.intp)
    leaf[of] = everybody.leaf
    people = replace(people, leaf=leaf)
    # A record that lacks a value not known to the adversary may have been left out by the learner all the same.
    own = incomplete_records(Case(tree, everybody, members(tree, everybody.leaf), knowledge))
    lacking = np.bincount(of, own, len(people.counts)).astype(np.float64)
    system = build_system(Case(tree, people, members(tree, leaf), knowledge, incomplete=lacking))
    solved, report = estimate(system, options)
    posterior = span_estimates(solved, seen.posterior) if seen.said else solved
    target_inference = replace(seen, posterior=posterior, report=report)
    if seen.is_outcome_said or not options.worlds:
        return target_inference
    worlds = reason_in_doubt(
        system,
        until=until,
        strict_ties=options.strict_ties,
        asks_rest=asks_rest,
        jobs=options.jobs,
    )
    if isinstance(worlds, Undetermined) or worlds.consistency is Consistency.INCONSISTENT:
        return target_inference
    return replace(target_inference, worlds=worlds)


SAYING_NOT_USED = (
    "relations between other columns and the secret are not used for consistent tables"
)


def with_suppositions(
    bare: TargetInference | Undetermined, *supposing: TargetInference | Undetermined
) -> TargetInference | Undetermined:
    """Return what is inferred where an adversary may suppose more, given what is inferred by each supposition.

    Proofs do without any, tables must fit with all, and the estimate spans all.
    """
    for supposed in supposing:
        if isinstance(bare, Undetermined) or isinstance(supposed, Undetermined):
            return bare if isinstance(bare, Undetermined) else supposed
        bare = replace(
            bare,
            posterior=span_estimates(bare.posterior, supposed.posterior),
            worlds=_in_all_tables(bare.worlds, supposed.worlds),
            doubts=tuple(dict.fromkeys((*bare.doubts, *supposed.doubts))),
            gap=max(bare.gap, supposed.gap),
        )
    return bare


def _in_all_tables(
    worlds: ConsistentTables | Undetermined, supposed: ConsistentTables | Undetermined
) -> ConsistentTables | Undetermined:
    """Return proofs with what tables show by a supposition as well."""
    common = _common_tables(worlds, supposed)
    if isinstance(common, Undetermined) or isinstance(supposed, Undetermined):
        return common
    left = tuple(dict.fromkeys((*common.left, *supposed.left)))
    not_decided = tuple(dict.fromkeys((*common.not_decided, *supposed.not_decided)))
    return replace(common, left=left, not_decided=not_decided)


def keep_common_tables(
    worlds: ConsistentTables | Undetermined, saying: ConsistentTables | Undetermined
) -> ConsistentTables | Undetermined:
    """Return proofs with those tables only that fit what other columns say of the secret too."""
    common = _common_tables(worlds, saying)
    if isinstance(common, Undetermined):
        return common
    return replace(common, not_decided=(*common.not_decided, SAYING_NOT_USED))


def _common_tables(
    worlds: ConsistentTables | Undetermined, others: ConsistentTables | Undetermined
) -> ConsistentTables | Undetermined:
    """Return proofs with what tables of both kinds show; no table by itself, which may fit one kind alone."""
    if isinstance(worlds, Undetermined) or isinstance(others, Undetermined):
        return worlds if isinstance(worlds, Undetermined) else others
    return replace(
        worlds,
        reached_low=np.maximum(worlds.reached_low, others.reached_low),
        reached_high=np.minimum(worlds.reached_high, others.reached_high),
        witnesses=(),
    )
