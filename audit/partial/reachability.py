"""Reachability: the nodes of a tree where each person can stop, given the columns that an adversary knows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.bounds import Bounds
from treewarden.audit.consistent_tables.result import (
    ConsistentTables,
    TableEnumeration,
    consistency_of,
)
from treewarden.audit.partial.fitting.flows import Network, Rooms, ValueBoundsOfGroups, ends
from treewarden.audit.partial.fitting.margin_fitting import GAP, FittedMargins
from treewarden.audit.partial.partial_view import PartialView, reachable_paths
from treewarden.audit.partial.secret_values import Secret, ValueKinds
from treewarden.audit.partial.value_rules import OPEN, ImpliedValues
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

MOST_KEPT = 4_000_000
"""Profiles at places that are kept at a time."""


@dataclass(frozen=True, slots=True)
class Reachability:
    """Who can stop where: profiles that can stop at the same nodes are lumped together.

    ``lump_of`` (P,) is the lump of each profile. Many nodes are reached by the same people: ``crowds`` (S, C) says
    which of S lumps are in each crowd, the last of which is nobody, and ``crowd_of`` (N,) who can stop at each node.
    """

    lump_of: IndexArray
    crowds: sparse.csr_array
    crowd_of: IndexArray

    def over(self, nodes: IndexArray) -> sparse.csr_array:
        """Return where each lump can stop among some nodes, shape (S, L)."""
        return sparse.csr_array(self.crowds[:, self.crowd_of[nodes]])

    def any_of(self, is_marked: BoolArray) -> BoolArray:
        """Return whether something is so of some node where each lump can stop, (S, m), given of which, (N, m)."""
        of_crowd = np.zeros((self.crowds.shape[1], is_marked.shape[1]))
        np.maximum.at(of_crowd, self.crowd_of, is_marked)
        return np.asarray(self.crowds @ of_crowd) > 0


Stops = list[tuple[IndexArray, list[int]]]
"""Profiles that can stop at the same nodes, and these; a node may come up several times."""


def reach(view: PartialView) -> Reachability:
    """Return where each profile can stop.

    Profiles are lumped by two random 64-bit sums over their places. Where there are too many places to keep, one of
    each lump is walked again.
    """
    rng = np.random.default_rng(0)
    marks = rng.integers(1 << 63, size=(2, len(view.tree.nodes)), dtype=np.int64)
    sums, chunks = np.zeros((2, view.size), dtype=np.int64), 0
    for stops in _stops(view):
        rows, sizes = _profiles(stops)
        nodes = np.concatenate([each for _, each in stops])
        starts = np.cumsum([0, *(len(each) for _, each in stops)])[:-1]
        for own, mark in zip(sums, marks, strict=True):
            np.add.at(own, rows, np.repeat(np.add.reduceat(mark[nodes], starts), sizes))
        chunks += 1
    _, first, lump_of = np.unique(sums.T, axis=0, return_index=True, return_inverse=True)
    lump_of = lump_of.reshape(-1)
    if chunks == 1:
        place = np.full(view.size, -1, dtype=np.intp)
        place[first] = np.arange(len(first))
    else:
        stops = [each for chunk in _stops(view.take(first)) for each in chunk]
        place = np.arange(len(first))
    return Reachability(lump_of, *_crowds(stops, place, len(first), len(view.tree.nodes)))


def _stops(view: PartialView) -> Iterator[Stops]:
    """Yield who can stop where, many at a time; once at least."""
    found: dict[int, tuple[IndexArray, list[int]]] = {}
    number, nobody = 0, (np.zeros(0, dtype=np.intp), [0])
    for place in reachable_paths(view):
        # Tests on hidden columns hand on the very same profiles.
        _, nodes = found.setdefault(id(place.profiles), (place.profiles, []))
        nodes.append(place.node)
        number += len(place.profiles) if len(nodes) == 1 else 0
        if number > MOST_KEPT:
            yield [*found.values()]
            found, number = {}, 0
    yield [*found.values()] or [nobody]


def _profiles(stops: Stops) -> tuple[IndexArray, list[int]]:
    """Return the profiles of all stops, one after the other, and how many each has."""
    return np.concatenate([rows for rows, _ in stops]), [len(rows) for rows, _ in stops]


def _crowds(
    stops: Stops, place: IndexArray, lumps: int, nodes: int
) -> tuple[sparse.csr_array, IndexArray]:
    """Return who is in which crowd, (lumps, C), and the crowd that can stop at each of so many nodes.

    ``place`` is the lump of a profile that stands for it, and -1 of the others.
    """
    rows, sizes = _profiles(stops)
    of = np.repeat(np.arange(len(stops)), sizes)
    is_first = place[rows] >= 0
    table = sparse.csr_array(
        (np.ones(int(is_first.sum())), (place[rows[is_first]], of[is_first])),
        shape=(lumps, len(stops)),
    )
    by_node: dict[int, list[int]] = {}
    for way, (_, own) in enumerate(stops):
        for node in own:
            by_node.setdefault(node, []).append(way)
    # Several ways lead to some nodes: whoever can take one of them is there.
    crowd: dict[tuple[int, ...], int] = {}
    crowd_of = np.full(nodes, -1, dtype=np.intp)
    for node, ways in by_node.items():
        crowd_of[node] = crowd.setdefault(tuple(ways), len(crowd))
    crowd_of[crowd_of < 0] = len(crowd)
    one = np.array([each for ways in crowd for each in ways])
    other = np.repeat(np.arange(len(crowd)), [len(ways) for ways in crowd])
    gather = sparse.csr_array((np.ones(len(one)), (one, other)), shape=(len(stops), len(crowd) + 1))
    found = sparse.csr_array(table @ gather)
    found.data[:] = 1.0
    return found, crowd_of


# Inference of people's classes from where they can stop: by the greatest entropy, and for certain.
#
# Where the sizes of leaves are published and no fact parts the people of a leaf, the maximum-entropy estimate of a
# profile's class is the average of the leaves' own estimates over where such a person is likely to be: the entropy of
# a table is at most that of its spread over leaves and that of the leaves' classes, and the product attains it. A
# class is possible for a person exactly where some leaf that can hold such a person can hold the class: put one on
# the other.


@dataclass(frozen=True, slots=True)
class Proofs:
    """What is proved of each lump and class, (S, m) each: ``certain`` for all people of the lump, ``excluded`` for all.

    ``possible`` is what some table shows; where leaves leave nothing open, what is not excluded is possible.
    """

    certain: BoolArray
    excluded: BoolArray
    possible: BoolArray

    def of_profiles(self, lump_of: IndexArray) -> Proofs:
        """Return the same of profiles, given the lump of each, (P,)."""
        return Proofs(self.certain[lump_of], self.excluded[lump_of], self.possible[lump_of])


def shares(
    net: Network, fitted: FittedMargins, leaf_shares: FloatArray, sizes: FloatArray
) -> FloatArray:
    """Return the estimate of each lump, (S, m), given that of each leaf, (L, m), and the leaves' sizes (L,), people.

    Lumps whose block was not brought near enough to the optimum are not a number.
    """
    total = net.over_groups(sizes[:, None])
    of_group = net.over_groups(leaf_shares * sizes[:, None]) / total
    estimate = np.asarray(fitted.people @ of_group) / net.supply[:, None]
    estimate[fitted.gap > GAP] = np.nan
    return estimate


def proofs(net: Network, most: FloatArray, reached: FloatArray) -> Proofs:
    """Return what follows for each lump from how many people of each class a leaf can hold, (L, m) each.

    ``most`` is proved of every table that fits, ``reached`` is what some table has.
    """
    can = net.movable > 0
    excluded = ~_any(can, _any_of(net, most > 0))
    possible = _any(can, _any_of(net, reached > 0))
    # Certain are those of whom every leaf that can hold them holds this class alone, in every table.
    others = most.sum(axis=1, keepdims=True) - most
    certain = ~_any(can, _any_of(net, others > 0))
    return Proofs(certain, excluded, possible)


def _any_of(net: Network, leaves: BoolArray) -> BoolArray:
    """Return whether something is so of some leaf of each group, (G, m)."""
    return net.over_groups(leaves.astype(np.float64)) > 0


def _any(can: sparse.csr_array, groups: BoolArray) -> BoolArray:
    return np.asarray(can.astype(np.float64) @ groups.astype(np.float64)) > 0


# Proofs of what lumps of people can be, as ends of how many of them have each value.

NOT_COUNTED = Undetermined(
    "consistent tables are not counted for adversaries with partial knowledge"
)


def ends_by_class(
    net: Network, low: FloatArray | IntArray, high: FloatArray | IntArray, flows: int
) -> ValueBoundsOfGroups:
    """Return how many of each lump have each class, where each leaf has from ``low`` to ``high`` of it, (L, m) each.

    ``flows`` is how many arcs may be looked at.
    """
    size = np.rint(net.demand).astype(np.int64)[:, None]
    least, most = (
        np.rint(net.over_groups(leaves.astype(np.float64))).astype(np.int64)
        for leaves in (low, high)
    )
    rooms = Rooms(most, size - least)
    return ends(net, lambda _, groups: rooms.at(groups), low.shape[1], flows)


def ranges(
    people: FloatArray,
    lump_of: IndexArray,
    supply: FloatArray,
    outer: ValueBoundsOfGroups,
    inner: ValueBoundsOfGroups,
) -> Bounds[IntArray]:
    """Return what ends of lumps of so many people, (S,), say of how many of profiles of so many, (P,), have each value.

    ``outer`` is proved, ``inner`` is what tables have. People of a lump can stand for each other: as many of a
    profile have a value at most as of its lump, and at least as many as the others of the lump leave.
    """
    size, of_lump = (np.rint(each).astype(np.int64)[:, None] for each in (people, supply))
    rest = (of_lump - outer.least)[lump_of], (of_lump - inner.least)[lump_of]
    is_reached = inner.asked[lump_of][:, None]
    return Bounds(
        np.maximum(size - rest[0], 0),
        np.minimum(size, outer.most[lump_of]),
        np.where(is_reached, np.maximum(size - rest[1], 0), size),
        np.where(is_reached, np.minimum(size, inner.most[lump_of]), 0),
    )


def bound_tables(
    people: Population,
    proved: Proofs,
    *,
    is_exact: bool,
    between: Bounds[IntArray] | None = None,
    reason: str = "",
) -> ConsistentTables:
    """Return proofs as ends of how many people of each profile have each class, with what flows say ``between``.

    ``reason`` is why those are certain who are.
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
    if between is not None:
        low, high = np.maximum(low, between.low), np.minimum(high, between.high)
    worlds = ConsistentTables(
        counts=counts,
        low=low,
        high=high,
        reached_low=reached_low,
        reached_high=reached_high,
        consistency=consistency_of(people.truth),
        enumeration=TableEnumeration(NOT_COUNTED, NOT_COUNTED),
    )
    if between is not None and is_exact:
        worlds = worlds.reaching(between.reached_low, between.reached_high)
    if not isinstance(people.truth, Undetermined):
        true = np.rint(people.truth).astype(np.int64)
        worlds = worlds.reaching(true, true)
    return replace(worlds, reasons=dict.fromkeys(worlds.certain_rows, reason)) if reason else worlds


