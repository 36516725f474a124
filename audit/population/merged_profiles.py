"""The people as somebody sees them who knows only some of their columns: profiles that he cannot tell apart are one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treewarden.audit.population.population import Population, distinct
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import IndexArray
from treewarden.ppdm_models.tables.routing import NOWHERE

NO_NUMBERS = Undetermined(
    "numbers are judged only for an adversary who knows all quasi-identifiers"
)


def merged(population: Population, known: Sequence[str]) -> tuple[Population, IndexArray]:
    """Return the people by their known columns alone, and the new profile of each old one, (P,).

    Nobody of them stops anywhere: where they do is what is not known. Without a column all people are one profile.
    """
    size = len(population.counts)
    of, first = np.zeros(size, dtype=np.intp), np.zeros(min(size, 1), dtype=np.intp)
    if known:
        first, of = distinct([population.columns[name] for name in known])
    truth = population.truth
    if not isinstance(truth, Undetermined):
        by_class = [np.bincount(of, column, len(first)) for column in truth.T]
        truth = np.stack(by_class, axis=1).astype(np.float64)
    people = replace(
        population,
        qi=tuple(known),
        columns={name: population.columns[name].take(first) for name in known},
        counts=np.bincount(of, population.counts, len(first)).astype(np.float64),
        leaf=np.full(len(first), NOWHERE, dtype=np.intp),
        truth=truth,
        values=NO_NUMBERS,
        numbers=NO_NUMBERS,
        order=None,
        contributions=None,
    )
    return people, of
