"""Attribute inference for people who are told apart in rows and spread over leaves, or parts of leaves by class."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.bounds import Bounds
from treewarden.audit.partial.fitting.flows import Network, Rooms, ends, network
from treewarden.audit.partial.fitting.margin_fitting import GAP, FittedMargins, fit_margins
from treewarden.audit.partial.fitting.splits import PlacedEstimate, place_people
from treewarden.audit.partial.reachability import CompatibleValues, Proofs, ranges
from treewarden.audit.partial.tree_context import LeafTable
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray


@dataclass(frozen=True, slots=True)
class SecretInference:
    """What follows for people who are told apart in N rows, those of ``profiles``: (N, B) each.

    ``held`` are they over all leaves; ``gap`` (S,) is as in ``FittedMargins``, of the lumps there.
    """

    profiles: IndexArray
    values: FloatArray
    low: FloatArray
    high: FloatArray
    gaps: FloatArray
    gap: FloatArray
    proved: Proofs
    ranges: Bounds[IntArray]
    held: PlacedEstimate
    leads: Leads


@dataclass(frozen=True, slots=True)
class Leads:
    """Where people can be, and what that leaves of the secret.

    They are lumps, ``lump_of`` (N,), of a network over the leaves ``columns``, (L',) of all L. Arc a leads from the
    lump ``row[a]`` to the place ``column[a]`` among these, and leaves the values of ``kind[a]``: see
    ``CompatibleValues``.
    """

    arcs: CompatibleValues
    net: Network
    columns: IndexArray
    lump_of: IndexArray
    row: IndexArray
    column: IndexArray
    kind: IndexArray

    def infer(
        self, places: sparse.csr_array, lump: IndexArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what is believed of people of R kinds, (R, B), the least and the most.

        ``places`` (R, L') is what share of each kind is where among ``columns``, ``lump`` (R,) which lump each is of.
        """
        shape = len(self.net.supply), len(self.columns)
        kinds = sparse.csr_array((self.kind + 1, (self.row, self.column)), shape=shape)
        cells = places.tocoo()
        kind = np.asarray(kinds[lump[cells.row], cells.col]).ravel() - 1
        return _believed(self.arcs, cells.row, cells.data, kind, len(lump))


def _believed(
    arcs: CompatibleValues, row: IndexArray, weight: FloatArray, kind: IndexArray, size: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the values of each of so many rows, the least and the most, (S, B), by the weights of the arcs from it."""
    left = arcs.allowed[kind].astype(np.float64)
    decides = (arcs.allowed & (arcs.allowed.sum(axis=1) == 1)[:, None]).astype(np.float64)
    values = summed(row, weight, arcs.inside[kind], size)
    low = np.minimum(summed(row, weight, decides[kind], size), values)
    return values, low, summed(row, weight, left, size)


def infer_part(
    arcs: CompatibleValues,
    leaves: LeafTable,
    population: Population,
    row_of_profile: IndexArray,
    flows: int,
) -> SecretInference:
    """Return what follows for people who are told apart in rows, (P,), and spread over their leaves.

    ``flows`` is how many arcs may be looked at for how many people have each value.
    """
    part = _place_part(arcs, leaves, population, row_of_profile)
    leads, lump_of = part.leads, part.leads.lump_of
    net, lumps = leads.net, len(leads.net.supply)
    placed = fit_margins(net)
    # Each arc has the people of its group of leaves by the sizes of these.
    group = net.group_of[leads.column]
    of_group = np.asarray(placed.people.tocsr()[leads.row, group]).ravel()
    over = of_group * part.sizes[leads.column] / net.demand[group]
    values, low, high = _believed(arcs, leads.row, over / net.supply[leads.row], leads.kind, lumps)
    can = np.asarray(net.movable[leads.row, group]).ravel() > 0
    left = arcs.allowed[leads.kind].astype(np.float64)
    possible = summed(leads.row, can.astype(np.float64), left, lumps) > 0
    is_certain = possible & (possible.sum(axis=1) == 1)[:, None]
    rooms = _ValueRooms.from_leads(leads, part.sizes)
    found = ends(net, rooms.at, arcs.allowed.shape[1], flows)
    gaps = placed.gap
    values[gaps > GAP] = np.nan
    return SecretInference(
        profiles=part.profiles,
        values=values[lump_of],
        low=low[lump_of],
        high=high[lump_of],
        gaps=gaps[lump_of],
        gap=gaps,
        proved=Proofs(is_certain, ~possible, possible).of_profiles(lump_of),
        ranges=ranges(part.people, lump_of, net.supply, found, found),
        held=_spread_over_leaves(part, placed, len(arcs.lump_of), len(leaves.nodes)),
        leads=leads,
    )


@dataclass(frozen=True, slots=True)
class _PartOfPeople:
    """How many people of each row there are, ``profiles`` and ``people`` (N,), and where they can be.

    ``sizes`` (L',) is how many of them are in each leaf that holds some.
    """

    profiles: IndexArray
    people: FloatArray
    sizes: FloatArray
    leads: Leads


def _place_part(
    arcs: CompatibleValues,
    leaves: LeafTable,
    population: Population,
    row_of_profile: IndexArray,
) -> _PartOfPeople:
    """Return the people with the network of the leaves that hold some of them."""
    counts = population.counts
    people = np.bincount(row_of_profile, counts, len(arcs.lump_of)).astype(np.float64)
    profiles = np.flatnonzero(people > 0)
    there = np.searchsorted(leaves.nodes, population.leaf)
    sizes = np.bincount(there, counts, len(leaves.nodes)).astype(np.float64)
    lumps, lump_of = np.unique(arcs.lump_of[profiles], return_inverse=True)
    columns = np.flatnonzero(sizes > 0)
    lump_at, column_at = _where(lumps, arcs.row), _where(leaves.nodes[columns], arcs.node)
    is_here = (lump_at >= 0) & (column_at >= 0)
    row, column, kind = lump_at[is_here], column_at[is_here], arcs.kind[is_here]
    shape = (len(lumps), len(columns))
    pattern = sparse.coo_array((np.ones(len(row)), (row, column)), shape=shape).tocsr()
    some = np.flatnonzero(counts > 0)
    lump = _where(lumps, arcs.lump_of[row_of_profile[some]])
    world = sparse.coo_array((counts[some], (lump, _where(columns, there[some]))), shape=shape)
    leads = Leads(
        arcs=arcs,
        net=network(pattern, world.tocsr()),
        columns=columns,
        lump_of=lump_of,
        row=row,
        column=column,
        kind=kind,
    )
    return _PartOfPeople(profiles, people[profiles], sizes[columns], leads)


@dataclass(frozen=True, slots=True)
class _ValueRooms:
    """How many people where a lump meets a group of leaves can have each value of the secret, and how many another.

    ``arc`` (A,) are these places in order, ``lump * groups + group``; ``own`` and ``others`` (A, B) are people.
    """

    arc: IndexArray
    groups: int
    own: IntArray
    others: IntArray

    @classmethod
    def from_leads(cls, leads: Leads, sizes: FloatArray) -> _ValueRooms:
        """Return the rooms of people of whom so many are in each leaf, (L',)."""
        net = leads.net
        records = np.rint(sizes).astype(np.int64)[leads.column][:, None]
        own = leads.arcs.allowed[leads.kind] * records
        others = ((own > 0).sum(axis=1)[:, None] > (own > 0)) * records
        places = leads.row * net.groups + net.group_of[leads.column]
        arc, of_arc = np.unique(places, return_inverse=True)
        rooms = []
        for most in (own, others):
            rooms.append(np.zeros((len(arc), own.shape[1]), dtype=np.int64))
            np.add.at(rooms[-1], of_arc.reshape(-1), most)
        return cls(arc, net.groups, *rooms)

    def at(self, lump: int, groups: IndexArray) -> Rooms:
        """Return the rooms of a lump in some groups of leaves."""
        at = np.searchsorted(self.arc, lump * self.groups + groups)
        return Rooms(self.own[at], self.others[at])


def _spread_over_leaves(
    part: _PartOfPeople, placed: FittedMargins, groups: int, leaves: int
) -> PlacedEstimate:
    """Return the same people over all leaves, those too that hold none of them."""
    columns, lump_of = part.leads.columns, part.leads.lump_of
    placed_estimate = place_people(part.people, lump_of, part.leads.net, placed, part.sizes)
    lump, everyone = np.zeros(groups, dtype=np.intp), np.zeros(groups)
    lump[part.profiles], everyone[part.profiles] = lump_of, placed_estimate.people
    gather = sparse.csr_array(
        (np.ones(len(columns)), (np.arange(len(columns)), columns)),
        shape=(len(columns), leaves),
    )
    return replace(
        placed_estimate,
        people=everyone,
        lump=lump,
        over=sparse.csr_array(placed_estimate.over @ gather),
    )


def _where(sorted_: IndexArray, numbers: IndexArray) -> IndexArray:
    """Return the place of each number among sorted ones, -1 where it is not there."""
    at = np.minimum(np.searchsorted(sorted_, numbers), max(len(sorted_) - 1, 0))
    return np.asarray(np.where(sorted_[at] == numbers, at, -1), dtype=np.intp)


def summed(row: IndexArray, weight: FloatArray, values_of_arc: FloatArray, size: int) -> FloatArray:
    """Return sums over arcs by row, (S, B), of what each has of each value, (A, B), times its weight."""
    columns = [
        np.bincount(row, weight * values_of_arc[:, place], size)
        for place in range(values_of_arc.shape[1])
    ]
    return np.stack(columns, axis=1)
