"""The whole problem as one would write it by hand in CasADi: Opti, a matrix of masses, every row, exact derivatives."""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np

from tests.judges.estimate.direct import closed_forms
from tests.judges.run_estimate import split_rows
from treewarden.audit.entropy.posterior import Posterior, certain, entropy
from treewarden.audit.facts.rows import Linear, SplitFamily, as_lines
from treewarden.audit.system.system import System, max_violation

SMALLEST = 1e-12
TAU = 1e-7
EPS_PATH = ((1e-3, 10.0), (1e-4, 0.1))
"""Slack of split rows and weights of the log term as in the product, so that both solve the same problem; the start,
each leaf's closed form, and IPOPT's options are the product's too."""

PLUGIN = {
    "print_time": False,
    "expand": True,
    "detect_simple_bounds": True,
    "show_eval_warnings": False,
}


def solve(system: System) -> tuple[Posterior, dict[str, Any]]:
    """Solve a system and return the posterior and the figures that the product reports too."""
    case = system.case
    counts, m = case.population.counts, len(case.tree.classes)
    problem = casadi.Opti()
    mass = problem.variable(len(counts), m)
    eps = problem.parameter()
    sizes = np.repeat(counts[:, None], m, axis=1)
    logs = casadi.log(mass / sizes)
    problem.minimize(
        casadi.sum1(casadi.sum2(mass * logs)) - eps * casadi.sum1(casadi.sum2(sizes * logs))
    )
    problem.subject_to(casadi.vec(mass) >= SMALLEST)
    problem.subject_to(casadi.sum2(mass) == counts)
    for said in system.said:
        for line in as_lines(case, said):
            _line(problem, line, mass)
        for family in said.families:
            _splits(problem, family, mass, counts)
    options = {
        "nlp_scaling_method": "none",
        "max_iter": 400,
        "print_level": 0,
        "sb": "yes",
        "bound_relax_factor": 0.0,
        "mumps_pivot_order": 5,
    }
    begin = np.maximum(closed_forms(system) * counts[:, None], SMALLEST)
    status, iterations = "optimal", 0
    for weight, mu in EPS_PATH if system.families else ((0.0, 0.1),):
        problem.solver("ipopt", PLUGIN, {**options, "mu_init": mu})
        problem.set_value(eps, weight)
        problem.set_initial(mass, begin)
        try:
            begin = np.maximum(np.array(problem.solve().value(mass)).reshape(-1, m), SMALLEST)
        except RuntimeError as error:  # CasADi's way to say that IPOPT did not converge
            status = f"stalled: {str(error).splitlines()[-1][-60:]}"
        iterations += int(problem.stats()["iter_count"])
    values = begin / begin.sum(axis=1, keepdims=True)
    figures = {
        "status": status,
        "entropy": entropy(values, counts),
        "max_violation": max_violation(system, values * counts[:, None]),
        "iterations": iterations,
        "rows_active": system.size,
    }
    return certain(values), figures


def _line(problem: casadi.Opti, line: Linear, mass: casadi.MX) -> None:
    weights = np.zeros(mass.shape)
    np.add.at(weights, (line.profiles, line.classes), line.weights)
    total = casadi.sum1(casadi.sum2(casadi.sparsify(casadi.DM(weights)) * mass))
    if line.low == line.high:
        problem.subject_to(total == line.low)
    else:
        problem.subject_to(problem.bounded(line.low, total, line.high))


def _splits(problem: casadi.Opti, family: SplitFamily, mass: casadi.MX, counts: np.ndarray) -> None:
    here, sizes = mass[family.profiles.tolist(), :], counts[family.profiles]
    for row in split_rows(family):
        gap = _impurity(row.chosen, here, sizes, row.criterion)
        gap -= _impurity(row.other, here, sizes, row.criterion)
        problem.subject_to(gap <= TAU * sizes.sum())


def _impurity(branch: np.ndarray, here: casadi.MX, sizes: np.ndarray, criterion: str) -> casadi.MX:
    """Return the sum of n_b * I(b), less what is constant."""
    found, place = np.unique(branch, return_inverse=True)
    pick = casadi.sparsify(casadi.DM(np.eye(len(found))[place].T))
    totals, records = pick @ here, np.bincount(place, weights=sizes)
    if criterion == "gini":
        return -casadi.sum1(casadi.sum2(totals**2) / records)
    shares = totals / np.repeat(records[:, None], totals.shape[1], axis=1)
    return -casadi.sum1(casadi.sum2(totals * casadi.log(shares)))
