"""Who can stop where in a tree, for all that somebody knows who knows only some columns of the people in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from treewarden.audit.partial.walk import Knower, places
from treewarden.ppdm_models.arrays import BoolArray, IndexArray

MOST_KEPT = 4_000_000
"""Profiles at places that are kept at a time."""


@dataclass(frozen=True, slots=True)
class Reach:
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

    def any_of(self, said: BoolArray) -> BoolArray:
        """Return whether something is so of some node where each lump can stop, (S, m), given of which, (N, m)."""
        of_crowd = np.zeros((self.crowds.shape[1], said.shape[1]))
        np.maximum.at(of_crowd, self.crowd_of, said)
        return np.asarray(self.crowds @ of_crowd) > 0


Stops = list[tuple[IndexArray, list[int]]]
"""Profiles that can stop at the same nodes, and these; a node may come up several times."""


def reach(who: Knower) -> Reach:
    """Return where each profile can stop.

    Profiles are lumped by two random 64-bit sums over their places. Where there are too many places to keep, one of
    each lump is walked again.
    """
    rng = np.random.default_rng(0)
    marks = rng.integers(1 << 63, size=(2, len(who.tree.nodes)), dtype=np.int64)
    sums, chunks = np.zeros((2, who.size), dtype=np.int64), 0
    for stops in _stops(who):
        rows, sizes = _profiles(stops)
        nodes = np.concatenate([each for _, each in stops])
        starts = np.cumsum([0, *(len(each) for _, each in stops)])[:-1]
        for own, mark in zip(sums, marks, strict=True):
            np.add.at(own, rows, np.repeat(np.add.reduceat(mark[nodes], starts), sizes))
        chunks += 1
    _, first, lump_of = np.unique(sums.T, axis=0, return_index=True, return_inverse=True)
    lump_of = lump_of.reshape(-1)
    if chunks == 1:
        place = np.full(who.size, -1, dtype=np.intp)
        place[first] = np.arange(len(first))
    else:
        stops = [each for chunk in _stops(who.of(first)) for each in chunk]
        place = np.arange(len(first))
    return Reach(lump_of, *_crowds(stops, place, len(first), len(who.tree.nodes)))


def _stops(who: Knower) -> Iterator[Stops]:
    """Yield who can stop where, many at a time; once at least."""
    found: dict[int, tuple[IndexArray, list[int]]] = {}
    number, nobody = 0, (np.zeros(0, dtype=np.intp), [0])
    for place in places(who):
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
