"""Published ranges of a leaf: the count of each class lies between two ends."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.class_facts import leaf_facts
from treewarden.audit.facts.rows import Case, Origin, Row, leaf_row, unit


class LeafBand(Constraint):
    """Yields one pair of inequalities per leaf and class whose count is published as a band, never an equality.

    The adversary is told the ends, so nobody need guess how the counts were rounded.
    """

    def rows(self, case: Case) -> Iterator[Row]:
        for facts in leaf_facts(case):
            for klass, band in enumerate(facts.bands):
                if band is None:
                    continue
                said = (
                    f"{case.tree.where(facts.node)}: {band[0]:g} to {band[1]:g} of {facts.records:g} {unit(case)} "
                    f"have class {case.tree.classes[klass]!r}"
                )
                origin = Origin("leaf_band", said, facts.node.index, facts.is_published)
                yield leaf_row(
                    case, facts.node.index, klass, (band[0], band[1]), origin, facts.half
                )


CONSTRAINT = LeafBand()
