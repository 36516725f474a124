"""What a file says of the classes in each leaf, as of one profile a leaf: the estimate of each, and what is proved.

Whoever cannot tell which people are in a leaf knows of its classes what anybody does who holds the file. So the leaves
are audited as if each were one profile, by the same rows, and without the choice of splits: that tells people of a leaf
apart by their columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from treewarden.audit.clock import Clock
from treewarden.audit.consistent_tables.incomplete_constraints import reason_in_doubt
from treewarden.audit.consistent_tables.result import Consistency, ConsistentTables
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.entropy.posterior import Posterior, certain
from treewarden.audit.facts.case import Case
from treewarden.audit.facts.class_facts import leaf_facts
from treewarden.audit.facts.grower import incomplete_records
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.partial.functional_dependencies import Codes
from treewarden.audit.partial.partial_view import (
    Knower,
    PossibleStop,
    Test,
    TreeBranches,
    ValueKinds,
    asked_by,
    branches,
    domain_of,
    places,
    told_apart,
)
from treewarden.audit.partial.reachability import Proofs, Reachability, bounded
from treewarden.audit.population.members import members
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System, build_system
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tree import Node, Tree, count_of

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
        counts.sum(axis=1),
        *(counts,) * 4,
        Consistency.CONSISTENT,
        (),
        {},
        (),
        NOT_ASKED,
        NOT_ASKED,
    )


def leaf_table(tree: Tree, population: Population, knowledge: Knowledge) -> LeafTable:
    """Return the leaves of a tree as profiles; facts about people by their columns are no part of it.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
    """
    nodes, of = np.unique(population.leaf, return_inverse=True)
    of = of.reshape(-1)
    sizes = np.bincount(of, population.counts, len(nodes)).astype(np.float64)
    truth = population.truth
    if not isinstance(truth, Undetermined):
        by_class = [np.bincount(of, column, len(nodes)) for column in truth.T]
        truth = np.stack(by_class, axis=1).astype(np.float64)
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
    own = incomplete_records(Case(tree, population, members(tree, population.leaf), bare))
    lacking = np.bincount(of, own, len(nodes)).astype(np.float64)
    case = Case(tree, people, members(tree, nodes), bare, incomplete=lacking)
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


# A tree and its people, and what of them is the same whatever somebody knows: worked out once for all adversaries.


@dataclass(frozen=True, eq=False)
class Ground:
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
    def tests(self) -> dict[str, set[Test]]:
        """The tests of each column, by its name."""
        return dict(asked_by([self.tree]))

    @cached_property
    def branches(self) -> TreeBranches:
        """What a walk down the tree needs."""
        return branches(self.tree)

    @cached_property
    def table(self) -> Codes:
        """The people's columns, and what they give away of each other."""
        if self.shared is not None:
            return self.shared
        return Codes(self.population, told_apart([self.tree], self.population.columns))

    def hidden_from(self, known: Collection[str]) -> dict[str, ValueKinds]:
        """Return what values each column can have that the tree tests and that is not known, by its name."""
        tested = [each for each in self.tree.features if each.name in self.tests]
        tested = [each for each in tested if each.name not in known]
        for feature in tested:
            name, people = feature.name, self.population
            if name not in self._domains:
                about = self.tests[name], feature, people.columns[name], people.counts
                self._domains[name] = domain_of(*about)
        return {feature.name: self._domains[feature.name] for feature in tested}


# The same where nobody says how many people are in each leaf: how likely leaves are must come from somewhere else.
#
# Of hidden columns anybody may look up how common each value is. Whoever takes them for independent of each other,
# and of
# what is known, gives a leaf the share of hidden values that lead there, among the leaves that such a person can be
# in;
# then, in a second step, the leaf says what its people are. (In one step, by the greatest entropy of both, a leaf of
# mixed classes would seem the likelier for being mixed, which nothing says.) The estimate lies between that and the
# one
# of whoever knows the sizes too. Every table that fits with the sizes fits without them, so that what is possible
# with
# them is possible; certain is only what all leaves that can hold a person say of all their people.

SIZES_UNKNOWN = (
    "the file does not say how many people are in each leaf: the estimate spans what the shares of hidden values among "
    "all people make of it and what the sizes would add, and what is proved goes without them"
)
SIZES_NOT_USED = (
    "tables with other numbers of people in the leaves than the true ones were not looked for"
)


def are_told_apart(leaves: LeafTable) -> bool:
    """Return whether a file says of its leaves their classes' shares or labels alone, of each by itself.

    What it says of inner nodes, or of sums of weights, tells something of how many people are in the leaves.
    """
    system = leaves.system
    if system.dropped or any(len(np.unique(row.profiles)) > 1 for row in system.across):
        return False
    return all(map(_says_shares_alone, system.case.tree.nodes))


