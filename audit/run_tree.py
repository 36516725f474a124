"""One tree as evidence: what whole records prove of its people, and the estimate that its rows leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from treewarden.audit.consistent_tables.engine import reason_in_doubt
from treewarden.audit.consistent_tables.result import Consistency, ConsistentTables
from treewarden.audit.engine.time_budget import grades_clock, proofs_clock, tables_clock
from treewarden.audit.entropy.estimate import estimate, without_one
from treewarden.audit.entropy.posterior import (
    Posterior,
    SolverReport,
    certain,
    span_estimates,
    span_without,
)
from treewarden.audit.evidence import NOT_RUN, Evidence, why_not_judged
from treewarden.audit.exposures import not_run
from treewarden.audit.facts.grower import check_growth, said_of_missing
from treewarden.audit.facts.node_impurities import unused_warnings
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import resolved
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.measures import MeasureCall, measures
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.population.table_counts import unnamed_weights
from treewarden.audit.population.target import members
from treewarden.audit.progress import Clock, Share, nobody_hears
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit
from treewarden.audit.run_inputs import NOT_ESTIMATED, ProvedModel, RunInputs
from treewarden.audit.system.system import (
    System,
    build_system,
    kinds_of_facts,
    left_out_in_words,
    supposed_systems,
)
from treewarden.ppdm_models.errors import KnowledgeError, TableError
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.tree import Tree

MANY_CELLS = 20_000
"""Profiles times classes from which on there is likely work for more than one process."""
MANY_SHARES = 3_000
"""The same in leaves times classes, before the table is read."""

LABELS_DRAWN = Undetermined(
    "the tree contains no counts, and its labels may be random: what they disclose depends "
    "on a claim of differential privacy that is not confirmed (see the metric epsilon)"
)
NOT_WITHOUT_ONE = Undetermined(
    "for noisy labels, leaving one person out is not computed; see the metric epsilon_realised"
)
STOPPED = "its proofs already fail the policy, so checks that need the inference were skipped"

NO_NAMED_CLASSES = Undetermined("the file names no class, so only its leaves were measured")
"""party prints how many records a leaf holds, and nothing else of it."""


INFERRING = "computing what an adversary can infer"
"""What the first long step of an audit is called while it runs."""


def prove_tree(inputs: RunInputs) -> ProvedModel:
    """Return what one tree of classes proves of its people: over whole records, and by the estimate.

    Raises:
        KnowledgeError: the adversary is said to know what cannot be known here.
        SolverError: the wanted solver is not there.
        TableError: no table with these quasi-identifiers can grow this tree.
    """
    tree, population = inputs.forest.model, inputs.population
    assert isinstance(tree, Tree)
    knowledge, notes = resolved(inputs.knowledge, tree)
    inputs = replace(inputs, knowledge=knowledge)
    if not tree.classes:
        evidence = inputs.unsolved(NO_NAMED_CLASSES)
        return ProvedModel(evidence, not_run(NO_NAMED_CLASSES), warnings=notes)
    here = members(tree, population.leaf)
    case = Case(tree, population, here, knowledge, beside=inputs.beside)
    check_growth(case)
    proved_first: ConsistentTables | Undetermined | None = None
    with inputs.step(INFERRING) as share:
        _start_workers(case, inputs.options)
        system = build_system(case, share)
        (share or nobody_hears)(1, 2, "parts")  # the estimate is next
        _refuse_contradictions(system)
        if inputs.fails is not None:
            proved_first = _proved_first(inputs, system)
            bare = replace(inputs.unsolved(NOT_ESTIMATED), worlds=proved_first)
            if inputs.fails(bare):
                report = not_run(NOT_ESTIMATED)
                return ProvedModel(bare, report, system.dropped, stopped=STOPPED)
        supposed = supposed_systems(case)
        posterior, report = _estimated(inputs, system, supposed, share)
        prior = _prior(system, inputs.options)
    evidence = Evidence(inputs.forest, population, knowledge, prior, posterior, leaks=inputs.leaks)
    evidence = _with_worlds(inputs, evidence, system, proved_first)
    evidence = _asked_again(inputs, evidence, system, supposed)
    is_ablated = None if tree.learner.has_known_noise else system
    warnings = _warnings(case, system, notes)
    return ProvedModel(evidence, report, system.dropped, warnings, is_ablated)


def _asked_again(
    inputs: RunInputs, evidence: Evidence, system: System, supposed: Sequence[System]
) -> Evidence:
    """Return the evidence with the estimate without one person, where a measure needs it."""
    known = measures()
    is_asked = any(known[call.measure].asks_again(dict(call.parameters)) for call in inputs.calls)
    # Without one person the outputs beside the tree would be others: of these nothing is told.
    if not is_asked or isinstance(evidence.posterior, Undetermined) or inputs.beside is not None:
        return evidence
    if system.case.tree.learner.has_known_noise:
        return replace(evidence, without=NOT_WITHOUT_ONE)
    with inputs.step("asking again without one person") as share:
        ask = partial(
            without_one, posterior=evidence.posterior, options=inputs.options, share=share
        )
        without = span_without(*(ask(each) for each in (system, *supposed)))
        return replace(evidence, without=without)


def _proved_first(inputs: RunInputs, system: System) -> ConsistentTables | Undetermined:
    """Return what whole records prove, worked out before anything is estimated."""
    until = tables_clock(inputs.options)
    return _worlds(inputs, inputs.unsolved(NOT_ESTIMATED), system, until)


def _with_worlds(
    inputs: RunInputs,
    evidence: Evidence,
    system: System,
    proved_first: ConsistentTables | Undetermined | None,
) -> Evidence:
    """Return the evidence with what whole records prove, and with grades of the tables that reports show."""
    options = inputs.options
    if not options.worlds:
        return evidence
    said = f"searching for proved values (search limited to {options.worlds_budget:.3g} s)"
    with inputs.step(said) as share:
        until, worlds = tables_clock(options), proved_first
        if worlds is None:
            worlds = _worlds(inputs, evidence, system, until, share or nobody_hears)
        evidence = replace(evidence, worlds=worlds)
        return _graded(evidence, until) if inputs.grades else evidence


def _warnings(case: Case, system: System, notes: tuple[str, ...]) -> tuple[str, ...]:
    reason = why_not_judged(case.tree, case.population)
    unjudged = (
        () if reason is None else (f"labels were not compared with the table, because {reason}",)
    )
    return (
        *notes,
        *unjudged,
        *unused_warnings(case),
        *said_of_missing(case),
        *left_out_in_words(system),
    )


def start_early(model: Model, options: AuditOptions = DEFAULT) -> None:
    """Let workers get ready while the table is read, where a tree is so large that they are likely needed."""
    if isinstance(model, Tree) and model.leaf_count * len(model.classes) >= MANY_SHARES:
        _start_workers_ahead(options)


def _start_workers(case: Case, options: AuditOptions) -> None:
    """Let workers get ready while the rows are formed, where there will be enough for them to do."""
    cells = len(case.population.counts) * len(case.tree.classes)
    if cells >= MANY_CELLS and case.knowledge.split is not SplitLevel.NONE:
        _start_workers_ahead(options)


def _start_workers_ahead(options: AuditOptions) -> None:
    from treewarden.audit.workers.pool import default_jobs, start_ahead  # for large trees only

    start_ahead(default_jobs() if options.jobs is None else options.jobs)


def _refuse_contradictions(system: System) -> None:
    """Raise where the adversary is said to know what cannot all be true; a known truth rules that out."""
    if not isinstance(system.case.population.truth, Undetermined):
        return
    from treewarden.audit.system.conflict import conflict  # heavy: where no truth rules them out

    rows = conflict(system)
    if rows:
        said = "; ".join(origin.where for origin in rows)
        problem = f"these assumptions contradict each other: {said}; remove one"
        raise KnowledgeError(system.case.tree.source, problem)


def _estimated(
    inputs: RunInputs, system: System, supposed: Sequence[System], share: Share | None
) -> tuple[Posterior | Undetermined, SolverReport]:
    """Return the adversary's estimate, or why there is none: numbers or labels whose meaning nobody told.

    It spans those by what an adversary may suppose of splits.
    """
    case = system.case
    if case.tree.learner.has_known_noise:
        from treewarden.audit.claims.judge_claim import noisy_posterior  # for claims only

        found = noisy_posterior(inputs.claim, case.population, case.knowledge)
        if isinstance(found, Undetermined):
            return found, not_run(found)
        return found, SolverReport("closed form")
    if case.tree.learner.claims_privacy:
        unknown = LABELS_DRAWN
    elif case.population.hides_weights(case.tree):
        unknown = Undetermined(unnamed_weights(case.tree))
    else:
        return _spanned(inputs, system, supposed, share)
    return unknown, not_run(unknown)


def _spanned(
    inputs: RunInputs, system: System, supposed: Sequence[System], share: Share | None
) -> tuple[Posterior | Undetermined, SolverReport]:
    posterior, report = estimate(system, inputs.options, share)
    spanned: Posterior | Undetermined = posterior
    for other in supposed:
        posterior, other_report = estimate(other, inputs.options, share)
        spanned = span_estimates(spanned, posterior)
        if other_report.reason and not report.reason:
            by = other.case.knowledge.split
            reason = f"supposing that splits were chosen by {by}, {other_report.reason}"
            report = replace(report, status=other_report.status, reason=reason)
    return spanned, report


def _reads_cells(calls: Sequence[MeasureCall]) -> bool:
    """Return whether anything that is judged reads more of whole records than who is certain."""
    known = measures()
    return any(known[call.measure].is_of_cells for call in calls)


def _worlds(
    inputs: RunInputs,
    evidence: Evidence,
    system: System,
    until: Clock,
    share: Share = nobody_hears,
) -> ConsistentTables | Undetermined:
    """Return what whole records prove, within one budget for all that is done to find out.

    Raises:
        TableError: no table with these quasi-identifiers can grow this tree.
    """
    options = inputs.options
    if not options.worlds:
        return NOT_RUN
    found = reason_in_doubt(
        system,
        until=proofs_clock(until),
        strict_ties=options.strict_ties,
        asks_rest=_reads_cells(inputs.calls),
        should_stop=inputs.should_stop(evidence),
        jobs=options.jobs,
        share=share,
    )
    if isinstance(found, ConsistentTables) and found.consistency is Consistency.INCONSISTENT:
        said = "; ".join(found.conflict[:5]) or "its leaves and splits contradict each other"
        raise TableError(
            system.case.tree.source,
            (
                f"no table with these quasi-identifiers yields this tree ({said}): the file was "
                "altered, or it was trained on another table or with other candidate splits"
            ),
        )
    return found


def with_grades(audit: Audit, options: AuditOptions) -> Audit:
    """Return an audit done without grades with them: what the learner grows on the other tables that reports show."""
    until = grades_clock(options)
    exposures = tuple(
        exposure
        if exposure.under or exposure.is_of_adversary
        else replace(exposure, evidence=_graded(exposure.evidence, until))
        for exposure in audit.exposures
    )
    return replace(audit, exposures=exposures)


def _graded(evidence: Evidence, until: Clock) -> Evidence:
    tree, people, worlds = evidence.model, evidence.population, evidence.worlds
    if not isinstance(tree, Tree) or isinstance(worlds, Undetermined) or not worlds.witnesses:
        return evidence
    from treewarden.audit.consistent_tables.retrain import graded  # where other tables are shown

    case = Case(tree, people, members(tree, people.leaf), evidence.knowledge)
    return replace(evidence, worlds=graded(worlds, case, until))


def _prior(system: System, options: AuditOptions) -> Posterior | Undetermined:
    """Return the adversary's estimate before the tree: uniform, or what class totals and background facts give."""
    before = {name for name, kind in kinds_of_facts().items() if not kind.needs_tree}
    rows = tuple(row for row in system.rows if row.origin.constraint in before)
    linear = [row.origin.constraint for row in rows if row.origin.constraint != "profile"]
    counts = system.case.population.counts
    m = len(system.case.tree.classes)
    truth = system.case.population.truth
    if not linear:
        return certain(np.full((len(counts), m), 1 / m))
    is_weighed = system.case.population.weight is not None
    if set(linear) == {"marginal"} and not isinstance(truth, Undetermined) and not is_weighed:
        return certain(np.tile(truth.sum(axis=0) / counts.sum(), (len(counts), 1)))
    posterior, report = estimate(System(system.case, rows, ()), options)
    return posterior if report.status in ("optimal", "closed form") else Undetermined(report.reason)
