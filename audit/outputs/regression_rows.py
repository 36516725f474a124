"""Rows of published regressions: logistic and linear ones, and Cox regressions with Breslow's way of counting ties.

The coefficients of a logistic regression give rows by its score equations.

At the fit b the score ``X'(y - m(b)) - P b`` is 0 (P: the penalty, 0 without one). For printed coefficients c, each
within d of b, and any matrix G, ``G X' y - G (X' m(c) + P c) = G H (b - c)``, where H is the mean curvature between c
and b. With ``|G H - I| <= M`` for every curvature that the rounding allows, the left side is within ``d + M d`` of 0:
one row for each coefficient. Where it is within ``d - M d``, a fit is within d of c (Krawczyk's test), so that those
rows, where the truth fulfils them, are ones that agree with what is printed for certain. G is the inverse of the
curvature at c in floating point; that it is not exact is in M.

Coefficients of least squares are sums over people themselves. A program may stop short of the best fit, so that numbers
with many digits are read less sharply than they are printed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from treewarden.audit.outputs.conditions import having
from treewarden.audit.outputs.described_people import EntryRows, NoFitError
from treewarden.audit.outputs.whole_row import Ends, RowOwner, WholeRow, as_fractions
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray
from treewarden.ppdm_models.outputs.published import Family, RegressionEntry, Term, ValueCondition
from treewarden.ppdm_models.tree.column import NumericColumn

MOST_WEIGHT = 10**7
"""Weights are real numbers, and rounding finer than this says nothing more."""
PAD = 1e-10
"""What floating point may have done to sums over people, as a share of the sum of their sizes: far more than it can."""
SOLVER_SLACK, SUM_SLACK = 1e-6, 1e-9
"""How far a fit that a program stops at may be from the best one, and sums from themselves, in standard errors."""
NO_CONSTANT = (
    "the constant of the regression is not published, so that its equations have another unknown"
)
HAS_TIES = "events at one time are counted as Breslow does only where '(ties),breslow' says so"


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """A design ``matrix`` (P, K) over the profiles that have all values, and the printed coefficients (K,).

    The fit is within ``half`` of ``center``; ``printed`` is half the width of what is printed, and less by what a
    program may have stopped short.
    """

    matrix: FloatArray
    inside: BoolArray
    center: FloatArray
    half: FloatArray
    printed: FloatArray
    penalty: FloatArray


_RowsOfClass = Callable[[_Fit, RowOwner], tuple[tuple[WholeRow, ...], tuple[WholeRow, ...]]]


def regression_rows(
    entry: RegressionEntry, population: Population, number: int, truth: IntArray
) -> EntryRows:
    """Return the rows of the class that the regression is of; ``truth`` (P, 2) decides which that is.

    Raises:
        NoFitError: the table fulfils the rows of neither class.
    """
    fit = _fit_of(entry, population)
    people = np.where(fit.inside, np.rint(population.counts), 0).astype(np.int64)
    rows_of_class: _RowsOfClass = _logistic_rows
    if entry.family is Family.LINEAR:
        rows_of_class = _linear_rows
    elif entry.family is Family.COX:
        times = population.columns[entry.time]
        assert isinstance(times, NumericColumn)
        if not entry.has_breslow and _has_ties(times.numbers, people):
            return EntryRows((), is_open=True, why=HAS_TIES)
        rows_of_class = partial(_cox_rows, times=times.numbers)
    for klass in (1, 0):
        owner = RowOwner(number, klass, people, MOST_WEIGHT)
        rows, stronger = rows_of_class(fit, owner)
        if all(row.holds(truth) for row in rows):
            return EntryRows(rows, stronger, is_open=not stronger)
    has_constant = any(not term.column for term, _ in entry.coefficients)
    if (
        entry.family is Family.LOGISTIC
        and not has_constant
        and _fits_with_constant(fit, people, truth)
    ):
        return EntryRows((), is_open=True, why=NO_CONSTANT)
    printed = ", ".join(number.text for _, number in entry.coefficients)
    raise NoFitError(printed)


def _fit_of(entry: RegressionEntry, population: Population) -> _Fit:
    inside = np.ones(len(population.counts), dtype=bool)
    columns = []
    for term, _ in entry.coefficients:
        values, is_there = _column_of(term, population)
        columns.append(values)
        inside &= is_there
    if entry.time:
        inside &= ~population.columns[entry.time].missing
    numbers = [number for _, number in entry.coefficients]
    center = np.array([float(number.middle) for number in numbers])
    # The printed text need not be a floating-point number: half the width is rounded up by more than that.
    half = np.array(
        [float(number.high - number.middle) for number in numbers if number.high is not None]
    )
    half = half * (1 + 1e-12) + 1e-15 * np.abs(center)
    strength = 0.0 if entry.inverse_penalty is None else float(1 / entry.inverse_penalty)
    penalty = np.array([0.0 if not term.column else strength for term, _ in entry.coefficients])
    matrix = np.where(inside[:, None], np.column_stack(columns), 0.0)
    slack = SUM_SLACK if entry.family is Family.LINEAR else SOLVER_SLACK
    wide = half + slack * (
        np.abs(center) + _least_errors(matrix, np.where(inside, population.counts, 0))
    )
    return _Fit(matrix, inside, center, wide, half, penalty)


def _least_errors(matrix: FloatArray, people: FloatArray) -> FloatArray:
    """Return about how small the standard error of each coefficient can be, (K,): that of a column by itself."""
    size = max(float(people.sum()), 1.0)
    mean = people @ matrix / size
    spread = np.sqrt(people @ (matrix - mean) ** 2 / size)
    return np.asarray(1.0 / (np.where(spread > 0, spread, 1.0) * np.sqrt(size)))


def _column_of(term: Term, population: Population) -> tuple[FloatArray, BoolArray]:
    """Return what a coefficient is multiplied by, (P,), and for whom that is known."""
    size = len(population.counts)
    if not term.column:
        return np.ones(size), np.ones(size, dtype=bool)
    column = population.columns[term.column]
    if term.value is not None:
        has = having(population, ValueCondition(term.column, term.value))
        return has.astype(np.float64), np.asarray(~column.missing)
    assert isinstance(column, NumericColumn)
    return np.where(column.missing, 0.0, column.numbers), np.asarray(~column.missing)


def _logistic_rows(fit: _Fit, owner: RowOwner) -> tuple[tuple[WholeRow, ...], tuple[WholeRow, ...]]:
    """Return the rows of one class, and the stronger ones, of which there are none where rounding is too coarse."""
    x, people = fit.matrix, owner.people.astype(np.float64)
    linear = x @ fit.center
    reach = np.abs(x) @ (fit.half + PAD * np.abs(fit.center))
    mean = _logistic(linear)
    middle = people * mean * (1 - mean)
    low, high = linear - reach, linear + reach
    ends = np.stack([_logistic(low) * _logistic(-low), _logistic(high) * _logistic(-high)])
    most = np.where(low * high < 0, 0.25, ends.max(axis=0)) * (1 + PAD)
    least = ends.min(axis=0) * (1 - PAD)
    spread = people * np.maximum(most - mean * (1 - mean), mean * (1 - mean) - least)
    curvature = x.T @ (middle[:, None] * x) + np.diag(fit.penalty)
    inverse = np.linalg.pinv(curvature)
    moved = x @ inverse.T  # row i is G x_i
    off = np.abs(inverse @ curvature - np.eye(len(inverse))) + np.abs(moved).T @ (
        spread[:, None] * np.abs(x)
    )
    off += PAD * (
        np.abs(inverse) @ (np.abs(x).T @ (middle[:, None] * np.abs(x)) + np.diag(fit.penalty))
    )
    goal = moved.T @ (people * mean) + inverse @ (fit.penalty * fit.center)
    room = PAD * (
        np.abs(moved).T @ people + np.abs(inverse) @ np.abs(fit.penalty * fit.center) + 1e-6
    )
    # The target itself moves with floating point: the means are off by as much as the linear predictor is.
    room += np.abs(moved).T @ (people * PAD * (np.abs(x) @ np.abs(fit.center) + 1.0))
    return _rows_around(fit, owner, moved, goal, off, room)


def _rows_around(
    fit: _Fit,
    owner: RowOwner,
    moved: FloatArray,
    goal: FloatArray,
    off: FloatArray,
    room: FloatArray,
) -> tuple[tuple[WholeRow, ...], tuple[WholeRow, ...]]:
    """Return that sums weighed by ``moved`` (P, K) are about ``goal`` (K,), and stronger rows where there are some.

    They are as near as what is printed, but for ``off`` (K, K) times that and ``room`` (K,).
    """
    rows, stronger = [], []
    widest = fit.half + off @ fit.half + room
    narrowest = fit.printed * (1 - 1e-9) - off @ fit.printed - room
    for term, (wide, narrow) in enumerate(zip(widest, narrowest, strict=True)):
        weights = as_fractions(np.where(fit.inside, moved[:, term], 0.0))
        rows.append(owner.row(weights, _around(goal[term], wide)))
        if narrow > 0:
            stronger.append(owner.row(weights, _around(goal[term], narrow), is_outward=False))
    has_all = len(stronger) == len(rows) and all(_is_possible(row) for row in stronger)
    return tuple(rows), tuple(stronger) if has_all else ()


def _linear_rows(fit: _Fit, owner: RowOwner) -> tuple[tuple[WholeRow, ...], tuple[WholeRow, ...]]:
    """Return that each coefficient of least squares, a sum over people, is as it is printed."""
    x, people = fit.matrix, owner.people.astype(np.float64)
    product = x.T @ (people[:, None] * x)
    inverse = np.linalg.pinv(product)
    moved = x @ inverse.T
    off = np.abs(inverse @ product - np.eye(len(inverse)))
    off += PAD * (np.abs(inverse) @ (np.abs(x).T @ (people[:, None] * np.abs(x))))
    if off.max(initial=0.0) > MOST_OFF:
        return (), ()
    room = off @ np.abs(fit.center) + PAD * (np.abs(moved).T @ people)
    return _rows_around(fit, owner, moved, fit.center, off, room)


MOST_OFF = 0.01
"""Where an inverse is farther off, columns hardly differ, and the coefficients say nothing by themselves."""


def _fits_with_constant(fit: _Fit, people: IntArray, truth: IntArray) -> bool:
    """Whether a logistic regression of either class with a constant gives the printed coefficients."""
    x = np.column_stack([np.ones(len(people)), fit.matrix])
    size, penalty = people.astype(np.float64), np.concatenate([[0.0], fit.penalty])
    for klass in (1, 0):
        beta = np.zeros(x.shape[1])
        for _ in range(MOST_STEPS):
            mean = _logistic(x @ beta)
            score = x.T @ np.where(fit.inside, truth[:, klass] - size * mean, 0.0) - penalty * beta
            curvature = x.T @ ((size * mean * (1 - mean))[:, None] * x) + np.diag(penalty)
            step = np.linalg.lstsq(curvature, score, rcond=None)[0]
            beta = beta + step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        if (np.abs(beta[1:] - fit.center) <= fit.half).all():
            return True
    return False


MOST_STEPS = 50


def _has_ties(times: FloatArray, people: IntArray) -> bool:
    """Whether two people have the same time, so that events may fall together."""
    here = people > 0
    return bool((people > 1).any()) or len(np.unique(times[here])) < int(here.sum())


def _cox_rows(
    fit: _Fit, owner: RowOwner, times: FloatArray
) -> tuple[tuple[WholeRow, ...], tuple[WholeRow, ...]]:
    """Return that the score of Cox's partial likelihood is 0 at some coefficients that may be printed so.

    ``sum over events of (x - mean of x among those at risk) = 0``, a sum over people once the coefficients are known.
    The means move with the coefficients, between ends that are added to each person's weight. One coefficient's score
    falls as it rises, so that its signs at both ends say all that is printed.
    """
    if len(fit.center) == 1:
        return _single_cox_rows(fit, owner, times)
    x, people = fit.matrix, owner.people.astype(np.float64)
    mean = people @ x / max(float(people.sum()), 1.0)
    x = np.where(fit.inside[:, None], x - mean, 0.0)
    linear = x @ fit.center
    reach = np.abs(x) @ (fit.half + PAD * np.abs(fit.center))
    if max(np.ptp(linear), reach.max(initial=0.0)) > MOST_SPREAD:
        return (), ()
    hazard = people * np.exp(linear - linear.max(initial=0.0))
    moved = hazard * np.expm1(reach)
    at_risk = _at_risk(times, fit.inside)
    total, least = at_risk(hazard), at_risk(hazard * np.exp(-reach))
    means = at_risk(hazard[:, None] * x) / np.where(total > 0, total, 1.0)[:, None]
    most_off = at_risk(moved[:, None] * np.abs(x)) + np.abs(means) * at_risk(moved)[:, None]
    off = most_off / np.where(least > 0, least, 1.0)[:, None] * (1 + PAD)
    off += PAD * (np.abs(x).max(axis=0, initial=0.0) + 1.0)
    rows = []
    for term in range(len(fit.center)):
        for sign, ends in ((1.0, Ends(low=Fraction(0))), (-1.0, Ends(high=Fraction(0)))):
            weights = x[:, term] - means[:, term] + sign * off[:, term]
            rows.append(owner.row(as_fractions(np.where(fit.inside, weights, 0.0)), ends))
    return tuple(rows), ()


MOST_SPREAD = 300.0
"""Log hazards that are farther apart leave nothing of the smaller ones in floating point."""


def _single_cox_rows(
    fit: _Fit, owner: RowOwner, times: FloatArray
) -> tuple[tuple[WholeRow, ...], tuple[WholeRow, ...]]:
    at_risk = _at_risk(times, fit.inside)
    x, people = fit.matrix[:, 0], owner.people.astype(np.float64)
    x = np.where(fit.inside, x - x[fit.inside].mean(), 0.0) if fit.inside.any() else x
    pad = PAD * (np.abs(x).max(initial=0.0) + 1.0)
    if (abs(fit.center[0]) + fit.half[0]) * np.ptp(x) > MOST_SPREAD:
        return (), ()

    def row(end: float, *, is_low: bool, is_outward: bool) -> WholeRow:
        hazard = people * np.exp(end * x - np.abs(end * x).max(initial=0.0))
        total = at_risk(hazard)
        weights = x - at_risk(hazard * x) / np.where(total > 0, total, 1.0)
        weights += (1 if is_low is is_outward else -1) * pad
        ends = Ends(low=Fraction(0)) if is_low else Ends(high=Fraction(0))
        exact = as_fractions(np.where(fit.inside, weights, 0.0))
        return owner.row(exact, ends, is_outward=is_outward)

    center, half, printed = float(fit.center[0]), float(fit.half[0]), float(fit.printed[0])
    rows = tuple(row(center + sign * half, is_low=sign < 0, is_outward=True) for sign in (-1, 1))
    inner = printed * (1 - 1e-9)
    stronger = tuple(
        row(center + sign * inner, is_low=sign < 0, is_outward=False) for sign in (-1, 1)
    )
    return rows, stronger


def _at_risk(times: FloatArray, inside: BoolArray) -> Callable[[FloatArray], FloatArray]:
    """Return what sums numbers of profiles, (P, ...), over those whose time is not before each profile's."""
    order = np.argsort(np.where(inside, times, -np.inf), kind="stable")
    ordered = np.where(inside, times, -np.inf)[order]
    first = np.searchsorted(ordered, np.where(inside, times, -np.inf), side="left")

    def summed(numbers: FloatArray) -> FloatArray:
        from_here = np.flip(np.cumsum(np.flip(numbers[order], axis=0), axis=0), axis=0)
        return np.asarray(from_here[first])

    return summed


def _logistic(linear: FloatArray) -> FloatArray:
    """Return ``1 / (1 + exp(-linear))``, each to a few units of rounding of its own size."""
    power = np.exp(-np.abs(linear))
    return np.asarray(np.where(linear >= 0, 1.0, power) / (1.0 + power))


def _around(goal: float, half: float) -> Ends:
    return Ends(
        Fraction(float(goal)) - Fraction(float(half)), Fraction(float(goal)) + Fraction(float(half))
    )


def _is_possible(row: WholeRow) -> bool:
    return row.low is None or row.high is None or row.low <= row.high
