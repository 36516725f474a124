"""Label of a leaf: no other class is more frequent there (Zhu & Du 2010, label constraint)."""

from __future__ import annotations

from collections.abc import Iterator

from audit.constraints import Case, Constraint
from audit.grower import incomplete_records
from audit.leaf_facts import leaf_facts
from audit.rows import Origin, Plurality, Row
from audit.weighed_rows import common_weight, lead_rows


class LeafLabel(Constraint):
    """Yields one plurality per leaf whose distribution is not known in full.

    With ``strict_labels`` the label leads by one whole record, as it does where ties cannot have been. Records that the
    learner may have left out, as they lack values, may all have another class than the label. Under sampling weights
    that differ it leads by weight, and strictly only where they are whole numbers.
    """

    def rows(self, case: Case) -> Iterator[Row]:
        margin = 1.0 if case.knowledge.strict_labels else 0.0
        weight = case.population.weight
        passed_over = incomplete_records(case) * case.population.counts
        for facts in leaf_facts(case):
            if facts.label is None or all(mass is not None for mass in facts.masses):
                continue
            said = f"{case.tree.where(facts.node)}: the label is {case.tree.classes[facts.label]!r}"
            origin = Origin("leaf_label", said, facts.node.index)
            here = case.members.stops(facts.node.index)
            if common_weight(case, here) is None:
                assert weight is not None
                lead = margin - float(passed_over[here] @ weight[here])
                yield from lead_rows(case, facts.node.index, facts.label, lead, origin)
            else:
                lead = margin - float(passed_over[here].sum())
                yield Plurality(facts.node.index, facts.label, lead, origin)


CONSTRAINT = LeafLabel()
