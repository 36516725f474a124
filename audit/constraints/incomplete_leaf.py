"""Class numbers of leaves in a file without record counts: they may omit incomplete records."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.class_facts import leaf_facts
from treewarden.audit.facts.grower import incomplete_records
from treewarden.audit.facts.rows import Case, LeftOut

WHY = "class numbers of leaves, as records there lack values, which the learner may have left out"


class IncompleteLeaf(Constraint):
    """Yields what shares may say beside the rows that take them to be of all records: then no other table is shown.

    Of labels ``treewarden.audit.facts.class_facts`` says the same.
    """

    def rows(self, case: Case) -> Iterator[LeftOut]:
        lacking = incomplete_records(case)
        if not lacking.any():
            return
        for facts in leaf_facts(case):
            says_numbers = any(known is not None for known in (*facts.masses, *facts.bands))
            if says_numbers and lacking[case.members.stops(facts.node.index)].any():
                yield LeftOut(facts.node.index, "", WHY, is_open=True)


CONSTRAINT = IncompleteLeaf()