def _others(classes: BoolArray) -> BoolArray:
    """Return of each class whether another one is marked, (P, m)."""
    return np.asarray(classes.sum(axis=1, keepdims=True) - classes > 0)


# Where people can stop in a tree, and which values of a secret column that leaves open.


@dataclass(frozen=True, slots=True)
class CompatibleValues:
    """Who can stop where, and which secret values that leaves open.

    ``lump_of`` (P,) is the lump of each profile. Arc a leads from the lump ``row[a]`` to the node ``node[a]`` and
    leaves the values ``allowed[kind[a]]``, (K, B), which are there in the shares ``inside[kind[a]]``, (K, B).
    """

    lump_of: IndexArray
    row: IndexArray
    node: IndexArray
    kind: IndexArray
    allowed: BoolArray
    inside: FloatArray


def compatible_values_of(
    view: PartialView,
    secret: Secret,
    domain: ValueKinds | None,
    population: Population,
    implied: ImpliedValues | None = None,
) -> CompatibleValues:
    """Return who can stop where; profiles that can stop at the same nodes with the same values left are one lump.

    ``implied`` is what other columns say of the secret.
    """
    place_of = np.arange(len(secret.values)) if domain is None else secret.places(domain.values)
    rng, random_codes = np.random.default_rng(0), dict[tuple[int, bytes], IntArray]()
    sums = np.zeros((view.size, 2), dtype=np.int64)
    with np.errstate(over="ignore"):
        for stop, mask, profiles in _ways(view, secret, place_of, implied):
            key = stop, mask
            if key not in random_codes:
                random_codes[key] = rng.integers(1 << 63, size=2, dtype=np.int64)
            sums[profiles] += random_codes[key]
    _, first, lump_of = np.unique(sums, axis=0, return_index=True, return_inverse=True)
    kinds: dict[bytes, int] = {}
    rows, nodes, found = [], [], []
    implied_values = None if implied is None else implied.take(first)
    for stop, mask, profiles in _ways(view.take(first), secret, place_of, implied_values):
        rows.append(profiles)
        nodes.append(np.full(len(profiles), stop, dtype=np.intp))
        found.append(np.full(len(profiles), kinds.setdefault(mask, len(kinds)), dtype=np.intp))
    row, node, kind = (np.concatenate(each) for each in (rows, nodes, found))
    row, node, kind = _together(row, node, kind, kinds)
    allowed, inside = values_of(kinds, secret, domain, population)
    return CompatibleValues(lump_of.reshape(-1), row, node, kind, allowed, inside)


