"""Cells of a domain that nobody can list, by column generation: those that some table may use, and proof of no others.

Of each class a linear programme (the master) has a number of records for each known cell, and a row for each leaf.
One cell more is a leaf of each tree whose boxes have a common point (pricing, by CP-SAT). First cells are generated
until the rows can be fulfilled; then those are, which can have records beside the known ones. Weights p of leaves
bound the records of all cells that were never generated: where each of these has weights of at least m in all, and
each known one of at least k < m, they have at most (sum of p N - k N) / (m - k) records (Farkas 1902; Gilmore and
Gomory 1961). Below 1 there are none: then the known cells stand for the domain, and the engine goes on with them.
Weights are whole numbers, and the least of their sums is a bound that CP-SAT proves, so no rounding has a part in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from treewarden.audit.bounds import ContradictionError
from treewarden.audit.consistent_tables.proofs import (
    limited_solver,
    solve_in_background,
    solver_module,
)
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.cells import (
    CellMethod,
    DomainCells,
    NodeRecords,
    leaf_options,
    multiply_sizes,
)
from treewarden.audit.reconstruction.domain import Domain
from treewarden.audit.reconstruction.problem import NO_RECORD
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.tree import Tree

MOST_GENERATED = 5_000
"""So many cells of a class are generated at most: beyond, several tables are likely, and nothing would be proved."""
MOST_OPTIONS = 50_000_000
"""So many options of leaves are held, a byte each."""
SCALE = 2**20
"""Weights of leaves are made whole by this factor."""
COMPLETE_SHARE = 0.5
"""Of the time for a class, so much is for finding all cells that records can have; the rest for proofs without that."""
UNITS = 20.0
"""The solver's own seconds for one cell."""
MOST_STEPS = 200
"""So many choices are made, or taken back, to build a cell leaf by leaf."""
STARTS = 32
"""So many cells are built leaf by leaf before the solver is asked for one."""
NOT_DECIDED = Undetermined(
    "the columns that its trees test have too many combinations to list, and the search for "
    "those that records can have was not finished; a smaller public domain (--domain) may decide it"
)


def generate_cells(
    trees: Sequence[Tree],
    leaves: Sequence[NodeRecords],
    domain: Domain,
    until: Clock,
    *,
    seeks_all: bool = True,
) -> DomainCells | Undetermined:
    """Return the cells that some table with the counts may use, else those of which records are proved.

    Those of which records are proved are sought at once where ``seeks_all`` is false. Undetermined where the search was
    not finished.

    Raises:
        ContradictionError: no table has the counts.
    """
    counted = [one.counts[one.is_leaf] for one in leaves]
    if any(np.isnan(counts).any() for counts in counted):
        return NOT_DECIDED
    if sum(map(len, counted)) * sum(domain.shape) > MOST_OPTIONS:
        return NOT_DECIDED
    boxes = [leaf_options(tree, domain) for tree in trees]
    if any(box is None for box in boxes):
        return NOT_DECIDED
    told = [box for box in boxes if box is not None]
    classes = leaves[0].counts.shape[1]
    states = [
        _Generation(_ClassLeaves.of_class(leaves, told, domain, c), until) for c in range(classes)
    ]
    states = [state for state in states if state.rows.records]
    is_complete = seeks_all
    for place, state in enumerate(states):
        share = until.share(1 / (len(states) - place))
        state.until = share.share(COMPLETE_SHARE) if is_complete else share
        if not state.fulfil():
            return NOT_DECIDED
        is_complete = is_complete and state.complete()
    if not is_complete:
        for place, state in enumerate(states):
            state.until = until.share(1 / (len(states) - place))
            state.prove()
    found = _as_cells(domain, told, states, classes, is_complete)
    if is_complete:
        return found
    # Cells of one class may have records of another, of which they were not generated.
    held = [one.may_hold[stops] for one, stops in zip(leaves, found.stops, strict=True)]
    return replace(found, alive=np.all(held, axis=0))


