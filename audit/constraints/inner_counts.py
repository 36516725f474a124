"""Published class counts of an inner node: what its leaves withhold, subtraction gives back in part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from audit.constraints import Case, Constraint
from audit.knowledge import LeafLevel
from audit.leaf_facts import Printing, leaf_facts, published_below
from audit.rows import Linear, Origin, Row
from audit.weighed_rows import class_row, unit
from ppdm_models.tree import Node


class InnerCounts(Constraint):
    """Yields one equality per inner node and class that the file counts, unless what is below implies it."""

    def rows(self, case: Case) -> Iterator[Row]:
        if case.knowledge.leaf is not LeafLevel.AS_PUBLISHED:
            return
        tree = case.tree
        printing = Printing.of(case)
        unknown = (False,) * len(tree.classes)
        known: list[Sequence[bool]] = [unknown] * len(tree.nodes)
        for facts in leaf_facts(case):
            known[facts.node.index] = [mass is not None for mass in facts.masses]
        stops = {int(index) for index in np.unique(case.population.leaf)}
        for node in reversed(tree.nodes):
            if not node.children:
                if node.index not in stops:
                    known[node.index] = (True,) * len(tree.classes)  # nobody: no mass of any class
                continue
            below = [known[child] for child in node.children]
            if node.index in stops:
                below.append(known[node.index])
            implied = [all(column) for column in zip(*below, strict=True)]
            records = _records(case, node)
            told = published_below(case, node, records)
            half = printing.of_node(node, records)
            yield from _rows(case, node, told, implied, half)
            known[node.index] = [
                have or mass is not None for have, mass in zip(implied, told, strict=True)
            ]


def _records(case: Case, node: Node) -> float:
    return float(case.population.weighed_counts[case.members.of(node.index)].sum())


def _rows(
    case: Case,
    node: Node,
    told: Sequence[float | None],
    implied: Sequence[bool],
    half: float,
) -> Iterator[Linear]:
    inside = case.members.of(node.index)
    wanted = [klass for klass, mass in enumerate(told) if mass is not None and not implied[klass]]
    if len(wanted) + sum(implied) == len(told):
        wanted = wanted[:-1]  # the records of the node imply the last one
    for klass in wanted:
        mass = told[klass]
        assert mass is not None
        said = f"{case.tree.where(node)}: {mass:g} {unit(case)} have class {case.tree.classes[klass]!r}"
        origin = Origin("inner_counts", said, node.index, is_published=True)
        yield class_row(case, inside, klass, (mass, mass), origin, half)


CONSTRAINT = InnerCounts()
