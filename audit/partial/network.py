"""Who can be where in some table that fits: people of lumps spread over leaves of known sizes, as flows.

Tables that fit form a transportation polytope. From one of them, the true one, all others are reached along the arcs
of its residual graph: an arc that is empty here is empty in every table if and only if its ends lie in different
strongly connected components. Everything is exact, in whole records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from treewarden.ppdm_models.arrays import FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class Network:
    """S lumps of people over G groups of leaves, as they can be in some table.

    ``supply`` (S,) and ``demand`` (G,) are people; ``movable`` (S, G) says where people of a lump are in some table
    that fits, and ``held`` (S, G) how many are in one, the true one. ``group_of`` (L,) is the group of each leaf: the
    same lumps can reach all leaves of one.
    ``block_of_lump`` (S,) and ``block_of_group`` (G,) are parts between which nobody can move.
    """

    supply: FloatArray
    demand: FloatArray
    movable: sparse.csr_array
    held: sparse.csr_array
    group_of: IndexArray
    block_of_lump: IndexArray
    block_of_group: IndexArray

    @property
    def groups(self) -> int:
        """How many groups of leaves there are."""
        return len(self.demand)

    def over_groups(self, leaves: FloatArray) -> FloatArray:
        """Return sums over the leaves of each group, (G, m), of what is said of each leaf, (L, m)."""
        sums = np.zeros((self.groups, leaves.shape[1]))
        np.add.at(sums, self.group_of, leaves)
        return sums


def network(
    arcs: sparse.csr_array, world: sparse.csr_array, place_of: IndexArray | None = None
) -> Network:
    """Return who can be where, given where lumps can stop, (S, L), and where they do in truth, (S, L), people.

    With ``place_of``, (L,), the arcs lead to places, (S, C), and this is the place of each leaf.

    Raises:
        ValueError: somebody stops where their lump cannot.
    """
    group_of, first = _alike(arcs)
    group_of = group_of if place_of is None else group_of[place_of]
    gather = sparse.csr_array(
        (np.ones(len(group_of)), (np.arange(len(group_of)), group_of)),
        shape=(len(group_of), len(first)),
    )
    pattern, held = sparse.csr_array(arcs[:, first]), sparse.csr_array(world @ gather)
    held.eliminate_zeros()
    if (held - held.multiply(pattern)).count_nonzero():
        raise ValueError("somebody stops where nobody like them can")
    lumps, groups = pattern.shape
    graph = sparse.block_array([[None, pattern], [held.T, None]], format="csr")
    if graph.shape != (lumps + groups, lumps + groups):
        raise ValueError("a lump or a leaf without any arc")
    _, part = csgraph.connected_components(graph, directed=True, connection="strong")
    ends = pattern.tocoo()
    inside = part[ends.row] == part[lumps + ends.col]
    movable = sparse.csr_array(
        (np.ones(int(inside.sum())), (ends.row[inside], ends.col[inside])), shape=pattern.shape
    )
    return Network(
        np.asarray(held.sum(axis=1)).ravel(),
        np.asarray(held.sum(axis=0)).ravel(),
        movable,
        held,
        group_of,
        part[:lumps].astype(np.intp),
        part[lumps:].astype(np.intp),
    )


def _alike(arcs: sparse.csr_array) -> tuple[IndexArray, IndexArray]:
    """Return the group of each leaf that the same lumps can reach, (L,), and the first leaf of each group, (G,)."""
    columns = sparse.csc_array(arcs)
    columns.sort_indices()
    group: dict[bytes, int] = {}
    first, found = [], np.empty(columns.shape[1], dtype=np.intp)
    for leaf, (start, end) in enumerate(zip(columns.indptr, columns.indptr[1:], strict=False)):
        key = columns.indices[start:end].tobytes()
        if key not in group:
            group[key] = len(group)
            first.append(leaf)
        found[leaf] = group[key]
    return found, np.array(first, dtype=np.intp)
