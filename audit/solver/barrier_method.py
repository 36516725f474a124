"""A barrier method for large blocks with split rows: IPOPT's steps over a linear system of their shape.

Each iteration is Newton's step for the perturbed conditions of an optimum, cut where a bound would be reached, with
IPOPT's rule for the barrier (Wächter and Biegler 2006, sections 2.1 and 3.1). It differs in three ways, by which it
needs neither a line search nor a restoration of feasibility.

- A split row may be exceeded at a penalty, which bounds its multiplier and with it how far the problem is from convex.
  The penalty grows while the row is exceeded (steering: Byrd, Nocedal and Waltz 2008).
- Where the curvature along the rows is not positive, what is added to it is relative to each variable: the entropy of
  a mass y has the curvature 1 / y.
- The multipliers of split rows, their slacks and their excess move by one length, so that each stays below its penalty.

It proves nothing: whoever asks holds its answer against every row and its multipliers against the conditions of an
optimum, and asks IPOPT where they fail.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.ipopt.backend import LoadedSolver, Solution, Status
from treewarden.audit.ipopt.program import SMALLEST_MASS, BlockProgram
from treewarden.audit.solver.newton_system import NewtonSystem
from treewarden.audit.solver.task import is_optimal
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tree.tree import Criterion

TOLERANCE = 1e-8
ACCEPTABLE = 1e-6
MOST_MISS, MOST_SLOPE = 1e-4, 1.0
"""Errors that are not scaled by the size of multipliers: of rows and of complementarity, and of stationarity."""
MOST_ITERATIONS = 250
PUSH = 1e-2
"""How far from its bounds a start is at least, as a share of the bound or of the room between them."""
SIZE = 100.0
"""Mean size of multipliers above which errors are taken relative to it."""
ERRORS_PER_BARRIER = 10.0
"""The barrier falls where no error is above so many times it."""
LEAST_BARRIER = TOLERANCE / (1 + ERRORS_PER_BARRIER)
LEAST_BARRIER_AGAIN = 1e-3
"""The barrier at least where penalties grow at what was an optimum."""
FIRST_RIDGE, LEAST_RIDGE, MOST_RIDGE = 1e-2, 1e-5, 1e20
"""What is added to the curvature, relative to each variable: at first, the least after an iteration, and at most."""
GINI_PENALTY, ENTROPY_PENALTY = 15.0, 3.0
"""First penalties. Multipliers of split rows over entropies are near 1, those over gini indices near 5."""
GROWTH = 10.0
MOST_PENALTY = 1e7
BOUND_FACTOR = 1e10
"""How far the product of a room and its price may be from the barrier."""
MOST_OF_ROOM = 0.99
"""The share of any room that a step uses at most."""
SHORT_RECORDS = 10.0
"""Multipliers of linear rows take a whole step where no variable would change by more."""


@dataclass(frozen=True, slots=True)
class Iterate:
    """A point with its multipliers: variables ``x`` (n,), ``slack`` and ``excess`` of the k split rows.

    ``linear`` and ``split`` are multipliers of rows, ``price`` those of what must stay above 0, of bounds, slack and
    excess, in this order.
    """

    x: FloatArray
    slack: FloatArray
    excess: FloatArray
    linear: FloatArray
    split: FloatArray
    price: FloatArray


@dataclass(frozen=True, slots=True)
class BarrierWeights:
    """Weights of the eps term and of the barrier, and the ``penalty`` (k,) of what exceeds each split row."""

    eps: float
    barrier: float
    penalty: FloatArray


@dataclass(frozen=True, slots=True)
class Residuals:
    """What is left of the conditions of an optimum at an iterate, but for its bounds, and the slopes it is left by.

    ``stationary`` (n,) without the prices of bounds; ``linear`` and ``split`` are what rows miss.
    """

    stationary: FloatArray
    linear: FloatArray
    split: FloatArray
    slopes: FloatArray


class BarrierMethod:
    """Solves one program from as many starts as are wanted."""

    def __init__(self, program: BlockProgram) -> None:
        self.program = program
        self._has_end: IndexArray = np.flatnonzero(np.isfinite(program.upper))
        terms, linear = program.splits.terms, program.splits.linear.tocoo()
        key = terms.row.astype(np.int64) * program.size + terms.variable
        beside = linear.row.astype(np.int64) * program.size + linear.col
        keys, place = np.unique(np.concatenate([key, beside]), return_inverse=True)
        self._of_term = place[: len(terms)]
        self._flat_slopes = np.bincount(place[len(terms) :], linear.data, len(keys))
        starts = np.searchsorted(keys // program.size, np.arange(len(program.splits) + 1))
        shape = (len(program.splits), program.size)
        pattern = sparse.csr_matrix((np.ones(len(keys)), keys % program.size, starts), shape=shape)
        self._system = NewtonSystem(program.rows, pattern)

    def solve(
        self, start: FloatArray, eps: float, barrier: float, deadline: float
    ) -> Solution | None:
        """Solve from a start with the given weight of the eps term and first ``barrier``; None where it ends nowhere.

        ``deadline`` is a reading of the monotonic clock.
        """
        first = GINI_PENALTY if self.program.criterion is Criterion.GINI else ENTROPY_PENALTY
        weights = BarrierWeights(eps, barrier, np.full(len(self.program.splits), first))
        point, ridge = self._begin(start, weights.penalty), 0.0
        for iteration in range(MOST_ITERATIONS):
            left = self._residuals(point, eps)
            if self._error(point, replace(weights, barrier=0.0), left) <= TOLERANCE:
                point, raised = self._steered(point, weights, 0.5)
                if raised is weights:
                    return self._solution(point, Status.SOLVED, iteration)
                weights = replace(raised, barrier=max(weights.barrier, LEAST_BARRIER_AGAIN))
            if time.monotonic() > deadline:
                return self._solution(point, Status.OUT_OF_TIME, iteration)
            lowered = self._lowered(point, weights, left)
            if lowered is not weights:
                point, weights = self._steered(point, lowered, 0.1)
            found = self._direction(point, weights, left, ridge)
            if found is None:
                return None
            direction, ridge = found
            point = self._moved(point, direction, weights.barrier)
        left = self._residuals(point, eps)
        is_near = self._error(point, replace(weights, barrier=0.0), left) <= ACCEPTABLE
        return self._solution(point, Status.ACCEPTABLE, MOST_ITERATIONS) if is_near else None

    def _begin(self, start: FloatArray, penalty: FloatArray) -> Iterate:
        """Return the first iterate: a start pushed inside the bounds, and multipliers of 1 where they may be that."""
        program, ended = self.program, self._has_end
        least, most = program.lower, program.upper
        x = np.maximum(
            start, least + np.minimum(PUSH * np.maximum(1.0, np.abs(least)), PUSH * (most - least))
        )
        ends, width = most[ended], (most - least)[ended]
        x[ended] = np.minimum(
            x[ended], ends - PUSH * np.minimum(np.maximum(1.0, np.abs(ends)), width)
        )
        limits = np.abs(program.splits.limit - program.splits.constant)
        split, bounds = np.minimum(1.0, penalty / 2), np.ones(len(x) + len(ended))
        return Iterate(
            x=x,
            slack=np.maximum(-program.split_values(x), PUSH * np.maximum(1.0, limits)),
            excess=np.full(len(penalty), PUSH),
            linear=np.zeros(program.rows.shape[0]),
            split=split,
            price=np.concatenate([bounds, split, penalty - split]),
        )

    def _room(self, point: Iterate) -> FloatArray:
        """Return what must stay above 0: room below and above the variables, then slack and excess of split rows."""
        above = self.program.upper[self._has_end] - point.x[self._has_end]
        return np.concatenate([point.x - self.program.lower, above, point.slack, point.excess])

    def _by_bound(self, prices: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return numbers in the order of `_room` by variable, those above it with a minus, by slack and by excess."""
        n, k = self.program.size, len(self.program.splits)
        of_variables = prices[:n].copy()
        of_variables[self._has_end] -= prices[n : -2 * k]
        return of_variables, prices[-2 * k : -k], prices[-k:]

    def _residuals(self, point: Iterate, eps: float) -> Residuals:
        program, terms = self.program, self.program.splits.terms
        u = point.x[terms.variable]
        is_gini = program.criterion is Criterion.GINI
        slope = -2 * u / terms.scale if is_gini else -(np.log(u / terms.scale) + 1)
        slopes = np.bincount(self._of_term, terms.coefficient * slope, len(self._flat_slopes))
        slopes += self._flat_slopes
        system = self._system
        system.slopes.data = slopes
        stationary = program.gradient(point.x, eps)
        stationary += system.columns @ point.linear + system.by_variable(point.split)
        return Residuals(
            stationary=stationary,
            linear=program.rows @ point.x - program.low,
            split=program.split_values(point.x) + point.slack - point.excess,
            slopes=np.asarray(slopes, dtype=np.float64),
        )

    def _error(self, point: Iterate, weights: BarrierWeights, left: Residuals) -> float:
        """Return the largest error of the perturbed conditions, scaled by the size of the multipliers.

        Without a barrier it is infinite where errors that are not scaled are too large for an optimum.
        """
        of_variables, of_slack, of_excess = self._by_bound(point.price)
        stationary = max(
            np.abs(left.stationary - of_variables).max(),
            np.abs(point.split - of_slack).max(),
            np.abs(weights.penalty - point.split - of_excess).max(),
        )
        products = np.abs(point.price * self._room(point) - weights.barrier).max()
        misses = max(np.abs(left.linear).max(initial=0.0), np.abs(left.split).max())
        if not weights.barrier and (max(products, misses) > MOST_MISS or stationary > MOST_SLOPE):
            return np.inf
        prices, rows = point.price.sum(), len(point.linear) + len(point.split)
        every = prices + np.abs(point.linear).sum() + np.abs(point.split).sum()
        by_size = stationary / max(1.0, every / (len(point.price) + rows) / SIZE)
        return float(max(by_size, misses, products / max(1.0, prices / len(point.price) / SIZE)))

    def _lowered(self, point: Iterate, weights: BarrierWeights, left: Residuals) -> BarrierWeights:
        """Return the weights with the barrier as low as the errors allow."""
        while self._error(point, weights, left) <= ERRORS_PER_BARRIER * weights.barrier:
            barrier = max(LEAST_BARRIER, min(0.2 * weights.barrier, weights.barrier**1.5))
            if barrier == weights.barrier:
                break
            weights = replace(weights, barrier=barrier)
        return weights

    def _steered(
        self, point: Iterate, weights: BarrierWeights, share: float
    ) -> tuple[Iterate, BarrierWeights]:
        """Return the point and the weights with larger penalties where rows need them.

        A row does if less than a share of its penalty holds back its excess.
        """
        k = len(weights.penalty)
        held, penalty = point.price[-k:], weights.penalty
        grows = (held < share * penalty) & (penalty < MOST_PENALTY)
        if not grows.any():
            return point, weights
        penalty = np.where(grows, GROWTH * penalty, penalty)
        price = point.price.copy()
        price[-k:] = np.where(grows, penalty - point.split, held)
        return replace(point, price=price), replace(weights, penalty=penalty)

    def _direction(
        self, point: Iterate, weights: BarrierWeights, left: Residuals, ridge: float
    ) -> tuple[Iterate, float] | None:
        """Return the changes of Newton's step and what it adds to the curvature, which was ``ridge`` the step before.

        None where there is no such step.
        """
        k, room = len(weights.penalty), self._room(point)
        push, sigma = weights.barrier / room, point.price / room
        n = self.program.size
        curvature = self._curvature(point, weights.eps) + sigma[:n]
        curvature[self._has_end] += sigma[n : -2 * k]
        of_slack, of_excess = sigma[-2 * k : -k], sigma[-k:]
        pushes, at_slack, at_excess = self._by_bound(push)
        slack, excess = point.split - at_slack, weights.penalty - point.split - at_excess
        right = [
            pushes - left.stationary,
            -left.linear,
            slack / of_slack - excess / of_excess - left.split,
        ]
        for added in _ridges(ridge):
            bent = curvature + added / np.maximum(point.x, SMALLEST_MASS)
            if not self._system.factorise(bent, left.slopes, 1 / of_slack + 1 / of_excess):
                continue
            step = self._system.solve(np.concatenate(right))
            if step is not None:
                break
        else:
            return None
        x, linear, split = np.split(step, [n, len(step) - k])
        by_slack, by_excess = -(slack + split) / of_slack, (split - excess) / of_excess
        rooms = np.concatenate([x, -x[self._has_end], by_slack, by_excess])
        price = push - point.price - sigma * rooms
        return Iterate(x, by_slack, by_excess, linear, split, price), added

    def _curvature(self, point: Iterate, eps: float) -> FloatArray:
        """Return the second derivatives of the Lagrangian, which is separable, (n,)."""
        program, terms, u = self.program, self.program.splits.terms, point.x
        y = u[: len(program.scale)]
        is_gini = program.criterion is Criterion.GINI
        bend = -2 / terms.scale if is_gini else -1 / u[terms.variable]
        weight = point.split[terms.row] * terms.coefficient
        curvature = np.zeros(program.size)
        curvature += np.bincount(terms.variable, weight * bend, program.size)
        curvature[: len(y)] += 1 / y + eps * program.scale / y**2
        return curvature

    def _moved(self, point: Iterate, change: Iterate, barrier: float) -> Iterate:
        """Return the point as far along a direction as it stays inside its bounds, and its multipliers theirs."""
        room = self._room(point)
        rooms = np.concatenate([change.x, -change.x[self._has_end], change.slack, change.excess])
        length, dual = _longest(room, rooms), _longest(point.price, change.price)
        longest = np.abs(np.concatenate([change.x, change.slack, change.excess])).max()
        moved = Iterate(
            x=point.x + length * change.x,
            slack=point.slack + length * change.slack,
            excess=point.excess + length * change.excess,
            linear=point.linear + (1.0 if longest <= SHORT_RECORDS else length) * change.linear,
            split=point.split + dual * change.split,
            price=point.price + dual * change.price,
        )
        push = barrier / self._room(moved)
        return replace(moved, price=np.clip(moved.price, push / BOUND_FACTOR, push * BOUND_FACTOR))

    def _solution(self, point: Iterate, status: Status, iterations: int) -> Solution:
        bounds = -self._by_bound(point.price)[0]
        return Solution(point.x, point.linear, point.split, bounds, status, iterations)


