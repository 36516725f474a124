"""A tree as somebody sees it who knows only some columns of the people in it: what he believes, and what is certain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from audit.adversary.knowledge import Knowledge, SplitLevel
from audit.estimate.posterior import Posterior
from audit.options import DEFAULT, AuditOptions
from audit.partial.domains import Domain, domain_of
from audit.partial.leaf_table import LeafTable, are_sizes_published, leaf_table
from audit.partial.learned import Proofs, proofs, shares
from audit.partial.network import Network, network
from audit.partial.reach import Reach, is_mixed, knower, reach
from audit.partial.scaling import GAP, Spread, spread
from audit.people.merged import merged
from audit.people.population import Population
from audit.reading import Undetermined
from audit.worlds.clock import Clock
from audit.worlds.result import Consistency, Worlds
from ppdm_models.arrays import BoolArray, IndexArray
from ppdm_models.tree.tree import Task, Tree

ONLY_CLASSES = Undetermined(
    "what somebody learns who knows only some columns is worked out for trees that predict a class"
)
WEIGHED = Undetermined(
    "the tree counts sums of sampling weights: what somebody learns of it who knows only some columns is not worked out"
)
NO_SIZES = Undetermined(
    "the file does not say how many people are in each leaf: what somebody learns of it who knows only some columns is "
    "not worked out"
)
SPLITS_NOT_USED = (
    "what the choice of splits says of the known columns is not used: it may prove more, and other tables were not "
    "held against it"
)
FACTS_NOT_USED = "facts about people by their columns are not used: they may prove more"
MIXED = "some tests ask about a hidden column and another one at once, so where people can be is not exact"
NOT_WHOLE = Undetermined(
    "some people count for parts of a person, so nothing is asked of whole records"
)
NOT_COUNTED = Undetermined("the tables that fit are not counted for who knows only some columns")
IN_ALL_LEAVES = "every leaf that can hold such a person holds this value alone"


@dataclass(frozen=True, slots=True)
class Seen:
    """What an adversary makes of a tree who knows only some columns.

    ``population`` are the people as he tells them apart. ``doubts`` are why more may be known than was used: what is
    proved holds, and nothing else is decided. ``gap`` is how far the spread over leaves is from the optimum at most, in
    records times nats.
    """

    population: Population
    posterior: Posterior | Undetermined
    worlds: Worlds | Undetermined
    doubts: tuple[str, ...]
    gap: float


def seen_by(
    tree: Tree,
    population: Population,
    knowledge: Knowledge,
    known: Collection[str],
    until: Clock,
    options: AuditOptions = DEFAULT,
) -> Seen | Undetermined:
    """Return what somebody makes of a tree's people of whom he knows these columns, and the tree's leaves.

    The estimate is the greatest entropy over everybody's place and class at once; certain, possible and excluded
    are exact where there are no doubts. ``knowledge`` is resolved.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
        SolverError: the wanted solver is not there.
        TableError: no table with these leaves has these numbers.
    """
    if tree.task is not Task.CLASSIFICATION:
        return ONLY_CLASSES
    if population.weight is not None:
        return WEIGHED
    leaves = leaf_table(tree, population, knowledge)
    if not are_sizes_published(tree, leaves.nodes):
        return NO_SIZES
    qi = [name for name in population.qi if name in known]
    people, of = merged(population, qi)
    hidden = _hidden(tree, population, qi)
    found = reach(knower(tree, people.columns, hidden, {}, len(people.counts)))
    net = _network(found, population, of, leaves)
    placed = spread(net)
    doubts = _doubts(leaves, knowledge, qi, hidden)
    return Seen(
        people,
        _posterior(found, net, placed, leaves, doubts, options),
        _worlds(found, net, people, leaves, until, doubts),
        doubts,
        float(placed.gap.max(initial=0.0)),
    )


def _hidden(tree: Tree, population: Population, known: Sequence[str]) -> dict[str, Domain]:
    return {
        feature.name: domain_of(tree, feature, population.columns[feature.name], population.counts)
        for feature in tree.used_features()
        if feature.name not in known
    }


def _doubts(
    leaves: LeafTable, knowledge: Knowledge, known: Sequence[str], hidden: Collection[str]
) -> tuple[str, ...]:
    """Return why more may be known than is used here.

    Where all class counts are known, splits on hidden columns prove nothing of who has which class: any hidden values
    that lead to a leaf can be given to any of its people.
    """
    found, tree = [], leaves.system.case.tree
    compares_known = bool({feature.name for feature in tree.features} & set(known))
    if knowledge.split is not SplitLevel.NONE and (compares_known or not leaves.are_counted):
        found.append(SPLITS_NOT_USED)
    if knowledge.facts:
        found.append(FACTS_NOT_USED)
    if is_mixed(tree, dict.fromkeys(hidden)):
        found.append(MIXED)
    return tuple(found)


def _network(found: Reach, population: Population, of: IndexArray, leaves: LeafTable) -> Network:
    """Return who can be where, among the leaves that hold somebody."""
    arcs = found.over(leaves.nodes)
    there = np.searchsorted(leaves.nodes, population.leaf)
    world = sparse.coo_array(
        (population.counts, (found.lump_of[of], there)), shape=arcs.shape
    ).tocsr()
    return network(arcs, world)


def _posterior(
    found: Reach,
    net: Network,
    placed: Spread,
    leaves: LeafTable,
    doubts: tuple[str, ...],
    options: AuditOptions,
) -> Posterior | Undetermined:
    if doubts:
        return Undetermined(f"no estimate: {'; '.join(doubts)}")
    own = leaves.estimate(options)
    if isinstance(own, Undetermined):
        return own
    of_lump = [
        shares(net, placed, each, leaves.sizes)[found.lump_of]
        for each in (own.values, own.low, own.high)
    ]
    decided = (placed.gap <= GAP)[found.lump_of]
    return Posterior(of_lump[0], decided, of_lump[1], of_lump[2])


def _worlds(
    found: Reach,
    net: Network,
    people: Population,
    leaves: LeafTable,
    until: Clock,
    doubts: tuple[str, ...],
) -> Worlds | Undetermined:
    """Return what is certain of each profile; with doubts, what is neither proved nor true is not decided."""
    if (people.counts != np.rint(people.counts)).any():
        return NOT_WHOLE
    own = leaves.proved(until)
    if isinstance(own, Undetermined):
        return own
    reached = own.reached_high.astype(np.float64)
    proved = proofs(net, own.high.astype(np.float64), np.maximum(reached, 0.0))
    certain, excluded, possible = (
        each[found.lump_of] for each in (proved.certain, proved.excluded, proved.possible)
    )
    worlds = _bounded(people, Proofs(certain, excluded, possible), is_exact=not doubts)
    sure = np.flatnonzero(worlds.certain & (worlds.counts > 0)).tolist()
    left = tuple(dict.fromkeys((*doubts, *own.left)))
    return replace(worlds, reasons=dict.fromkeys(sure, IN_ALL_LEAVES), left=left, not_decided=left)


def _bounded(people: Population, proved: Proofs, *, is_exact: bool) -> Worlds:
    """Return proofs as ends of how many people of each profile have each class.

    A table in which a value is possible has somebody with it; the others are as in truth, or anything.
    """
    counts = np.rint(people.counts).astype(np.int64)
    size = counts[:, None]
    low = np.where(proved.certain, size, 0)
    high = np.where(proved.excluded | _others(proved.certain), 0, size)
    if is_exact:
        other = _others(proved.possible)
        reached_high = np.where(proved.possible, 1, 0)
        reached_low = np.where(other, size - 1, size)
    else:
        reached_low = np.broadcast_to(size, low.shape).astype(np.int64)
        reached_high = np.zeros_like(low)
    if not isinstance(people.truth, Undetermined):
        true = np.rint(people.truth).astype(np.int64)
        reached_low, reached_high = np.minimum(reached_low, true), np.maximum(reached_high, true)
    return Worlds(
        counts=counts,
        low=low,
        high=high,
        reached_low=reached_low,
        reached_high=reached_high,
        consistency=Consistency.NOT_DECIDED
        if isinstance(people.truth, Undetermined)
        else Consistency.CONSISTENT,
        conflict=(),
        reasons={},
        witnesses=(),
        posterior=NOT_COUNTED,
        split_bits=NOT_COUNTED,
    )


def _others(classes: BoolArray) -> BoolArray:
    """Return of each class whether another one is marked, (P, m)."""
    return np.asarray(classes.sum(axis=1, keepdims=True) - classes > 0)
