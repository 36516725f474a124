"""The attacker's problem of linked tables: how large leaf totals and published cells let the total of a cell be.

A cell is one of a published table, also where it is withheld, or the people of one leaf of each tree and of the same
cells: what leaves and tables cut out together. Contributions are at least 0 and have no upper end. What the total of a
cell can be at most is a linear program over all published totals (the feasibility interval of the Handbook on
Statistical Disclosure Control, section 4.2; sdcTable, ``attack``). Its duals prove that no more is possible; its
solution is a table that fits, and shows that so much is. Each contributor is an attacker of their own, who knows what
they added themselves: a cell's total is no less than their part, and just that where they are alone (a singleton). The
least end counts, over all attackers but the only contributor to the cell, who learns nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from treewarden.audit.engine.time_budget import SECONDS_A_PROGRAM_ENTRY
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import (
    Contributions,
    RankedContributions,
    by_contributor,
    ranked_contributions,
)
from treewarden.audit.progress import Clock, Share, counted_by
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.result import CellRanges
from treewarden.audit.regression.rows import NumberRows
from treewarden.audit.regression.totals import NEGATIVE, NOT_KNOWN, TableTotals
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.outputs.published import ALL_PEOPLE

MOST_CELLS = 2000
TOO_MANY = Undetermined(
    f"the leaves and the tables cut the people into more than {MOST_CELLS:,} cells, whose totals were not attacked"
)
EXACT = 1e-9
"""Ends are sure to within this share of the largest total: what a solver leaves."""
SMALL = 1e-6
"""Where that is no more than this share of a cell's own total, an end so near to the total is the total."""
PARAMETERS = (
    "primal_feasibility_tolerance: 1e-10 dual_feasibility_tolerance: 1e-10 use_preprocessing: false"
)
MISSED = 1e-9
"""A solution that misses a row by more, as a part of the largest total, is no table."""


def attack_cells(
    rows: NumberRows,
    totals: TableTotals,
    people: tuple[Forest, Population],
    clock: Clock,
    *,
    is_all: bool,
    share: Share | None = None,
) -> CellRanges | Undetermined:
    """Return how closely the total of each cell can be computed.

    ``people`` are in the leaves of the model, and in its table. ``is_all`` says that ``rows`` hold all published
    totals: else no table that fits them shows what is possible. ``share`` is told how many cells were attacked.
    """
    forest, population = people
    contributions = population.contributions
    if contributions is None or contributions.amounts is None:
        return NOT_KNOWN
    if (contributions.amounts < 0).any():
        return NEGATIVE
    if len(rows.cells.sizes) > MOST_CELLS:
        return TOO_MANY
    targets = _targets(rows, totals, _leaf_names(forest, rows))
    ranked = _ranked(targets, rows, contributions)
    attack = _attack_of(rows, ranked)
    proved, reached = np.full(len(targets.inside), np.inf), np.zeros(len(targets.inside))
    tables = np.full(targets.inside.shape, np.nan)
    for number, inside in enumerate(targets.inside):
        if not clock.is_over:
            proved[number], reached[number], tables[number] = attack.greatest(inside, clock)
    contributors = _contributors(rows, contributions)
    room = EXACT * attack.unit
    opened = np.flatnonzero(proved - ranked.totals > room).tolist()
    for number in counted_by(share, opened, len(opened), "cells"):
        inside, is_of_one = targets.inside[number], ranked.contributors[number] == 1
        is_near = contributors.touch(attack.near(inside))
        if is_of_one:  # nobody is told what they contributed themselves
            is_near &= ~contributors.touch(inside)
        ends = _CellEnds(proved[number], reached[number], float(ranked.totals[number]) + room)
        search = _AttackerSearch(attack, contributors, inside, clock, room)
        search.lower(ends, np.flatnonzero(is_near), tables[number])
        proved[number], reached[number] = ends.proved, ends.reached
    if not is_all:
        reached[:] = 0.0
    return CellRanges(targets.words, ranked, *_sure_ends(reached, proved, ranked.totals, room))


def _sure_ends(
    reached: FloatArray, proved: FloatArray, totals: FloatArray, room: float
) -> tuple[FloatArray, FloatArray]:
    """Return ends that are sure although each is off by ``room`` at most: the low one down, the high one up.

    A total follows exactly where it is proved to within ``room`` and that is next to nothing beside it; beside a total
    of 0, next to nothing of the least other one.
    """
    least = totals[totals > 0].min(initial=np.inf)
    is_near = proved - totals <= room
    is_exact = is_near & (room <= SMALL * np.where(totals > 0, totals, least))
    low = np.maximum(np.minimum(reached, proved) - room, totals)
    high = np.where(is_near, np.maximum(proved, totals) + room, proved)
    return np.where(is_exact, totals, low), np.where(is_exact, totals, high)


