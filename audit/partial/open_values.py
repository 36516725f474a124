"""Who can stop where in a tree, and which values of a secret column that leaves open."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.partial.domains import Domain, domain_of
from treewarden.audit.partial.ground import Ground
from treewarden.audit.partial.saying import OPEN, Said
from treewarden.audit.partial.secret import Secret
from treewarden.audit.partial.walk import Knower, places
from treewarden.audit.people.population import Population
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray


@dataclass(frozen=True, slots=True)
class Arcs:
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


def secret_domain(ground: Ground, secret: Secret) -> Domain:
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
    domain: Domain | None,
    population: Population,
    said: Said | None = None,
) -> Arcs:
    """Return who can stop where; profiles that can stop at the same nodes with the same values left are one lump.

    ``said`` is what other columns say of the secret.
    """
    place_of = np.arange(len(secret.values)) if domain is None else secret.places(domain.values)
    rng, seen = np.random.default_rng(0), dict[tuple[int, bytes], IntArray]()
    sums = np.zeros((who.size, 2), dtype=np.int64)
    with np.errstate(over="ignore"):
        for stop, mask, profiles in _ways(who, secret, place_of, said):
            key = stop, mask
            if key not in seen:
                seen[key] = rng.integers(1 << 63, size=2, dtype=np.int64)
            sums[profiles] += seen[key]
    _, first, lump_of = np.unique(sums, axis=0, return_index=True, return_inverse=True)
    kinds: dict[bytes, int] = {}
    rows, nodes, found = [], [], []
    some = None if said is None else said.of(first)
    for stop, mask, profiles in _ways(who.of(first), secret, place_of, some):
        rows.append(profiles)
        nodes.append(np.full(len(profiles), stop, dtype=np.intp))
        found.append(np.full(len(profiles), kinds.setdefault(mask, len(kinds)), dtype=np.intp))
    row, node, kind = (np.concatenate(each) for each in (rows, nodes, found))
    row, node, kind = _together(row, node, kind, kinds)
    allowed, inside = values_of(kinds, secret, domain, population)
    return Arcs(lump_of.reshape(-1), row, node, kind, allowed, inside)


def joined(parts: Sequence[Arcs], profiles: Sequence[IndexArray]) -> Arcs:
    """Return the arcs of some profiles of each part, (N,), one part below the other."""
    lumps = np.cumsum([0, *(int(each.lump_of.max(initial=-1)) + 1 for each in parts)])
    kinds = np.cumsum([0, *(len(each.allowed) for each in parts)])
    return Arcs(
        np.concatenate(
            [each.lump_of[own] + at for each, own, at in zip(parts, profiles, lumps, strict=False)]
        ),
        np.concatenate([each.row + at for each, at in zip(parts, lumps, strict=False)]),
        np.concatenate([each.node for each in parts]),
        np.concatenate([each.kind + at for each, at in zip(parts, kinds, strict=False)]),
        np.concatenate([each.allowed for each in parts]),
        np.concatenate([each.inside for each in parts]),
    )


def _ways(
    who: Knower, secret: Secret, place_of: IndexArray, said: Said | None
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
    found = np.logical_or.reduce([np.frombuffer(each, dtype=bool) for each in masks])
    return bytes(found.tobytes())


def values_of(
    kinds: dict[bytes, int], secret: Secret, domain: Domain | None, population: Population
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
