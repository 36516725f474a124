"""What follows of a secret column for some of the people, those of one class or all, spread over their leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.partial.bounded import Ranges, ranges
from treewarden.audit.partial.flows import Rooms, ends
from treewarden.audit.partial.leaf_table import LeafTable
from treewarden.audit.partial.learned import Proofs
from treewarden.audit.partial.network import Network, network
from treewarden.audit.partial.open_values import Arcs
from treewarden.audit.partial.scaling import GAP, Spread, spread
from treewarden.audit.partial.splits import Held, held
from treewarden.audit.people.population import Population
from treewarden.ppdm_models.arrays import FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class Part:
    """What follows for the people of one class, or of all: of N merged profiles ``profiles``, (N, B) each.

    ``held`` are they over all leaves; ``gap`` (S,) is as in ``Spread``, of the lumps there.
    """

    profiles: IndexArray
    values: FloatArray
    low: FloatArray
    high: FloatArray
    gaps: FloatArray
    gap: FloatArray
    proved: Proofs
    more: Ranges
    held: Held
    leads: Leads


@dataclass(frozen=True, slots=True)
class Leads:
    """Where the people of one part can be, and what that leaves of the secret.

    They are lumps, ``lump_of`` (N,), of a network over the leaves ``columns``, (L',) of all L. Arc a leads from the
    lump ``row[a]`` to the place ``column[a]`` among these, and leaves the values of ``kind[a]`` (see ``Arcs``).
    """

    arcs: Arcs
    net: Network
    columns: IndexArray
    lump_of: IndexArray
    row: IndexArray
    column: IndexArray
    kind: IndexArray

    def told(
        self, places: sparse.csr_array, lump: IndexArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what is believed of people of R kinds, (R, B), the least and the most.

        ``places`` (R, L') is what share of each kind is where among ``columns``, ``lump`` (R,) which lump each is of.
        """
        kinds = np.full((len(self.net.supply), len(self.columns)), -1, dtype=np.intp)
        kinds[self.row, self.column] = self.kind
        cells = places.tocoo()
        kind = kinds[lump[cells.row], cells.col]
        return _believed(self.arcs, cells.row, cells.data, kind, len(lump))


def _believed(
    arcs: Arcs, row: IndexArray, weight: FloatArray, kind: IndexArray, size: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the values of each of so many rows, the least and the most, (S, B), by the weights of the arcs from it."""
    left = arcs.allowed[kind].astype(np.float64)
    decides = (arcs.allowed & (arcs.allowed.sum(axis=1) == 1)[:, None]).astype(np.float64)
    values = summed(row, weight, arcs.inside[kind], size)
    low = np.minimum(summed(row, weight, decides[kind], size), values)
    return values, low, summed(row, weight, left, size)


def part_of(
    arcs: Arcs,
    leaves: LeafTable,
    population: Population,
    of: IndexArray,
    own: FloatArray,
    work: int,
) -> Part:
    """Return what follows for some of the people, ``own`` of each profile, (P,), who are spread over their leaves."""
    people = np.bincount(of, own, len(arcs.lump_of)).astype(np.float64)
    profiles = np.flatnonzero(people > 0)
    there = np.searchsorted(leaves.nodes, population.leaf)
    sizes = np.bincount(there, own, len(leaves.nodes)).astype(np.float64)
    lumps, lump_of = np.unique(arcs.lump_of[profiles], return_inverse=True)
    columns = np.flatnonzero(sizes > 0)
    lump_at, column_at = _where(lumps, arcs.row), _where(leaves.nodes[columns], arcs.node)
    is_here = (lump_at >= 0) & (column_at >= 0)
    row, column, kind = lump_at[is_here], column_at[is_here], arcs.kind[is_here]
    shape = (len(lumps), len(columns))
    pattern = sparse.coo_array((np.ones(len(row)), (row, column)), shape=shape).tocsr()
    some = np.flatnonzero(own > 0)
    world = sparse.coo_array(
        (
            own[some],
            (_where(lumps, arcs.lump_of[of[some]]), _where(columns, there[some])),
        ),
        shape=shape,
    ).tocsr()
    net = network(pattern, world)
    placed = spread(net)
    over = _over_arcs(placed, net.group_of, net.demand, sizes[columns], row, column)
    can = np.asarray(net.movable[row, net.group_of[column]]).ravel() > 0
    weight = over / net.supply[row]
    values, low, high = _believed(arcs, row, weight, kind, len(lumps))
    left = arcs.allowed[kind].astype(np.float64)
    possible = summed(row, can.astype(np.float64), left, len(lumps)) > 0
    is_certain = possible & (possible.sum(axis=1) == 1)[:, None]
    allowed = arcs.allowed[kind] * np.rint(sizes[columns]).astype(np.int64)[column][:, None]
    without = (allowed > 0).sum(axis=1)[:, None] > (allowed > 0)
    without = without * np.rint(sizes[columns]).astype(np.int64)[column][:, None]
    arc, of_arc = np.unique(row * net.groups + net.group_of[column], return_inverse=True)
    rooms = [np.zeros((len(arc), allowed.shape[1]), dtype=np.int64) for _ in range(2)]
    for each, most in zip(rooms, (allowed, without), strict=True):
        np.add.at(each, of_arc.reshape(-1), most)

    def rooms_of(lump: int, groups: IndexArray) -> Rooms:
        at = np.searchsorted(arc, lump * net.groups + groups)
        return Rooms(rooms[0][at], rooms[1][at])

    flows = ends(net, rooms_of, allowed.shape[1], work)
    counts, supply = (np.rint(each).astype(np.int64) for each in (people[profiles], net.supply))
    gaps = placed.gap
    values[gaps > GAP] = np.nan
    return Part(
        profiles,
        values[lump_of],
        low[lump_of],
        high[lump_of],
        gaps[lump_of],
        gaps,
        Proofs(is_certain[lump_of], ~possible[lump_of], possible[lump_of]),
        ranges(counts, lump_of, supply, flows, flows),
        _held(people, profiles, lump_of, net, placed, sizes, columns),
        Leads(arcs, net, columns, lump_of, row, column, kind),
    )


def _held(
    people: FloatArray,
    profiles: IndexArray,
    lump_of: IndexArray,
    net: Network,
    placed: Spread,
    sizes: FloatArray,
    columns: IndexArray,
) -> Held:
    """Return the same people over all leaves, those too that hold none of them."""
    own = held(people[profiles], lump_of, net, placed, sizes[columns])
    lump, everyone = np.zeros(len(people), dtype=np.intp), np.zeros(len(people))
    lump[profiles], everyone[profiles] = lump_of, own.people
    gather = sparse.csr_array(
        (np.ones(len(columns)), (np.arange(len(columns)), columns)),
        shape=(len(columns), len(sizes)),
    )
    return replace(own, people=everyone, lump=lump, over=sparse.csr_array(own.over @ gather))


def _where(sorted_: IndexArray, wanted: IndexArray) -> IndexArray:
    """Return the place of each number among sorted ones, -1 where it is not there."""
    at = np.minimum(np.searchsorted(sorted_, wanted), max(len(sorted_) - 1, 0))
    return np.asarray(np.where(sorted_[at] == wanted, at, -1), dtype=np.intp)


def _over_arcs(
    placed: Spread,
    group_of: IndexArray,
    demand: FloatArray,
    sizes: FloatArray,
    row: IndexArray,
    column: IndexArray,
) -> FloatArray:
    """Return how many people each arc has: those of its group of leaves, by the sizes of these."""
    group = group_of[column]
    of_group = np.asarray(placed.people.tocsr()[row, group]).ravel()
    return np.asarray(of_group * sizes[column] / demand[group])


def summed(row: IndexArray, weight: FloatArray, each: FloatArray, size: int) -> FloatArray:
    """Return sums over arcs by row, (S, B), of what each has of each value, (A, B), times its weight."""
    columns = [np.bincount(row, weight * each[:, place], size) for place in range(each.shape[1])]
    return np.stack(columns, axis=1)


def in_order(
    parts: list[Part],
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, Proofs, Ranges]:
    """Return what follows for all parts, one below the other."""
    proved = Proofs(
        np.concatenate([each.proved.certain for each in parts]),
        np.concatenate([each.proved.excluded for each in parts]),
        np.concatenate([each.proved.possible for each in parts]),
    )
    return (
        np.concatenate([each.values for each in parts]),
        np.concatenate([each.low for each in parts]),
        np.concatenate([each.high for each in parts]),
        np.concatenate([each.gaps for each in parts]),
        proved,
        Ranges(
            np.concatenate([each.more.low for each in parts]),
            np.concatenate([each.more.high for each in parts]),
            np.concatenate([each.more.reached_low for each in parts]),
            np.concatenate([each.more.reached_high for each in parts]),
        ),
    )