@dataclass(frozen=True, slots=True, eq=False)
class _Contributors:
    """What contributors know beforehand: the parts that they add to cells, and in which of them they are alone.

    Each entry (E,) is one cell of one contributor, whose number is ``who``, from 0.
    """

    who: IndexArray
    cells: IndexArray
    parts: FloatArray
    is_alone: BoolArray

    def __len__(self) -> int:
        """Return how many they are."""
        return int(self.who[-1]) + 1 if len(self.who) else 0

    def touch(self, cells: BoolArray) -> BoolArray:
        """Return who adds to some cells, (A,)."""
        return np.asarray(np.bincount(self.who[cells[self.cells]], minlength=len(self)) > 0)

    def are_allowed(self, table: FloatArray) -> BoolArray:
        """Return with what whom a table of totals (C,) agrees, (A,); one that is not known (nan) does with nobody."""
        totals = table[self.cells]
        fits = (totals >= self.parts) & (~self.is_alone | (totals == self.parts))
        return np.asarray(np.bincount(self.who[~fits], minlength=len(self)) == 0)

    def entries_of(self, group: IndexArray) -> _Contributors:
        """Return the entries of some of them, who keep their numbers."""
        is_in = np.zeros(len(self), dtype=bool)
        is_in[group] = True
        own = is_in[self.who]
        return _Contributors(self.who[own], self.cells[own], self.parts[own], self.is_alone[own])


@dataclass(slots=True)
class _CellEnds:
    """What the total of a cell is at most: proved, and shown by tables; at ``enough`` nothing more can be learned."""

    proved: float
    reached: float
    enough: float


@dataclass(frozen=True, slots=True, eq=False)
class _AttackerSearch:
    """The search for the contributor who learns most of the total of the cells ``inside``, to within ``room``."""

    attack: _Attack
    contributors: _Contributors
    inside: BoolArray
    clock: Clock
    room: float

    def lower(self, ends: _CellEnds, attackers: IndexArray, table: FloatArray) -> None:
        """Lower the ends to what the attacker learns who learns most; ``table`` is one with the total so far.

        A table that agrees with what several attackers know together agrees with what each of them knows. So a group
        is done with where it has one with a total that is no lower than the lowest so far, and else is halved.
        """
        is_open = ~self.contributors.are_allowed(table)
        groups = [attackers]
        while groups and ends.proved > ends.enough:
            group = groups.pop()
            group = group[is_open[group]]
            if not len(group):
                continue  # what they know excludes none of the tables
            if self.clock.is_over:
                ends.reached = 0.0
                return
            known = self.contributors.entries_of(group)
            most, shown, table = self.attack.knowing(known).greatest(self.inside, self.clock)
            if len(group) == 1:
                ends.proved, ends.reached = min(ends.proved, most), min(ends.reached, shown)
                is_open &= ~self.contributors.are_allowed(table)
            elif shown >= ends.reached - self.room:
                ends.reached = min(ends.reached, shown)
            else:
                half = len(group) // 2
                groups += [group[half:], group[:half]]


