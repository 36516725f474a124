"""The maximum-entropy problem once more, straight from the definitions, solved by SciPy: the judge of the product.

Shares no code with the product beyond the tree and the population: leaves, rates, labels and impurities are computed
here from the profiles and the tests of the tree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from treewarden.audit.facts.rows import Case
from treewarden.ppdm_models.tree.predicate import CategoryTest

FEASIBLE = 1e-7
SMALLEST = 1e-7


@dataclass(frozen=True)
class Optimum:
    """The best feasible point of several starts: shares (P, m) and the entropy per record."""

    shares: np.ndarray
    entropy: float


def best_of_starts(case: Case, starts: int = 3) -> Optimum | None:
    """Return the best feasible local optimum found from several starts, or None."""
    counts, shape = case.population.counts, case.population.truth.shape
    equal, wanted = _equalities(case)
    above = _leads(case)
    splits = _splits(case)
    found = []
    draw = np.random.default_rng(0)
    truth = case.population.truth / counts[:, None]
    mean = truth.copy()
    for leaf in np.unique(case.population.leaf):
        here = case.population.leaf == leaf
        mean[here] = case.population.truth[here].sum(axis=0) / counts[here].sum()

    def gaps(flat: np.ndarray) -> np.ndarray:
        return np.array(
            [
                *(above @ flat),
                *(_gap(case, flat.reshape(shape), *split)[0] for split in splits),
                0.0,
            ]
        )

    def gap_slopes(flat: np.ndarray) -> np.ndarray:
        slopes = [_gap(case, flat.reshape(shape), *split)[1].ravel() for split in splits]
        return np.vstack([above, *slopes, np.zeros(truth.size)])

    free = _possible(case)
    for number in range(starts):
        weight = draw.random(truth.shape[0])[:, None] if number else 0.3
        answer = minimize(
            lambda flat: _negative_entropy(flat.reshape(shape), counts),
            np.where(free, weight * truth + (1 - weight) * mean, 0.0).ravel(),
            jac=lambda flat: _slope(flat.reshape(shape), counts),
            bounds=[(SMALLEST, 1) if cell else (0, 0) for cell in free.ravel()],
            constraints=[
                {"type": "eq", "fun": lambda flat: equal @ flat - wanted, "jac": lambda _: equal},
                {"type": "ineq", "fun": gaps, "jac": gap_slopes},
            ],
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-12},
        )
        answer.x[~free.ravel()] = 0.0
        is_feasible = (
            np.abs(equal @ answer.x - wanted).max() < FEASIBLE and gaps(answer.x).min() > -FEASIBLE
        )
        if is_feasible:
            found.append(Optimum(answer.x.reshape(shape), -answer.fun))
    return max(found, key=lambda one: one.entropy, default=None)


def _negative_entropy(x: np.ndarray, counts: np.ndarray) -> float:
    return float((counts[:, None] * x * np.log(np.maximum(x, SMALLEST))).sum() / counts.sum())


def _slope(x: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return (counts[:, None] * (np.log(np.maximum(x, SMALLEST)) + 1) / counts.sum()).ravel()


def _equalities(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that say that shares sum to 1 and that each leaf has its rates or counts; none of them twice."""
    counts, shape = case.population.counts, case.population.truth.shape
    rows, wanted = [], []
    for q in range(shape[0]):
        rows.append(_cells(shape, [q], range(shape[1]), np.ones(1)))
        wanted.append(1.0)
    for here, klass, share in _rates(case):
        rows.append(_cells(shape, here, [klass], counts[here] / counts[here].sum()))
        wanted.append(share)
    kept: list[int] = []
    for number in range(len(rows)):
        if np.linalg.matrix_rank(np.array([rows[k] for k in [*kept, number]])) > len(kept):
            kept.append(number)
    return np.array([rows[k] for k in kept]), np.array([wanted[k] for k in kept])


def _possible(case: Case) -> np.ndarray:
    """Return which shares can be more than 0: not those of a class that its leaf is known to lack."""
    free = np.ones(case.population.truth.shape, dtype=bool)
    for leaf in case.tree.leaves:
        here = np.flatnonzero(case.population.leaf == leaf.index)
        total = case.population.truth[here].sum(axis=0)
        label = case.tree.classes.index(leaf.score)
        if case.knowledge.leaf == "counts":
            free[here] &= total > 0
        elif case.knowledge.leaf == "rates" and total[label] == total.sum():
            free[here] = np.arange(len(total)) == label
    return free


