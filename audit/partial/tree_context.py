"""A published tree with its people, worked out once for every adversary, and what the file says of its leaves.

An adversary who cannot tell which people are in a leaf knows of its classes what the file says. So the leaves are
audited as if each were one profile, by the same rows, and without the choice of splits: that tells people of a leaf
apart by their columns.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from treewarden.audit.consistent_tables.engine import reason_in_doubt
from treewarden.audit.consistent_tables.result import (
    Consistency,
    ConsistentTables,
    TableEnumeration,
)
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.entropy.posterior import Posterior, certain
from treewarden.audit.facts.class_facts import leaf_facts
from treewarden.audit.facts.grower import incomplete_records, may_be_weighed
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.partial.functional_dependencies import (
    AdversaryKnowledge,
    Codes,
    tell_columns,
)
from treewarden.audit.partial.partial_view import TreeBranches, branches, partial_view
from treewarden.audit.partial.secret_values import (
    Secret,
    Test,
    ValueKinds,
    column_tests,
    distinguished_values,
    hidden_values,
    secret_kinds,
)
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import members
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System, build_system
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray, grouped
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tree import Tree, count_of

LEAF = "leaf"
NOT_ASKED = Undetermined("there is one table of these leaves alone")


@dataclass(frozen=True, slots=True)
class LeafTable:
    """The L nodes where people stop, how many do (L,), and the rows that the file's numbers are over their classes.

    ``counts`` (L, m) are how many people have each class where that is known of all, or of all but one, which is the
    rest; None elsewhere.
    """

    nodes: IndexArray
    sizes: FloatArray
    system: System
    counts: FloatArray | None

    @property
    def are_counted(self) -> bool:
        """Whether the number of each class in each leaf is known."""
        return self.counts is not None

    def _borne_out(self) -> FloatArray | None:
        """Return how many people of each class are in each leaf, (L, m), where the table says so too; else None."""
        truth = self.system.case.population.truth
        if self.counts is None or isinstance(truth, Undetermined):
            return None
        return self.counts if np.array_equal(self.counts, truth) else None

    def estimate(self, options: AuditOptions = DEFAULT) -> Posterior | Undetermined:
        """Return the estimate of each leaf's classes, (L, m).

        Raises:
            SolverError: the wanted solver is not there.
        """
        counts = self._borne_out()
        if counts is not None:
            return certain(counts / self.sizes[:, None])
        posterior, report = estimate(self.system, options)
        return Undetermined(report.reason) if report.reason else posterior

    def proved(self, until: Clock) -> ConsistentTables | Undetermined:
        """Return what whole records prove of each leaf's classes.

        Raises:
            TableError: no table with these leaves has these numbers.
        """
        counts = self._borne_out()
        is_doubted = self.system.dropped or self.system.left_out
        if counts is None or is_doubted or (counts != np.rint(counts)).any():
            return reason_in_doubt(self.system, until=until)
        return _alone(counts.astype(np.int64))


def _alone(counts: IntArray) -> ConsistentTables:
    """Return what is proved where the classes of all leaves are counted, (L, m): one table fits."""
    return ConsistentTables(
        counts=counts.sum(axis=1),
        low=counts,
        high=counts,
        reached_low=counts,
        reached_high=counts,
        consistency=Consistency.CONSISTENT,
        enumeration=TableEnumeration(NOT_ASKED, NOT_ASKED),
    )


def leaf_table(tree: Tree, population: Population, knowledge: Knowledge) -> LeafTable:
    """Return the leaves of a tree as profiles; facts about people by their columns are no part of it.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
    """
    nodes, of = np.unique(population.leaf, return_inverse=True)
    sizes = np.bincount(of, population.counts, len(nodes)).astype(np.float64)
    truth = population.truth
    if not isinstance(truth, Undetermined):
        truth = grouped(of, truth, len(nodes))
    names = tuple(tree.nodes[node].name for node in nodes.tolist())
    people = replace(
        population,
        qi=(LEAF,),
        columns={LEAF: CategoricalColumn(np.arange(len(nodes)), names)},
        counts=sizes,
        leaf=nodes,
        truth=truth,
        order=None,
    )
    bare = knowledge.model_copy(update={"split": SplitLevel.NONE, "facts": ()})
    whole = Case(tree, population, members(tree, population.leaf), knowledge)
    lacking = np.bincount(of, incomplete_records(whole), len(nodes)).astype(np.float64)
    case = Case(
        tree,
        people,
        members(tree, nodes),
        bare,
        incomplete=lacking,
        may_be_weighed=may_be_weighed(whole),
    )
    return LeafTable(nodes, sizes, build_system(case), _counts(case, sizes))


def _counts(case: Case, sizes: FloatArray) -> FloatArray | None:
    """Return how many people of each class stop at each node, (L, m), where at most one class of each is not told."""
    told = np.array([each.masses for each in leaf_facts(case)], dtype=np.float64)
    lacks = np.isnan(told)
    if (lacks.sum(axis=1) > 1).any():
        return None
    rest = sizes - np.where(lacks, 0.0, told).sum(axis=1)
    return np.where(lacks, rest[:, None], told)


def are_sizes_published(tree: Tree, nodes: IndexArray) -> bool:
    """Return whether the file says how many people stop at each of some nodes, by itself or by what it says below."""
    if not tree.has_people:
        return False
    return all(
        count_of(tree.nodes[each]) is not None
        for node in nodes.tolist()
        for each in (node, *tree.nodes[node].children)
    )


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
        known = {*columns, *self._domains}
        self._domains.update(hidden_values([self.tree], self.population, known))
        tested = [feature.name for feature in self.tree.used_features()]
        return {name: self._domains[name] for name in tested if name not in columns}

    def adversary_knowledge(
        self, columns: Collection[str], secret: Secret | None = None
    ) -> AdversaryKnowledge:
        """Return what an adversary knows who is told some columns; of a ``secret`` nothing is taken to be implied."""
        never, not_told = () if secret is None else (secret.name,), self.hidden_from(columns)
        if secret is not None and secret.name in not_told:
            not_told[secret.name] = secret_kinds([self.tree], self.population, secret)
        told = tell_columns(self.table, columns, not_told, never)
        view = partial_view(
            self.branches, told.people.columns, told.hidden, told.guesses, told.groups
        )
        views = (view, view.hiding(not_told)) if told.closure.said else (view,)
        return replace(told, views=views)
