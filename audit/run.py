"""One audit, start to end: the only place where the pipe is spelled out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from treewarden.audit.claims.result import NO_CLAIM, NO_EPSILON, ClaimFindings
from treewarden.audit.evidence import NOT_READ, Enough
from treewarden.audit.exposures import exposure_of, exposure_without_estimate, levels
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import MeasureCall
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.population.unobserved_values import with_unheld
from treewarden.audit.progress import Step, silent
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit
from treewarden.audit.run_inputs import (
    ProvedModel,
    RunInputs,
    blame_of,
    forest_with_steps,
    model_beside_rows,
    model_totals,
    with_membership,
    with_rebuilt,
)
from treewarden.audit.run_tree import prove_tree
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, claim_of, claims_privacy
from treewarden.ppdm_models.tree.side_channels import Leak
from treewarden.ppdm_models.tree.tree import Task

if TYPE_CHECKING:  # of outputs that are published beside the model
    from treewarden.audit.reconstruction.domain import DeclaredDomain
    from treewarden.ppdm_models.outputs.published import PublishedOutput


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
    register: Population | None = None,
    beside: Sequence[PublishedOutput] = (),
    domain: DeclaredDomain | None = None,
) -> Audit:
    """Audit a model: what an adversary who knows the quasi-identifiers and this much can infer about its people.

    Every measure is read with its defaults, and besides what ``calls`` ask for. Of an ensemble the leaves of every tree
    are measured, and what they prove together where their values can be inverted into people. ``leaks`` is what the
    file gives away beside its trees. ``step`` is told of each stage; what it raises ends the run. Once ``enough`` is
    known of whole records, nothing more is asked of them one by one, unless the options want all of it. Without
    ``grades`` the learner is not run again on the other tables that reports show: see ``with_grades`` of one tree.
    Where ``fails`` says so of what whole records prove, these are reasoned over first, and nothing that needs the
    estimate is read. ``register`` are people any of whom may be in the table: who of them is, is worked out too.
    ``beside`` are outputs of the same people that are published beside the model: what they say joins it.
    ``domain`` is what is public of the columns beside the file; else it is the values that the table has.

    Raises:
        KnowledgeError: the adversary is said to know what cannot be known here.
        OutputsError: the table contradicts an output.
        SolverError: the wanted solver is not there.
        TableError: no table with these quasi-identifiers can grow this tree.
    """
    leaks = with_unheld(leaks, model, population)
    forest = forest_with_steps(model, population, step, options.jobs)
    claim, relied_on = judge_model_claim(forest, population, leaks)
    inputs = RunInputs(
        forest if beside else relied_on,  # other outputs are no part of its noise
        population,
        knowledge,
        calls,
        options,
        leaks=leaks,
        step=step,
        enough=enough,
        fails=fails,
        grades=grades,
        register=register,
        beside=model_beside_rows(beside, population, model, knowledge),
        totals=model_totals(beside, population, model),
        claim=claim,
        domain=domain,
    )
    proved = with_rebuilt(with_membership(_prover_of(model)(inputs), inputs), inputs)
    proved = replace(proved, evidence=replace(proved.evidence, claim=claim, forest=forest))
    warnings = (*population.warnings, *proved.warnings)
    if proved.stopped:
        bare = exposure_without_estimate(proved.evidence, calls, proved.report, proved.dropped)
        return Audit((bare,), warnings, proved.stopped, blame=blame_of(proved, inputs))
    with step("measuring") as share:
        exposure = exposure_of(proved.evidence, calls, proved.report, proved.dropped, share)
    if proved.system is not None and options.levels:
        exposure = replace(exposure, levels=levels(proved.system, exposure, options, step))
    return Audit((exposure,), warnings, blame=blame_of(proved, inputs))


def judge_model_claim(
    forest: Forest, population: Population, leaks: tuple[Leak, ...] | Undetermined
) -> tuple[ClaimFindings | Undetermined, Forest]:
    """Return what was found of a model's claim, and the forest with it marked where it may be relied on."""
    if claim_of(forest.model) is None:
        return NO_EPSILON if claims_privacy(forest.model) else NO_CLAIM, forest
    from treewarden.audit.claims.judge_claim import (
        judge_claim,  # for claims only
        relied_on,  # as above
    )

    claim = judge_claim(forest, population, leaks)
    return claim, relied_on(forest, claim)


def _prover_of(model: Model) -> Callable[[RunInputs], ProvedModel]:
    """Return what makes a problem of a model of this kind, and evidence of what the engine proves."""
    if model.task is Task.REGRESSION:
        from treewarden.audit.run_ensemble import prove_numbers  # not for a single tree

        return prove_numbers
    if isinstance(model, Ensemble):
        from treewarden.audit.run_ensemble import prove_ensemble  # not for a single tree

        return prove_ensemble
    return prove_tree
