"""Holds what a knowledge file says of the training against what the model files say of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from audit.adversary.knowledge import Knowledge
from audit.inverters import facts_of, settings_of
from ppdm_models.errors import KnowledgeError
from ppdm_models.tree.ensemble import Model
from ppdm_models.tree.growth import Source
from reports.document.words import listed

CLOSE = 1e-6
"""Settings that follow from rounded numbers of a file are the same where they differ by no more of their size."""
SAYS = {Source.KNOWN: "says", Source.DERIVED: "shows by its numbers"}


def check_training(knowledge: Knowledge, where: str, models: Sequence[Model]) -> None:
    """Check that each setting is one of the models, and that no model file says that it was another.

    Of several models it may be of some alone; ``where`` is the file that says the settings.

    Raises:
        KnowledgeError: it is none, or is contradicted.
    """
    settings = [settings_of(model) for model in models]
    every = frozenset[str]().union(*settings)
    for name, value in knowledge.training.items():
        if name not in every:
            raise KnowledgeError(where, _strange(name, every, models[-1]))
        having = [model for model, own in zip(models, settings, strict=True) if name in own]
        said = [_contradiction(model, name, value) for model in having]
        if all(said):
            raise KnowledgeError(
                where, f"training: {name} = {value:g}, but {said[-1]}; leave it out, or correct it"
            )


def _strange(name: str, every: frozenset[str], model: Model) -> str:
    if not every:
        return f"training: {name!r} says nothing of {model.source}, which is no boosted model; leave it out"
    known = listed(sorted(every))
    return f"training: {name!r} is no setting that leaf values of {model.source} depend on; have {known}"


def _contradiction(model: Model, name: str, value: float) -> str:
    """Return in words what a model file says of a setting instead; "" where it says nothing else."""
    fact = facts_of(model).get(name)
    if fact is None or fact.value is None:
        return ""
    if math.isclose(fact.value, value, rel_tol=CLOSE, abs_tol=CLOSE):
        return ""
    return f"{model.source} {SAYS.get(fact.source, 'says')} {fact.value:g}"
