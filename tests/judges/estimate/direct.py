"""The problem as it is written down, nothing reduced: one variable per profile and class, every candidate split a row.

Slow by design. It is what the product's reduced model is compared with, in tests and benchmarks.
"""

from __future__ import annotations

import time

import numpy as np
import pyomo.core as pyo

from treewarden.audit.entropy.posterior import (
    BlockCounts,
    Posterior,
    SolverReport,
    SolverRun,
    entropy,
)
from treewarden.audit.entropy.violated import VIOLATION_SHARE
from treewarden.audit.facts.impurity_rows import by_bin, by_child, candidate_branches, ratios
from treewarden.audit.facts.rows import Linear, SplitFamily, as_lines, branch_of_bins
from treewarden.audit.ipopt.backend import Status
from treewarden.audit.ipopt.backends import door, doors
from treewarden.audit.ipopt.model import load_model
from treewarden.audit.ipopt.program import SMALLEST_MASS, TAU
from treewarden.audit.solver.task import CONVEX_TRIES, TRIES
from treewarden.audit.system.system import System, closed_form, leaf_knowledge, max_violation
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tree.tree import Criterion

Expression = object


def solve(system: System) -> tuple[Posterior, SolverReport]:
    """Solve a system as it is written down, in this process; return the posterior and how it was found."""
    began, system = time.perf_counter(), system.estimated
    start = closed_forms(system)
    counts = system.case.population.counts
    masses = (start * counts[:, None]).ravel()
    (name, _), loaded = door("auto"), load_model(direct_model(system, start))
    solver = doors()[name].opened(loaded)
    z, iterations, said = masses, 0, Status.FAILED
    for (eps, mu), *_ in TRIES if system.families else CONVEX_TRIES:
        solution = solver.solve(masses, eps, mu_init=mu)
        iterations, said = iterations + solution.iterations, solution.status
        if said is Status.SOLVED:
            z = solution.z
            break
    values = z.reshape(start.shape) / counts[:, None]
    worst = max_violation(system, values * counts[:, None])
    accepted = said is Status.SOLVED and worst <= VIOLATION_SHARE
    report = SolverReport(
        status="optimal" if accepted else "stalled",
        entropy=entropy(values, counts),
        entropy_bound=entropy(start, counts),
        entropy_relaxed=entropy(start, counts),
        bound_argument="relaxation",
        run=SolverRun(name, iterations, time.perf_counter() - began, worst),
        rows=system.size,
        rows_active=system.size,
        blocks=BlockCounts(1, stalled=0 if accepted else 1),
        is_convex=False,
        is_unique=False,
        reason="" if accepted else f"the unreduced problem was not solved: {said}",
    )
    return Posterior(values, np.full(len(counts), accepted), values, values), report


def closed_forms(system: System) -> FloatArray:
    """Return each leaf's closed form from its own rows alone, by profile, shape (P, m)."""
    case = system.case
    values = np.zeros((len(case.population.counts), len(case.tree.classes)))
    for node, leaf in leaf_knowledge(system).items():
        values[case.members.stops(node)] = closed_form(leaf)
    return values


def direct_model(system: System, values: FloatArray) -> pyo.ConcreteModel:
    """Return the whole problem as one Pyomo model over masses in records, started at ``values`` (P, m).

    ``model.z`` holds the masses row by row: profile q's class c is number q * m + c.
    """
    counts, m = system.case.population.counts, values.shape[1]
    start = np.maximum(values * counts[:, None], SMALLEST_MASS).ravel()
    model = pyo.ConcreteModel()
    model.z = pyo.Var(
        range(len(start)), bounds=(SMALLEST_MASS, None), initialize=dict(enumerate(start.tolist()))
    )
    model.eps = pyo.Var(initialize=0.0)
    mass = np.array([model.z[i] for i in range(len(start))], dtype=object).reshape(-1, m)
    scale = np.repeat(counts, m).tolist()
    model.negative_entropy = pyo.Objective(
        expr=pyo.quicksum(z * pyo.log(z / n) for z, n in zip(mass.ravel(), scale, strict=True))
        - model.eps * pyo.quicksum(n * pyo.log(z) for z, n in zip(mass.ravel(), scale, strict=True))
    )
    model.linear = pyo.ConstraintList()
    model.split = pyo.ConstraintList()
    for q, count in enumerate(counts.tolist()):
        model.linear.add(pyo.quicksum(mass[q]) == count)
    for said in system.contents:
        for line in as_lines(system.case, said):
            _between(model, line, mass)
        for family in said.families:
            _split_rows(model, family, mass, counts)
    return model


def _between(model: pyo.ConcreteModel, line: Linear, mass: FloatArray) -> None:
    terms = zip(line.weights.tolist(), mass[line.profiles, line.classes], strict=True)
    total = pyo.quicksum(weight * z for weight, z in terms)
    is_equal = line.low == line.high
    model.linear.add(total == line.low if is_equal else pyo.inequality(line.low, total, line.high))


def _split_rows(
    model: pyo.ConcreteModel, family: SplitFamily, mass: FloatArray, counts: FloatArray
) -> None:
    here, records = mass[family.profiles], counts[family.profiles]
    chosen = _impurity(family.criterion, here, records, family.chosen)
    node = _impurity(family.criterion, here, records, np.zeros_like(family.chosen))
    weights = counts[:, None]
    ratio = ratios(
        family, by_child(family, weights), candidate_branches(family, by_bin(family, weights))
    )
    for a, code in zip(ratio.tolist(), family.admissible.tolist(), strict=True):
        side = branch_of_bins(family.grouping, code, len(family.bin_names))[family.bins]
        other = _impurity(family.criterion, here, records, side)
        model.split.add(a * chosen - other + (1 - a) * node <= TAU * float(records.sum()))


def _impurity(
    criterion: Criterion, mass: FloatArray, records: FloatArray, branch: IndexArray
) -> Expression:
    """Return n_b * I(b) summed over branches as an expression; constant parts of gini cancel and are left out."""
    total = 0.0
    for b in np.unique(branch):
        size = float(records[branch == b].sum())
        for klass in range(mass.shape[1]):
            u = pyo.quicksum(mass[branch == b, klass])
            total = total - (u**2 / size if criterion is Criterion.GINI else u * pyo.log(u / size))
    return total