def _says_shares_alone(node: Node) -> bool:
    said = (node.records, node.class_counts, node.bands, node.impurity, node.spread)
    is_bare = all(each is None for each in said) and not node.other_splits
    return is_bare and (node.is_leaf or node.class_shares is None)


def can_hold(nodes: int, leaves: LeafTable) -> BoolArray:
    """Return whether people of a class can be at each node, (N, m), by the shares that are known of its people."""
    facts = leaf_facts(leaves.system.case)
    found = np.ones((nodes, len(facts[0].masses)), dtype=bool)
    for node, each in zip(leaves.nodes.tolist(), facts, strict=True):
        whole = [mass == each.records for mass in each.masses]
        for klass, mass in enumerate(each.masses):
            found[node, klass] = mass != 0 and not (any(whole) and not whole[klass])
    return found


def averaged(
    who: Knower, told: Callable[[PossibleStop], tuple[float, FloatArray]], width: int
) -> FloatArray:
    """Return of each profile, (P, width), the average of what is told of the places it can be in; not a number of none.

    A place counts as much as the share of hidden values that lead there, times the weight that is told with it.
    """
    total, sums = np.zeros(who.size), np.zeros((who.size, width))
    for place in places(who):
        weight, row = told(place)
        if weight > 0:
            of_profile = weight * _base(who, place)
            total[place.profiles] += of_profile
            sums[place.profiles] += of_profile[:, None] * row
    average = np.full_like(sums, np.nan)
    np.divide(sums, total[:, None], out=average, where=total[:, None] > 0)
    return average


def _base(who: Knower, place: PossibleStop) -> FloatArray:
    """Return the share of hidden values that lead each profile of a place there by its way: all of a value he knows."""
    found = np.ones(len(place.profiles))
    for name, mask in place.masks.items():
        share = who.hidden[name].share
        left = share[mask].sum() / share.sum()
        known = name in who.guesses and who.guesses[name].is_known[place.profiles]
        found *= np.where(known, 1.0, left)
    return found


def between(values: FloatArray, low: FloatArray, high: FloatArray, sized: Posterior) -> Posterior:
    """Return an estimate whose ends take in that of whoever knows the sizes."""
    values = np.minimum(values, 1.0)
    low = np.minimum(np.minimum(low, values), sized.low)
    high = np.minimum(np.maximum(np.maximum(high, values), sized.high), 1.0)
    return Posterior(values, sized.decided, low, high)


def unsized_estimate(
    who: Knower,
    leaves: LeafTable,
    sized: Posterior | Undetermined,
    options: AuditOptions = DEFAULT,
) -> Posterior | Undetermined:
    """Return the estimate of each profile's class, (P, m), given that of whoever knows the sizes.

    Raises:
        SolverError: the wanted solver is not there.
    """
    own = leaves.estimate(options)
    if isinstance(sized, Undetermined) or isinstance(own, Undetermined):
        return sized if isinstance(sized, Undetermined) else own
    m = own.values.shape[1]
    of_node = np.zeros((len(who.tree.nodes), 3 * m))
    of_node[leaves.nodes] = np.concatenate([own.values, own.low, own.high], axis=1)
    is_held = np.zeros(len(who.tree.nodes))
    is_held[leaves.nodes] = 1.0
    found = averaged(who, lambda place: (is_held[place.node], of_node[place.node]), 3 * m)
    return between(found[:, :m], found[:, m : 2 * m], found[:, 2 * m :], sized)


def unsized_proofs(found: Reachability, holds: BoolArray) -> Proofs:
    """Return what follows of each lump and class from which classes each node can hold, (N, m); nothing is possible."""
    others = holds.sum(axis=1, keepdims=True) - holds > 0
    can, other = (found.any_of(each) for each in (holds, others))
    return Proofs(~other, ~can, np.zeros_like(can))


def unsized_worlds(
    people: Population, proved: Proofs, sized: ConsistentTables | Undetermined, reason: str
) -> ConsistentTables | Undetermined:
    """Return what is certain of each profile, (P, m), with the tables that fit if the sizes are the true ones."""
    if isinstance(sized, Undetermined):
        return sized
    worlds = bounded(people, proved, is_exact=False)
    sure = np.flatnonzero(worlds.certain & (worlds.counts > 0)).tolist()
    left = (*sized.left, SIZES_NOT_USED)
    return replace(
        worlds,
        reached_low=np.minimum(worlds.reached_low, sized.reached_low),
        reached_high=np.maximum(worlds.reached_high, sized.reached_high),
        reasons=dict.fromkeys(sure, reason),
        left=left,
        not_decided=left,
    )
