"""What each kind of published information adds: labels, then error rates, then counts, then split choices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.evidence import ONE_TREE, Evidence
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import LeafLevel, SplitLevel
from treewarden.audit.measures import call, measured
from treewarden.audit.options import AuditOptions, RowStatement
from treewarden.audit.population.target import members
from treewarden.audit.progress import Step, silent
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit, Exposure, KnowledgeLevel
from treewarden.audit.system.system import System, build_system
from treewarden.ppdm_models.tree.tree import Tree

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
    full, knows_splits = case.knowledge, case.knowledge.split is not SplitLevel.NONE
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
    if case.knowledge.split is not SplitLevel.NONE:
        return "+ split choices"
    names = {LeafLevel.LABELS: "labels only", LeafLevel.RATES: "+ error rates"}
    return names.get(case.knowledge.leaf, "+ class counts")


def _publishes_rates(tree: Tree) -> bool:
    return any(
        leaf.class_counts is not None or leaf.class_shares is not None for leaf in tree.leaves
    )


def _read(name: str, evidence: Evidence) -> KnowledgeLevel:
    return KnowledgeLevel(name, *(measured(call(each), evidence).reading for each in READ))
