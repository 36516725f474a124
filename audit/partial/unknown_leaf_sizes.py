"""Inference where the file does not say how many people are in each leaf."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.entropy.posterior import Posterior
from treewarden.audit.facts.class_facts import leaf_facts
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.partial.leaf_table import LeafTable
from treewarden.audit.partial.partial_view import PartialView, ReachablePath, reachable_paths
from treewarden.audit.partial.reachability import Proofs, Reachability, bound_tables
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.tree.tree import Node

# Target inference where the sizes of leaves are unknown: how likely leaves are must come from somewhere else.
#
# Of hidden columns anybody may look up how common each value is. Whoever takes them for independent of each other,
# and of what is known, gives a leaf the share of hidden values that lead there, among the leaves that such a person
# can be in; then, in a second step, the leaf says what its people are. (In one step, by the greatest entropy of both,
# a leaf of mixed classes would seem the likelier for being mixed, which nothing says.) The estimate lies between that
# and the one of whoever knows the sizes too. Every table that fits with the sizes fits without them, so that what is
# possible with them is possible; certain is only what all leaves that can hold a person say of all their people.

SIZES_UNKNOWN = (
    "the file contains no record counts of leaves. The inference is a range with and "
    "without them, and proofs do not use them"
)
SIZES_NOT_USED = "tables with other record counts in the leaves were not searched for"


def are_told_apart(leaves: LeafTable) -> bool:
    """Return whether a file says of its leaves their classes' shares or labels alone, of each by itself.

    What it says of inner nodes, or of sums of weights, tells something of how many people are in the leaves.
    """
    system = leaves.system
    if system.dropped or any(len(np.unique(row.profiles)) > 1 for row in system.across):
        return False
    return all(map(_says_shares_alone, system.case.tree.nodes))


def _says_shares_alone(node: Node) -> bool:
    figures = node.figures
    said = (node.records, node.class_counts, node.bands, node.impurity, figures.spread)
    is_bare = all(each is None for each in said) and not figures.other_splits
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


def average_over_paths(
    view: PartialView, weigh_path: Callable[[ReachablePath], tuple[float, FloatArray]], width: int
) -> FloatArray:
    """Return of each profile, (P, width), the average of what is told of the places it can be in; not a number of none.

    A place counts as much as the share of hidden values that lead there, times the weight that is told with it.
    """
    total, sums = np.zeros(view.size), np.zeros((view.size, width))
    for place in reachable_paths(view):
        weight, row = weigh_path(place)
        if weight > 0:
            of_profile = weight * _base(view, place)
            total[place.profiles] += of_profile
            sums[place.profiles] += of_profile[:, None] * row
    average = np.full_like(sums, np.nan)
    np.divide(sums, total[:, None], out=average, where=total[:, None] > 0)
    return average


def _base(view: PartialView, place: ReachablePath) -> FloatArray:
    """Return the share of hidden values that lead each profile there by this path: all of a known value."""
    found = np.ones(len(place.profiles))
    for name, mask in place.masks.items():
        share = view.hidden[name].share
        left = share[mask].sum() / share.sum()
        known = name in view.guesses and view.guesses[name].is_known[place.profiles]
        found *= np.where(known, 1.0, left)
    return found


def between(values: FloatArray, low: FloatArray, high: FloatArray, sized: Posterior) -> Posterior:
    """Return an estimate whose ends take in that with known sizes."""
    values = np.minimum(values, 1.0)
    low = np.minimum(np.minimum(low, values), sized.low)
    high = np.minimum(np.maximum(np.maximum(high, values), sized.high), 1.0)
    return Posterior(values, sized.decided, low, high)


def unsized_estimate(
    view: PartialView,
    leaves: LeafTable,
    sized: Posterior | Undetermined,
    options: AuditOptions = DEFAULT,
) -> Posterior | Undetermined:
    """Return the estimate of each profile's class, (P, m), given that with known sizes.

    Raises:
        SolverError: the wanted solver is not there.
    """
    own = leaves.estimate(options)
    if isinstance(sized, Undetermined) or isinstance(own, Undetermined):
        return sized if isinstance(sized, Undetermined) else own
    m = own.values.shape[1]
    of_node = np.zeros((len(view.tree.nodes), 3 * m))
    of_node[leaves.nodes] = np.concatenate([own.values, own.low, own.high], axis=1)
    is_held = np.zeros(len(view.tree.nodes))
    is_held[leaves.nodes] = 1.0
    found = average_over_paths(
        view, lambda place: (is_held[place.node], of_node[place.node]), 3 * m
    )
    return between(found[:, :m], found[:, m : 2 * m], found[:, 2 * m :], sized)


def unsized_proofs(reachability: Reachability, holds: BoolArray) -> Proofs:
    """Return what follows of each lump and class from which classes each node can hold, (N, m); nothing is possible."""
    others = holds.sum(axis=1, keepdims=True) - holds > 0
    can, other = (reachability.any_of(each) for each in (holds, others))
    return Proofs(~other, ~can, np.zeros_like(can))


def unsized_tables(
    people: Population, proved: Proofs, sized: ConsistentTables | Undetermined, reason: str
) -> ConsistentTables | Undetermined:
    """Return what is certain of each profile, (P, m), with the tables that fit if the sizes are the true ones."""
    if isinstance(sized, Undetermined):
        return sized
    worlds = bound_tables(people, proved, is_exact=False)
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
