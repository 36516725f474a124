"""A tree and its people, and what of them is the same whatever somebody knows: worked out once for all adversaries."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

from treewarden.audit.adversary.knowledge import Knowledge
from treewarden.audit.partial.dependencies import Codes
from treewarden.audit.partial.domains import Domain, Test, asked_by, domain_of, told_apart
from treewarden.audit.partial.leaf_table import LeafTable, leaf_table
from treewarden.audit.partial.walk import Branches, branches
from treewarden.audit.people.population import Population
from treewarden.ppdm_models.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Ground:
    """A tree, the people as who knows all tells them apart, and what is published; ``knowledge`` is resolved.

    ``shared`` is what their columns give away of each other, where it is the same for several trees.
    """

    tree: Tree
    population: Population
    knowledge: Knowledge
    shared: Codes | None = None
    _domains: dict[str, Domain] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def leaves(self) -> LeafTable:
        """The leaves, and the rows that the file's numbers are over their classes.

        Raises:
            KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
        """
        return leaf_table(self.tree, self.population, self.knowledge)

    @cached_property
    def tests(self) -> dict[str, set[Test]]:
        """The tests of each column, by its name."""
        return dict(asked_by([self.tree]))

    @cached_property
    def branches(self) -> Branches:
        """What a walk down the tree needs."""
        return branches(self.tree)

    @cached_property
    def table(self) -> Codes:
        """The people's columns, and what they give away of each other."""
        if self.shared is not None:
            return self.shared
        return Codes(self.population, told_apart([self.tree], self.population.columns))

    def hidden_from(self, known: Collection[str]) -> dict[str, Domain]:
        """Return what values each column can have that the tree tests and that is not known, by its name."""
        tested = [each for each in self.tree.features if each.name in self.tests]
        tested = [each for each in tested if each.name not in known]
        for feature in tested:
            name, people = feature.name, self.population
            if name not in self._domains:
                about = self.tests[name], feature, people.columns[name], people.counts
                self._domains[name] = domain_of(*about)
        return {feature.name: self._domains[feature.name] for feature in tested}
