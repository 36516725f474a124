"""One audit, start to end: the only place where the pipe is spelled out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treewarden.audit.clock import Clock, clock
from treewarden.audit.consistent_tables.incomplete_constraints import reason_in_doubt
from treewarden.audit.consistent_tables.result import Consistency, ConsistentTables
from treewarden.audit.consistent_tables.retrain import graded
from treewarden.audit.consistent_tables.state import never
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.entropy.leave_one_out import without_one
from treewarden.audit.entropy.posterior import Posterior, SolverReport, certain
from treewarden.audit.evidence import NOT_READ, NOT_RUN, Enough, Evidence
from treewarden.audit.exposures import exposure_of, not_run
from treewarden.audit.facts.case import Case
from treewarden.audit.facts.grower import check_growth, said_of_missing
from treewarden.audit.facts.node_impurities import unused_warnings
from treewarden.audit.knowledge.knowledge import Knowledge, resolved
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.knowledge_ablation import levels
from treewarden.audit.labels import why_not_judged
from treewarden.audit.measures import (
    EvidenceSource,
    MeasureCall,
    measured,
    measures,
)
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.population.forest import Forest, forest_of
from treewarden.audit.population.members import members
from treewarden.audit.population.population import Population
from treewarden.audit.population.table_counts import UNNAMED_WEIGHTS
from treewarden.audit.population.unobserved_values import with_unheld
from treewarden.audit.progress import Share, Step, silent
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import KNOWS_ALL, Audit, Exposure
from treewarden.audit.run_inputs import NOT_ESTIMATED, RunInputs
from treewarden.audit.solver.checkpoint import default_jobs, start_ahead
from treewarden.audit.system.conflict import conflict
from treewarden.audit.system.system import (
    System,
    build_system,
    kinds_of_facts,
    left_out_in_words,
)
from treewarden.ppdm_models.errors import KnowledgeError, TableError
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.side_channels import Leak
from treewarden.ppdm_models.tree.tree import Task, Tree

MANY_CELLS = 20_000
"""Profiles times classes from which on there is likely work for more than one process."""
MANY_SHARES = 3_000
"""The same in leaves times classes, before the table is read."""
GRADES_SHARE = 0.1
"""Of the budget for whole records; the last part is for running the learner again on the tables that reports show."""

LABELS_DRAWN = Undetermined(
    "the tree tells no counts, and its labels may have been drawn at random: what they say of people depends on a "
    "claim of differential privacy, which is not judged"
)
STOPPED = "what it proves of people fails the policy already; clauses that need the estimate were not read"

NO_NAMED_CLASSES = Undetermined("the file names no class; only its leaves are measured")
"""party prints how many records a leaf holds, and nothing else of it."""


def run(
    model: Model,
    population: Population,
    knowledge: Knowledge,
    calls: Sequence[MeasureCall] = (),
    options: AuditOptions = DEFAULT,
    leaks: tuple[Leak, ...] | Undetermined = NOT_READ,
    step: Step = silent,
    enough: Enough | None = None,
    *,
    grades: bool = True,
    fails: Enough | None = None,
) -> Audit:
    """Audit a model: what an adversary who knows the quasi-identifiers and this much can infer about its people.

    Every measure is read with its defaults, and besides what ``calls`` ask for. Of an ensemble the leaves of every tree
    are measured, and what they prove together where their values can be turned back into people. ``leaks`` is what the
    file gives away beside its trees. ``step`` is told of each stage; what it raises ends the run. Once ``enough`` is
    known of whole records, nothing more is asked of them one by one, unless the options want all of it. Without
    ``grades`` the learner is not run again on the other tables that reports show: see ``with_grades``. Where ``fails``
    says so of what whole records prove, these are reasoned over first, and nothing that needs the estimate is read.

    Raises:
        KnowledgeError: the adversary is said to know what cannot be known here.
        SolverError: the wanted solver is not there.
        TableError: no table with these quasi-identifiers can grow this tree.
    """
    forest = _forest(model, population, step, options.jobs)
    leaks = with_unheld(leaks, model, population)
    inputs = RunInputs(
        forest,
        population,
        knowledge,
        calls,
        options,
        leaks=leaks,
        step=step,
        enough=enough,
        fails=fails,
        grades=grades,
    )
    if model.task is Task.REGRESSION:
        from treewarden.audit.run_regression import audit_regression  # not for a single tree

        return audit_regression(inputs)
    if isinstance(model, Ensemble):
        from treewarden.audit.run_ensemble import audit_ensemble  # not for a single tree

        return audit_ensemble(inputs)
    knowledge, notes = resolved(knowledge, model)
    if not model.classes:
        return _audit_unnamed(replace(inputs, knowledge=knowledge), notes)
    return _audit_tree(replace(inputs, knowledge=knowledge), model, notes)


def _audit_unnamed(inputs: RunInputs, notes: tuple[str, ...]) -> Audit:
    """Audit a tree that names no class: its leaves are measured."""
    evidence = inputs.unsolved(NO_NAMED_CLASSES)
    exposure = exposure_of(evidence, inputs.calls, not_run(NO_NAMED_CLASSES))
    return Audit((exposure,), (*inputs.population.warnings, *notes))


def _audit_tree(inputs: RunInputs, tree: Tree, notes: tuple[str, ...]) -> Audit:
    """Audit one tree of classes: what whole records prove, the estimate, and what is read of both."""
    population, options = inputs.population, inputs.options
    case = Case(tree, population, members(tree, population.leaf), inputs.knowledge)
    check_growth(case)
    proved_first: ConsistentTables | Undetermined | None = None
    with inputs.step("solving") as share:
        _start_workers(case, options)
        system = build_system(case)
        _refuse_contradictions(system)
        if inputs.fails is not None:
            proved_first = _proved_first(inputs, system)
            bare = replace(inputs.unsolved(NOT_ESTIMATED), worlds=proved_first)
            if inputs.fails(bare):
                return _stopped(bare, inputs.calls, system)
        posterior, report = _estimated(system, options, share)
        prior = _prior(system, options)
    evidence = Evidence(
        inputs.forest, population, inputs.knowledge, prior, posterior, leaks=inputs.leaks
    )
    evidence = _with_worlds(inputs, evidence, system, proved_first)
    exposure = _measured_exposure(inputs, evidence, system, report)
    return Audit((exposure,), _warnings(case, system, notes))


def _proved_first(inputs: RunInputs, system: System) -> ConsistentTables | Undetermined:
    """Return what whole records prove, worked out before anything is estimated."""
    return _worlds(
        inputs.unsolved(NOT_ESTIMATED),
        system,
        inputs.options,
        inputs.enough,
        clock(inputs.options.worlds_budget),
        asks_rest=_reads_cells(inputs.calls),
    )


def _with_worlds(
    inputs: RunInputs,
    evidence: Evidence,
    system: System,
    proved_first: ConsistentTables | Undetermined | None,
) -> Evidence:
    """Return the evidence with what whole records prove, and with grades of the tables that reports show."""
    options = inputs.options
    with inputs.step(_reasoning(options)):
        until, worlds = clock(options.worlds_budget), proved_first
        if worlds is None:
            asks_rest = _reads_cells(inputs.calls)
            worlds = _worlds(evidence, system, options, inputs.enough, until, asks_rest=asks_rest)
        evidence = replace(evidence, worlds=worlds)
        return _graded(evidence, until) if inputs.grades else evidence


def _measured_exposure(
    inputs: RunInputs, evidence: Evidence, system: System, report: SolverReport
) -> Exposure:
    """Take all readings, after the estimate without one person where a measure needs it."""
    calls, options, known = inputs.calls, inputs.options, measures()
    is_asked_again = any(known[call.measure].asks_again(dict(call.parameters)) for call in calls)
    if is_asked_again and not isinstance(evidence.posterior, Undetermined):
        with inputs.step("asking again without one person"):
            without = without_one(system, evidence.posterior, options)
            evidence = replace(evidence, without=without)
    exposure = exposure_of(evidence, calls, report, system.dropped)
    if not options.levels:
        return exposure
    return replace(exposure, levels=levels(system, exposure, options, inputs.step))


def _warnings(case: Case, system: System, notes: tuple[str, ...]) -> tuple[str, ...]:
    reason = why_not_judged(case.tree, case.population)
    unjudged = () if reason is None else (f"labels were not held against the table, as {reason}",)
    return (
        *case.population.warnings,
        *notes,
        *unjudged,
        *unused_warnings(case),
        *said_of_missing(case),
        *left_out_in_words(system),
    )


def _forest(model: Model, population: Population, step: Step, jobs: int | None) -> Forest:
    """Send the people through the trees; of several ``step`` is told."""
    if not isinstance(model, Ensemble):
        return forest_of(model, population)
    with step("sending the people through all trees") as share:
        return forest_of(model, population, share=share, jobs=jobs)


def start_early(model: Model, options: AuditOptions = DEFAULT) -> None:
    """Let workers get ready while the table is read, where a tree is so large that they are likely needed."""
    if isinstance(model, Tree) and model.leaf_count * len(model.classes) >= MANY_SHARES:
        start_ahead(default_jobs() if options.jobs is None else options.jobs)


def _start_workers(case: Case, options: AuditOptions) -> None:
    """Let workers get ready while the rows are formed, where there will be enough for them to do."""
    cells = len(case.population.counts) * len(case.tree.classes)
    if cells >= MANY_CELLS and case.knowledge.split is not SplitLevel.NONE:
        start_ahead(default_jobs() if options.jobs is None else options.jobs)


def _stopped(evidence: Evidence, calls: Sequence[MeasureCall], system: System) -> Audit:
    """Return what was read without an estimate of what fails by that already; nothing else of it is a reading."""
    known = measures()
    measure_calls = [
        measure_call
        for measure_call in calls
        if EvidenceSource.ESTIMATE not in known[measure_call.measure].reads
    ]
    exposure = Exposure(
        adversary=KNOWS_ALL,
        evidence=evidence,
        solver=not_run(NOT_ESTIMATED),
        dropped=system.dropped,
        disagreements=(),
        asked=tuple(calls),
        readings={measure_call: measured(measure_call, evidence) for measure_call in measure_calls},
    )
    return Audit((exposure,), evidence.population.warnings, STOPPED)


def _reasoning(options: AuditOptions) -> str:
    if not options.worlds:
        return "measuring"
    return f"proving over consistent tables, at most {options.worlds_budget:.3g} s"


def _refuse_contradictions(system: System) -> None:
    """Raise where the adversary is said to know what cannot all be true; a known truth rules that out."""
    if not isinstance(system.case.population.truth, Undetermined):
        return
    rows = conflict(system)
    if rows:
        said = "; ".join(origin.where for origin in rows)
        problem = f"these cannot all be true: {said}; take one back"
        raise KnowledgeError(system.case.tree.source, problem)


def _estimated(
    system: System, options: AuditOptions, share: Share | None
) -> tuple[Posterior | Undetermined, SolverReport]:
    """Return the adversary's estimate, or why there is none: numbers or labels whose meaning nobody told."""
    case = system.case
    if case.tree.learner.claims_privacy:
        unknown = LABELS_DRAWN
    elif case.population.hides_weights(case.tree):
        unknown = Undetermined(UNNAMED_WEIGHTS)
    else:
        return estimate(system, options, share)
    return unknown, not_run(unknown)


