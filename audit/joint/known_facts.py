"""What is known of people from elsewhere, as rows over the same people that leaves are about.

A fact of a knowledge file says how many of some profiles have a class. Together with the leaves of several trees, or of
several releases, it proves more than each does: it parts the people whom no leaf tells apart, and is one row over them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.problem import KNOWN_FACT, Problem
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.entropy.posterior import Posterior, certain
from treewarden.audit.facts.kinds import fact_rows
from treewarden.audit.facts.rows import TRUTH_TOLERANCE_SHARE, DroppedRow, Linear, Origin
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.outputs.whole_row import WholeRow
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray, kinds_of
from treewarden.ppdm_models.errors import KnowledgeError

NOT_OF_WHOLE_PEOPLE = "no whole number of people fits this fact; remove it"


@dataclass(frozen=True, slots=True, eq=False)
class KnownRows:
    """Facts: between ``low`` and ``high`` (F,) of those whom ``inside`` (F, U) names have the class ``output`` (F,).

    ``words`` are the facts as messages name them. ``times`` (F, U) is how much each person counts in a fact, a whole
    number of at least 0; None where everybody counts once. ``entries`` (F,) are the entries of outputs that facts come
    from, -1 where they come from elsewhere; empty where all do.
    """

    inside: BoolArray
    output: IndexArray
    low: IntArray
    high: IntArray
    words: tuple[str, ...]
    times: IntArray | None = None
    entries: tuple[int, ...] = ()

    def of_units(self, profile: IndexArray) -> KnownRows:
        """Return the facts of those whose profile, or -1 for none, is given, (U,)."""
        inside = self.inside[:, np.maximum(profile, 0)] & (profile >= 0)
        times = None if self.times is None else self.times[:, np.maximum(profile, 0)] * inside
        return replace(self, inside=inside, times=times)

    def parts(self) -> IndexArray:
        """Return which of the people the facts tell apart, a number for each part, (U,)."""
        packed = np.packbits(self.inside, axis=0) if self.times is None else self.times
        return kinds_of(list(packed))


@dataclass(frozen=True, slots=True, eq=False)
class KnownNumbers:
    """Facts: of those whom ``inside`` (F, P) names one person has the number ``values`` (F,).

    ``dropped`` are facts that the true table breaks, which are no knowledge.
    """

    inside: BoolArray
    values: FloatArray
    dropped: tuple[DroppedRow, ...] = ()

    def of_groups(self, profile: IndexArray) -> KnownNumbers:
        """Return the facts of those whose profile, or -1 for none, is given, (G,)."""
        return replace(self, inside=self.inside[:, np.maximum(profile, 0)] & (profile >= 0))


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
    is_weighed = any(part.times is not None for part in background)
    return KnownRows(
        inside=np.concatenate([part.inside for part in background]),
        output=np.concatenate([part.output for part in background]),
        low=np.concatenate([part.low for part in background]),
        high=np.concatenate([part.high for part in background]),
        words=tuple(words for part in background for words in part.words),
        times=np.concatenate([_times(part) for part in background]) if is_weighed else None,
        entries=tuple(
            entry for part in background for entry in part.entries or (-1,) * len(part.low)
        ),
    )


def _times(part: KnownRows) -> IntArray:
    return part.inside.astype(np.int64) if part.times is None else part.times


def rows_beside(
    rows: Sequence[WholeRow], population: Population, words: Callable[[int], str]
) -> KnownRows | None:
    """Return rows of published numbers as facts, with how many people have each class that they count.

    Weights below 0 are raised by a common number, and the ends by as much times the people who have the class. So that
    number of people is taken as known; ``words`` names an entry.
    """
    truth = population.truth
    kept = [row for row in rows if row.weights.any()]
    if not kept or isinstance(truth, Undetermined):
        return None
    counts = np.rint(population.counts).astype(np.int64)
    totals = {klass: round(float(truth[:, klass].sum())) for klass in {row.klass for row in kept}}
    times, low, high, output, said = [], list[int](), list[int](), list[int](), list[str]()
    for klass, total in sorted(totals.items()):
        times.append(np.ones(len(counts), dtype=np.int64))
        low.append(total)
        high.append(total)
        output.append(klass)
        said.append("how many people have each class")
    for row in kept:
        raised = max(-int(row.weights.min()), 0)
        weights, total = row.weights + raised, totals[row.klass]
        most = int(weights @ counts)
        least_end = 0 if row.low is None else row.low + raised * total
        most_end = most if row.high is None else row.high + raised * total
        times.append(weights)
        low.append(max(least_end, 0))
        high.append(min(most_end, most))
        output.append(row.klass)
        said.append(words(row.entry))
    matrix = np.stack(times)
    return KnownRows(
        inside=matrix > 0,
        output=np.array(output, dtype=np.intp),
        low=np.array(low, dtype=np.int64),
        high=np.array(high, dtype=np.int64),
        words=tuple(said),
        times=matrix,
        entries=(*[-1] * len(totals), *(row.entry for row in kept)),
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
    return certain(estimate.values[parts])
