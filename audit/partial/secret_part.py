"""What follows of a secret column for some of the people, those of one class or all, spread over their leaves."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.partial.flows import Network, Rooms, ends, network
from treewarden.audit.partial.leaf_table import Ground, LeafTable
from treewarden.audit.partial.margin_fitting import GAP, Spread, spread
from treewarden.audit.partial.partial_view import Knower, ValueKinds, domain_of, places
from treewarden.audit.partial.reachability import Proofs, Ranges, ranges
from treewarden.audit.partial.splits import PlacedEstimate, place_people
from treewarden.audit.partial.value_rules import OPEN, ImpliedValues, Secret
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

# Who can stop where in a tree, and which values of a secret column that leaves open.


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


def secret_domain(ground: Ground, secret: Secret) -> ValueKinds:
    """Return the values that a secret column can have as the tree's tests see them, told apart as the secret's are."""
    feature = next(each for each in ground.tree.features if each.name == secret.name)
    column = ground.population.columns[secret.name]
    between = secret.numbers[:-1] / 2 + secret.numbers[1:] / 2
    cuts = (*secret.ends.tolist(), *between.tolist())
    return domain_of(
        ground.tests.get(secret.name, ()), feature, column, ground.population.counts, cuts
    )


def arcs_of(
    who: Knower,
    secret: Secret,
    domain: ValueKinds | None,
    population: Population,
    said: ImpliedValues | None = None,
) -> CompatibleValues:
    """Return who can stop where; profiles that can stop at the same nodes with the same values left are one lump.

    ``said`` is what other columns say of the secret.
    """
    place_of = np.arange(len(secret.values)) if domain is None else secret.places(domain.values)
    rng, random_codes = np.random.default_rng(0), dict[tuple[int, bytes], IntArray]()
    sums = np.zeros((who.size, 2), dtype=np.int64)
    with np.errstate(over="ignore"):
        for stop, mask, profiles in _ways(who, secret, place_of, said):
            key = stop, mask
            if key not in random_codes:
                random_codes[key] = rng.integers(1 << 63, size=2, dtype=np.int64)
            sums[profiles] += random_codes[key]
    _, first, lump_of = np.unique(sums, axis=0, return_index=True, return_inverse=True)
    kinds: dict[bytes, int] = {}
    rows, nodes, found = [], [], []
    implied_values = None if said is None else said.of(first)
    for stop, mask, profiles in _ways(who.of(first), secret, place_of, implied_values):
        rows.append(profiles)
        nodes.append(np.full(len(profiles), stop, dtype=np.intp))
        found.append(np.full(len(profiles), kinds.setdefault(mask, len(kinds)), dtype=np.intp))
    row, node, kind = (np.concatenate(each) for each in (rows, nodes, found))
    row, node, kind = _together(row, node, kind, kinds)
    allowed, inside = values_of(kinds, secret, domain, population)
    return CompatibleValues(lump_of.reshape(-1), row, node, kind, allowed, inside)


def joined(parts: Sequence[CompatibleValues], profiles: Sequence[IndexArray]) -> CompatibleValues:
    """Return the arcs of some profiles of each part, (N,), one part below the other."""
    lumps = np.cumsum(
        [0, *(int(compatible_values.lump_of.max(initial=-1)) + 1 for compatible_values in parts)]
    )
    kinds = np.cumsum([0, *(len(compatible_values.allowed) for compatible_values in parts)])
    return CompatibleValues(
        np.concatenate(
            [
                compatible_values.lump_of[own] + at
                for compatible_values, own, at in zip(parts, profiles, lumps, strict=False)
            ]
        ),
        np.concatenate(
            [
                compatible_values.row + at
                for compatible_values, at in zip(parts, lumps, strict=False)
            ]
        ),
        np.concatenate([compatible_values.node for compatible_values in parts]),
        np.concatenate(
            [
                compatible_values.kind + at
                for compatible_values, at in zip(parts, kinds, strict=False)
            ]
        ),
        np.concatenate([compatible_values.allowed for compatible_values in parts]),
        np.concatenate([compatible_values.inside for compatible_values in parts]),
    )


def _ways(
    who: Knower, secret: Secret, place_of: IndexArray, said: ImpliedValues | None
) -> Iterator[tuple[int, bytes, IndexArray]]:
    """Yield nodes with the values of the secret that a way there leaves, and the profiles that can have taken it."""
    for place in places(who):
        mask = place.masks.get(secret.name)
        if said is None:
            yield place.node, _mask(mask), place.profiles
            continue
        left = said.left(place.masks, place_of)
        left = left if mask is None else left & mask
        told = said.of_profile[place.profiles]
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


@dataclass(frozen=True, slots=True)
class SecretInference:
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
    held: PlacedEstimate
    leads: Leads


@dataclass(frozen=True, slots=True)
class Leads:
    """Where the people of one part can be, and what that leaves of the secret.

    They are lumps, ``lump_of`` (N,), of a network over the leaves ``columns``, (L',) of all L. Arc a leads from the
    lump ``row[a]`` to the place ``column[a]`` among these, and leaves the values of ``kind[a]`` (see ``Arcs``).
    """

    arcs: CompatibleValues
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
    arcs: CompatibleValues, row: IndexArray, weight: FloatArray, kind: IndexArray, size: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the values of each of so many rows, the least and the most, (S, B), by the weights of the arcs from it."""
    left = arcs.allowed[kind].astype(np.float64)
    decides = (arcs.allowed & (arcs.allowed.sum(axis=1) == 1)[:, None]).astype(np.float64)
    values = summed(row, weight, arcs.inside[kind], size)
    low = np.minimum(summed(row, weight, decides[kind], size), values)
    return values, low, summed(row, weight, left, size)


def part_of(
    arcs: CompatibleValues,
    leaves: LeafTable,
    population: Population,
    of: IndexArray,
    own: FloatArray,
    work: int,
) -> SecretInference:
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
    return SecretInference(
        profiles,
        values[lump_of],
        low[lump_of],
        high[lump_of],
        gaps[lump_of],
        gaps,
        Proofs(is_certain[lump_of], ~possible[lump_of], possible[lump_of]),
        ranges(counts, lump_of, supply, flows, flows),
        _spread_over_leaves(people, profiles, lump_of, net, placed, sizes, columns),
        Leads(arcs, net, columns, lump_of, row, column, kind),
    )


def _spread_over_leaves(
    people: FloatArray,
    profiles: IndexArray,
    lump_of: IndexArray,
    net: Network,
    placed: Spread,
    sizes: FloatArray,
    columns: IndexArray,
) -> PlacedEstimate:
    """Return the same people over all leaves, those too that hold none of them."""
    placed_estimate = place_people(people[profiles], lump_of, net, placed, sizes[columns])
    lump, everyone = np.zeros(len(people), dtype=np.intp), np.zeros(len(people))
    lump[profiles], everyone[profiles] = lump_of, placed_estimate.people
    gather = sparse.csr_array(
        (np.ones(len(columns)), (np.arange(len(columns)), columns)),
        shape=(len(columns), len(sizes)),
    )
    return replace(
        placed_estimate,
        people=everyone,
        lump=lump,
        over=sparse.csr_array(placed_estimate.over @ gather),
    )


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
    parts: list[SecretInference],
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, Proofs, Ranges]:
    """Return what follows for all parts, one below the other."""
    proved = Proofs(
        np.concatenate([secret_inference.proved.certain for secret_inference in parts]),
        np.concatenate([secret_inference.proved.excluded for secret_inference in parts]),
        np.concatenate([secret_inference.proved.possible for secret_inference in parts]),
    )
    return (
        np.concatenate([secret_inference.values for secret_inference in parts]),
        np.concatenate([secret_inference.low for secret_inference in parts]),
        np.concatenate([secret_inference.high for secret_inference in parts]),
        np.concatenate([secret_inference.gaps for secret_inference in parts]),
        proved,
        Ranges(
            np.concatenate([secret_inference.more.low for secret_inference in parts]),
            np.concatenate([secret_inference.more.high for secret_inference in parts]),
            np.concatenate([secret_inference.more.reached_low for secret_inference in parts]),
            np.concatenate([secret_inference.more.reached_high for secret_inference in parts]),
        ),
    )
