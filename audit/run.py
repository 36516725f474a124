"""One audit, start to end: the only place where the pipe is spelled out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from audit import measures
from audit.adversary.knowledge import Knowledge, LeafLevel, SplitLevel, resolved
from audit.estimate.estimate import estimate
from audit.estimate.posterior import Posterior, certain
from audit.estimate.report import SolverReport
from audit.evidence import NOT_READ, NOT_RUN, Evidence
from audit.facts.case import Case
from audit.facts.grower import said_of_missing
from audit.facts.unused import unused_warnings
from audit.measures import Measure
from audit.options import DEFAULT, SolveOptions
from audit.people.forest import forest_of
from audit.people.members import members
from audit.people.population import Population
from audit.reading import Measurement, Undetermined
from audit.result import Audit, Level, MeasureCall
from audit.solver.parallel import default_jobs, start_ahead
from audit.system.conflict import conflict
from audit.system.system import System, build_system, left_out_in_words
from audit.worlds import Consistency, Worlds, graded, reason_in_doubt
from ppdm_models.errors import KnowledgeError, TableError
from ppdm_models.plugins import discover
from ppdm_models.tree.ensemble import Ensemble, Model
from ppdm_models.tree.leaks import Leak
from ppdm_models.tree.tree import Task, Tree

MANY_CELLS = 20_000
"""Profiles times classes from which on there is likely work for more than one process."""
MANY_SHARES = 3_000
"""The same in leaves times classes, before the table is read."""
BEFORE_THE_TREE = ("profile", "marginal", "background")
"""The constraints that hold whether or not the tree is published."""

NO_JOINT_ESTIMATE = Undetermined("the joint posterior over several trees is not computed yet")


def run(
    tree: Model,
    population: Population,
    knowledge: Knowledge,
    calls: Sequence[MeasureCall],
    options: SolveOptions = DEFAULT,
    leaks: tuple[Leak, ...] | Undetermined = NOT_READ,
) -> Audit:
    """Audit a tree: what an adversary who knows the quasi-identifiers and this much can infer about its people.

    Of an ensemble the leaves of every tree are measured, and no joint estimate is made. ``leaks`` is what the file
    gives away beside its trees.

    Raises:
        KnowledgeError: the adversary is said to know what cannot be known here.
        SolverError: the wanted solver is not there.
        TableError: no table with these quasi-identifiers can grow this tree.
    """
    if isinstance(tree, Ensemble):
        return _of_ensemble(tree, population, knowledge, calls, leaks)
    knowledge, warnings = resolved(knowledge, tree)
    if tree.task is Task.REGRESSION:
        unknown = Undetermined(
            "the tree predicts a number, not a class; only its leaves are measured"
        )
        evidence = Evidence(tree, population, knowledge, unknown, unknown, unknown, leaks=leaks)
        return _unsolved(evidence, unknown, calls, (*population.warnings, *warnings))
    case = Case(tree, population, members(tree, population.leaf), knowledge)
    _start_workers(case, options)
    system = build_system(case)
    _refuse_contradictions(system)
    posterior, report = estimate(system, options)
    worlds = _worlds(system, options, asks_rest=_reads_cells(calls))
    evidence = Evidence(
        tree, population, knowledge, _prior(system, options), posterior, worlds, leaks=leaks
    )
    said = (
        *population.warnings,
        *warnings,
        *unused_warnings(case),
        *said_of_missing(case),
        *left_out_in_words(system),
    )
    return Audit(evidence, report, system.dropped, _read(evidence, calls), said)


def start_early(tree: Model, options: SolveOptions = DEFAULT) -> None:
    """Let workers get ready while the table is read, where a tree is so large that they are likely needed."""
    if isinstance(tree, Tree) and len(tree.leaves) * len(tree.classes) >= MANY_SHARES:
        _start(options)


def _start_workers(case: Case, options: SolveOptions) -> None:
    """Let workers get ready while the rows are formed, where there will be enough for them to do."""
    cells = len(case.population.counts) * len(case.tree.classes)
    if cells >= MANY_CELLS and case.knowledge.split is not SplitLevel.NONE:
        _start(options)


def _start(options: SolveOptions) -> None:
    if not options.direct:
        start_ahead(default_jobs() if options.jobs is None else options.jobs)


def _of_ensemble(
    ensemble: Ensemble,
    population: Population,
    knowledge: Knowledge,
    calls: Sequence[MeasureCall],
    leaks: tuple[Leak, ...] | Undetermined,
) -> Audit:
    forest = forest_of(ensemble, population, "the table")
    known = knowledge.model_copy(update={"split": SplitLevel.NONE})
    tree, people = forest.trees[forest.shown], replace(population, leaf=forest.stops[forest.shown])
    unknown = NO_JOINT_ESTIMATE
    evidence = Evidence(tree, people, known, unknown, unknown, unknown, forest, leaks)
    return _unsolved(evidence, unknown, calls, (*population.warnings, *forest.warnings))


def _unsolved(
    evidence: Evidence,
    unknown: Undetermined,
    calls: Sequence[MeasureCall],
    warnings: tuple[str, ...],
) -> Audit:
    """Return an audit without an estimate: its leaves are measured, and nothing else."""
    solver = SolverReport("not run", reason=unknown.reason)
    return Audit(evidence, solver, (), _read(evidence, calls), warnings)


def ablation(
    tree: Model, population: Population, knowledge: Knowledge, options: SolveOptions = DEFAULT
) -> tuple[Level, ...]:
    """Return what each kind of published information adds: labels, then error rates, then counts, then split choices.

    Only levels that do not exceed what the adversary is assumed to know are tried; none for a regression tree or an
    ensemble.
    """
    if (
        isinstance(tree, Ensemble)
        or tree.task is Task.REGRESSION
        or isinstance(population.truth, Undetermined)
    ):
        return ()
    full, _ = resolved(knowledge, tree)
    steps = [
        (
            "labels only",
            full.model_copy(update={"leaf": LeafLevel.LABELS, "split": SplitLevel.NONE}),
        )
    ]
    if full.leaf is not LeafLevel.LABELS:
        if _publishes_rates(tree) or full.leaf is LeafLevel.RATES:
            steps.append(
                (
                    "+ error rates",
                    full.model_copy(update={"leaf": LeafLevel.RATES, "split": SplitLevel.NONE}),
                )
            )
        if full.leaf is not LeafLevel.RATES:
            steps.append(("+ class counts", full.model_copy(update={"split": SplitLevel.NONE})))
    if full.split is not SplitLevel.NONE:
        steps.append(("+ split choices", full))
    real = replace(options, worlds=False, integer_rows=False)
    tried = [(name, known, real) for name, known in steps]
    if options.integer_rows and full.split is not SplitLevel.NONE:
        tried.append(("+ whole records", full, replace(real, integer_rows=True)))
    calls = tuple(_call(name) for name in ("guess_accuracy", "disclosure", "kl_overall"))
    levels = []
    for name, known, how in tried:
        audit = run(tree, population, known, calls, how)
        if how.integer_rows and audit.solver.split_rows != "integer":
            continue
        read = audit.measurements
        levels.append(Level(name, *(read[call].reading for call in calls)))
    return tuple(levels)


def _refuse_contradictions(system: System) -> None:
    """Raise where the adversary is said to know what cannot all be true; a known truth rules that out."""
    if not isinstance(system.case.population.truth, Undetermined):
        return
    rows = conflict(system)
    if rows:
        said = "; ".join(origin.where for origin in rows)
        problem = f"these cannot all be true: {said}; take one back"
        raise KnowledgeError(system.case.tree.source, problem)


def _call(measure: str) -> MeasureCall:
    declared = discover(measures, "MEASURE", Measure)[measure].parameters
    return MeasureCall(measure, tuple((name, declared[name].default) for name in sorted(declared)))


def _publishes_rates(tree: Tree) -> bool:
    return any(
        leaf.class_counts is not None or leaf.class_shares is not None for leaf in tree.leaves
    )


def _reads_cells(calls: Sequence[MeasureCall]) -> bool:
    """Return whether anything that is judged reads more of whole records than who is certain."""
    known = discover(measures, "MEASURE", Measure)
    return any(known[call.measure].about_cells for call in calls)


def _worlds(system: System, options: SolveOptions, *, asks_rest: bool) -> Worlds | Undetermined:
    """Return what whole records prove.

    Raises:
        TableError: no table with these quasi-identifiers can grow this tree.
    """
    if not options.worlds:
        return NOT_RUN
    found = reason_in_doubt(
        system,
        budget_seconds=options.worlds_budget,
        strict_ties=options.strict_ties,
        asks_rest=asks_rest,
    )
    if isinstance(found, Worlds) and found.consistency is Consistency.INCONSISTENT:
        said = "; ".join(found.conflict[:5]) or "its leaves and splits contradict each other"
        raise TableError(
            system.case.tree.source,
            f"no table with these quasi-identifiers grows this tree ({said}); the file was altered, or the table or "
            "the candidates for splits are others",
        )
    return graded(found, system.case) if isinstance(found, Worlds) else found


def _prior(system: System, options: SolveOptions) -> Posterior | Undetermined:
    """Return the adversary's estimate before the tree: uniform, or what class totals and background facts give."""
    rows = tuple(row for row in system.rows if row.origin.constraint in BEFORE_THE_TREE)
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


def _read(evidence: Evidence, calls: Sequence[MeasureCall]) -> dict[MeasureCall, Measurement]:
    known = discover(measures, "MEASURE", Measure)
    return {call: known[call.measure].read(evidence, dict(call.parameters)) for call in calls}
