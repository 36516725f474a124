"""The table of greatest entropy of known margins that also fulfils linear rows, and how far it is from the optimum."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, sparse
from scipy.sparse import csgraph

from treewarden.audit.entropy.posterior import Posterior
from treewarden.audit.ipopt.program import SMALLEST_MASS, BlockProgram, no_split_rows
from treewarden.audit.partial.fitting.flows import Allowance
from treewarden.audit.partial.fitting.margin_fitting import weighed
from treewarden.audit.partial.fitting.multipliers import (
    CountRows,
    PlaceCells,
    Slopes,
    cells_of,
    multipliers,
    rows_over,
)
from treewarden.audit.solver.block_solver import solve_task
from treewarden.audit.solver.interior import interior
from treewarden.audit.solver.task import CONVEX_TRIES, SolverTask
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tree.nodes import Criterion

# The same tables by IPOPT, through Pyomo: for the few small problems in which Newton's method on the dual gives up.
#
# That is so where rows together leave some cells nobody, so that multipliers grow without end: what linear rows force
# is fixed first. What is found is judged by the dual, whose value at any multipliers bounds the entropy of every table.

MOST_VARIABLES = 3_000
"""Cells of a table up to which IPOPT is asked: some seconds."""
VARIABLE = 1e5
"""Operations that a cell costs, about."""
ACTIVE = 1e-4
"""A row whose end is nearer than that, for each person, may hold the table back."""


def by_ipopt(
    cells: PlaceCells,
    supply: FloatArray,
    demand: FloatArray,
    rows: CountRows,
    allowance: Allowance,
) -> tuple[FloatArray, float, FloatArray] | None:
    """Return the table of greatest entropy that fulfils rows, (K,), how far it is off, and the prices of rows, (C,).

    How far is from the optimum, in records times nats. None where it is too large, or not found. The arguments are
    those of ``multipliers``.

    Raises:
        SolverError: the wanted solver is not there.
    """
    if len(cells) > MOST_VARIABLES or not allowance.spend(VARIABLE * len(cells)):
        return None
    whole = _program(cells, supply, demand, rows)
    inner = interior(whole)
    program = whole if inner is None else inner.program
    left = allowance.until.left
    deadline = time.monotonic() + left if math.isfinite(left) else math.inf
    answer = solve_task(
        SolverTask(program, (program.start,), CONVEX_TRIES, allowance.door, deadline)
    )
    if not answer.is_accepted:
        return None
    z = answer.z if inner is None else inner.restored(answer.z)
    prices = np.abs(_prices(whole, z)[len(supply) + len(demand) :])
    return z, _gap(program, answer.z), prices


def _program(
    cells: PlaceCells, supply: FloatArray, demand: FloatArray, rows: CountRows
) -> BlockProgram:
    at, ones = np.arange(len(cells)), np.ones(len(cells))
    of_group = sparse.csr_array((ones, (cells.group, at)), shape=(len(supply), len(cells)))
    of_place = sparse.csr_array((ones, (cells.place, at)), shape=(len(demand), len(cells)))
    matrix = sparse.csr_matrix(sparse.vstack([of_group, of_place, rows.value]))
    low = np.concatenate([supply, demand, rows.least])
    is_equal = np.concatenate([np.ones(len(supply) + len(demand), dtype=bool), rows.is_equal])
    size = len(cells)
    return BlockProgram(
        criterion=Criterion.GINI,
        scale=np.ones(size),
        start=supply[cells.group] * demand[cells.place] / demand.sum(),
        lower=np.full(size, SMALLEST_MASS),
        upper=np.minimum(supply[cells.group], demand[cells.place]),
        rows=matrix,
        low=low,
        high=np.where(is_equal, low, np.inf),
        cost=np.zeros(size),
        splits=no_split_rows(size),
    )


def _gap(program: BlockProgram, z: FloatArray) -> float:
    """Return how much more entropy any point that fulfils the rows has at most, in records times nats."""
    if not program.size:
        return 0.0
    prices = _prices(program, z)
    asked = np.where(prices > 0, program.high, program.low)
    is_held = prices != 0
    dual = -float(np.exp(-1 - program.rows.T @ prices).sum())
    dual -= float(prices[is_held] @ asked[is_held])
    return max(program.objective(z) - dual, 0.0)


def _prices(program: BlockProgram, z: FloatArray) -> FloatArray:
    """Return what each row is worth, (C,), as cells with somebody tell; 0 where it does not hold the table back."""
    value, most = program.rows @ z, abs(program.rows) @ np.ones(len(z))
    off = ACTIVE * np.maximum(most, 1.0)
    at_low, at_high = value <= program.low + off, value >= program.high - off
    ends = np.where(at_low, -np.inf, 0.0), np.where(at_high, np.inf, 0.0)
    held, some = np.flatnonzero(at_low | at_high), np.flatnonzero(z > 2 * SMALLEST_MASS)
    slope = np.log(z[some]) + 1
    rows = program.rows[held][:, some]
    found = np.zeros(len(value))
    bounds = ends[0][held], ends[1][held]
    found[held] = optimize.lsq_linear(rows.T, -slope, bounds, tol=1e-14).x
    return found


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

    def scaled(self, cells: PlaceCells, powers: FloatArray) -> tuple[FloatArray, float]:
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

    def under(
        self, rows: Sequence[Slopes], start: FloatArray, allowance: Allowance
    ) -> FittedTable | None:
        """Return the table of greatest entropy that fulfils some rows; None where none was found.

        ``start`` are multipliers of the places and the first rows to start from. Where these lead nowhere, IPOPT is
        asked. Blocks that no row couples are solved each by itself.

        Raises:
            SolverError: the wanted solver is not there.
        """
        size = len(self.demand)
        ends = size + np.cumsum([0, *(len(row.least) for row in rows)])
        gap, found, rows_of, places_of, people = 0.0, np.zeros(ends[-1]), [], [], []
        part_of_row, part_of_block = self._coupled(rows)
        for part in np.unique(part_of_block[self.block]):
            groups, places = (
                np.flatnonzero(part_of_block[own] == part) for own in (self.block, self.place_block)
            )
            own = np.flatnonzero(part_of_row == part)
            some = [
                slopes.only(own[(own >= first) & (own < last)] - first, groups, places, size)
                for slopes, first, last in zip(rows, ends - size, ends[1:] - size, strict=False)
                if ((own >= first) & (own < last)).any()
            ]
            at = np.concatenate([places, size + own])
            fitted_table = self._only(groups, places)._solved(
                some, start[at[at < len(start)]], allowance
            )
            if fitted_table is None:
                return None
            cells = fitted_table.table.tocoo()
            rows_of.append(groups[cells.row])
            places_of.append(places[cells.col])
            people.append(cells.data)
            found[at] = fitted_table.multipliers
            gap += fitted_table.gap
        where = np.concatenate(rows_of), np.concatenate(places_of)
        table = sparse.csr_array((np.concatenate(people), where), shape=self.can.shape)
        return FittedTable(table, gap, found)

    def _coupled(self, rows: Sequence[Slopes]) -> tuple[IndexArray, IndexArray]:
        """Return which part each row is in, and which each block: rows speak of the blocks of their part only."""
        size, blocks = len(self.demand), 1 + int(self.block.max())
        row, place, number = [], [], 0
        for slopes in rows:
            at, cell = slopes.value.nonzero()
            row.append(at + number)
            place.append(cell % size)
            number += len(slopes.least)
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
    ) -> FittedTable | None:
        cells = cells_of(self.can)
        if not rows:
            held, gap = self.scaled(cells, np.zeros(len(cells)))
            return FittedTable(cells.table(held), gap, np.zeros(len(self.demand)))
        if len(cells) > MOST_CELLS or not allowance.spend(CELL * len(cells)):
            return None
        over = rows_over(cells, rows)
        if over is None:
            return None
        fitted_table = self._by_multipliers(cells, over, start, allowance)
        if fitted_table is not None and fitted_table.gap <= MOST_GAP:
            return fitted_table
        other = by_ipopt(cells, self.supply, self.demand, over, allowance)
        if other is None:
            return fitted_table
        held, gap, prices = other
        places = len(self.demand)
        own = np.log(self.demand) if fitted_table is None else fitted_table.multipliers[:places]
        return FittedTable(cells.table(held), gap, np.concatenate([own, prices]))

    def _by_multipliers(
        self, cells: PlaceCells, rows: CountRows, start: FloatArray, allowance: Allowance
    ) -> FittedTable | None:
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
        return FittedTable(cells.table(held), gap, found)


@dataclass(frozen=True, slots=True)
class FittedTable:
    """A table (R, J), how far it is from the optimum in records times nats, and the multipliers that it came from."""

    table: sparse.csr_array
    gap: float
    multipliers: FloatArray


def posterior_near(
    values: FloatArray, low: FloatArray, high: FloatArray, gap: float, people: FloatArray
) -> Posterior:
    """Return shares (P, m) of so many people, (P,), and their ends as far as a gap leaves those of the optimum.

    How far a share is from that of the optimum at most is Pinsker's inequality.
    """
    off = np.sqrt(max(gap, 0.0) / (2 * people))[:, None]
    decided = np.ones(len(values), dtype=bool)
    return Posterior(values, decided, np.maximum(low - off, 0.0), np.minimum(high + off, 1.0))
