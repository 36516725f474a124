"""What each inner node says about the classes of all records that pass it, and what is known of them from below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treewarden.audit.facts.case import Case, once
from treewarden.audit.facts.leaf_facts import Printing, leaf_facts, published_below
from treewarden.ppdm_models.arrays import IndexArray
from treewarden.ppdm_models.tree.tree import Node

Masses = tuple[float | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class InnerFacts:
    """One inner node: its profiles, their records, and the records of each class, None where they are not known.

    ``told`` is what the node itself publishes, ``below`` the sum of what is known of its parts. Numbers are what the
    file counts: records, or the sums of their sampling weights, of which printing may have taken ``half`` a unit.
    """

    node: Node
    inside: IndexArray
    records: float
    told: Masses
    below: Masses
    half: float = 0.0

    @property
    def masses(self) -> Masses:
        """The records of each class, from the node itself or from below."""
        return tuple(
            mine if mine is not None else sum_
            for mine, sum_ in zip(self.told, self.below, strict=True)
        )


@once
def inner_facts(case: Case) -> Iterator[InnerFacts]:
    """Return the facts of every inner node, each after those below it.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
    """
    tree, printing = case.tree, Printing.of(case)
    nothing = (0.0,) * len(tree.classes)
    stopping: dict[int, Masses] = {facts.node.index: facts.masses for facts in leaf_facts(case)}
    known: dict[int, Masses] = {}
    counted = case.population.weighed_counts[case.members.order]
    for node in reversed(tree.nodes):
        if not node.children:
            known[node.index] = stopping.get(
                node.index, nothing
            )  # a leaf with nobody has no mass of any class
            continue
        parts = [known[child] for child in node.children]
        if node.index in stopping:
            parts.append(stopping[node.index])
        inside = case.members.of(node.index)
        records = float(counted[case.members.place(node.index)].sum())
        told, half = published_below(case, node, records), printing.of_node(node, records)
        facts = InnerFacts(node, inside, records, told, _summed(parts), half)
        known[node.index] = facts.masses
        yield facts


def _summed(parts: list[Masses]) -> Masses:
    return tuple(
        None if any(mass is None for mass in column) else float(sum(mass or 0.0 for mass in column))
        for column in zip(*parts, strict=True)
    )
