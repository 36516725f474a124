"""The table of greatest entropy of known margins that also fulfils linear rows, and how far it is from the optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from treewarden.audit.partial.allowance import Allowance
from treewarden.audit.partial.by_ipopt import by_ipopt
from treewarden.audit.partial.multipliers import multipliers
from treewarden.audit.partial.rows import Cells, Rows, Slopes, cells_of, rows_over
from treewarden.audit.partial.scaling import weighed
from treewarden.ppdm_models.arrays import FloatArray, IndexArray

HELD = 1e-7
"""A row holds where it is broken by less, for each person it speaks of."""
SPARE = HELD / 5
"""A row is put in with so much to spare, for each person: some hold only with equality, and have no interior."""
MOST_GAP = 1e-5
"""In records times nats: how far a table may be from the optimum."""
MOST_CELLS = 4_000_000
"""Places where groups of people that rows couple can be, up to which they are put in: 32 MB."""
ROUNDS = 25
"""How often rows that are broken join before it is given up."""
CELL = 1e3
"""Operations that a round takes for each cell: its table is scaled to the margins."""


@dataclass(frozen=True, slots=True)
class Margins:
    """R groups of people over J places: ``supply`` (R,) and ``demand`` (J,), people, all positive.

    ``can`` (R, J) says who can be where. Nobody moves between blocks: ``block`` (R,) of groups, ``place_block`` (J,).
    """

    can: sparse.csr_array
    supply: FloatArray
    demand: FloatArray
    block: IndexArray
    place_block: IndexArray

    def scaled(self, cells: Cells, powers: FloatArray) -> tuple[FloatArray, float]:
        """Return the people in each cell, (K,), of the table of these margins nearest to exp(``powers``), and its gap.

        That is the distance from the optimum in records times nats, infinite where nothing was proved.
        """
        held, gap = np.zeros(len(cells)), 0.0
        top = np.maximum.reduceat(powers, cells.begins[:-1])
        weights, block = np.exp(powers - top[cells.group]), self.block[cells.group]
        order = np.argsort(block, kind="stable")
        for own in np.split(order, np.flatnonzero(np.diff(block[order])) + 1):
            (rows, at), (places, to) = (
                np.unique(each[own], return_inverse=True) for each in (cells.group, cells.place)
            )
            shape = len(rows), len(places)
            found, off = weighed(
                sparse.csr_array((weights[own], (at, to)), shape=shape),
                self.supply[rows],
                self.demand[places],
            )
            held[own] = np.asarray(found[at, to]).ravel()
            gap += off
        return held, gap

    def under(self, rows: Sequence[Slopes], start: FloatArray, allowance: Allowance) -> Held | None:
        """Return the table of greatest entropy that fulfils some rows; None where none was found.

        ``start`` are multipliers of the places and the first rows to start from. Where these lead nowhere, IPOPT is
        asked. Blocks that no row couples are solved each by itself.

        Raises:
            SolverError: the wanted solver is not there.
        """
        size = len(self.demand)
        ends = size + np.cumsum([0, *(len(each.least) for each in rows)])
        gap, found, rows_of, places_of, people = 0.0, np.zeros(ends[-1]), [], [], []
        part_of_row, part_of_block = self._coupled(rows)
        for part in np.unique(part_of_block[self.block]):
            groups, places = (
                np.flatnonzero(part_of_block[own] == part) for own in (self.block, self.place_block)
            )
            own = np.flatnonzero(part_of_row == part)
            some = [
                each.only(own[(own >= first) & (own < last)] - first, groups, places, size)
                for each, first, last in zip(rows, ends - size, ends[1:] - size, strict=False)
                if ((own >= first) & (own < last)).any()
            ]
            at = np.concatenate([places, size + own])
            held = self._only(groups, places)._solved(some, start[at[at < len(start)]], allowance)
            if held is None:
                return None
            cells = held.table.tocoo()
            rows_of.append(groups[cells.row])
            places_of.append(places[cells.col])
            people.append(cells.data)
            found[at] = held.multipliers
            gap += held.gap
        where = np.concatenate(rows_of), np.concatenate(places_of)
        table = sparse.csr_array((np.concatenate(people), where), shape=self.can.shape)
        return Held(table, gap, found)

    def _coupled(self, rows: Sequence[Slopes]) -> tuple[IndexArray, IndexArray]:
        """Return which part each row is in, and which each block: rows speak of the blocks of their part only."""
        size, blocks = len(self.demand), 1 + int(self.block.max())
        row, place, number = [], [], 0
        for each in rows:
            at, cell = each.value.nonzero()
            row.append(at + number)
            place.append(cell % size)
            number += len(each.least)
        block = self.place_block[np.concatenate(place)]
        ends = np.concatenate(row), number + block
        graph = sparse.csr_array((np.ones(len(block)), ends), shape=(number + blocks,) * 2)
        part = csgraph.connected_components(graph, directed=False)[1]
        return part[:number], part[number:]

    def _only(self, groups: IndexArray, places: IndexArray) -> Margins:
        return Margins(
            self.can[groups][:, places],
            self.supply[groups],
            self.demand[places],
            self.block[groups],
            self.place_block[places],
        )

    def _solved(
        self, rows: Sequence[Slopes], start: FloatArray, allowance: Allowance
    ) -> Held | None:
        cells = cells_of(self.can)
        if len(cells) > MOST_CELLS or not allowance.spend(CELL * len(cells)):
            return None
        over = rows_over(cells, rows)
        if over is None:
            return None
        found = self._by_multipliers(cells, over, start, allowance)
        if found is not None and found.gap <= MOST_GAP:
            return found
        other = by_ipopt(cells, self.supply, self.demand, over, allowance)
        if other is None:
            return found
        held, gap, prices = other
        places = len(self.demand)
        own = np.log(self.demand) if found is None else found.multipliers[:places]
        return Held(cells.table(held), gap, np.concatenate([own, prices]))

    def _by_multipliers(
        self, cells: Cells, rows: Rows, start: FloatArray, allowance: Allowance
    ) -> Held | None:
        try:
            with np.errstate(divide="raise", invalid="raise", over="raise"):
                found = multipliers(cells, self.supply, self.demand, rows, start, allowance)
                if found is None:
                    return None
                prices = found[len(self.demand) :]
                held, gap = self.scaled(cells, found[cells.place] + rows.across @ prices)
        except (FloatingPointError, ValueError, RuntimeError, np.linalg.LinAlgError):
            # Numbers that ran away, or a step that was not found.
            return None
        # The table is the best of all by the entropy and the rows at these prices: no other is better by more.
        gap += float(np.abs(prices) @ np.abs(rows.value @ held - rows.least))
        return Held(cells.table(held), gap, found)


@dataclass(frozen=True, slots=True)
class Held:
    """A table (R, J), how far it is from the optimum in records times nats, and the multipliers that it came from."""

    table: sparse.csr_array
    gap: float
    multipliers: FloatArray


def off_by(gap: float, people: FloatArray) -> FloatArray:
    """Return how far a share of so many people is from that of the optimum at most (Pinsker)."""
    return np.asarray(np.sqrt(max(gap, 0.0) / (2 * people)))
