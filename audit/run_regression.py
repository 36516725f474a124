"""The audit of a model that predicts a number: its leaves, and what they prove together."""

from __future__ import annotations

from dataclasses import replace

from treewarden.audit.engine.time_budget import budget_of
from treewarden.audit.evidence import SEE_NUMBERS
from treewarden.audit.exposures import not_run
from treewarden.audit.knowledge.knowledge import resolved
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.inference import values_of
from treewarden.audit.regression.known_numbers import known_numbers
from treewarden.audit.run_inputs import ProvedModel, RunInputs, not_a_setting
from treewarden.ppdm_models.tree.tree import Tree


def prove_numbers(inputs: RunInputs) -> ProvedModel:
    """Return what a model that predicts a number proves, one tree or many: its leaves, and all of them together.

    Raises:
        KnowledgeError: the adversary is said to know a setting of the training that leaf values do not depend on.
    """
    forest, population, options = inputs.forest, inputs.population, inputs.options
    model, notes = forest.model, forest.warnings
    if isinstance(model, Tree):
        knowledge, notes = resolved(inputs.knowledge, model)
    else:
        knowledge = inputs.knowledge.model_copy(update={"split": SplitLevel.NONE})
    evidence = replace(inputs, knowledge=knowledge).unsolved(SEE_NUMBERS)
    background = known_numbers(knowledge, population)
    try:
        numbers = values_of(
            forest,
            population,
            budget_of(options),
            inputs.step,
            training=knowledge.training,
            background=background,
        )
    except KeyError as error:
        raise not_a_setting(model, error) from error
    if not isinstance(numbers, Undetermined):
        notes = (*notes, *numbers.said)
    evidence = replace(evidence, numbers=numbers)
    if forest.is_ensemble:
        evidence = replace(evidence, together=SEE_NUMBERS)
    untrue = () if background is None else background.dropped
    return ProvedModel(evidence, not_run(SEE_NUMBERS), untrue, notes)
