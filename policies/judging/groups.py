"""Holds a policy's clauses about leaves against the groups of a sanitised table, as if each group were a leaf."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from audit.measures import LeafMeasure, measures
from audit.people.leaves import Leaves
from audit.reading import Undetermined, exactly
from policies.pack import Clause, Pack, asked
from policies.rules import rules
from policies.verdict import Verdict
from ppdm_models.tpp.groups import Groups


@dataclass(frozen=True, slots=True)
class Clauses:
    """Every group meets the error clauses about leaves; its label is its most frequent sensitive value.

    Clauses about what a tree as a whole gives away say nothing of a table, and are ``not_judged``; those about what
    stands beside the tree in its own file are no matter of the table.
    """

    pack: Pack

    @property
    def judged(self) -> tuple[Clause, ...]:
        """The clauses that groups can be held against."""
        return tuple(
            clause
            for clause in self.pack.clauses
            if clause.severity == "error" and isinstance(measures()[clause.measure], LeafMeasure)
        )

    @property
    def not_judged(self) -> tuple[str, ...]:
        """The ids of the other error clauses."""
        judged = {clause.id for clause in self.judged}
        return tuple(
            clause.id
            for clause in self.pack.clauses
            if clause.severity == "error"
            and clause.id not in judged
            and not measures()[clause.measure].is_of_file
        )

    def lack(self, groups: Groups) -> str:
        """Return the first clause that a group does not meet, in words."""
        leaves = leaves_of(groups)
        for clause in self.judged:
            measure = measures()[clause.measure]
            assert isinstance(measure, LeafMeasure)
            values = measure.values(leaves, dict(asked(clause).parameters))
            if isinstance(values, Undetermined):
                return f"clause {clause.id!r} cannot be judged: {values.reason}"
            worst = float(values.min() if measure.risk == "low" else values.max())
            if rules()[clause.rule].judge(exactly(worst), clause.limit) is not Verdict.PASS:
                wanted = f"{clause.rule.replace('_', ' ')} {clause.limit:g}"
                return (
                    f"clause {clause.id!r} wants {clause.measure} {wanted}; a group has {worst:g}"
                )
        return ""


def leaves_of(groups: Groups) -> Leaves:
    """Return the groups as leaves that publish their most frequent sensitive value and how many have it."""
    labels = groups.classes.argmax(axis=1)
    hits = groups.classes.max(axis=1)
    return Leaves(
        np.arange(len(groups.sizes), dtype=np.intp),
        groups.sizes,
        groups.classes,
        labels,
        np.stack([hits, groups.sizes - hits], axis=1),
        np.zeros(len(groups.sizes), dtype=np.intp),
        whole=groups.classes.sum(axis=0),
    )
