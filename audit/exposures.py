"""Evidence with and without an estimate, all readings of the measures from it, and what each published element adds.

Each reading is taken once. Published elements are added one after the other: labels, then error rates, then counts,
then split choices. It also checks whether what a file says of its leaves is true of the table, whatever the adversary
makes of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.entropy.posterior import Posterior, SolverReport, certain
from treewarden.audit.evidence import ONE_TREE, Evidence, label_contradictions
from treewarden.audit.facts.node_impurities import uses_impurities
from treewarden.audit.facts.rows import Case, DroppedRow
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import LeafLevel, SplitLevel
from treewarden.audit.measures import (
    EvidenceSource,
    MeasureCall,
    call,
    measured,
    measures,
    of_models,
)
from treewarden.audit.options import AuditOptions, RowStatement
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import members
from treewarden.audit.progress import Share, Step, counted_by, silent
from treewarden.audit.reading import Measurement, Undetermined
from treewarden.audit.result import KNOWS_ALL, Audit, Exposure, KnowledgeLevel
from treewarden.audit.system.system import System, build_system
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.nodes import fits, impurity_of, parents_of
from treewarden.ppdm_models.tree.plain_splits import is_inner, where_of
from treewarden.ppdm_models.tree.side_channels import Leak
from treewarden.ppdm_models.tree.tree import Tree, count_of

TOLD = (MeasureCall("guess_accuracy", (("over", "marginal"),)),)
"""What reports tell beside every measure with its defaults."""


def prior_of_all(
    population: Population, knowledge: Knowledge, classes: int
) -> Posterior | Undetermined:
    """Return the adversary's estimate before an ensemble: uniform, or how common each class is where that is known."""
    size, truth = len(population.counts), population.truth
    if not knowledge.marginal:
        return certain(np.full((size, classes), 1 / classes))
    if isinstance(truth, Undetermined):
        return truth
    return certain(np.tile(truth.sum(axis=0) / population.records, (size, 1)))


def unsolved(
    forest: Forest,
    population: Population,
    knowledge: Knowledge,
    unknown: Undetermined,
    leaks: tuple[Leak, ...] | Undetermined,
) -> Evidence:
    """Return evidence without an estimate: its leaves can be measured, and nothing else."""
    return Evidence(
        forest=forest,
        population=population,
        knowledge=knowledge,
        prior=unknown,
        posterior=unknown,
        worlds=unknown,
        leaks=leaks,
    )


def not_run(unknown: Undetermined) -> SolverReport:
    """Return the report of an estimate that was not looked for, and why."""
    return SolverReport("not run", reason=unknown.reason)


def exposure_of(
    evidence: Evidence,
    calls: Sequence[MeasureCall],
    report: SolverReport,
    dropped: tuple[DroppedRow, ...] = (),
    share: Share | None = None,
) -> Exposure:
    """Take every reading, once; ``share`` is told how many."""
    is_doubted = any(dropped_row.is_published for dropped_row in dropped)
    doubts = () if is_doubted else disagreements(evidence)
    return Exposure(
        adversary=KNOWS_ALL,
        evidence=evidence,
        solver=report,
        dropped=dropped,
        disagreements=doubts,
        asked=tuple(calls),
        readings=readings(evidence, calls, share),
    )


def exposure_without_estimate(
    evidence: Evidence,
    calls: Sequence[MeasureCall],
    report: SolverReport,
    dropped: tuple[DroppedRow, ...],
) -> Exposure:
    """Take the readings that need no estimate, where something fails by them already; nothing else is a reading."""
    known = measures()
    measure_calls = [
        measure_call
        for measure_call in calls
        if EvidenceSource.ESTIMATE not in known[measure_call.measure].reads
    ]
    return Exposure(
        adversary=KNOWS_ALL,
        evidence=evidence,
        solver=report,
        dropped=dropped,
        disagreements=(),
        asked=tuple(calls),
        readings={measure_call: measured(measure_call, evidence) for measure_call in measure_calls},
    )


def readings(
    evidence: Evidence, calls: Sequence[MeasureCall], share: Share | None = None
) -> dict[MeasureCall, Measurement]:
    """Return what each call reads, then every measure of models with its defaults, and what reports tell beside."""
    wanted = dict.fromkeys([*calls, *map(call, of_models()), *TOLD])
    taken = ((measure_call, measured(measure_call, evidence)) for measure_call in wanted)
    return dict(counted_by(share, taken, len(wanted), "metrics"))


