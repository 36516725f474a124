"""A published tree with its people: what is the same for every adversary, worked out once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.partial.functional_dependencies import (
    AdversaryKnowledge,
    Codes,
    attribute_closure,
    guess_of,
)
from treewarden.audit.partial.leaf_table import LeafTable, are_sizes_published, leaf_table
from treewarden.audit.partial.partial_view import TreeBranches, branches, partial_view
from treewarden.audit.partial.secret_column import Secret
from treewarden.audit.partial.value_kinds import (
    Test,
    ValueKinds,
    column_tests,
    distinguished_values,
    value_kinds_of,
)
from treewarden.audit.population.population import Population
from treewarden.audit.population.record_linkage import merged
from treewarden.ppdm_models.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class TreeContext:
    """A tree, the people as who knows all tells them apart, and what is published; ``knowledge`` is resolved.

    ``shared`` is what their columns give away of each other, where it is the same for several trees.
    """

    tree: Tree
    population: Population
    knowledge: Knowledge
    shared: Codes | None = None
    _domains: dict[str, ValueKinds] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def leaves(self) -> LeafTable:
        """The leaves, and the rows that the file's numbers are over their classes.

        Raises:
            KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
        """
        return leaf_table(self.tree, self.population, self.knowledge)

    @cached_property
    def are_sizes_published(self) -> bool:
        """Whether the file says how many people stop at each node where some do."""
        return are_sizes_published(self.tree, self.leaves.nodes)

    @cached_property
    def tests(self) -> dict[str, set[Test]]:
        """The tests of each column, by its name."""
        return dict(column_tests([self.tree]))

    @cached_property
    def branches(self) -> TreeBranches:
        """What a walk down the tree needs."""
        return branches(self.tree)

    @cached_property
    def table(self) -> Codes:
        """The people's columns, and what they give away of each other."""
        if self.shared is not None:
            return self.shared
        return Codes(self.population, distinguished_values([self.tree], self.population.columns))

    def hidden_from(self, columns: Collection[str]) -> dict[str, ValueKinds]:
        """Return what values each column can have that the tree tests and that is not known, by its name."""
        tested = [each for each in self.tree.features if each.name in self.tests]
        tested = [each for each in tested if each.name not in columns]
        for feature in tested:
            name, people = feature.name, self.population
            if name not in self._domains:
                about = self.tests[name], feature, people.columns[name], people.counts
                self._domains[name] = value_kinds_of(*about)
        return {feature.name: self._domains[feature.name] for feature in tested}

    def adversary_knowledge(
        self, columns: Collection[str], secret: Secret | None = None
    ) -> AdversaryKnowledge:
        """Return what an adversary knows who is told some columns; of a ``secret`` nothing is taken to be implied."""
        never = () if secret is None else (secret.name,)
        closure = attribute_closure(self.table, columns, never)
        people, group_of_profile = merged(self.population, closure.known)
        not_told = self.hidden_from(columns)
        if secret is not None and secret.name in not_told:
            not_told[secret.name] = self._secret_values(secret)
        hidden = {name: kinds for name, kinds in not_told.items() if name not in closure.known}
        size = len(people.counts)
        guesses = {
            name: guess_of(closure, name, group_of_profile, size)
            for name in closure.guesses
            if name in hidden
        }
        view = partial_view(self.branches, people.columns, hidden, guesses, size)
        views = (view, view.hiding(not_told)) if closure.said else (view,)
        return AdversaryKnowledge(closure, people, group_of_profile, hidden, views)

    def _secret_values(self, secret: Secret) -> ValueKinds:
        """Return the values that a secret column can have as the tests see them, told apart as the secret's are."""
        feature = next(each for each in self.tree.features if each.name == secret.name)
        column = self.population.columns[secret.name]
        between = secret.numbers[:-1] / 2 + secret.numbers[1:] / 2
        cuts = (*secret.ends.tolist(), *between.tolist())
        tests = self.tests.get(secret.name, ())
        return value_kinds_of(tests, feature, column, self.population.counts, cuts)
