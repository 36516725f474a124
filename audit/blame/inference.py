"""What published numbers prove of people, and which of them: the model's, and those of each output beside it."""

from __future__ import annotations

import numpy as np

from treewarden.audit.blame.certainty import CertaintyOracle
from treewarden.audit.blame.of_model import ModelNumbers, numbers_of_model
from treewarden.audit.blame.reasons import reasons_of_all, shares_of_blame
from treewarden.audit.blame.result import Blame, SourceProof
from treewarden.audit.blame.withholding import withhold_least
from treewarden.audit.clock import Clock
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.outputs.beside_rows import BesideRows
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray

REASONS_SHARE, ALONE_SHARE = 0.5, 0.2
"""Of the time that is left: for reasons, and before them for what each output proves alone."""


def blame_numbers(
    forest: Forest,
    population: Population,
    knowledge: Knowledge,
    beside: BesideRows | None,
    until: Clock,
) -> Blame | Undetermined:
    """Return which numbers of a model, and of outputs beside it, prove people's values, as far as the time goes."""
    published = numbers_of_model(forest, population, knowledge, beside)
    if isinstance(published, Undetermined):
        return published
    numbers = published.numbers
    sizes = numbers.problem.sizes.astype(np.float64)
    oracle = CertaintyOracle(numbers, until.share(ALONE_SHARE))
    sources = _sources(oracle, published, forest, beside)
    found = oracle.certain_groups(numbers.everything)
    oracle.clock = until.share(REASONS_SHARE)
    reasons, left = reasons_of_all(oracle, numbers.everything, found.is_certain)
    oracle.clock = until
    return Blame(
        names=numbers.names,
        sources=sources,
        certain=_people(sizes, found.is_certain),
        may_be_certain=_people(sizes, found.is_open),
        reasons=tuple(reasons),
        people=tuple(float(sizes[list(reason.groups)].sum()) for reason in reasons),
        unexplained=_people(sizes, left),
        shares=shares_of_blame(reasons, sizes, len(numbers.names)),
        least=withhold_least(oracle),
    )


def _sources(
    oracle: CertaintyOracle, published: ModelNumbers, forest: Forest, beside: BesideRows | None
) -> tuple[SourceProof, ...]:
    """Return what the model proves alone, and each output; nothing where there is the model only."""
    if beside is None:
        return ()
    parts: dict[str, set[int]] = {forest.model.source: set()}
    for number, (leaf, entry) in enumerate(zip(published.leaves, published.entries, strict=True)):
        name = forest.model.source if leaf[0] >= 0 else beside.source(entry)
        parts.setdefault(name, set()).add(number)
    sizes = published.numbers.problem.sizes.astype(np.float64)
    found = []
    of_outputs = CertaintyOracle(published.without_labels, oracle.clock)
    for name, chosen in parts.items():
        asked = oracle if name == forest.model.source else of_outputs
        groups = asked.certain_groups(frozenset(chosen))
        certain, is_open = _people(sizes, groups.is_certain), _people(sizes, groups.is_open)
        found.append(SourceProof(name, len(chosen), certain, is_open))
    return tuple(found)


def _people(sizes: np.ndarray, is_so: BoolArray) -> float:
    return float(sizes[is_so].sum())
