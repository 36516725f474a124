"""Outputs that are published beside the model, such as a table of characteristics: read, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from treewarden.audit.outputs.beside_rows import table_columns
from treewarden.audit.partial.adversary_request import AdversaryRequest
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.files.load import read_bytes
from treewarden.ppdm_models.outputs.published import PublishedOutput
from treewarden.ppdm_models.outputs.readers import read_together
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.tree import Task

MOST_OUTPUTS = 50


@dataclass(frozen=True, slots=True)
class OutputBytes:
    """The bytes of an output, and what it is called in messages."""

    data: bytes
    name: str


OutputInput = Path | OutputBytes


@dataclass(frozen=True, slots=True)
class OtherQuestions:
    """What else an audit was asked: whether there are earlier releases, and adversaries who know some columns only."""

    has_earlier: bool
    adversaries: AdversaryRequest


def read_outputs(
    outputs: Sequence[OutputInput],
    model: Model,
    population: Population,
    questions: OtherQuestions,
) -> tuple[PublishedOutput, ...]:
    """Return what outputs say of the people of a table, whose columns they name.

    Raises:
        OutputsError: one is not understood, or cannot be judged beside this model or with what else was asked.
    """
    if not outputs:
        return ()
    if questions.has_earlier:
        problem = (
            "outputs can be judged with one model only; audit each release with its own outputs, "
            "or remove the output"
        )
        raise OutputsError(outputs[0].name, problem)
    if questions.adversaries.partial or questions.adversaries.secret is not None:
        problem = (
            "outputs are judged only for an adversary who knows all quasi-identifiers; remove the "
            "other adversaries, or the output"
        )
        raise OutputsError(outputs[0].name, problem)
    if model.task is Task.REGRESSION or not model.classes:
        problem = "outputs can be judged only with a model that predicts a class; remove the output"
        raise OutputsError(outputs[0].name, problem)
    if len(outputs) > MOST_OUTPUTS:
        raise OutputsError(outputs[0].name, f"more than {MOST_OUTPUTS} outputs; give fewer")
    columns = table_columns(population, model.classes, population.sensitive or model.target)
    return read_together([(_bytes_of(output), output.name) for output in outputs], columns)


def _bytes_of(output: OutputInput) -> bytes:
    return read_bytes(output) if isinstance(output, Path) else output.data
