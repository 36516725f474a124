"""What is proved of cells, as worlds and an estimate by profile, with the reason of each that is certain.

The people of a profile are all in one cell, unless draws tell them apart: then its numbers are sums over several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.consistent_tables.result import (
    ConsistentTables,
    TableEnumeration,
    consistency_of,
)
from treewarden.audit.engine.problem import ALL_PEOPLE, KNOWN_FACT, How
from treewarden.audit.entropy.posterior import (
    BlockCounts,
    Posterior,
    SolverReport,
    SolverRun,
    certain,
    entropy,
)
from treewarden.audit.joint.cells import is_weighed
from treewarden.audit.joint.ensemble_inference import JoinedTrees
from treewarden.audit.joint.known_facts import KnownRows
from treewarden.audit.joint.result import BY_ALL, NO_SPLITS, NOT_COUNTED
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.tree import Tree

BY_SOLVER = "an exact search found no consistent table with another value"


def posterior_of(joined: JoinedTrees) -> Posterior | Undetermined:
    """Return the estimate by profile: everybody of a cell has the cell's shares, as no leaf tells them apart.

    Of people whom draws tell apart nobody knows which one is meant, so their profile has the mean of their shares.
    """
    guess = joined.bounds.estimate
    if isinstance(guess, Undetermined):
        return guess
    values = joined.units.mean(guess.values[joined.cells.of])
    return certain(values)


def report_of(joined: JoinedTrees, people: float) -> SolverReport:
    """Return how the estimate was found, entropies in nats per record of so many."""
    guess, rows = joined.bounds.estimate, len(joined.problem.low)
    if isinstance(guess, Undetermined):
        return SolverReport("stalled", rows=rows, rows_active=rows, reason=guess.reason)
    sizes = joined.cells.sizes.astype(np.float64)
    return SolverReport(
        "optimal",
        entropy=entropy(guess.values, sizes),
        entropy_bound=guess.bound / people,
        bound_argument="convex",
        run=SolverRun("dual Newton", seconds=joined.bounds.seconds, max_violation=guess.residual),
        rows=rows,
        rows_active=rows,
        blocks=BlockCounts(1),
        profiles_fixed=int(
            _ProfileParts.from_problem(joined)
            .all_of((joined.bounds.low == joined.bounds.high).all(axis=1))
            .sum()
        ),
        split_rows="integer",
        is_unique=True,
    )


def known_in_words(background: KnownRows, number: int) -> str:
    """Return where a row comes from that is known from elsewhere."""
    return f"known from elsewhere ({background.words[number]})"


Where = Callable[[int, int], str]
"""Says which leaf a row is of, or which people: asked of its tree and node."""


def in_trees(trees: Sequence[Tree], background: KnownRows | None = None) -> Where:
    """Return what names the leaves of one model's trees, and the facts that are known beside them."""

    def where(tree: int, node: int) -> str:
        if tree == KNOWN_FACT and background is not None:
            return known_in_words(background, node)
        if tree == ALL_PEOPLE:
            return "in all"
        return f"tree {tree + 1}, leaf {trees[tree].nodes[node].name}"

    return where


def worlds_of(
    joined: JoinedTrees, population: Population, where: Where, classes: Sequence[str]
) -> ConsistentTables:
    """Return what is certain of each profile, with the reason of each that is.

    In a table that fits, the people of a cell may be swapped: of x people with a value among s, a profile with n of
    them has between x - (s - n) and x.
    """
    bounds, parts = joined.bounds, _ProfileParts.from_problem(joined)
    counts = np.rint(population.counts).astype(np.int64)
    low, high = parts.summed(parts.least(bounds.low)), parts.summed(parts.most(bounds.high))
    reached = _reached(joined, population, parts, counts[:, None])
    worlds = ConsistentTables(
        counts=counts,
        low=low,
        high=high,
        reached_low=reached[0],
        reached_high=reached[1],
        consistency=consistency_of(population.truth),
        enumeration=TableEnumeration(NOT_COUNTED, NO_SPLITS),
        not_decided=bounds.left,
        left=bounds.left,
        seconds=bounds.seconds,
    )
    say = _CertaintyReasons(joined, joined.problem.people, where, classes)
    reasons = {profile: say(parts.cells_of(profile)) for profile in worlds.certain_rows}
    return replace(worlds, reasons=reasons)


def counted(people: int) -> str:
    """Return a number of people in words."""
    return f"{people} {'person' if people == 1 else 'people'}"


def _have(people: int) -> str:
    return "has" if people == 1 else "have"


