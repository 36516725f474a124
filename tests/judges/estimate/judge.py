"""SciPy on the full formulation, every profile, class and row at once: from several starts, and by the dual."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, minimize

from tests.judges.estimate.definitions import LinearRow, Row, SplitRow

FEASIBLE = 1e-7
SMALLEST = 1e-10


@dataclass(frozen=True)
class Optimum:
    """The best feasible point of several starts: masses (P, m), entropy per record, whether SciPy says it converged."""

    mass: np.ndarray
    entropy: float
    converged: bool


def best_of_starts(rows: list[Row], truth: np.ndarray, starts: int = 3) -> Optimum | None:
    """Return the best feasible local optimum found from several starts between the truth and the uniform, or None."""
    counts, shape = truth.sum(axis=1), truth.shape
    linear = [row for row in rows if isinstance(row, LinearRow)]
    splits = [row for row in rows if isinstance(row, SplitRow)]
    free = possible(linear, shape)
    equal, wanted = _independent(
        [
            (row.weights.ravel() / row.records, row.low / row.records)
            for row in linear
            if row.low == row.high
        ],
        free,
    )
    above, least = _inequalities(linear)
    draw = np.random.default_rng(0)

    def gaps(flat: np.ndarray) -> np.ndarray:
        mass = flat.reshape(shape)
        return np.array([*(above @ flat - least), *(row.gap(mass)[0] for row in splits), 1.0])

    def slopes(flat: np.ndarray) -> np.ndarray:
        found = np.zeros((len(splits) + 1, *shape))
        for number, row in enumerate(splits):
            found[number, row.inside] = row.gap(flat.reshape(shape))[1]
        return np.vstack([above, found.reshape(len(found), -1)])

    def negative(flat: np.ndarray) -> float:
        return -entropy(flat.reshape(shape), counts)

    def slope(flat: np.ndarray) -> np.ndarray:
        share = np.maximum(flat.reshape(shape) / counts[:, None], SMALLEST)
        return ((np.log(share) + 1) / counts.sum()).ravel()

    found: list[Optimum] = []
    for number in range(starts):
        weight = draw.random((len(counts), 1)) if number else 0.3
        begin = weight * truth + (1 - weight) * counts[:, None] / shape[1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # SLSQP steps over a bound and clips
            answer = minimize(
                negative,
                np.where(free, begin.ravel(), 0.0),
                jac=slope,
                bounds=[(SMALLEST, None) if cell else (0, 0) for cell in free],
                constraints=[
                    {"type": "eq", "fun": lambda z: equal @ z - wanted, "jac": lambda _: equal},
                    {"type": "ineq", "fun": gaps, "jac": slopes},
                ],
                method="SLSQP",
                options={"maxiter": 400, "ftol": 1e-13},
            )
        point = np.where(free, answer.x, 0.0)
        if (
            np.isfinite(point).all()
            and np.abs(equal @ point - wanted).max() < FEASIBLE
            and gaps(point).min() > -FEASIBLE
        ):
            mass = point.reshape(shape)
            found.append(Optimum(mass, entropy(mass, counts), bool(answer.success)))
    return max(found, key=lambda one: one.entropy, default=None)


def dual_bound(rows: list[Row], truth: np.ndarray) -> float:
    """Return the least upper bound on the entropy that multipliers of the linear rows give, in nats per record.

    By weak duality no point that satisfies the linear rows has more; without split rows the optimum has exactly this.
    """
    counts, shape = truth.sum(axis=1), truth.shape
    linear = [row for row in rows if isinstance(row, LinearRow)]
    free = possible(linear, shape).reshape(shape)
    across = linear[len(counts) :]
    if not across:  # each profile is uniform over the classes it can have
        return float(counts @ np.log(free.sum(axis=1)) / counts.sum())
    equal, wanted = _independent(
        [(r.weights.ravel() / r.records, r.low / r.records) for r in across if r.low == r.high],
        free.ravel(),
    )
    above, least = _inequalities(across)
    weights = np.vstack([equal.reshape(-1, free.size), above]).reshape(-1, *shape)
    ends = np.concatenate([wanted, least])

    def bound(multipliers: np.ndarray) -> tuple[float, np.ndarray]:
        power = np.where(free, np.tensordot(multipliers, weights, 1), -np.inf)
        top = power.max(axis=1, keepdims=True)
        raised = np.exp(power - top)
        sums = raised.sum(axis=1, keepdims=True)
        value = float((counts * (top + np.log(sums))[:, 0]).sum() - multipliers @ ends)
        mass = counts[:, None] * raised / sums
        return value / counts.sum(), ((weights * mass).sum(axis=(1, 2)) - ends) / counts.sum()

    if not len(ends):
        return bound(np.zeros(0))[0]
    signs = [(None, None)] * len(wanted) + [(0, None)] * len(least)
    answer = minimize(
        bound,
        np.zeros(len(ends)),
        jac=True,
        bounds=signs,
        method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return float(answer.fun)


def entropy(mass: np.ndarray, counts: np.ndarray) -> float:
    """Return H(class | profile) in nats per record."""
    share = np.maximum(mass / counts[:, None], 1e-300)
    return float(-(mass * np.log(share)).sum() / counts.sum())


def possible(linear: list[LinearRow], shape: tuple[int, ...]) -> np.ndarray:
    """Return which masses can be more than 0 under the linear rows, by one linear program each, shape (P * m,)."""
    equal = np.array([row.weights.ravel() for row in linear if row.low == row.high])
    wanted = np.array([row.low for row in linear if row.low == row.high])
    above, least = _inequalities(linear, scaled=False)
    free = np.zeros(equal.shape[1], dtype=bool)
    for cell in range(len(free)):
        if free[cell]:
            continue
        cost = np.zeros(len(free))
        cost[cell] = -1.0
        answer = linprog(
            cost,
            A_ub=-above if len(above) else None,
            b_ub=-least if len(above) else None,
            A_eq=equal,
            b_eq=wanted,
        )
        # One point with positive masses shows that all of them are possible, not the wanted one alone.
        free |= (answer.x if answer.x is not None else cost * 0) > 1e-7
    return free


def _inequalities(linear: list[LinearRow], scaled: bool = True) -> tuple[np.ndarray, np.ndarray]:
    rows, ends = [], []
    for row in linear:
        scale = row.records if scaled else 1.0
        if row.low == row.high:
            continue
        if np.isfinite(row.low) and row.low > -np.inf:
            rows.append(row.weights.ravel() / scale)
            ends.append(row.low / scale)
        if np.isfinite(row.high):
            rows.append(-row.weights.ravel() / scale)
            ends.append(-row.high / scale)
    width = linear[0].weights.size
    return np.array(rows).reshape(-1, width), np.array(ends)


def _independent(
    rows: list[tuple[np.ndarray, float]], free: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that no others imply, over the free masses."""
    kept: list[tuple[np.ndarray, float]] = []
    basis = np.zeros((0, len(free)))
    for weights, total in rows:
        rest = np.where(free, weights, 0.0)
        for _ in range(2):
            rest = rest - basis.T @ (basis @ rest)
        if np.linalg.norm(rest) > 1e-9:
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            kept.append((np.where(free, weights, 0.0), total))
    return np.array([w for w, _ in kept]), np.array([t for _, t in kept])
