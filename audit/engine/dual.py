"""The dual of the maximum-entropy estimate: for any weights of the rows a bound on the entropy, minimised by Newton.

Of all tables of shares that fit, the one of maximum entropy has shares ``exp(z)`` normalised in each cell, where z adds
up the weights of the cell's rows. For two classes that is the logistic regression of the classes on the leaves, whose
sufficient statistics the rows are (Jaynes, 1957; Berger, Della Pietra and Della Pietra, 1996, 3.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import entr, expit, xlogy
from threadpoolctl import ThreadpoolController

from treewarden.audit.engine.counts import Counts, OpenNumbers
from treewarden.audit.engine.time_budget import (
    SECONDS_A_FLOP,
    SECONDS_A_PRODUCT,
    SECONDS_A_SQUARE_ENTRY,
)
from treewarden.audit.progress import Clock, OutOfTimeError
from treewarden.ppdm_models.arrays import FloatArray, IndexArray

MOST_OFTEN = 1_000
"""Rows in which people count more often than this are brought to the size of others, as sums of ages are."""
SLAB = 256
"""Rows of the curvature that are made at a time: bounds the memory."""
DENSE_SHARE, DENSE_ENTRIES = 0.1, 30_000_000
"""Rows about so many of all numbers, and no more of them, are multiplied as they stand: many times as fast."""

FULL_SHARE = 0.12
"""In a larger matrix, a row about so many of all numbers is multiplied as it stands."""


class OpenCells(Protocol):
    """The entropy of open cells together with a reward z for each person counted: a convex function of z, (N,)."""

    def value(self, z: FloatArray) -> FloatArray:
        """Return, per cell, the greatest entropy plus reward."""

    def people(self, z: FloatArray) -> FloatArray:
        """Return the expected numbers (N,) that reach it: the gradient."""

    def curvature(self, matrix: sparse.csr_array, x: FloatArray) -> tuple[sparse.csr_array, ...]:
        """Return matrices (S, any) whose first's square, less the others', is the curvature over the rows."""


@dataclass(frozen=True, slots=True, eq=False)
class TwoClasses:
    """Cells of which one number is open: how many have the second class, in boxes [least, most], (N,) each."""

    sizes: FloatArray
    least: FloatArray
    most: FloatArray

    def value(self, z: FloatArray) -> FloatArray:
        inside = self.sizes * np.logaddexp(0.0, z)
        x = self.people(z)
        share = x / self.sizes
        at_end = self.sizes * (entr(share) + entr(1 - share)) + x * z
        return np.where((x > self.least) & (x < self.most), inside, at_end)

    def people(self, z: FloatArray) -> FloatArray:
        return np.asarray(np.clip(self.sizes * expit(z), self.least, self.most))

    def curvature(self, matrix: sparse.csr_array, x: FloatArray) -> tuple[sparse.csr_array, ...]:
        is_inside = (x > self.least) & (x < self.most)
        return (scaled(matrix, np.sqrt(np.where(is_inside, x * (1 - x / self.sizes), 0.0))),)


@dataclass(frozen=True, slots=True, eq=False)
class ManyClasses:
    """Cells of more classes, of which some numbers are known: ``people_left`` (K,) are those that are not.

    ``starts`` (K,) says where the open numbers of each cell begin among the N, and ``cells`` (N,) which one each is of.
    Ends of boxes within a cell are left out, so the bound is that of more tables than fit, and holds. ``log_prior``
    (N,) is the logarithm of how likely each number is before the rows, None where all are alike.
    """

    starts: IndexArray
    people_left: FloatArray
    cells: IndexArray
    log_prior: FloatArray | None = None

    def value(self, z: FloatArray) -> FloatArray:
        z = z if self.log_prior is None else z + self.log_prior
        top = np.maximum.reduceat(z, self.starts)
        total = np.add.reduceat(np.exp(z - top[self.cells]), self.starts)
        return np.asarray(self.people_left * (top + np.log(total)))

    def people(self, z: FloatArray) -> FloatArray:
        z = z if self.log_prior is None else z + self.log_prior
        top = np.maximum.reduceat(z, self.starts)
        power = np.exp(z - top[self.cells])
        return np.asarray(
            (self.people_left / np.add.reduceat(power, self.starts))[self.cells] * power
        )

    def curvature(self, matrix: sparse.csr_array, x: FloatArray) -> tuple[sparse.csr_array, ...]:
        shape = (len(x), len(self.starts))
        at = (x / np.sqrt(self.people_left[self.cells]), (np.arange(len(x)), self.cells))
        return scaled(matrix, np.sqrt(x)), sparse.csr_array(matrix @ sparse.csr_array(at, shape))


@dataclass(frozen=True, slots=True, eq=False)
class EntropyDual:
    """The bound on the entropy as a function of weights theta (S,), one for each row that is left.

    ``middle`` and ``half`` (S,) are the middle of each row's interval and half of its width; ``known`` is the entropy
    of all that is settled. A row that is an interval adds ``half |theta|``, whose kink a barrier rounds off.
    """

    matrix: sparse.csr_array
    across: sparse.csr_array
    middle: FloatArray
    half: FloatArray
    cells: OpenCells
    known: float

    def bound(self, theta: FloatArray) -> float:
        """Return what no table that fits has more entropy than: holds for any weights, rounding of numbers included."""
        z = self.across @ theta
        parts = self.cells.value(z)
        # Sums of products are off by less than their number of terms times the unit of rounding, relative to the sum of
        # sizes of what they add up (Higham 2002, 3.1); the functions of each cell by a few units more.
        reach = self.across @ np.abs(theta)
        most = float(np.diff(self.across.indptr).max(initial=0))
        at_rows = np.abs(theta) * (np.abs(self.middle) + self.half)
        size = (
            float(self._weights() @ reach) + float(np.abs(parts).sum()) + float(at_rows.sum())
        ) * 2.0 + self.known
        margin = np.finfo(float).eps * (most + len(theta) + len(parts) + 64) * size
        return (
            float(parts.sum() - self.middle @ theta + self.half @ np.abs(theta))
            + self.known
            + margin
        )

    def _weights(self) -> FloatArray:
        """Return, per number, how many people its reward may be paid for at most."""
        if isinstance(self.cells, TwoClasses):
            return self.cells.sizes
        assert isinstance(self.cells, ManyClasses)
        return self.cells.people_left[self.cells.cells]

    def smooth(self, theta: FloatArray, rounding: float) -> float:
        """Return the bound with its kinks rounded off, but for a constant."""
        s = np.hypot(rounding, theta * self.half)
        kink = s - rounding * np.log(rounding + s) if rounding else s
        parts = self.cells.value(self.across @ theta)
        return float(parts.sum() - self.middle @ theta + kink[self.half > 0].sum())

    def gradient(self, theta: FloatArray, rounding: float) -> tuple[FloatArray, FloatArray]:
        """Return the numbers (N,) that the weights stand for, and the gradient (S,): by how much rows are missed."""
        x = self.cells.people(self.across @ theta)
        s = np.hypot(rounding, theta * self.half)
        pull = np.divide(
            theta * self.half**2, rounding + s, out=np.zeros_like(theta), where=self.half > 0
        )
        return x, self.matrix @ x - self.middle + pull

    def curvature(
        self, theta: FloatArray, x: FloatArray, rounding: float, clock: Clock
    ) -> FloatArray:
        """Return the second derivatives, (S, S); made in slabs, of which only what is above the diagonal.

        Raises:
            OutOfTimeError: the budget is used up.
        """
        first, *less = self.cells.curvature(self.matrix, x)
        total = square(first, clock)
        for each in less:
            total -= square(each, clock)
        s = np.hypot(rounding, theta * self.half)
        bend = np.divide(
            self.half**2 * rounding, s * (rounding + s), out=np.zeros_like(theta), where=s > 0
        )
        total[np.diag_indices(len(theta))] += bend
        return total


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def on_one_thread() -> AbstractContextManager[object]:
    """Return what lets linear algebra use one thread: several wait for each other, and add up in another order."""
    limiter: AbstractContextManager[object] = _thread_pools().limit(limits=1, user_api="blas")
    return limiter


def row_units(left: OpenNumbers) -> FloatArray:
    """Return what each row that is left is divided by, (S,): 1 but for rows in which people count very often."""
    units = np.ones(len(left.low))
    owner = np.repeat(np.arange(len(units)), np.diff(left.matrix.indptr))
    np.maximum.at(units, owner, left.matrix.data.astype(np.float64))
    return np.where(units > MOST_OFTEN, units, 1.0)


def dual_of(counts: Counts, left: OpenNumbers, least: FloatArray, most: FloatArray) -> EntropyDual:
    """Return the bound as a function, of rows and what is left of them; ``least`` and ``most`` are all boxes (C, w).

    Its weights are of rows divided by their ``row_units``.
    """
    units = row_units(left)
    middle = (left.low + left.high) / 2.0 / units
    half = (left.high - left.low) / 2.0 / units
    owners = left.places // counts.width
    sizes = counts.sizes.astype(np.float64)
    is_open = least < most
    known_cells = ~is_open.any(axis=1)
    fixed = np.where(is_open, 0.0, least)
    cells: OpenCells
    if counts.width == 1:
        at = known_cells & (counts.sizes > 0)
        share = fixed[at, 0] / sizes[at]
        known = float((sizes[at] * (entr(share) + entr(1 - share))).sum())
        cells = TwoClasses(sizes[owners], left.least.astype(float), left.most.astype(float))
    else:
        # Of n people with x known per class: those left, n', add n' log(n / n') to their own entropy.
        rest = sizes - fixed.sum(axis=1)
        at = counts.sizes > 0
        known = float((xlogy(sizes[at], sizes[at]) - xlogy(rest[at], rest[at])).sum())
        known -= float(xlogy(fixed, fixed).sum())
        log_prior = None
        if counts.prior is not None:
            known += float(xlogy(fixed, counts.prior).sum())
            with np.errstate(divide="ignore"):
                log_prior = np.log(counts.prior.reshape(-1)[left.places])
        which, starts, inverse = np.unique(owners, return_index=True, return_inverse=True)
        cells = ManyClasses(starts, rest[which], inverse.reshape(-1), log_prior)
    matrix = with_short_indices(left.matrix.astype(np.float64))
    matrix.data = matrix.data / np.repeat(units, np.diff(matrix.indptr))
    across = sparse.csr_array(matrix.T.tocsr())
    return EntropyDual(matrix, across, middle, half, cells, known)


def with_short_indices(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the matrix with indices of 32 bits where they are large enough: products read half as much memory."""
    if max(*matrix.shape, matrix.nnz) > np.iinfo(np.int32).max:
        return matrix
    parts = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
    return sparse.csr_array(parts, shape=matrix.shape)


