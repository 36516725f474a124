"""Known class totals: how many records of each class the table has (Zhu & Du 2010, SA constraint)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from audit.constraints import Case, Constraint
from audit.reading import Undetermined
from audit.rows import Linear, Origin, Row
from ppdm_models.errors import KnowledgeError
from ppdm_models.tree import Tree


class Marginal(Constraint):
    """Yields one equality per class but the most frequent, which the others imply."""

    def rows(self, case: Case) -> Iterator[Row]:
        if not case.knowledge.marginal:
            return
        totals = class_totals(case)
        everyone = np.arange(len(case.population.counts), dtype=np.intp)
        for klass, total in enumerate(totals):
            if klass == np.argmax(totals):
                continue
            said = f"{total:g} records in all have class {case.tree.classes[klass]!r}"
            yield Linear(
                everyone,
                np.full(len(everyone), klass, dtype=np.intp),
                np.ones(len(everyone)),
                total,
                total,
                Origin("marginal", said),
            )


def class_totals(case: Case) -> tuple[float, ...]:
    """Return the number of records of each class: from the table, or from the counts the file publishes.

    Raises:
        KnowledgeError: neither gives them.
    """
    truth = case.population.truth
    if not isinstance(truth, Undetermined):
        return tuple(float(total) for total in truth.sum(axis=0))
    totals = _published_totals(case.tree)
    if totals is None:
        raise KnowledgeError(
            case.tree.source,
            f"the class totals are said to be known, but {truth.reason} and the file does not publish them; "
            "leave out --marginal",
        )
    return totals


def _published_totals(tree: Tree) -> tuple[float, ...] | None:
    totals = [0.0] * len(tree.classes)
    for leaf in tree.leaves:
        if leaf.class_counts is None or not tree.has_people:
            return None
        for klass, count in enumerate(leaf.class_counts):
            if count is None:
                return None
            totals[klass] += count
    return tuple(totals)


CONSTRAINT = Marginal()