def _ways(
    view: PartialView, secret: Secret, place_of: IndexArray, implied: ImpliedValues | None
) -> Iterator[tuple[int, bytes, IndexArray]]:
    """Yield nodes with the values of the secret that a way there leaves, and the profiles that can have taken it."""
    for place in reachable_paths(view):
        mask = place.masks.get(secret.name)
        if implied is None:
            yield place.node, _mask(mask), place.profiles
            continue
        left = implied.left(place.masks, place_of)
        left = left if mask is None else left & mask
        told = implied.of_profile[place.profiles]
        for value in np.unique(told).tolist():
            own = left if value == OPEN else left & (place_of == value)
            if own.any():
                is_bare = mask is None and own.all()
                yield place.node, b"" if is_bare else own.tobytes(), place.profiles[told == value]


def _mask(mask: BoolArray | None) -> bytes:
    return b"" if mask is None else mask.tobytes()


def _together(
    row: IndexArray, node: IndexArray, kind: IndexArray, kinds: dict[bytes, int]
) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return each arc once; of one that came up several times, with all values that any of its ways leaves.

    Where other hidden columns differ between the ways, how common values are inside is that of the table all the same.
    """
    order = np.lexsort((node, row))
    row, node, kind = row[order], node[order], kind[order]
    is_new = np.ones(len(row), dtype=bool)
    is_new[1:] = (row[1:] != row[:-1]) | (node[1:] != node[:-1])
    starts = np.flatnonzero(is_new)
    masks, joined = list(kinds), kind[starts].copy()
    ends = np.append(starts[1:], len(row))
    for at in np.flatnonzero(ends - starts > 1).tolist():
        several = {masks[each] for each in kind[starts[at] : ends[at]].tolist()}
        whole = b"" if b"" in several else _union(several)
        if whole not in kinds:
            kinds[whole] = len(kinds)
            masks.append(whole)
        joined[at] = kinds[whole]
    return row[starts], node[starts], joined


def _union(masks: Collection[bytes]) -> bytes:
    found = np.logical_or.reduce([np.frombuffer(mask, dtype=bool) for mask in masks])
    return bytes(found.tobytes())


def values_of(
    kinds: dict[bytes, int], secret: Secret, domain: ValueKinds | None, population: Population
) -> tuple[BoolArray, FloatArray]:
    """Return which values each kind of mask leaves, and how common each is in the table among these, (K, B) each."""
    size = len(secret.values)
    if domain is None:
        place = np.arange(size)
        share = np.bincount(secret.of, population.counts, size).astype(np.float64)
    else:
        place, share = secret.places(domain.values), domain.share
    # Numbers that are values by themselves are those of the table: what lies between them is nobody's.
    is_there = share > 0 if len(secret.numbers) else np.ones(len(place), dtype=bool)
    allowed, inside = np.zeros((len(kinds), size), dtype=bool), np.zeros((len(kinds), size))
    for mask, kind in kinds.items():
        left = is_there & (np.frombuffer(mask, dtype=bool) if mask else True)
        allowed[kind, place[left]] = True
        held = np.bincount(place[left], share[left], size)
        held = held if held.sum() > 0 else allowed[kind].astype(np.float64)
        inside[kind] = held / max(held.sum(), 1.0)
    return allowed, inside