def _leads(case: Case) -> np.ndarray:
    counts, shape = case.population.counts, case.population.truth.shape
    rows = [np.zeros(case.population.truth.size)]
    for here, label in _pluralities(case):
        weight = counts[here] / counts[here].sum()
        for other in set(range(shape[1])) - {label}:
            rows.append(_cells(shape, here, [label], weight) - _cells(shape, here, [other], weight))
    return np.array(rows)


def _cells(
    shape: tuple[int, int], profiles: Iterable[int], classes: Iterable[int], weights: np.ndarray
) -> np.ndarray:
    row = np.zeros(shape)
    for klass in classes:
        row[list(profiles), klass] = weights
    return row.ravel()


def _rates(case: Case) -> list[tuple[np.ndarray, int, float]]:
    wanted = []
    for leaf in case.tree.leaves:
        here = np.flatnonzero(case.population.leaf == leaf.index)
        classes = range(len(case.tree.classes))
        if case.knowledge.leaf == "labels":
            classes = []
        elif case.knowledge.leaf == "rates":
            classes = [case.tree.classes.index(leaf.score)]
        else:
            classes = list(classes)[:-1]
        wanted += [
            (here, c, case.population.truth[here, c].sum() / case.population.counts[here].sum())
            for c in classes
        ]
    return wanted


def _pluralities(case: Case) -> list[tuple[np.ndarray, int]]:
    if case.knowledge.leaf == "counts":
        return []
    leaves = case.tree.leaves
    return [
        (np.flatnonzero(case.population.leaf == x.index), case.tree.classes.index(x.score))
        for x in leaves
    ]


def _splits(case: Case) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return, per multiway candidate, the node's profiles, the chosen attribute's values and the other's."""
    if case.knowledge.split == "none":
        return []
    names = list(case.population.columns)
    codes = {name: case.population.columns[name].codes for name in names}
    found = []
    for node in case.tree.nodes:
        if node.is_leaf:
            continue
        inside = np.ones(len(case.population.counts), dtype=bool)
        used = set()
        for test in (step.test for step in case.tree.path(node.index)):
            if isinstance(test, CategoryTest):
                used.add(test.feature)
                column = case.population.columns[test.feature]
                inside &= np.isin(np.array(column.categories)[column.codes], test.values)
        chosen = case.tree.nodes[node.children[0]].test.feature
        for name in names:
            if name != chosen and name not in used and len(set(codes[name][inside])) > 1:
                found.append((np.flatnonzero(inside), codes[chosen][inside], codes[name][inside]))
    return found


def _gap(
    case: Case, x: np.ndarray, inside: np.ndarray, chosen: np.ndarray, other: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return by how much the chosen split is better, per record, and its slope in every share."""
    counts = case.population.counts[inside]
    mass = x[inside] * counts[:, None]
    criterion = str(case.knowledge.split)
    after_chosen, size_chosen, slope_chosen = _after(mass, counts, chosen, criterion)
    after_other, size_other, slope_other = _after(mass, counts, other, criterion)
    if criterion != "gain-ratio":
        size_chosen = size_other = 1.0
    before, _, slope_before = _after(mass, counts, np.zeros_like(chosen), criterion)
    gap = (before - after_chosen) / size_chosen - (before - after_other) / size_other
    slope = np.zeros(case.population.truth.shape)
    slope[inside] = (slope_before - slope_chosen) / size_chosen - (
        slope_before - slope_other
    ) / size_other
    slope[inside] *= counts[:, None] / counts.sum()
    return float(gap / counts.sum()), slope


def _after(
    mass: np.ndarray, counts: np.ndarray, values: np.ndarray, criterion: str
) -> tuple[float, float, np.ndarray]:
    """Return n * E of a split, its split information, and the slope of n * E in each mass (branch sizes are fixed)."""
    total, sizes, slope = 0.0, [], np.zeros_like(mass)
    for value in np.unique(values):
        size = counts[values == value].sum()
        p = np.maximum(mass[values == value].sum(axis=0) / size, 1e-12)
        sizes.append(size / counts.sum())
        total += size * (1 - (p**2).sum() if criterion == "gini" else -(p * np.log(p)).sum())
        slope[values == value] = -2 * p if criterion == "gini" else -(np.log(p) + 1)
    shares = np.array(sizes)
    return total, float(-(shares * np.log(shares)).sum()), slope