def _as_cells(
    domain: Domain,
    boxes: Sequence[BoolArray],
    states: Sequence[_Generation],
    classes: int,
    is_complete: bool,
) -> DomainCells:
    """Return generated cells, each with all classes that it may have, and how many records are proved if not all."""
    cells = [state.known if is_complete else [*state.known, *state.others] for state in states]
    signatures = [
        state.rows.nodes[list(cell)]
        for state, some in zip(states, cells, strict=True)
        for cell in some
    ]
    codes = np.repeat([state.rows.code for state in states], [len(some) for some in cells])
    kinds, kind = np.unique(
        np.array(signatures, dtype=np.intp).reshape(-1, len(boxes)), axis=0, return_inverse=True
    )
    at = kind.reshape(-1), codes.astype(np.intp)
    alive = np.zeros((len(kinds), classes), dtype=bool)
    alive[at] = True
    proved = None
    if not is_complete:
        proved = np.zeros(alive.shape, dtype=np.int64)
        proved[at] = [
            state.proved.get(cell, 0)
            for state, some in zip(states, cells, strict=True)
            for cell in some
        ]
    options = np.ones((len(kinds), sum(domain.shape)), dtype=bool)
    for place, box in enumerate(boxes):
        options &= box[kinds[:, place]]
    sizes = np.ones(len(kinds))
    for start, factor in zip(domain.starts, domain.factors, strict=True):
        part = options[:, start : start + factor.options]
        sizes = multiply_sizes(sizes, part, factor.sizes)
    return DomainCells(
        domain=domain,
        stops=kinds.T,
        alive=alive,
        options=options,
        sizes=sizes,
        method=CellMethod.GENERATED,
        least=proved,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _ClassLeaves:
    """The leaves of all trees that records of one class are in: R rows, tree after tree.

    ``counts`` (R,) are how many, ``nodes`` (R,) the leaves, ``options`` (R, K) their boxes; the rows of a tree stand
    between two of ``starts`` (T + 1,). ``factors`` is where the options of each factor begin.
    """

    counts: IntArray
    nodes: IndexArray
    options: BoolArray
    starts: IndexArray
    factors: IndexArray
    code: int

    @classmethod
    def of_class(
        cls, leaves: Sequence[NodeRecords], boxes: Sequence[BoolArray], domain: Domain, code: int
    ) -> _ClassLeaves:
        """Return the rows of one class."""
        nodes = [np.flatnonzero(one.is_leaf & (one.counts[:, code] > 0)) for one in leaves]
        counts = [one.counts[here, code] for one, here in zip(leaves, nodes, strict=True)]
        return cls(
            np.concatenate(counts).astype(np.int64),
            np.concatenate(nodes),
            np.concatenate([box[here] for box, here in zip(boxes, nodes, strict=True)]),
            np.cumsum([0, *map(len, nodes)]),
            np.array(domain.starts),
            code,
        )

    @property
    def records(self) -> int:
        """How many records the class has."""
        return int(self.counts[: self.starts[1]].sum())

    def is_box(self, options: BoolArray) -> BoolArray:
        """Whether each row of options, (n, K), has some of each factor."""
        return np.asarray(np.logical_or.reduceat(options, self.factors, axis=1).all(axis=1))

    def built(
        self, weights: FloatArray, first: int, random: np.random.Generator
    ) -> tuple[int, ...] | None:
        """Return a cell with a leaf, built tree by tree from leaves of much weight; None where that takes too long.

        The tree with the fewest leaves left is next, as in any search among constraints.
        """
        is_left = np.ones(len(self.counts), dtype=bool)
        tree = int(np.searchsorted(self.starts, first, "right")) - 1
        is_left[self.starts[tree] : self.starts[tree + 1]] = False
        is_left[first] = True
        pending, noise = [is_left], 1e-9 * random.random(len(self.counts))
        for _ in range(MOST_STEPS):
            if not pending:
                return None
            kept = self._narrowed(pending.pop())
            if kept is None:
                continue
            number = np.add.reduceat(kept.astype(np.intp), self.starts[:-1])
            if number.max() == 1:
                return tuple(np.flatnonzero(kept).tolist())
            tree = int(np.where(number > 1, number, len(kept) + 1).argmin())
            start, stop = self.starts[tree], self.starts[tree + 1]
            rows = start + np.flatnonzero(kept[start:stop])
            best = rows[np.argmax(weights[rows] + noise[rows])]
            without, with_best = kept.copy(), kept.copy()
            without[best] = False
            with_best[rows] = False
            with_best[best] = True
            pending += [without, with_best]
        return None

    def _narrowed(self, is_left: BoolArray) -> BoolArray | None:
        """Return which leaves have a point in common with those that are alone in their tree; None without any."""
        trees = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        while True:
            number = np.add.reduceat(is_left.astype(np.intp), self.starts[:-1])
            if number.min() == 0:
                return None
            box = self.options[is_left & (number[trees] == 1)].all(axis=0)
            if not self.is_box(box[None])[0]:
                return None
            places = np.flatnonzero(is_left)
            kept = self.is_box(self.options[places] & box)
            if kept.all():
                return is_left
            is_left = is_left.copy()
            is_left[places[~kept]] = False


@dataclass(slots=True)
class _Priced:
    """Cells of little weight that the solver found, and what no cell is below: minus infinite where it said nothing."""

    cells: list[tuple[int, ...]]
    least: float


class _Pricing:
    """The solver's model of one cell: a leaf of each tree, and a value of each factor that all of these allow."""

    def __init__(self, rows: _ClassLeaves, width: int) -> None:
        module = solver_module()
        self.rows, self.model = rows, module.CpModel()
        self.chosen = [self.model.new_bool_var("") for _ in range(len(rows.counts))]
        ends = np.append(rows.factors, width)
        for start, stop in zip(rows.starts[:-1].tolist(), rows.starts[1:].tolist(), strict=True):
            self.model.add_exactly_one(self.chosen[start:stop])
        for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            value = self.model.new_int_var(0, stop - start - 1, "")
            part = rows.options[:, start:stop]
            for row in np.flatnonzero(~part.all(axis=1)).tolist():
                allowed = module.Domain.from_values(np.flatnonzero(part[row]).tolist())
                rule = self.model.add_linear_expression_in_domain(value, allowed)
                rule.only_enforce_if(self.chosen[row])

    def exclude(self, cell: Sequence[int]) -> None:
        """Take a cell out of those that are looked for."""
        self.model.add_bool_or([self.chosen[row].negated() for row in cell])

    def cheapest(self, weights: IntArray, until: Clock) -> _Priced:
        """Return cells of little weight, and a bound that no other is below."""
        module, numbers = solver_module(), weights.tolist()
        self.model.minimize(module.LinearExpr.weighted_sum(self.chosen, numbers))
        solver = limited_solver(until.left, UNITS)
        status = solve_in_background(solver, self.model)
        if status == module.INFEASIBLE:
            return _Priced([], np.inf)
        if status not in (module.OPTIMAL, module.FEASIBLE):
            return _Priced([], -np.inf)
        cell = tuple(row for row, bool_var in enumerate(self.chosen) if solver.value(bool_var))
        least = float(np.floor(solver.best_objective_bound - 1e-3 + 0.5))
        return _Priced([cell], least)


@dataclass(slots=True)
class _Generation:
    """The known cells of one class, and those that may have records beside them."""

    rows: _ClassLeaves
    until: Clock
    known: list[tuple[int, ...]] = field(default_factory=list)
    others: list[tuple[int, ...]] = field(default_factory=list)
    seen: set[tuple[int, ...]] = field(default_factory=set)
    proved: dict[tuple[int, ...], int] = field(default_factory=dict)
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def complete(self) -> bool:
        """Generate cells until no table has a record of the class elsewhere; return whether that was finished."""
        pricing = _Pricing(self.rows, self.rows.options.shape[1])
        self._move(range(len(self.others)), pricing)
        while len(self.seen) <= MOST_GENERATED and not self.until.is_over:
            solved = _solve(self._matrix(), self._objective(), self.rows.counts)
            if solved is None:
                return False
            numbers, duals = solved
            weights = np.rint(-duals * SCALE).astype(np.int64)
            if self._add(self._cheap(self._built(-duals), weights)):
                continue
            priced = pricing.cheapest(weights, self.until)
            if self._is_complete(weights, priced.least):
                return True
            if self._add(self._cheap(priced.cells, weights)):
                continue
            used = np.flatnonzero(numbers[len(self.known) :] > 1e-7)
            if not len(used):
                return False
            self._move(used.tolist(), pricing)
        return False

    def prove(self) -> None:
        """Prove how many records of cells every table has, in whatever cells that were never generated others are.

        Of chosen cells the least sum of records is sought. Where their weights are at least k, and those of all other
        cells at least m > k, it is no less than (m N - sum of p N) / (m - k). A cell has at most the least count of
        its leaves: where the sum is that of all of these, each has as many. Else the cells that had fewer drop out.
        """
        cells = [*self.known, *self.others]
        most = np.array([self.rows.counts[list(cell)].min() for cell in cells])
        chosen = np.ones(len(cells), dtype=bool)
        while chosen.any() and len(self.seen) <= MOST_GENERATED and not self.until.is_over:
            cells = [*self.known, *self.others]
            is_chosen = np.append(chosen, np.zeros(len(cells) - len(chosen), dtype=bool))
            solved = _solve(self._matrix(), is_chosen.astype(np.float64), self.rows.counts)
            if solved is None:
                return
            numbers, duals = solved
            stays = chosen & (numbers[: len(chosen)] > most - 1e-6)
            if (stays != chosen).any():
                chosen = stays
                continue
            weights = np.rint(-duals * SCALE).astype(np.int64)
            pricing = _Pricing(self.rows, self.rows.options.shape[1])
            inside = [cell for cell, is_one in zip(cells, is_chosen, strict=True) if is_one]
            for cell in inside:
                pricing.exclude(cell)
            priced = pricing.cheapest(weights, self.until)
            if self._proves(inside, weights, priced.least, int(most[chosen].sum())):
                for place in np.flatnonzero(chosen).tolist():
                    self.proved[cells[place]] = int(most[place])
                return
            if not self._add(priced.cells):
                return

    def _proves(
        self, inside: Sequence[tuple[int, ...]], weights: IntArray, least: float, most: int
    ) -> bool:
        """Whether chosen cells have at least so many records, where no other cell has less weight."""
        lowest = min(int(weights[list(cell)].sum()) for cell in inside)
        if least == np.inf:
            return most <= self.rows.records
        if not least > lowest:
            return False
        total = int(least) * self.rows.records - _total(weights, self.rows.counts)
        return total > (most - 1) * (int(least) - lowest)

    def fulfil(self) -> bool:
        """Generate cells until all rows can be fulfilled; return whether that was finished.

        Raises:
            ContradictionError: they cannot.
        """
        counts = self.rows.counts
        pricing = _Pricing(self.rows, self.rows.options.shape[1])
        while len(self.seen) <= MOST_GENERATED and not self.until.is_over:
            matrix = sparse.hstack([self._matrix(), sparse.eye_array(len(counts))], format="csc")
            objective = np.concatenate([np.zeros(len(self.others)), np.ones(len(counts))])
            solved = _solve(matrix, objective, counts)
            if solved is None:
                return False
            numbers, duals = solved
            lacks = numbers[len(self.others) :]
            if lacks.sum() < 1e-6:
                return True
            new = [
                cell
                for cell in self._built(duals, np.flatnonzero(lacks > 1e-7))
                if duals[list(cell)].sum() > 1e-9
            ]
            if not new:
                weights = np.rint(-duals * SCALE).astype(np.int64)
                priced = pricing.cheapest(weights, self.until)
                if _total(weights, counts) < _whole(priced.least, self.rows.records):
                    raise ContradictionError(NO_RECORD)
                new = priced.cells
            if not self._add(new):
                return False
        return False

    def _matrix(self) -> sparse.csc_array:
        cells = [*self.known, *self.others]
        trees = len(self.rows.starts) - 1
        indices = np.array(cells, dtype=np.int64).reshape(-1)
        return sparse.csc_array(
            (np.ones(len(indices)), indices, np.arange(len(cells) + 1) * trees),
            shape=(len(self.rows.counts), len(cells)),
        )

    def _objective(self) -> FloatArray:
        return np.concatenate([np.zeros(len(self.known)), np.full(len(self.others), -1.0)])

    def _is_complete(self, weights: IntArray, least: float) -> bool:
        """Whether cells that are not known have less than one record, where none of them has less weight."""
        if least == np.inf:
            return True
        known = min(int(weights[list(cell)].sum()) for cell in self.known)
        if not least > known:
            return False
        over = _total(weights, self.rows.counts) - known * self.rows.records
        return over < int(least) - known

    def _cheap(self, cells: Iterable[tuple[int, ...]], weights: IntArray) -> list[tuple[int, ...]]:
        """Return the new cells that would have records beside the known ones."""
        least = SCALE - len(self.rows.starts)
        new = [cell for cell in cells if cell not in self.seen]
        return [cell for cell in new if int(weights[list(cell)].sum()) < least]

    def _built(
        self, weights: FloatArray, firsts: IndexArray | None = None
    ) -> Iterator[tuple[int, ...]]:
        """Yield cells that are built leaf by leaf, from some leaves or from any."""
        places = np.arange(len(self.rows.counts)) if firsts is None else firsts
        sign = 1.0 if firsts is not None else -1.0
        for first in self.random.permutation(places)[:STARTS].tolist():
            if self.until.is_over:
                return
            cell = self.rows.built(sign * weights, first, self.random)
            if cell is not None:
                yield cell

    def _add(self, cells: Sequence[tuple[int, ...]]) -> bool:
        """Add cells beside the known ones; return whether one is new."""
        before = len(self.seen)
        for cell in cells:
            if cell not in self.seen:
                self.seen.add(cell)
                self.others.append(cell)
        return len(self.seen) > before

    def _move(self, places: Sequence[int], pricing: _Pricing) -> None:
        """Take some of the other cells for known ones."""
        chosen = set(places)
        for place in places:
            self.known.append(self.others[place])
            pricing.exclude(self.others[place])
        self.others = [cell for place, cell in enumerate(self.others) if place not in chosen]


def _total(weights: IntArray, counts: IntArray) -> int:
    """Return the sum of weights times counts, as a whole number of any size."""
    return sum(w * n for w, n in zip(weights.tolist(), counts.tolist(), strict=True))


def _whole(least: float, records: int) -> float:
    """Return the least weight of all records, infinite where there is no cell at all."""
    return int(least) * records if np.isfinite(least) else least


def _solve(
    matrix: sparse.csc_array, objective: FloatArray, counts: IntArray
) -> tuple[FloatArray, FloatArray] | None:
    """Return the numbers of a linear programme's least, and the prices of its rows; None where it has none."""
    from scipy.optimize import linprog  # heavy: where cells are generated only

    result: Any = linprog(objective, A_eq=matrix, b_eq=counts, bounds=(0, None), method="highs")
    if result.status != 0:
        return None
    return np.asarray(result.x), np.asarray(result.eqlin.marginals)