def class_shares(counts: Counts, low: FloatArray, left: OpenNumbers, x: FloatArray) -> FloatArray:
    """Return the shares of each cell's people by class, (C, m), by the open numbers x (N,); others are at ``low``."""
    numbers, sizes = low.copy(), counts.sizes.astype(np.float64)[:, None]
    numbers.reshape(-1)[left.places] = x
    if counts.width == 1:
        numbers = np.hstack([sizes - numbers, numbers])
    shares = np.full_like(numbers, 1.0 / numbers.shape[1])
    np.divide(numbers, sizes, out=shares, where=sizes > 0)
    return shares


def scaled(matrix: sparse.csr_array, weights: FloatArray) -> sparse.csr_array:
    """Return the matrix with its columns times weights; those of nothing are left out."""
    kept = np.flatnonzero(weights > 0)
    part = matrix.copy() if len(kept) == len(weights) else matrix[:, kept]
    part.data = part.data * weights[kept][part.indices]
    return sparse.csr_array(part)


def square(matrix: sparse.csr_array, clock: Clock) -> FloatArray:
    """Return ``matrix @ matrix.T``, dense, above the diagonal and on it.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    rows, columns = matrix.shape
    if DENSE_SHARE * rows * columns <= matrix.nnz and rows * columns <= DENSE_ENTRIES:
        clock.check()
        clock.spend(SECONDS_A_FLOP * rows * rows * columns)
        dense = matrix.toarray()
        return np.asarray(dense @ dense.T)
    often = matrix.nnz / max(columns, 1)
    for start in range(0, rows, SLAB):
        clock.check()
        end = min(start + SLAB, rows)
        entries = float(matrix.indptr[end] - matrix.indptr[start])
        clock.spend(SECONDS_A_SQUARE_ENTRY * (entries * often + (end - start) * (rows - start)))
    return _square_by_density(matrix)


def _square_by_density(matrix: sparse.csr_array) -> FloatArray:
    """Return ``matrix @ matrix.T`` above the diagonal and on it: rows that are nearly full are multiplied as full.

    Few leaves hold most people, so that most products are between those rows.
    """
    rows, columns = matrix.shape
    lengths = np.diff(matrix.indptr)
    is_full = lengths > FULL_SHARE * columns
    if columns * int(is_full.sum()) > DENSE_ENTRIES:
        is_full[:] = False
    total = np.zeros((rows, rows))
    full, light = np.flatnonzero(is_full), np.flatnonzero(~is_full)
    if len(full):
        beside = sparse.csr_array(matrix[full].T.tocsr()).toarray()
        total[np.ix_(full, full)] = beside.T @ beside
        between = matrix[light] @ beside
        total[np.ix_(light, full)] = between
        total[np.ix_(full, light)] = between.T
        matrix = sparse.csr_array(matrix[light])
    across = sparse.csr_array(matrix.T.tocsr())
    for start in range(0, len(light), SLAB):
        end = min(start + SLAB, len(light))
        product = (matrix[start:end] @ across[:, start:]).toarray()
        total[np.ix_(light[start:end], light[start:])] = product
    return total


# Newton's method on the dual of the entropy: few steps, each of which solves one dense system over the rows.

RIDGE = 1e-7
"""Added to the curvature: rows are often linear in each other, since those of each tree add up to all people."""
FIRST_ROUNDING, LAST_ROUNDING = 1.0, 1e-6
"""How much the kinks of intervals are rounded off, from first to last, in records times nats."""
SMALLER, CLOSE = 0.1, 0.5
"""It is rounded off less once no row is missed by more than so much of it."""
STEEP = 1e-4
"""A step must gain so much of what its slope promises (Armijo)."""
SMALLEST_STEP = 2.0**-30
TRIES = 10
"""So often a step looks at all rows, for gradients and lengths that are tried; counted alike for each."""


@dataclass(frozen=True, slots=True, eq=False)
class DualStep:
    """Weights (S,) on the way to the least bound, the numbers x (N,) they stand for, and how far it still is.

    ``residual`` is how many people a row is missed by at most; ``is_true`` that kinks are not rounded off any more.
    """

    theta: FloatArray
    x: FloatArray
    residual: float
    is_true: bool


def steps(dual: EntropyDual, theta: FloatArray, clock: Clock) -> Iterator[DualStep]:
    """Yield the weights after each step, without end but that of time, or where numbers allow no further step.

    A row that is an interval has its kink rounded off, less and less; the residual is only small once it is gone.
    """
    has_kinks = bool((dual.half > 0).any())
    rounding = FIRST_ROUNDING if has_kinks else 0.0
    x, gradient = dual.gradient(theta, rounding)
    yield DualStep(theta, x, missed(dual, x), not has_kinks)
    while not clock.is_over:
        try:
            curvature = dual.curvature(theta, x, rounding, clock)
        except OutOfTimeError:
            return
        clock.spend(
            SECONDS_A_FLOP * len(gradient) ** 3 + SECONDS_A_PRODUCT * dual.matrix.nnz * TRIES
        )
        direction = _direction(curvature, gradient)
        del curvature  # large, and whoever looks at the step makes another
        moved = _line_search(dual, theta, direction, gradient, rounding)
        if moved is None and rounding <= LAST_ROUNDING:
            yield DualStep(theta, x, missed(dual, x), is_true=True)
            return
        theta = theta if moved is None else moved
        x, gradient = dual.gradient(theta, rounding)
        size = float(np.abs(gradient).max(initial=0.0))
        yield DualStep(theta, x, missed(dual, x), rounding <= LAST_ROUNDING)
        if rounding > LAST_ROUNDING and (moved is None or size <= CLOSE * rounding):
            rounding = max(rounding * SMALLER, LAST_ROUNDING)
            x, gradient = dual.gradient(theta, rounding)


def missed(dual: EntropyDual, x: FloatArray) -> float:
    """Return how many people a row is missed by at most."""
    off = np.abs(dual.matrix @ x - dual.middle) - dual.half
    return float(np.maximum(off, 0.0).max(initial=0.0))


def _direction(curvature: FloatArray, gradient: FloatArray) -> FloatArray:
    diagonal = np.diag_indices(len(gradient))
    ridge = RIDGE
    while True:
        curvature[diagonal] += ridge
        try:
            factor = cho_factor(curvature, check_finite=False)
        except LinAlgError:
            ridge *= 100.0
            continue
        return np.asarray(-cho_solve(factor, gradient, check_finite=False))


def _line_search(
    dual: EntropyDual,
    theta: FloatArray,
    direction: FloatArray,
    gradient: FloatArray,
    rounding: float,
) -> FloatArray | None:
    """Return the weights after the longest step that gains enough, None where none does."""
    slope = float(gradient @ direction)
    here = dual.smooth(theta, rounding)
    # Close to the optimum a gain drowns in the rounding of the sum: then the gradient judges.
    noise = 1e-13 * max(abs(here), 1.0)
    size = float(np.abs(gradient).max(initial=0.0))
    step = 1.0
    while step >= SMALLEST_STEP:
        there = theta + step * direction
        gain = here - dual.smooth(there, rounding)
        if gain >= -STEEP * step * slope and gain > noise:
            return there
        if abs(gain) <= noise:
            _, gradient_there = dual.gradient(there, rounding)
            if float(np.abs(gradient_there).max(initial=0.0)) < size:
                return there
        step /= 2.0
    return None