# Learner settings that its own tree contradicts: believing them would mean that fewer splits were compared.


def setting_contradictions(tree: Tree, people: Population) -> Iterator[DroppedRow]:
    """Yield the settings that the file names and that the tree, or who is where in it, contradicts.

    A table may hold more people than the learner saw, as it left incomplete ones out, never fewer: so a leaf that is
    too small is so in any case. Weighted records are not judged; a limit of rows that are several people each is met
    by as many people at least, and a share of people by fewer rows.
    """
    learner, stopping = tree.learner, tree.learner.stopping
    if people.is_absent or people.weight is not None or learner.saw_noise:
        return
    inner, parents = is_inner(tree), parents_of(tree.nodes)
    here = np.bincount(people.leaf, people.counts, len(tree.nodes))
    depth = np.zeros(len(tree.nodes), dtype=np.intp)
    for node in range(1, len(parents)):
        depth[node] = depth[parents[node]] + 1
    passing = here.copy()
    for node in range(len(parents) - 1, 0, -1):
        passing[parents[node]] += passing[node]
    least = math.floor(learner.min_leaf_records / people.rows.heaviest)
    limits = [(~inner & (here > 0) & (here < least), f"every leaf has at least {least} records")]
    if stopping is not None:
        split = math.floor(stopping.min_split_records / people.rows.heaviest)
        deepest, most = stopping.max_depth, stopping.max_leaves
        is_small = inner & (passing > 0) & (passing < split)
        limits.append((is_small, f"nodes of fewer than {split} records are not split"))
        if deepest is not None:
            limits.append((depth > deepest, f"no node is below {deepest} tests"))
        if most is not None and tree.leaf_count > most:
            limits.append((~inner, f"there are {most} leaves at most"))
    for is_beyond, limit in limits:
        beyond = np.flatnonzero(is_beyond)
        if len(beyond):
            said = f"{where_of(tree, int(beyond[0]))}: the file says that {limit}"
            yield DroppedRow("learner", said, "this tree violates that limit", True)


PARTLY_USED = (LeafLevel.LABELS, LeafLevel.RATES)
"""The levels under which an audit's own rows leave out numbers that the file may publish."""


def disagreements(evidence: Evidence) -> tuple[DroppedRow, ...]:
    """Return the numbers of the file that the true table breaks and that the audit's own rows may have left out."""
    tree, population = evidence.model, evidence.population
    labels = tuple(label_contradictions(evidence))
    if isinstance(tree, Ensemble):
        return labels
    leaves_out = evidence.knowledge.leaf in PARTLY_USED
    prints_impurities = any(node.impurity is not None for node in tree.nodes)
    empty = (
        *_empty_leaves(tree, population),
        *labels,
        *setting_contradictions(tree, population),
    )
    if empty or not (leaves_out or prints_impurities):
        return empty
    knowledge = Knowledge(split=SplitLevel.NONE)
    case = Case(tree, population, members(tree, population.leaf), knowledge)
    dropped_rows = list(_impurities(case))
    if leaves_out:
        dropped_rows += [
            dropped_row for dropped_row in build_system(case).dropped if dropped_row.is_published
        ]
    return tuple(dropped_rows)


def _empty_leaves(tree: Tree, population: Population) -> Iterator[DroppedRow]:
    """Yield the leaves in which nobody of the table falls though the file does not say so: it grew on other records.

    Where noise had a part in it, a leaf may well have been made for noisy records only.
    """
    if tree.learner.saw_noise:
        return
    stops = set(np.unique(population.leaf).tolist())
    for leaf in tree.leaves:
        counted = count_of(leaf) if tree.has_people else None
        if leaf.index not in stops and counted is None:
            problem = (
                "no record of the table reaches it: values are missing, or this is another table"
            )
            yield DroppedRow("leaves", tree.where(leaf), problem, True)


