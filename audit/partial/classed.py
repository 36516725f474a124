"""People some of whose classes are known, spread over leaves that are parted by class: each part holds one class alone.

Where the number of each class in each leaf is known, a leaf is as many places as it has classes. Whoever's class is
known can be in the places of that class only, everybody else in all of them. Where only the sum of some classes is
known, these are one place together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.partial.leaf_table import LeafTable
from treewarden.audit.partial.open_values import Arcs
from treewarden.audit.partial.saying import OPEN
from treewarden.audit.partial.splits import Held
from treewarden.audit.people.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class Classed:
    """Leaves parted by class: the leaf's place among L, and the class, of each of C parts, (C,) each.

    ``population`` are the people told apart by class too, who stop at their part; ``of`` is the profile of each row,
    and ``leaves`` the parts as leaves, both as others take leaves. A part of several classes has the first of them;
    ``together`` (L, m) is that of each class at each leaf, -1 where nobody of the class is there.
    """

    leaf: IndexArray
    klass: IndexArray
    together: IndexArray
    population: Population
    of: IndexArray
    leaves: LeafTable

    def parted(
        self, lump_of: IndexArray, arcs: sparse.csr_array, said: IndexArray
    ) -> tuple[IndexArray, sparse.csr_array]:
        """Return the lump of each profile, (P,), and what arcs hold from lumps to parts, (S', C).

        ``lump_of`` (P,) and ``arcs`` (S, L) are of leaves; ``said`` is the class that is known of each profile, (P,).
        """
        both, lump = np.unique(np.stack([lump_of, said]), axis=1, return_inverse=True)
        old, known = both
        found = sparse.csr_array(arcs[old])[:, self.leaf].tocoo()
        own = self.together[self.leaf[found.col], known[found.row]]
        can = (known[found.row] == OPEN) | (own == self.klass[found.col])
        shape = (len(old), len(self.leaf))
        kept = sparse.coo_array((found.data[can], (found.row[can], found.col[can])), shape=shape)
        return lump.reshape(-1), kept.tocsr()

    def arcs(self, arcs: Arcs, nodes: IndexArray, said: IndexArray) -> Arcs:
        """Return arcs to the leaves ``nodes``, (L,), as arcs to parts; ``said`` is as of ``parted``."""
        place = np.searchsorted(nodes, arcs.node)
        inside = np.flatnonzero(np.isin(arcs.node, nodes))
        shape = (int(arcs.row.max(initial=-1)) + 1, len(nodes))
        kinds = sparse.csr_array(
            (arcs.kind[inside] + 1.0, (arcs.row[inside], place[inside])), shape=shape
        )
        lump_of, over = self.parted(arcs.lump_of, kinds, said)
        found = over.tocoo()
        kind = np.rint(found.data).astype(np.intp) - 1
        return replace(arcs, lump_of=lump_of, row=found.row, node=found.col, kind=kind)

    def by_class(self, held: Held, leaves: int) -> Held:
        """Return people over parts as people of each class over so many leaves."""
        classes = self.together.shape[1]
        shape, parts = (len(self.leaf), leaves * classes), np.arange(len(self.leaf))
        gather = sparse.csr_array((np.ones(len(parts)), (parts, self.at)), shape=shape)
        return replace(held, over=sparse.csr_array(held.over @ gather))

    @property
    def at(self) -> IndexArray:
        """The number of each part's leaf and class, leaf by leaf, (C,)."""
        return np.asarray(self.leaf * self.together.shape[1] + self.klass)

    @property
    def class_counts(self) -> FloatArray:
        """How many people of each class each leaf has, (L, m)."""
        found = np.zeros(self.together.size)
        found[self.at] = self.leaves.sizes
        return found.reshape(self.together.shape)

    @property
    def shares(self) -> FloatArray:
        """The classes of each part, (C, m): all people of one have its own."""
        truth = self.population.truth
        assert not isinstance(truth, Undetermined)
        return np.asarray(np.eye(truth.shape[1])[self.klass])


def classed(
    leaves: LeafTable, population: Population, together: IndexArray | None = None
) -> Classed:
    """Return leaves parted by class; the people's classes are known from the table.

    Each class of a leaf is counted unless ``together`` (L, m) says of which others only the sum is known with it, by
    the first of them; or that nobody of it is there, by -1.
    """
    truth = population.truth
    assert not isinstance(truth, Undetermined)
    size = truth.shape[1]
    if together is None:
        together = np.tile(np.arange(size), (len(leaves.nodes), 1))
    profile, klass = (each.astype(np.intp) for each in np.nonzero(truth > 0))
    own = truth[profile, klass]
    leaf_of = np.searchsorted(leaves.nodes, population.leaf)[profile]
    code = leaf_of * size + together[leaf_of, klass]
    codes, of_part = np.unique(code, return_inverse=True)
    parts = np.arange(len(codes), dtype=np.intp)
    of_part = of_part.reshape(-1)
    people = replace(
        population,
        columns={name: column.take(profile) for name, column in population.columns.items()},
        counts=own,
        leaf=of_part,
        truth=np.eye(size)[klass] * own[:, None],
        order=None,
    )
    sizes = np.bincount(of_part, own, len(codes)).astype(np.float64)
    leaf, part_class = np.divmod(codes, size)
    of_parts = replace(leaves, nodes=parts, sizes=sizes)
    return Classed(leaf, part_class, together, people, profile, of_parts)
