"""Newton's method on the bound of the entropy: few steps, each of which solves one dense system over the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from treewarden.audit.joint.dual import Dual
from treewarden.audit.worlds.clock import Clock, OutOfTimeError
from treewarden.ppdm_models.arrays import FloatArray

RIDGE = 1e-7
"""Added to the curvature: rows are often linear in each other, since those of each tree add up to all people."""
FIRST_ROUNDING, LAST_ROUNDING = 1.0, 1e-6
"""How much the kinks of intervals are rounded off, from first to last, in records times nats."""
SMALLER, CLOSE = 0.1, 0.5
"""It is rounded off less once no row is missed by more than so much of it."""
STEEP = 1e-4
"""A step must gain so much of what its slope promises (Armijo)."""
SMALLEST_STEP = 2.0**-30


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Weights (S,) on the way to the least bound, the numbers x (N,) they stand for, and how far it still is.

    ``residual`` is how many people a row is missed by at most; ``is_true`` that kinks are not rounded off any more.
    """

    theta: FloatArray
    x: FloatArray
    residual: float
    is_true: bool


def steps(dual: Dual, theta: FloatArray, clock: Clock) -> Iterator[Step]:
    """Yield the weights after each step, without end but that of time, or where numbers allow no further step.

    A row that is an interval has its kink rounded off, less and less; the residual is only small once it is gone.
    """
    has_kinks = bool((dual.half > 0).any())
    rounding = FIRST_ROUNDING if has_kinks else 0.0
    x, gradient = dual.gradient(theta, rounding)
    yield Step(theta, x, missed(dual, x), not has_kinks)
    while not clock.is_over:
        try:
            curvature = dual.curvature(theta, x, rounding, clock)
        except OutOfTimeError:
            return
        direction = _direction(curvature, gradient)
        moved = _line_search(dual, theta, direction, gradient, rounding)
        if moved is None and rounding <= LAST_ROUNDING:
            yield Step(theta, x, missed(dual, x), is_true=True)
            return
        theta = theta if moved is None else moved
        x, gradient = dual.gradient(theta, rounding)
        size = float(np.abs(gradient).max(initial=0.0))
        yield Step(theta, x, missed(dual, x), rounding <= LAST_ROUNDING)
        if rounding > LAST_ROUNDING and (moved is None or size <= CLOSE * rounding):
            rounding = max(rounding * SMALLER, LAST_ROUNDING)
            x, gradient = dual.gradient(theta, rounding)


def missed(dual: Dual, x: FloatArray) -> float:
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
    dual: Dual, theta: FloatArray, direction: FloatArray, gradient: FloatArray, rounding: float
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
