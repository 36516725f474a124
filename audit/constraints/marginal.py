"""Known class totals: how many records of each class the table has (Zhu & Du 2010, SA constraint)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.rows import Case, Linear, Origin, Row, class_row, unit
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.table_counts import has_sums
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.errors import KnowledgeError


class Marginal(Constraint):
    """Yields one equality per class but the most frequent, which the others imply.

    Under sampling weights a survey prints both how many people said what and what that stands for: then both are known,
    where the table tells the first.
    """

    needs_tree = False

    def words(self, knowledge: Knowledge, target: str) -> Iterator[str]:
        if knowledge.marginal:
            yield f"How common each value of {target} is overall"

    def rows(self, case: Case) -> Iterator[Row]:
        if not case.knowledge.marginal:
            return
        everyone = np.arange(len(case.population.counts), dtype=np.intp)
        people = case.population.truth
        if case.population.weight is not None and not isinstance(people, Undetermined):
            for klass, total in _all_but_largest(people.sum(axis=0).tolist()):
                classes = np.full(len(everyone), klass, dtype=np.intp)
                origin = _origin(case, klass, total, "records")
                yield Linear(everyone, classes, np.ones(len(everyone)), total, total, origin)
        for klass, total in _all_but_largest(class_totals(case)):
            origin = _origin(case, klass, total, unit(case))
            yield class_row(case, everyone, klass, (total, total), origin)


def _all_but_largest(totals: Sequence[float]) -> Iterator[tuple[int, float]]:
    return ((klass, total) for klass, total in enumerate(totals) if klass != np.argmax(totals))


def _origin(case: Case, klass: int, total: float, what: str) -> Origin:
    said = f"{total:g} {what} in all have class {case.tree.classes[klass]!r}"
    return Origin("marginal", said)


def class_totals(case: Case) -> tuple[float, ...]:
    """Return what the file counts of each class in all: from the table, or from the counts it publishes.

    Raises:
        KnowledgeError: neither gives them.
    """
    truth = case.population.weighed_truth
    if not isinstance(truth, Undetermined):
        return tuple(float(total) for total in truth.sum(axis=0))
    totals = _published_totals(case)
    if totals is None:
        raise KnowledgeError(
            case.tree.source,
            (
                f"--marginal assumes that class totals are known, but {truth.reason}, and the file does "
                "not publish them; remove --marginal"
            ),
        )
    return totals


def _published_totals(case: Case) -> tuple[float, ...] | None:
    tree = case.tree
    is_told = tree.has_people if case.population.weight is None else has_sums(tree)
    totals = [0.0] * len(tree.classes)
    for leaf in tree.leaves:
        if leaf.class_counts is None or not is_told:
            return None
        for klass, count in enumerate(leaf.class_counts):
            if count is None:
                return None
            totals[klass] += count
    return tuple(totals)


CONSTRAINT = Marginal()
