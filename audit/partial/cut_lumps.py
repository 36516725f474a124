"""People in lumps that no row of the choice of splits tells apart, where such rows speak of them at all.

In a block of the network of which no row speaks people are as without rows. Elsewhere profiles of a lump are told apart
by their branches, but only those that can be where the row speaks; leaves of a group by whether it speaks of them, and
only then by class. What is told apart by nothing is shared by size in the table of greatest entropy.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.partial.cuts import Cut, Problem, Some
from treewarden.audit.partial.margins import Margins
from treewarden.audit.partial.rows import Slopes
from treewarden.audit.partial.splits import Held
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, alike


@dataclass(frozen=True, slots=True)
class Lumps:
    """One part of the people, where rows speak of them: R lumps over J places, ``margins``, and everybody else.

    ``group`` (P,) is the lump of each profile: lumps of the network of whom no row speaks, ``others``, come after the
    R. ``branch`` (C, R) is the branch that each is in of each cut. ``spoken`` (C, J) says which places a cut speaks of,
    ``klass`` (J,) the class of these. ``place`` (K,) is the place of each of K leaves by class, ``at`` (K,) as the
    columns of ``Held.over`` number them; ``demand`` (K,) are its people. ``gap`` is that of the others.
    """

    some: Some
    group: IndexArray
    others: IndexArray
    branch: IndexArray
    at: IndexArray
    place: IndexArray
    demand: FloatArray
    spoken: BoolArray
    klass: IndexArray
    margins: Margins
    gap: float

    def held(self, table: sparse.csr_array) -> Held:
        """Return the people of the part, given those of the lumps by place, (R, J)."""
        own = self.some.held
        rows = sparse.diags_array(1 / self.margins.supply) @ table
        places = sparse.block_diag([rows, own.places[self.others]], format="csr")
        share = self.demand / self.margins.demand[self.place]
        shape = len(self.margins.demand), own.over.shape[1]
        over = sparse.csr_array((share, (self.place, self.at)), shape=shape)
        return replace(
            own,
            lump=self.group,
            places=sparse.csr_array(places),
            over=sparse.csr_array(sparse.vstack([over, own.over])),
        )

    def of_places(self, of_cell: FloatArray) -> FloatArray:
        """Return multipliers of the places, (J,), given those of leaves and classes, (L * m,)."""
        found = np.full(len(self.margins.demand), -np.inf)
        np.logaddexp.at(found, self.place, of_cell[self.at])
        return found

    def of_cells(self, of_place: FloatArray) -> FloatArray:
        """Return multipliers of the part's leaves and classes, (K,), given those of their places, (J,)."""
        share = self.demand / self.margins.demand[self.place]
        return np.asarray(of_place[self.place] + np.log(share))


def lumps_of(problem: Problem, some: Some, cuts: Collection[Cut]) -> Lumps:
    """Return a part of the people in lumps."""
    net, held, classes = some.net, some.held, problem.classes.shape[1]
    cells = held.over.tocoo()
    kept = problem.classes.ravel()[cells.col] > 0
    at, of_group = cells.col[kept].astype(np.intp), cells.row[kept].astype(np.intp)
    leaf, klass = np.divmod(at, classes)
    speaks = np.stack([cut.here for cut in cuts])[:, leaf]
    cut, cell = np.nonzero(speaks)
    shape = len(cuts), net.groups
    by_group = sparse.csr_array((np.ones(len(cut)), (cut, of_group[cell])), shape=shape)
    is_reached = (net.movable @ by_group.T).toarray() > 0
    blocks = np.unique(net.block_of_group[of_group[cell]])
    is_inside = np.isin(net.block_of_lump, blocks)
    profiles = np.flatnonzero((held.people > 0) & is_inside[held.lump])
    own = held.lump[profiles]
    sides = [np.where(is_reached[own, i], each.branch[profiles], 0) for i, each in enumerate(cuts)]
    first, group = alike([own, *sides])
    others = np.flatnonzero(~is_inside)
    number = np.zeros(len(net.supply), dtype=np.intp)
    number[others] = len(first) + np.arange(len(others))
    of_profile = number[held.lump]
    of_profile[profiles] = group
    chosen = np.flatnonzero(np.isin(net.block_of_group[of_group], blocks))
    at, of_group, klass, speaks = at[chosen], of_group[chosen], klass[chosen], speaks[:, chosen]
    is_spoken = speaks.any(axis=0)
    told = np.packbits(speaks, axis=0).astype(np.intp)
    first_place, place = alike([of_group, np.where(is_spoken, klass, -1), *told])
    demand = problem.classes.ravel()[at]
    lump = own[first]
    margins = Margins(
        sparse.csr_array(net.movable[lump][:, of_group[first_place]]),
        np.bincount(group, held.people[profiles], len(first)).astype(np.float64),
        np.bincount(place, demand, len(first_place)).astype(np.float64),
        net.block_of_lump[lump],
        net.block_of_group[of_group[first_place]],
    )
    # The gap of a block stands at each of its lumps.
    _, one = np.unique(net.block_of_lump[others], return_index=True)
    return Lumps(
        some,
        of_profile,
        others,
        np.stack([each.branch[profiles[first]] for each in cuts]),
        at,
        place,
        demand,
        speaks[:, first_place],
        klass[first_place],
        margins,
        float(some.gap[others[one]].sum()),
    )


def together(parts: Sequence[Lumps]) -> Margins:
    """Return the lumps of all parts over the places of all parts: nobody is at a place of another part."""
    margins, blocks = [each.margins for each in parts], 0
    of_lump, of_place = [], []
    for each in margins:
        of_lump.append(each.block + blocks)
        of_place.append(each.place_block + blocks)
        blocks += 1 + int(each.block.max(initial=-1))
    return Margins(
        sparse.csr_array(sparse.block_diag([each.can for each in margins])),
        np.concatenate([each.supply for each in margins]),
        np.concatenate([each.demand for each in margins]),
        np.concatenate(of_lump),
        np.concatenate(of_place),
    )


def apart(parts: Sequence[Lumps], table: sparse.csr_array) -> tuple[Held, ...]:
    """Return the people of each part, given those of all lumps by place."""
    found, lumps, places = [], 0, 0
    for part in parts:
        size, width = part.margins.can.shape
        found.append(part.held(table[lumps : lumps + size, places : places + width]))
        lumps, places = lumps + size, places + width
    return tuple(found)


def slopes(parts: Sequence[Lumps], cuts: Collection[Cut]) -> list[Slopes]:
    """Return each cut as a row over the lumps and places of all parts."""
    found = []
    for number, cut in enumerate(cuts):
        branch = np.concatenate([each.branch[number] for each in parts])
        value = np.concatenate(
            [np.where(each.spoken[number], cut.slope[:, each.klass], 0.0) for each in parts],
            axis=1,
        )
        row = sparse.csr_array(value.reshape(1, -1))
        found.append(Slopes(branch, row, np.array([cut.least]), np.zeros(1, dtype=bool)))
    return found