def _reads_cells(calls: Sequence[MeasureCall]) -> bool:
    """Return whether anything that is judged reads more of whole records than who is certain."""
    known = measures()
    return any(known[call.measure].is_of_cells for call in calls)


def _worlds(
    evidence: Evidence,
    system: System,
    options: AuditOptions,
    enough: Enough | None,
    until: Clock,
    *,
    asks_rest: bool,
) -> ConsistentTables | Undetermined:
    """Return what whole records prove, within one budget for all that is done to find out.

    Raises:
        TableError: no table with these quasi-identifiers can grow this tree.
    """
    if not options.worlds:
        return NOT_RUN

    def is_enough(worlds: ConsistentTables) -> bool:
        return enough is not None and enough(replace(evidence, worlds=worlds))

    found = reason_in_doubt(
        system,
        until=until.share(1 - GRADES_SHARE),
        strict_ties=options.strict_ties,
        asks_rest=asks_rest,
        enough=never if options.worlds_all else is_enough,
        jobs=options.jobs,
    )
    if isinstance(found, ConsistentTables) and found.consistency is Consistency.INCONSISTENT:
        said = "; ".join(found.conflict[:5]) or "its leaves and splits contradict each other"
        raise TableError(
            system.case.tree.source,
            f"no table with these quasi-identifiers grows this tree ({said}); the file was altered, or the table or "
            "the candidates for splits are others",
        )
    return found


def with_grades(audit: Audit, options: AuditOptions) -> Audit:
    """Return an audit done without grades with them: what the learner grows on the other tables that reports show."""
    until = clock(GRADES_SHARE * options.worlds_budget)
    exposures = tuple(
        exposure
        if exposure.under or exposure.is_of_adversary
        else replace(exposure, evidence=_graded(exposure.evidence, until))
        for exposure in audit.exposures
    )
    return replace(audit, exposures=exposures)


def _graded(evidence: Evidence, until: Clock) -> Evidence:
    tree, people, worlds = evidence.model, evidence.population, evidence.worlds
    if not isinstance(tree, Tree) or isinstance(worlds, Undetermined):
        return evidence
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
