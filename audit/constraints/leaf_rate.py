"""Error rate of a leaf: P(label | leaf) = 1 - error (Zhu & Du 2010, rate constraint)."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.class_facts import leaf_facts
from treewarden.audit.facts.rows import Case, Origin, Row, leaf_row


class LeafRate(Constraint):
    """Yields the label's mass of each leaf where that alone is known."""

    def rows(self, case: Case) -> Iterator[Row]:
        for facts in leaf_facts(case):
            others = (mass for klass, mass in enumerate(facts.masses) if klass != facts.label)
            if facts.label is None or any(mass is not None for mass in others):
                continue
            mass = facts.masses[facts.label]
            if mass is not None:
                said = f"{case.tree.where(facts.node)}: error rate {1 - mass / facts.records:.4g}"
                origin = Origin("leaf_rate", said, facts.node.index, facts.is_published)
                yield leaf_row(
                    case, facts.node.index, facts.label, (mass, mass), origin, facts.half
                )


CONSTRAINT = LeafRate()
