"""Which values of a secret column are compatible with each node that a person can stop at."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.partial.partial_view import PartialView, reachable_paths
from treewarden.audit.partial.secret_column import Secret
from treewarden.audit.partial.value_kinds import ValueKinds
from treewarden.audit.partial.value_rules import OPEN, ImpliedValues
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

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
