"""Holds what a knowledge file says of the training against what the model files say of it."""

from __future__ import annotations

from collections.abc import Sequence

from treewarden.audit.inverters import contradicted, settings_of
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.growth import Fact, FactSource
from treewarden.reports.document.words import listed

SAYS = {FactSource.KNOWN: "says", FactSource.DERIVED: "shows by its numbers"}


def check_training(knowledge: Knowledge, where: str, models: Sequence[Model]) -> None:
    """Check that each setting is one of the models, and that no model file says that it was another.

    Of several models it may be of some alone; ``where`` is the file that says the settings.

    Raises:
        KnowledgeError: it is none, or is contradicted.
    """
    settings = [settings_of(model) for model in models]
    every = frozenset[str]().union(*settings)
    told = knowledge.training
    for name in told:
        if name not in every:
            raise KnowledgeError(where, _strange(name, every, models[-1]))
    shown = [
        contradicted(model, {name: value for name, value in told.items() if name in own})
        for model, own in zip(models, settings, strict=True)
    ]
    for name, value in told.items():
        having = [place for place, own in enumerate(settings) if name in own]
        if all(name in shown[place] for place in having):
            last = having[-1]
            said = f"{models[last].source} {_in_words(shown[last][name])}"
            raise KnowledgeError(
                where, f"training: {name} = {value:g}, but {said}; leave it out, or correct it"
            )


def _strange(name: str, every: frozenset[str], model: Model) -> str:
    if not every:
        return (
            f"training: {name!r} is for boosted models, and {model.source} is not one; leave it out"
        )
    known = listed(sorted(every))
    return f"training: {name!r} does not affect the leaf values of {model.source}; use {known}"


def _in_words(fact: Fact) -> str:
    return f"{SAYS.get(fact.source, 'says')} {fact.value:g}"
