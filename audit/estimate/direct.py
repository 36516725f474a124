"""The problem as it is written down, nothing reduced: one variable per profile and class, every candidate split a row.

Slow by design. It is what the reduced model is compared with, in tests and benchmarks.
"""

from __future__ import annotations

import numpy as np

from audit.facts.impurity import by_bin, by_child, candidate_branches, ratios
from audit.facts.rows import LeafMass, Linear, Plurality, ProfileTotals, SplitFamily, branch_of_bins
from audit.ipopt.modelling import pyo
from audit.ipopt.program import SMALLEST_MASS, TAU
from audit.system.system import System
from ppdm_models.arrays import FloatArray, IndexArray
from ppdm_models.tree.tree import Criterion

Expression = object


def direct_model(system: System, values: FloatArray) -> pyo.ConcreteModel:
    """Return the whole problem as one Pyomo model over masses in records, started at ``values`` (P, m).

    ``model.z`` holds the masses row by row: profile q's class c is number q * m + c.
    """
    case = system.case
    counts, m = case.population.counts, len(case.tree.classes)
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
    for row in system.rows:
        if isinstance(row, ProfileTotals):
            for q, count in enumerate(row.counts.tolist()):
                model.linear.add(pyo.quicksum(mass[q]) == count)
        elif isinstance(row, LeafMass):
            _between(
                model,
                pyo.quicksum(mass[case.members.stops(row.node), row.klass]),
                row.low,
                row.high,
            )
        elif isinstance(row, Linear):
            terms = zip(row.weights.tolist(), mass[row.profiles, row.classes], strict=True)
            _between(model, pyo.quicksum(w * z for w, z in terms), row.low, row.high)
        elif isinstance(row, Plurality):
            here = mass[case.members.stops(row.node)]
            label = pyo.quicksum(here[:, row.label])
            for klass in range(m):
                if klass != row.label:
                    model.linear.add(label - pyo.quicksum(here[:, klass]) >= row.margin)
        else:
            _split_rows(model, row, mass, counts)
    return model


def _between(model: pyo.ConcreteModel, total: Expression, low: float, high: float) -> None:
    model.linear.add(total == low if low == high else pyo.inequality(low, total, high))


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
