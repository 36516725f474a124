"""Tables that fit, for who knows some columns only: in each, as few people of a profile as can be have their value."""

from __future__ import annotations

import numpy as np

from treewarden.audit.partial.flows import filled, table_of
from treewarden.audit.partial.network import Network
from treewarden.audit.people.population import Population
from treewarden.audit.worlds.result import Witness, Worlds
from treewarden.ppdm_models.arrays import IndexArray, IntArray

MOST_SHOWN = 3
"""Profiles of which a table is shown, those of most people first."""
MOST_PLACES = 200_000
"""Places where lumps can be, and profiles, up to which tables are worth their time."""


def shown(
    net: Network,
    lump_of: IndexArray,
    people: Population,
    held: IntArray,
    worlds: Worlds,
    classes: tuple[str, ...],
) -> tuple[Witness, ...]:
    """Return tables that fit, given how many of each class each group of leaves has, (G, m).

    Each is of a profile that is not certain: as few of its people as can be have the value that most of them must have
    at least.
    """
    if net.movable.nnz + len(lump_of) > MOST_PLACES:
        return ()
    found, movable = [], (worlds.counts > 0) & ~worlds.certain
    ranked = np.argsort(-worlds.counts, kind="stable")
    for profile in ranked[movable[ranked]][:MOST_SHOWN].tolist():
        value = int(worlds.low[profile].argmax())
        by_lump = table_of(net, int(lump_of[profile]), value, held, up=False)
        table = _of_profiles(by_lump, lump_of, worlds.counts, profile, value)
        count = int(worlds.counts[profile])
        fewest = f"{table[profile, value]:,} of these {count:,} people have {classes[value]}"
        found.append(Witness(profile, f"in a table that fits, no more than {fewest}", table))
    return tuple(found)


def _of_profiles(
    by_lump: IntArray, lump_of: IndexArray, counts: IntArray, first: int, value: int
) -> IntArray:
    """Return a table of profiles, (P, m), given one of lumps: the first profile has a value last."""
    table = np.zeros((len(lump_of), by_lump.shape[1]), dtype=np.int64)
    last = np.argsort(np.arange(by_lump.shape[1]) == value, kind="stable")
    left = by_lump[lump_of[first]]
    table[first, last] = filled(counts[[first]], left[last])[0]
    order = np.argsort(lump_of, kind="stable")
    for profiles in np.split(order, np.flatnonzero(np.diff(lump_of[order])) + 1):
        lump, rest = lump_of[profiles[0]], profiles[profiles != first]
        own = left - table[first] if lump == lump_of[first] else by_lump[lump]
        table[rest] = filled(counts[rest], own)
    return table