def _contributors(rows: NumberRows, contributions: Contributions) -> _Contributors:
    """Return the contributors of whom some know more than all others do.

    Somebody who adds to one cell only knows less than the largest contributor there, or than the second largest, where
    the largest is the only one of the cell that is attacked and learns nothing.
    """
    assert contributions.amounts is not None
    cell = rows.cells.of[contributions.profiles].astype(np.intp)
    size, amounts, people = len(rows.cells.sizes), contributions.amounts, contributions.people
    if contributions.contributors is None:
        ranked = ranked_contributions(cell, amounts, people, size)
        first, is_alone = ranked.largest(1), ranked.contributors == 1
        cells = np.flatnonzero((first > 0) | is_alone)
        return _Contributors(np.arange(len(cells)), cells, first[cells], is_alone[cells])
    names = int(contributions.contributors.max(initial=0)) + 1
    pairs, place = np.unique(cell * names + contributions.contributors, return_inverse=True)
    parts = np.bincount(place.reshape(-1), amounts * people, len(pairs)).astype(np.float64)
    cells, who = (pairs // names).astype(np.intp), pairs % names
    order = np.lexsort((-parts, cells))
    starts = np.searchsorted(cells[order], cells[order])
    rank = np.empty(len(pairs), dtype=np.intp)
    rank[order] = np.arange(len(pairs)) - starts
    is_alone = np.bincount(cells, minlength=size)[cells] == 1
    has_several = np.bincount(who, minlength=names) > 1
    knows_more = np.isin(who, who[(rank < 2) | has_several[who]])
    own = np.flatnonzero(knows_more & ((parts > 0) | is_alone))
    own = own[np.argsort(who[own], kind="stable")]
    number = np.unique(who[own], return_inverse=True)[1].reshape(-1).astype(np.intp)
    return _Contributors(number, cells[own], parts[own], is_alone[own])


@dataclass(frozen=True, slots=True, eq=False)
class _Targets:
    """The cells to attack: in words, and which of the people whom the rows tell apart each holds, (T, C)."""

    words: tuple[tuple[str, str], ...]
    inside: BoolArray


def _leaf_names(forest: Forest, rows: NumberRows) -> list[str]:
    """Return which leaves those are in whom the rows tell apart, (C,), in words."""
    stops = forest.stops[:, rows.cells.first]
    if len(forest.trees) > 1:
        return [f"one leaf of each of {len(stops):,} trees"] * stops.shape[1]
    return [f"node {forest.trees[0].nodes[node].name}" for node in stops[0].tolist()]


def _targets(rows: NumberRows, totals: TableTotals, leaves: Sequence[str]) -> _Targets:
    """Return the cells of tables, and then what leaves and cells cut out that is no cell by itself."""
    people = rows.cells.sizes > 0
    published = totals.inside[:, rows.cells.first] & people
    alone = np.eye(len(people), dtype=bool)[people]
    is_new = [not (published == one).all(axis=1).any() for one in alone]
    alone = alone[np.array(is_new, dtype=bool)]
    words = []
    for cell in alone.argmax(axis=1).tolist():
        size = int(rows.cells.sizes[cell])
        who = f"{'1 person' if size == 1 else f'{size:,} people'} of {leaves[cell]}"
        words.append(("", _cut_out(who, published[:, cell], totals.words)))
    return _Targets((*totals.words, *words), np.concatenate([published, alone]))


def _cut_out(people: str, is_in: BoolArray, words: tuple[tuple[str, str], ...]) -> str:
    """Return of whom a cell is that only leaves and tables together cut out; ``is_in`` says which cells hold it."""
    cells = [words[number][1].partition(" of ")[2] for number in np.flatnonzero(is_in).tolist()]
    cells = [cell.rpartition(":")[0] for cell in cells]
    cells = [cell for cell in cells if cell != ALL_PEOPLE]
    return f"{people}, in {' and '.join(cells)}" if cells else people


def _ranked(
    targets: _Targets, rows: NumberRows, contributions: Contributions
) -> RankedContributions:
    """Return the contributions to each target, largest first."""
    assert contributions.amounts is not None
    cell = rows.cells.of[contributions.profiles]
    target, record = np.nonzero(targets.inside[:, cell])
    amounts, size = contributions.amounts[record], len(targets.inside)
    target = target.astype(np.intp)
    if contributions.contributors is None:
        return ranked_contributions(target, amounts, contributions.people[record], size)
    sums = amounts * contributions.people[record]
    return by_contributor(target, sums, contributions.contributors[record], size)


@dataclass(frozen=True, slots=True, eq=False)
class _Attack:
    """The program over the totals x of those whom the rows tell apart: ``low <= matrix @ x <= high``.

    Each total lies between ``least`` and ``most``. All are parts of ``unit``, the largest total of any cell or row.
    Cells of the same ``chain`` (C,) are linked by rows.
    """

    matrix: sparse.csr_array
    low: FloatArray
    high: FloatArray
    least: FloatArray
    most: FloatArray
    unit: float
    chain: IndexArray
    program: _TotalsProgram

    def near(self, inside: BoolArray) -> BoolArray:
        """Return which cells a chain of rows links to some cells."""
        return np.isin(self.chain, self.chain[inside])

    def knowing(self, contributors: _Contributors) -> _Attack:
        """Return the same for contributors who tell each other their own parts of totals."""
        least, most = self.least.copy(), self.most.copy()
        parts, alone = contributors.parts / self.unit, contributors.is_alone
        np.maximum.at(least, contributors.cells, parts)
        np.minimum.at(most, contributors.cells[alone], parts[alone])
        return replace(self, least=least, most=np.maximum(least, most))

    def greatest(self, inside: BoolArray, clock: Clock) -> tuple[float, float, FloatArray]:
        """Return what the total of some cells is at most, what a table was found with, and that table's totals (C,).

        Where there is no such table it is 0, and nan.
        """
        clock.spend(SECONDS_A_PROGRAM_ENTRY * self.matrix.nnz)
        aim = inside.astype(np.float64)
        answer = self.program.solve(aim, self.least, self.most)
        if answer is None:
            return float("inf"), 0.0, np.full(len(aim), np.nan)
        upper, lower = np.maximum(answer.duals, 0.0), np.maximum(-answer.duals, 0.0)
        # Where a row has no end, no weight stands for it.
        upper[np.isinf(self.high)] = lower[np.isinf(self.low)] = 0.0
        rest = aim - self.matrix.T @ (upper - lower)
        ends = np.where(rest > 0, self.most, self.least)
        proved = upper @ self.high - lower @ self.low + np.sum(rest * ends, where=rest != 0)
        x = np.clip(answer.x, self.least, self.most)
        sums = self.matrix @ x
        missed = float(np.maximum(self.low - sums, sums - self.high).max(initial=0.0))
        # Rows that are wider by so much allow for no more than their weights times that.
        weights = float(upper.sum() + lower.sum())
        reached = 0.0 if missed > MISSED else float(aim @ x) - missed * (1 + weights)
        return float(proved) * self.unit, reached * self.unit, x * self.unit


class _Answer(NamedTuple):
    """A solution: the unknowns ``x`` (C,), and by how much the aim grows with the ends of each row, ``duals`` (R,)."""

    x: FloatArray
    duals: FloatArray


class _TotalsProgram:
    """The linear program, which goes on from its last solution: only what changed is told to the solver."""

    def __init__(self, matrix: sparse.csr_array, low: FloatArray, high: FloatArray) -> None:
        solver = importlib.import_module("ortools.linear_solver.pywraplp").Solver  # takes time
        self._solver, self._is_solved = solver.CreateSolver("GLOP"), solver.OPTIMAL
        self._solver.SetSolverSpecificParametersAsString(PARAMETERS)
        size = matrix.shape[1]
        self._cells = [self._solver.NumVar(0.0, 0.0, "") for _ in range(size)]
        self._rows = [
            self._solver.Constraint(*ends) for ends in zip(low.tolist(), high.tolist(), strict=True)
        ]
        entries = matrix.tocoo()
        for row, cell, value in zip(
            entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True
        ):
            self._rows[row].SetCoefficient(self._cells[cell], value)
        self._least, self._most, self._aim = np.zeros(size), np.zeros(size), np.zeros(size)
        self._solver.Objective().SetMaximization()

    def solve(self, aim: FloatArray, least: FloatArray, most: FloatArray) -> _Answer | None:
        """Return the greatest sum of ``aim`` times the unknowns between these ends, (C,) each; None where none is."""
        for cell in np.flatnonzero((least != self._least) | (most != self._most)).tolist():
            self._cells[cell].SetBounds(float(least[cell]), float(most[cell]))
        objective = self._solver.Objective()
        for cell in np.flatnonzero(aim != self._aim).tolist():
            objective.SetCoefficient(self._cells[cell], float(aim[cell]))
        self._least, self._most, self._aim = least, most, aim
        if self._solver.Solve() != self._is_solved:
            return None
        x = [cell.solution_value() for cell in self._cells]
        duals = [row.dual_value() for row in self._rows]
        return _Answer(np.array(x), np.array(duals))


def _attack_of(rows: NumberRows, ranked: RankedContributions) -> _Attack:
    """Return the program of an attacker who has all rows; each total is no more than the least row that holds it."""
    problem, scale = rows.problem(), rows.scale
    matrix = problem.matrix.astype(np.float64)
    ends = tuple(
        end * scale.unit + problem.people * scale.start for end in (problem.low, problem.high)
    )
    largest = max(float(ranked.totals.max(initial=0.0)), float(ends[1].max(initial=0.0)))
    unit = max(largest, 1e-300)
    low, high = (end / unit for end in ends)
    size = len(rows.cells.sizes)
    least, most = np.zeros(size), np.full(size, np.inf)
    row, cell = matrix.nonzero()
    np.minimum.at(most, cell, high[row])
    most[rows.cells.sizes == 0] = 0.0
    chain = csgraph.connected_components(matrix.T @ matrix, directed=False)[1]
    return _Attack(
        matrix=matrix,
        low=low,
        high=high,
        least=least,
        most=np.maximum(most, 0.0),
        unit=unit,
        chain=chain.astype(np.intp),
        program=_TotalsProgram(matrix, low, high),
    )
