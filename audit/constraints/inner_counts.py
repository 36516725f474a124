"""Published class counts of an inner node: subtraction recovers part of what its leaves withhold."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.class_facts import InnerFacts, are_classes_counted, inner_facts
from treewarden.audit.facts.rows import Case, Linear, Origin, Row, class_row, unit
from treewarden.audit.knowledge.levels import LeafLevel


class InnerCounts(Constraint):
    """Yields one equality per inner node and class that the file counts, unless what is below implies it."""

    def rows(self, case: Case) -> Iterator[Row]:
        if case.knowledge.leaf is LeafLevel.AS_PUBLISHED and not are_classes_counted(case):
            for facts in inner_facts(case):
                yield from _rows(case, facts)


def _rows(case: Case, facts: InnerFacts) -> Iterator[Linear]:
    node, inside = facts.node, facts.inside
    implied = [mass is not None for mass in facts.below]
    wanted = [k for k, mass in enumerate(facts.told) if mass is not None and not implied[k]]
    if len(wanted) + sum(implied) == len(implied):
        wanted = wanted[:-1]  # the records of the node imply the last one
    for klass in wanted:
        mass = facts.told[klass]
        assert mass is not None
        said = f"{case.tree.where(node)}: {mass:g} {unit(case)} have class {case.tree.classes[klass]!r}"
        origin = Origin("inner_counts", said, node.index, is_published=True)
        yield class_row(case, inside, klass, (mass, mass), origin, facts.half)


CONSTRAINT = InnerCounts()
