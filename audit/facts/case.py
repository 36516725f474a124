"""What is audited: one tree, the people, where they stop in it, and what the adversary knows."""

from __future__ import annotations

from dataclasses import dataclass

from audit.adversary.knowledge import Knowledge
from audit.people.members import Members
from audit.people.population import Population
from ppdm_models.arrays import FloatArray
from ppdm_models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class Case:
    """What is audited: a tree, the people, where they stop in it, and what the adversary knows (resolved).

    ``incomplete`` is how many records of each profile lack a value, (P,), where the people's columns do not say it.
    """

    tree: Tree
    population: Population
    members: Members
    knowledge: Knowledge
    incomplete: FloatArray | None = None
