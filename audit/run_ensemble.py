"""The audit of several trees: the leaves of each, and what all of them prove together."""

from __future__ import annotations

from dataclasses import replace

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.engine.time_budget import budget_of
from treewarden.audit.entropy.posterior import SolverReport
from treewarden.audit.evidence import NOT_RUN, Evidence
from treewarden.audit.exposures import exposure_of, not_run, prior_of_all
from treewarden.audit.facts.kinds import contradicted_facts
from treewarden.audit.joint.ensemble_inference import JoinedTrees, join_trees
from treewarden.audit.joint.known_facts import KnownRows, known_rows, prior_of_facts
from treewarden.audit.joint.profiles import (
    in_trees,
    only_certain,
    posterior_of,
    report_of,
    worlds_of,
)
from treewarden.audit.knowledge.levels import RowOrder, SplitLevel
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit
from treewarden.audit.run_inputs import (
    NOT_ESTIMATED,
    NOT_JOINED,
    RunInputs,
    not_a_setting,
)
from treewarden.ppdm_models.arrays import BoolArray


def audit_ensemble(inputs: RunInputs) -> Audit:
    """Audit several trees: the leaves of each, and what all prove together."""
    knowledge = inputs.knowledge.model_copy(update={"split": SplitLevel.NONE})
    enough = None if inputs.options.worlds_all else inputs.enough
    evidence, report = _joined_evidence(replace(inputs, knowledge=knowledge, enough=enough))
    notes = () if isinstance(evidence.together, Undetermined) else evidence.together.said
    with inputs.step("measuring"):
        untrue = contradicted_facts(knowledge, inputs.forest.model.classes, inputs.population)
        exposure = exposure_of(evidence, inputs.calls, report, untrue)
    warnings = (*inputs.population.warnings, *inputs.forest.warnings, *notes)
    return Audit((exposure,), warnings)


def _joined_evidence(inputs: RunInputs) -> tuple[Evidence, SolverReport]:
    """Return what all trees of an ensemble say together, and how the estimate was found."""
    forest, population, knowledge = inputs.forest, inputs.population, inputs.knowledge
    classes = forest.model.classes
    background = known_rows(knowledge, classes, population)
    joined = _joined(inputs, background)
    if isinstance(joined, Undetermined):
        unknown = Undetermined(f"{NOT_JOINED}: {joined.reason}")
        return replace(inputs.unsolved(unknown), together=unknown), not_run(unknown)
    worlds: ConsistentTables | Undetermined = NOT_RUN
    if inputs.options.worlds:
        worlds = worlds_of(joined, population, in_trees(forest.trees, background), classes)
    prior = prior_of_all(population, knowledge, len(classes))
    if knowledge.facts and background is not None:
        prior = prior_of_facts(background, population, len(classes), budget_of(inputs.options))
    evidence = Evidence(
        forest=forest,
        population=population,
        knowledge=knowledge,
        prior=prior,
        posterior=posterior_of(joined),
        worlds=worlds,
        leaks=inputs.leaks,
        together=joined.inference,
    )
    return evidence, report_of(joined, population.records)


def _joined(inputs: RunInputs, background: KnownRows | None) -> JoinedTrees | Undetermined:
    """Return what the leaves of all trees say together, and with what is known of the people beside."""
    forest, population, knowledge = inputs.forest, inputs.population, inputs.knowledge
    options, bare = inputs.options, inputs.unsolved(NOT_ESTIMATED)

    def is_enough(certain: BoolArray) -> bool:
        if inputs.enough is None:
            return False
        sure = only_certain(population, certain, len(forest.model.classes))
        return inputs.enough(replace(bare, worlds=sure))

    try:
        return join_trees(
            forest,
            population,
            budget_of(options),
            inputs.step,
            training=knowledge.training,
            seeds=knowledge.seeds if knowledge.row_order is RowOrder.KNOWN else None,
            background=background,
            over_trees=options.levels,
            should_stop=is_enough,
        )
    except KeyError as error:
        raise not_a_setting(forest.model, error) from error