def _ridges(before: float) -> Iterator[float]:
    """Yield what to add to the curvature, relative to each variable, until it is enough."""
    if before / 3 >= LEAST_RIDGE:
        ridge = before / 3
    else:
        yield 0.0
        ridge = before / 3 if before else FIRST_RIDGE
        ridge = max(ridge, LEAST_RIDGE)
    while ridge <= MOST_RIDGE:
        yield ridge
        ridge *= 8


def _longest(room: FloatArray, change: FloatArray) -> float:
    """Return the longest step, of at most 1, that uses no more than a share of any room."""
    falls = change < 0
    return float(np.min(-MOST_OF_ROOM * room[falls] / change[falls], initial=1.0))


class BarrierFirst:
    """Solves a program by the barrier method, and with IPOPT from where that first ends at no optimum."""

    def __init__(self, program: BlockProgram, opened: Callable[[], LoadedSolver]) -> None:
        self.program = program
        self._opened = opened
        self._methods: dict[int, BarrierMethod] = {}
        self._ipopt: LoadedSolver | None = None

    def solve(
        self, z: FloatArray, eps: float, *, held_count: int = 0, **options: float | str
    ) -> Solution:
        """Solve from ``z`` as `LoadedSolver.solve` does; of the options, the barrier and the time are for both.

        Raises:
            SolverError: IPOPT is wanted and cannot be used.
        """
        if self._ipopt is None:
            solution = self._solved(z, eps, held_count, options)
            if solution is not None:
                return solution
            self._ipopt = self._opened()
        return self._ipopt.solve(z, eps, held_count=held_count, **options)

    def _solved(
        self, z: FloatArray, eps: float, held_count: int, options: Mapping[str, float | str]
    ) -> Solution | None:
        """Return an optimum, or what there is when time runs out; None where neither is."""
        if held_count not in self._methods:
            self._methods[held_count] = BarrierMethod(_without_last(self.program, held_count))
        program = self._methods[held_count].program
        if not _is_fit(program):
            return None
        deadline = time.monotonic() + float(options.get("max_cpu_time", np.inf))
        barrier = float(options["mu_init"])
        with np.errstate(all="ignore"):  # what is no number is no optimum
            solution = self._methods[held_count].solve(z[: program.size], eps, barrier, deadline)
        if solution is None:
            return None
        if solution.status is not Status.OUT_OF_TIME and not is_optimal(program, solution, eps, 0):
            return None
        held = np.arange(program.size, self.program.size)
        whole = np.concatenate([solution.z, self.program.lower[held]])
        of_held = self.program.gradient(whole, eps)[held]
        of_held += (self.program.split_jacobian(whole).T @ solution.split)[held]
        of_held += (self.program.rows.T @ solution.linear)[held]
        return replace(solution, z=whole, bounds=np.concatenate([solution.bounds, -of_held]))


def _is_fit(program: BlockProgram) -> bool:
    """Return whether the method is for a program: its linear rows are equations, and each variable can move."""
    has_room = bool((program.lower < program.upper).all())
    return has_room and bool((program.low == program.high).all()) and len(program.splits) > 0


def _without_last(program: BlockProgram, count: int) -> BlockProgram:
    """Return a program without the last variables, which stay at a lower bound of 0."""
    kept = slice(0, program.size - count)
    splits = program.splits
    return replace(
        program,
        start=program.start[kept],
        lower=program.lower[kept],
        upper=program.upper[kept],
        rows=sparse.csr_matrix(program.rows[:, kept]),
        cost=program.cost[kept],
        splits=replace(splits, linear=sparse.csr_matrix(splits.linear[:, kept])),
    )
