"""The table of greatest entropy of known margins that also fulfils linear rows, and how far it is from the optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from audit.partial.allowance import Allowance
from audit.partial.by_ipopt import by_ipopt
from audit.partial.multipliers import Slopes, multipliers
from audit.partial.scaling import weighed
from ppdm_models.arrays import BoolArray, FloatArray, IndexArray

HELD = 1e-6
"""A row holds where it is broken by less, for each person it speaks of."""
SPARE = HELD / 2
"""A row is put in with so much to spare, for each person: some hold only with equality, and have no interior."""
MOST_GAP = 1e-5
"""In records times nats: how far a table may be from the optimum."""
MOST_CELLS = 1_000_000
"""Groups of people times places up to which rows are put in."""
ROUNDS = 25
"""How often rows that are broken join before it is given up."""
CELL = 1e3
"""Operations that a round takes for each cell: its table is scaled to the margins."""


@dataclass(frozen=True, slots=True)
class Margins:
    """R groups of people over J places: ``supply`` (R,) and ``demand`` (J,), people, all positive.

    ``can`` (R, J) says who can be where. Nobody moves between blocks: ``block`` (R,) of groups, ``place_block`` (J,).
    """

    can: BoolArray
    supply: FloatArray
    demand: FloatArray
    block: IndexArray
    place_block: IndexArray

    def scaled(self, powers: FloatArray | None = None) -> tuple[FloatArray, float]:
        """Return the table nearest to exp(``powers``), (R, J), of these margins, and its distance from the optimum.

        The distance is in records times nats, infinite where nothing was proved.
        """
        table, gap = np.zeros(self.can.shape), 0.0
        for block in np.unique(self.block):
            rows, places = (np.flatnonzero(own == block) for own in (self.block, self.place_block))
            is_able = self.can[rows][:, places]
            own = np.zeros(is_able.shape) if powers is None else powers[rows][:, places]
            own = np.where(is_able, own, -np.inf)
            weights = np.exp(own - own.max(axis=1, keepdims=True))
            found, off = weighed(sparse.csr_array(weights), self.supply[rows], self.demand[places])
            table[rows[:, None], places] = found.toarray()
            gap += off
        return table, gap

    def under(self, rows: Sequence[Slopes], start: FloatArray, allowance: Allowance) -> Held | None:
        """Return the table of greatest entropy that fulfils some rows; None where none was found.

        ``start`` are multipliers of the places and the first rows to start from. Where these lead nowhere, IPOPT is
        asked.

        Raises:
            SolverError: the wanted solver is not there.
        """
        found = self._by_multipliers(rows, start, allowance)
        if found is not None and found.gap <= MOST_GAP:
            return found
        other = by_ipopt(self.can, self.supply, self.demand, rows, allowance)
        if other is None:
            return found
        number = len(self.demand) + sum(len(each.least) for each in rows)
        return Held(*other, np.zeros(number) if found is None else found.multipliers)

    def _by_multipliers(
        self, rows: Sequence[Slopes], start: FloatArray, allowance: Allowance
    ) -> Held | None:
        try:
            with np.errstate(divide="raise", invalid="raise", over="raise"):
                found = multipliers(self.can, self.supply, self.demand, rows, start, allowance)
                if found is None:
                    return None
                places = len(self.demand)
                ends = places + np.cumsum([len(each.least) for each in rows])
                prices = np.split(found[places:], ends[:-1] - places)
                powers = np.zeros(self.can.shape)
                for each, price in zip(rows, prices, strict=True):
                    powers += each.powers(price, places)
                table, gap = self.scaled(powers)
        except (FloatingPointError, ValueError, np.linalg.LinAlgError):
            return None
        for each, price in zip(rows, prices, strict=True):
            # The table is the best of all by the entropy and the rows at these prices: no other is better by more.
            gap += float(np.abs(price) @ np.abs(each.over(table) - each.least))
        return Held(table, gap, found)


@dataclass(frozen=True, slots=True)
class Held:
    """A table (R, J), how far it is from the optimum in records times nats, and the multipliers that it came from."""

    table: FloatArray
    gap: float
    multipliers: FloatArray


@dataclass(frozen=True, slots=True)
class Lumps:
    """Margins in which groups and places that nothing tells apart are one.

    ``group`` (R,) and ``place`` (J,) number them.
    ``first_group`` and ``first_place`` are one of each. In the optimum those of one share its people by their sizes,
    ``share`` (R,) and ``place_share`` (J,).
    """

    margins: Margins
    group: IndexArray
    place: IndexArray
    first_group: IndexArray
    first_place: IndexArray
    share: FloatArray
    place_share: FloatArray

    def apart(self, table: FloatArray) -> FloatArray:
        """Return a table over lumps as one over groups and places, (R, J)."""
        return table[self.group][:, self.place] * self.share[:, None] * self.place_share

    def of_lumps(self, multipliers: FloatArray) -> FloatArray:
        """Return multipliers of the lumps of places, given those of the places, (J,)."""
        found = np.full(len(self.first_place), -np.inf)
        np.logaddexp.at(found, self.place, multipliers)
        return found

    def of_places(self, multipliers: FloatArray) -> FloatArray:
        """Return multipliers of the places, (J,), given those of their lumps."""
        return np.asarray(multipliers[self.place] + np.log(self.place_share))


def lumped(whole: Margins, groups: IndexArray, places: IndexArray) -> Lumps:
    """Return margins in lumps of what is alike, where columns of ``groups`` (K, R) and ``places`` (K', J) are the same.

    Alike must be where groups can be and which groups can be there, and what rows say of them.
    """
    _, first, group = np.unique(groups, axis=1, return_index=True, return_inverse=True)
    _, first_place, place = np.unique(places, axis=1, return_index=True, return_inverse=True)
    group, place = group.reshape(-1), place.reshape(-1)
    supply: FloatArray = np.bincount(group, whole.supply).astype(np.float64)
    demand: FloatArray = np.bincount(place, whole.demand).astype(np.float64)
    margins = Margins(
        whole.can[first][:, first_place],
        supply,
        demand,
        whole.block[first],
        whole.place_block[first_place],
    )
    share, place_share = whole.supply / supply[group], whole.demand / demand[place]
    return Lumps(margins, group, place, first, first_place, share, place_share)


def off_by(gap: float, people: FloatArray) -> FloatArray:
    """Return how far a share of so many people is from that of the optimum at most (Pinsker)."""
    return np.asarray(np.sqrt(max(gap, 0.0) / (2 * people)))
