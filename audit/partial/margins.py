"""The table of greatest entropy of known margins that also fulfils linear rows, and how far it is from the optimum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from audit.partial.allowance import Allowance
from audit.partial.by_ipopt import by_ipopt
from audit.partial.multipliers import Slopes, multipliers
from audit.partial.scaling import weighed
from ppdm_models.arrays import BoolArray, FloatArray, IndexArray

HELD = 1e-7
"""A row holds where it is broken by less, for each person it speaks of."""
SPARE = HELD / 5
"""A row is put in with so much to spare, for each person: some hold only with equality, and have no interior."""
MOST_GAP = 1e-5
"""In records times nats: how far a table may be from the optimum."""
MOST_CELLS = 4_000_000
"""Groups of people times places that rows couple, up to which they are put in: 32 MB."""
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

    def scaled(self, powers: FloatArray) -> tuple[FloatArray, float]:
        """Return the table nearest to exp(``powers``), (R, J), of these margins, and its distance from the optimum.

        The distance is in records times nats, infinite where nothing was proved.
        """
        table, gap = np.zeros(self.can.shape), 0.0
        for block in np.unique(self.block):
            rows, places = (np.flatnonzero(own == block) for own in (self.block, self.place_block))
            is_able = self.can[rows][:, places].toarray() > 0
            own = np.where(is_able, powers[rows][:, places], -np.inf)
            weights = np.exp(own - own.max(axis=1, keepdims=True))
            found, off = weighed(sparse.csr_array(weights), self.supply[rows], self.demand[places])
            table[rows[:, None], places] = found.toarray()
            gap += off
        return table, gap

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
        size = math.prod(self.can.shape)
        if size > MOST_CELLS or not allowance.spend(CELL * size):
            return None
        can = self.can.toarray() > 0
        found = self._by_multipliers(can, rows, start, allowance)
        if found is not None and found.gap <= MOST_GAP:
            return found
        other = by_ipopt(can, self.supply, self.demand, rows, allowance)
        if other is None:
            return found
        table, gap, prices = other
        places = len(self.demand)
        own = np.log(self.demand) if found is None else found.multipliers[:places]
        return Held(sparse.csr_array(table), gap, np.concatenate([own, prices]))

    def _by_multipliers(
        self, can: BoolArray, rows: Sequence[Slopes], start: FloatArray, allowance: Allowance
    ) -> Held | None:
        try:
            with np.errstate(divide="raise", invalid="raise", over="raise"):
                found = multipliers(can, self.supply, self.demand, rows, start, allowance)
                if found is None:
                    return None
                places = len(self.demand)
                ends = places + np.cumsum([len(each.least) for each in rows])
                prices = np.split(found[places:], ends[:-1] - places)
                powers = np.tile(found[:places], (len(can), 1))
                for each, price in zip(rows, prices, strict=True):
                    each.add(price, powers)
                table, gap = self.scaled(powers)
        except (FloatingPointError, ValueError, RuntimeError, np.linalg.LinAlgError):
            # Numbers that ran away, or a step that was not found.
            return None
        for each, price in zip(rows, prices, strict=True):
            # The table is the best of all by the entropy and the rows at these prices: no other is better by more.
            gap += float(np.abs(price) @ np.abs(each.over(table) - each.least))
        return Held(sparse.csr_array(table), gap, found)


@dataclass(frozen=True, slots=True)
class Held:
    """A table (R, J), how far it is from the optimum in records times nats, and the multipliers that it came from."""

    table: sparse.csr_array
    gap: float
    multipliers: FloatArray


def off_by(gap: float, people: FloatArray) -> FloatArray:
    """Return how far a share of so many people is from that of the optimum at most (Pinsker)."""
    return np.asarray(np.sqrt(max(gap, 0.0) / (2 * people)))
