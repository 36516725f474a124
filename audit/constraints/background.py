"""Background facts: what the adversary knows from elsewhere (Du et al. 2008, Privacy-MaxEnt)."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.kinds import fact_row
from treewarden.audit.facts.rows import Case, Row


class Background(Constraint):
    """Yields one linear row per fact. Facts are of people, whatever sampling weights they carry."""

    needs_tree = False

    def rows(self, case: Case) -> Iterator[Row]:
        for fact in case.knowledge.facts:
            yield fact_row(fact, case.tree.classes, case.population)


CONSTRAINT = Background()
