"""Published class counts of a leaf: P(c | leaf) is known for all classes (extends Zhu & Du 2010)."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.class_facts import LeafFacts, leaf_facts
from treewarden.audit.facts.rows import Case, LeftOut, Origin, Row, leaf_row, unit
from treewarden.audit.population.table_counts import unnamed_weights


class LeafDistribution(Constraint):
    """Yields one equality per leaf and known class, where more than the label's mass is known."""

    def rows(self, case: Case) -> Iterator[Row | LeftOut]:
        if case.population.hides_weights(case.tree):
            yield LeftOut(
                0, "", f"class numbers of leaves: {unnamed_weights(case.tree)}", is_open=True
            )
        for facts in leaf_facts(case):
            if any(
                mass is not None for klass, mass in enumerate(facts.masses) if klass != facts.label
            ):
                yield from _known_masses(case, facts)


def _known_masses(case: Case, facts: LeafFacts) -> Iterator[Row]:
    where = case.tree.where(facts.node)
    for klass, mass in enumerate(facts.masses):
        if mass is not None:
            said = f"{where}: {mass:g} of {facts.records:g} {unit(case)} have class {case.tree.classes[klass]!r}"
            origin = Origin("leaf_distribution", said, facts.node.index, facts.is_published)
            yield leaf_row(case, facts.node.index, klass, (mass, mass), origin, facts.half)


CONSTRAINT = LeafDistribution()