def _impurities(case: Case) -> Iterator[DroppedRow]:
    """Yield the impurities that the true counts do not have; the rows know only the ends of what they allow."""
    tree, truth = case.tree, case.population.truth
    if isinstance(truth, Undetermined) or not uses_impurities(case):
        return
    for node in tree.nodes:
        inside = case.members.profiles_at(node.index)
        if node.impurity is None or not len(inside):
            continue
        counts = truth[inside].sum(axis=0).tolist()
        if not fits(counts, node.impurity):
            found = impurity_of(node.impurity.criterion, counts)
            said = f"{node.impurity.criterion} {node.impurity.low:.4g} to {node.impurity.high:.4g}"
            problem = f"in the true table it is {found:.4g}"
            yield DroppedRow("node_impurity", f"{tree.where(node)}: {said}", problem, True)


READ = ("guess_accuracy", "disclosure", "kl_overall")
"""The measures that tell the levels apart; each reads the estimate alone."""


def levels(
    system: System, exposure: Exposure, options: AuditOptions, step: Step = silent
) -> tuple[KnowledgeLevel, ...]:
    """Return the readings of each level that does not exceed what the adversary is assumed to know.

    ``system`` holds the rows of the highest, which ``exposure`` has solved and read: that level is
    not solved again. Nothing is told where the truth is not known.
    """
    case = system.case
    if isinstance(case.population.truth, Undetermined):
        return ()
    knowledge_levels = []
    for name, knowledge in _below(case):
        with step(f"level: {name}") as share:
            lower = build_system(replace(case, knowledge=knowledge))
            posterior, _ = estimate(lower, replace(options, rows=RowStatement.REAL), share)
            knowledge_levels.append(_read(name, replace(exposure.evidence, posterior=posterior)))
    last = _full(case)
    if exposure.solver.split_rows == RowStatement.INTEGER:
        with step(f"level: {last}") as share:
            posterior, _ = estimate(system, replace(options, rows=RowStatement.REAL), share)
            knowledge_levels.append(_read(last, replace(exposure.evidence, posterior=posterior)))
        last = "+ whole records"
    own = (exposure.measured(name).reading for name in READ)
    return (*knowledge_levels, KnowledgeLevel(last, *own))


def with_levels(audit: Audit, options: AuditOptions, step: Step = silent) -> Audit:
    """Return an audit with the levels of its adversaries, where it was done without."""
    return replace(
        audit,
        exposures=tuple(
            exposure
            if exposure.levels or exposure.under or exposure.is_of_adversary
            else replace(exposure, levels=_measure_levels(exposure, options, step))
            for exposure in audit.exposures
        ),
    )


def _measure_levels(
    exposure: Exposure, options: AuditOptions, step: Step
) -> tuple[KnowledgeLevel, ...]:
    evidence = exposure.evidence
    tree, people = evidence.model, evidence.population
    is_joined = evidence.together is not ONE_TREE
    if not isinstance(tree, Tree) or isinstance(people.truth, Undetermined) or is_joined:
        return ()
    case = Case(tree, people, members(tree, people.leaf), evidence.knowledge)
    return levels(build_system(case), exposure, options, step)


def _below(case: Case) -> Iterator[tuple[str, Knowledge]]:
    """Yield the levels below what the adversary knows, each with the knowledge that it is."""
    full, knows_splits = case.knowledge, case.knowledge.split.is_criterion
    bare = full.model_copy(update={"split": SplitLevel.NONE})
    if full.leaf is not LeafLevel.LABELS or knows_splits:
        yield "labels only", bare.model_copy(update={"leaf": LeafLevel.LABELS})
    if full.leaf is LeafLevel.LABELS:
        return
    if full.leaf is LeafLevel.RATES:
        if knows_splits:
            yield "+ error rates", bare
        return
    if _publishes_rates(case.tree):
        yield "+ error rates", bare.model_copy(update={"leaf": LeafLevel.RATES})
    if knows_splits:
        yield "+ class counts", bare


def _full(case: Case) -> str:
    """Return the name of the level that is all that the adversary knows."""
    if case.knowledge.split.is_criterion:
        return "+ split choices"
    names = {LeafLevel.LABELS: "labels only", LeafLevel.RATES: "+ error rates"}
    return names.get(case.knowledge.leaf, "+ class counts")


def _publishes_rates(tree: Tree) -> bool:
    return any(
        leaf.class_counts is not None or leaf.class_shares is not None for leaf in tree.leaves
    )


def _read(name: str, evidence: Evidence) -> KnowledgeLevel:
    return KnowledgeLevel(name, *(measured(call(each), evidence).reading for each in READ))
