"""The maximum-entropy estimate: closed form per leaf, then the split rows that it violates, round by round.

It is asked again of the table without one person: what is believed of those who are like that person then. The tree
stays as it is; its class counts are those of the table that is left, and rows that this table breaks are dropped, as in
every audit. Only where others share all quasi-identifiers with the person does it speak of them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.entropy.posterior import (
    BlockCounts,
    Posterior,
    SolverReport,
    SolverRun,
    Without,
    entropy,
)
from treewarden.audit.entropy.problem import Block, EntropyProblem, blocks
from treewarden.audit.entropy.violated import (
    VIOLATION_SHARE,
    SolvedRounds,
    closed_form_rounds,
    outside_intervals,
    unseen,
    violated,
)
from treewarden.audit.facts.rows import Case
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.population.target import members
from treewarden.audit.progress import Share, counted_by
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System, build_system, leaf_knowledge, max_violation
from treewarden.ppdm_models import gc_control
from treewarden.ppdm_models.tree.tree import Node

if TYPE_CHECKING:  # heavy: for blocks that a solver was asked about
    from treewarden.audit.entropy.reduce import SolvedBlock


def estimate(
    system: System, options: AuditOptions = DEFAULT, share: Share | None = None
) -> tuple[Posterior, SolverReport]:
    """Return the maximum-entropy posterior under a system of rows, and how it was found.

    ``share`` is told how much of each round is solved.

    Raises:
        SolverError: the wanted solver is not there.
    """
    # Looking through the rows again and again takes longer than a small audit.
    with gc_control.spared():
        began = time.perf_counter()
        problem = EntropyProblem(system.estimated, options, share)
        return _concluded(problem, _rounds(problem), began)


def _rounds(problem: EntropyProblem) -> SolvedRounds:
    """Return what the rounds come to; there is nothing to solve where the closed form breaks no row."""
    seen = unseen(problem)
    if not blocks(problem.system, tuple(problem.knowledge), ()):
        seen = violated(problem, problem.closed, seen)
        if not seen.worst((), {}):
            return closed_form_rounds(problem, seen)
    from treewarden.audit.entropy.rounds import solve_in_rounds  # heavy: for a solver only

    return solve_in_rounds(problem, seen)


def _concluded(
    problem: EntropyProblem, rounds: SolvedRounds, began: float
) -> tuple[Posterior, SolverReport]:
    """Re-check every row outside the solver and say how good the estimate is.

    What was seen of split rows at the estimate is not worked out again, but where whole records say them.
    """
    system, solved, values = problem.system, rounds.solved, rounds.seen.values
    counts = system.case.population.counts
    decided = np.ones(len(counts), dtype=bool)
    stalled = [
        solved_block for solved_block in solved.values() if not solved_block.answer.is_accepted
    ]
    for one in stalled:
        decided[one.reduced.profiles] = False
    row_values = rounds.seen.over if problem.whole is None else None
    worst = max_violation(system, values * counts[:, None], row_values)
    if problem.whole is not None:
        worst = max(worst, outside_intervals(problem.whole, system, values * counts[:, None]))
    reason = ""
    if stalled:
        why = ", ".join(sorted({solved_block.answer.outcome.value for solved_block in stalled}))
        reason = f"{len(stalled)} of {len(solved)} parts of the problem were not solved ({why})"
    elif worst > VIOLATION_SHARE:
        cause = "out of time: " if problem.is_out_of_time else ""
        reason = f"{cause}the inference violates a constraint by {worst:.2g} of its records"
        decided[:] = False
    report = _report(problem, rounds, began)
    is_convex = all(solved_block.reduced.program.is_convex for solved_block in solved.values())
    report = replace(
        report,
        status="stalled" if reason else ("optimal" if solved else "closed form"),
        run=replace(report.run, max_violation=worst),
        blocks=replace(report.blocks, stalled=len(stalled)),
        is_convex=is_convex,
        is_unique=is_convex and not reason,
        reason=reason,
    )
    return Posterior(values, decided, rounds.span.low, rounds.span.high), report


def _report(problem: EntropyProblem, rounds: SolvedRounds, began: float) -> SolverReport:
    """Return how the estimate was found, before its rows are checked again."""
    counts, solved = problem.system.case.population.counts, rounds.solved
    answers = [solved_block.answer for solved_block in solved.values()]
    return SolverReport(
        status="",
        entropy=entropy(rounds.seen.values, counts),
        entropy_bound=rounds.certificate.bound,
        entropy_relaxed=entropy(rounds.relaxed if problem.whole is None else problem.plain, counts),
        bound_argument=rounds.certificate.argument,
        run=SolverRun(
            door=problem.backend if solved else "none",
            iterations=sum(answer.iterations for answer in answers),
            seconds=time.perf_counter() - began,
            kkt_error=max((answer.kkt_error for answer in answers), default=0.0),
        ),
        rows=problem.system.size,
        rows_active=rounds.rows_active,
        blocks=BlockCounts(
            total=len(solved),
            flat=rounds.span.flat,
            several=rounds.span.several,
            symmetric_broken=sum(not solved_block.is_symmetric for solved_block in solved.values()),
            saddle=sum(solved_block.is_saddle for solved_block in solved.values()),
        ),
        profiles_fixed=0 if problem.whole is None else problem.whole.profiles_fixed,
        signatures=_signatures(problem, solved),
        split_rows="real" if problem.whole is None else "integer",
    )


def _signatures(problem: EntropyProblem, solved: Mapping[Block, SolvedBlock]) -> int:
    """Return how many kinds of profiles there are: in blocks by their rows, elsewhere one for each leaf."""
    inside = {leaf for block in solved for leaf in block.leaves}
    lumps = sum(solved_block.reduced.lumps for solved_block in solved.values())
    return lumps + len(problem.knowledge.keys() - inside)


MOST_ASKED = 20
"""For how many kinds of people the estimate is made again: a limit on work and not on time, so that readings repeat."""


def without_one(
    system: System, posterior: Posterior, options: AuditOptions, share: Share | None = None
) -> Without | Undetermined:
    """Return the estimate without a person, for the profiles of several where most may be owed to one.

    These are asked first whose estimate most exceeds the share of their class in the leaf.

    Raises:
        SolverError: the wanted solver is not there.
    """
    people = system.case.population
    truth = people.truth
    if isinstance(truth, Undetermined):
        return truth
    tree = system.case.tree
    if people.weight is not None or not tree.has_people or not all(map(_is_counted, tree.nodes)):
        return Undetermined("leaving one person out is possible only if the file counts people")
    low, high = np.zeros_like(truth), np.ones_like(truth)
    open_, of_leaf = (people.counts > 1)[:, None] & (truth > 0), np.zeros_like(truth)
    for node, leaf in leaf_knowledge(system).items():
        here = people.leaf == node
        of_leaf[here] = truth[here].sum(axis=0) / leaf.records
        pure = np.flatnonzero(leaf.low == leaf.records)
        low[np.ix_(here, pure)] = 1.0  # the others of a leaf that is known to be pure are so too
        open_[np.ix_(here, pure)] = False
    most = np.where(open_, posterior.high - of_leaf, -np.inf)
    order = np.argsort(-most, axis=None, kind="stable")[: min(MOST_ASKED, int(open_.sum()))]
    for cell in counted_by(share, order.tolist(), len(order), "people"):
        profile, klass = divmod(cell, truth.shape[1])
        again, _ = estimate(build_system(_less(system.case, profile, klass)), options)
        if again.decided[profile]:
            low[profile, klass] = again.low[profile, klass]
            high[profile, klass] = again.high[profile, klass]
    return Without(low, high)


def _is_counted(node: Node) -> bool:
    """Whether what a node publishes of classes are their counts, or nothing."""
    others = (node.class_shares, node.bands, node.impurity)
    return all(each is None for each in others) and not node.figures.other_splits


def _less(case: Case, profile: int, klass: int) -> Case:
    """Return the case without one record."""
    people, tree = case.population, case.tree
    assert not isinstance(people.truth, Undetermined)
    counts, truth = people.counts.copy(), people.truth.copy()
    counts[profile] -= 1
    truth[profile, klass] -= 1
    fewer = replace(people, counts=counts, truth=truth)
    path = {node.index for node in tree.path(int(people.leaf[profile]))}
    nodes = tuple(_one_less(node, klass) if node.index in path else node for node in tree.nodes)
    return Case(replace(tree, nodes=nodes), fewer, members(tree, fewer.leaf), case.knowledge)


def _one_less(node: Node, klass: int) -> Node:
    counts, records = node.class_counts, node.records
    if counts is not None:
        counts = tuple(
            count - 1 if code == klass and count is not None else count
            for code, count in enumerate(counts)
        )
    return replace(node, class_counts=counts, records=None if records is None else records - 1)
