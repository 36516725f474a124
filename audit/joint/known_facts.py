"""What is known of people from elsewhere, as rows over the same people that leaves are about.

A fact of a knowledge file says how many of some profiles have a class. Together with the leaves of several trees, or of
several releases, it proves more than each does: it parts the people whom no leaf tells apart, and is one row over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.problem import KNOWN_FACT, Problem
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.entropy.posterior import Posterior
from treewarden.audit.facts.kinds import fact_rows
from treewarden.audit.facts.rows import TRUTH_TOLERANCE_SHARE, Linear, Origin
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray
from treewarden.ppdm_models.errors import KnowledgeError

NOT_OF_WHOLE_PEOPLE = "no whole number of people fits this fact; remove it"


@dataclass(frozen=True, slots=True, eq=False)
class KnownRows:
    """Facts: between ``low`` and ``high`` (F,) of those whom ``inside`` (F, U) names have the class ``output`` (F,).

    ``words`` are the facts as messages name them.
    """

    inside: BoolArray
    output: IndexArray
    low: IntArray
    high: IntArray
    words: tuple[str, ...]

    def of_units(self, profile: IndexArray) -> KnownRows:
        """Return the facts of those whose profile, or -1 for none, is given, (U,)."""
        inside = self.inside[:, np.maximum(profile, 0)] & (profile >= 0)
        return replace(self, inside=inside)

    def parts(self) -> IndexArray:
        """Return which of the people the facts tell apart, a number for each part, (U,)."""
        packed = np.packbits(self.inside, axis=0)
        return np.unique(packed, axis=1, return_inverse=True)[1].reshape(-1).astype(np.intp)


def known_rows(
    knowledge: Knowledge, classes: Sequence[str], population: Population
) -> KnownRows | None:
    """Return what is known of whole people, None where nothing is; what the true table breaks is no knowledge.

    Raises:
        KnowledgeError: a fact names what is not there, or nothing that whole people can make true.
    """
    rows = list(fact_rows(knowledge, classes, population).held)
    rows += _class_totals(knowledge, classes, population)
    if not rows:
        return None
    inside = np.zeros((len(rows), len(population.counts)), dtype=bool)
    low, high = (np.zeros(len(rows), dtype=np.int64) for _ in range(2))
    for number, row in enumerate(rows):
        inside[number, row.profiles] = True
        records = float(population.counts[row.profiles].sum())
        room = TRUTH_TOLERANCE_SHARE * records
        low[number] = max(int(np.ceil(row.low - room)), 0)
        high[number] = int(np.floor(min(row.high, records) + room))
        if low[number] > high[number]:
            raise KnowledgeError(f"fact {row.origin.where!r}", NOT_OF_WHOLE_PEOPLE)
    output = np.array([int(row.classes[0]) for row in rows], dtype=np.intp)
    return KnownRows(inside, output, low, high, tuple(row.origin.where for row in rows))


def _class_totals(
    knowledge: Knowledge, classes: Sequence[str], population: Population
) -> list[Linear]:
    """Return how many people have each class, where that is known from elsewhere and the table says it."""
    truth = population.truth
    if not knowledge.marginal or isinstance(truth, Undetermined):
        return []
    everyone = np.arange(len(population.counts), dtype=np.intp)
    rows = []
    for code, total in enumerate(truth.sum(axis=0).tolist()):
        column = np.full(len(everyone), code, dtype=np.intp)
        origin = Origin("marginal", f"{total:g} records in all have class {classes[code]!r}")
        rows.append(Linear(everyone, column, np.ones(len(everyone)), total, total, origin))
    return rows


def joined_rows(parts: Sequence[KnownRows | None]) -> KnownRows | None:
    """Return the facts of several releases, all over the same people, as one."""
    background = [part for part in parts if part is not None]
    if not background:
        return None
    return KnownRows(
        inside=np.concatenate([part.inside for part in background]),
        output=np.concatenate([part.output for part in background]),
        low=np.concatenate([part.low for part in background]),
        high=np.concatenate([part.high for part in background]),
        words=tuple(words for part in background for words in part.words),
    )


def prior_of_facts(
    background: KnownRows, population: Population, classes: int, budget: TimeBudget
) -> Posterior | Undetermined:
    """Return the estimate of an adversary who has the facts and no model, by profile."""
    parts = background.parts()
    _, first = np.unique(parts, return_index=True)
    sizes = np.rint(np.bincount(parts, population.counts)).astype(np.int64)
    problem = Problem(
        matrix=sparse.csr_array(background.inside[:, first].astype(np.int64)),
        low=background.low,
        high=background.high,
        output=background.output,
        trees=np.full(len(background.low), KNOWN_FACT),
        nodes=np.arange(len(background.low)),
        sizes=sizes,
        classes=classes,
    )
    bounds = reason(problem, budget=budget.without_search())
    estimate = bounds.estimate
    if isinstance(estimate, Undetermined):
        return Undetermined(f"before the model: {bounds.problem or estimate.reason}")
    values = estimate.values[parts]
    return Posterior(values, np.ones(len(values), dtype=bool), values, values)
