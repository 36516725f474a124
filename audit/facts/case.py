"""What is audited: one tree, the people, where they stop in it, and what the adversary knows."""

from __future__ import annotations

from dataclasses import dataclass

from audit.adversary.knowledge import Knowledge
from audit.people.members import Members
from audit.people.population import Population
from ppdm_models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class Case:
    """What is audited: a tree, the people, where they stop in it, and what the adversary knows (resolved)."""

    tree: Tree
    population: Population
    members: Members
    knowledge: Knowledge