@dataclass(frozen=True, slots=True, eq=False)
class _ProfileParts:
    """The people of each profile in each cell, shape (K,): whose they are, the cell, how many; and all of that cell.

    They stand by profile, those of profile p from ``starts[p]`` on.
    """

    profile: IndexArray
    cell: IndexArray
    people: IntArray
    size: IntArray
    starts: IndexArray

    @classmethod
    def from_problem(cls, joined: JoinedTrees) -> _ProfileParts:
        """Return the parts of all profiles."""
        units, cells = joined.units, joined.cells
        keys, place = np.unique(units.profile * len(cells.sizes) + cells.of, return_inverse=True)
        profile, cell = keys // len(cells.sizes), keys % len(cells.sizes)
        people = np.rint(np.bincount(place.reshape(-1), units.people, len(keys))).astype(np.int64)
        starts = np.searchsorted(profile, np.arange(units.profiles + 1))
        return cls(profile, cell, people, cells.sizes[cell], starts)

    def least(self, of_cells: IntArray) -> IntArray:
        """Return how many of each part have a class at least, (K, m), where so many of its cell have, (C, m)."""
        others = (self.size - self.people)[:, None]
        return np.asarray(np.maximum(of_cells[self.cell] - others, 0))

    def most(self, of_cells: IntArray) -> IntArray:
        """Return how many of each part have a class at most, (K, m)."""
        return np.asarray(np.minimum(of_cells[self.cell], self.people[:, None]))

    def summed(self, numbers: IntArray) -> IntArray:
        """Return the sums by profile, (P, m)."""
        return np.asarray(np.add.reduceat(numbers, self.starts[:-1], axis=0))

    def all_of(self, is_so: BoolArray) -> BoolArray:
        """Return for which profiles something is so of all their cells, (P,)."""
        return np.asarray(np.logical_and.reduceat(is_so[self.cell], self.starts[:-1]))

    def cells_of(self, profile: int) -> IndexArray:
        """Return the cells of one profile."""
        return self.cell[self.starts[profile] : self.starts[profile + 1]]


def _reached(
    joined: JoinedTrees, population: Population, parts: _ProfileParts, size: IntArray
) -> tuple[IntArray, IntArray]:
    """Return how far the tables that were found take each profile's numbers, (P, m) each; crossed where none was.

    Where the file tells more than was joined it may tell the people of a cell apart: then only the true table is one
    that fits. A table that takes one cell of a profile to its end leaves the others anywhere within what is proved.
    """
    bounds, truth = joined.bounds, population.truth
    if joined.problem.incomplete:
        if isinstance(truth, Undetermined):
            shape = (len(size), bounds.low.shape[1])
            return np.broadcast_to(size + 1, shape), np.full(shape, -1)
        known = np.rint(truth).astype(np.int64)
        return known, known
    seen = (bounds.reached_low <= bounds.reached_high)[parts.cell]
    low, high = parts.least(bounds.low), parts.most(bounds.high)
    all_ = size[parts.profile]
    lows = np.where(seen, parts.least(bounds.reached_low), all_ + 1) - high
    highs = np.where(seen, parts.most(bounds.reached_high), -1 - all_) - low
    least = parts.summed(high) + np.minimum.reduceat(lows, parts.starts[:-1], axis=0)
    most = parts.summed(low) + np.maximum.reduceat(highs, parts.starts[:-1], axis=0)
    if joined.units.draws is not None and not isinstance(truth, Undetermined):
        known = np.rint(truth).astype(np.int64)
        least, most = np.minimum(least, known), np.maximum(most, known)
    return np.minimum(least, size + 1), np.maximum(most, -1)


@dataclass(frozen=True, slots=True, eq=False)
class _CertaintyReasons:
    """Says why cells are certain; ``people`` (R,) is how many each row is about."""

    joined: JoinedTrees
    people: IntArray
    where: Where
    classes: Sequence[str]

    def is_weighed(self, row: int) -> bool:
        """Whether a row counts people by more than one each, other than draws of them."""
        units, rows = self.joined.units, self.joined.problem
        if rows.trees[row] == KNOWN_FACT:
            return units.background is not None and units.background.times is not None
        return units.draws is None and is_weighed(rows, row)

    def __call__(self, cells: IndexArray) -> str:
        """Return why a profile's cells are certain, as people say it: the leaf that settled them, or all leaves."""
        bounds, rows = self.joined.bounds, self.joined.problem
        by = {bounds.how[cell] for cell in cells.tolist()}
        row = int(bounds.row[cells[0]])
        if len(cells) > 1 or row < 0 or not by <= {How.LEAF, How.PROPAGATION}:
            return BY_SOLVER if How.SOLVER in by else BY_ALL
        where = self.where(int(rows.trees[row]), int(rows.nodes[row]))
        if self.is_weighed(row):
            return f"{where} leaves no other value"
        people = int(self.people[row])
        value = self.classes[int(rows.output[row])]
        low, high = int(rows.low[row]), int(rows.high[row])
        all_ = counted(people)
        if self.joined.units.draws is not None and rows.trees[row] != KNOWN_FACT:
            all_ = f"{people} sampled {'record' if people == 1 else 'records'}"
        if How.LEAF in by:
            some = "all" if low == people else "none"
            return f"{where}: of its {all_}, {some} {_have(people if low else 1)} “{value}”"
        some = f"{low}" if low == high else f"{low} to {high}"
        return f"{where}: of its {all_}, {some} {_have(high)} “{value}”, and the values of the others are known"
