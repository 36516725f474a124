"""Writes a block as a Pyomo model: the one formulation, whichever door to IPOPT then solves it."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from treewarden.audit.ipopt.modelling import LinearExpression, pyo
from treewarden.audit.ipopt.program import Program
from treewarden.ppdm_models.tree.tree import Criterion


def build_model(program: Program) -> pyo.ConcreteModel:
    """Return the Pyomo model of a block.

    ``model.z`` are the masses and aggregates; ``model.eps``, a variable that the solver holds at the wanted value, is
    the weight of the term that singles out one optimum; rows stand in the order linear, split.
    """
    model = pyo.ConcreteModel()
    n, n_mass = program.size, len(program.scale)
    model.z, model.eps = pyo.Var(range(n)), pyo.Var()
    z = [model.z[i] for i in range(n)]
    # One by one: rules for bounds, and starts that solvers are given anyway, take Pyomo twice as long.
    for variable, low, high in zip(z, program.lower.tolist(), program.upper.tolist(), strict=True):
        variable.setlb(low)
        variable.setub(_finite(high))
    scale = program.scale.tolist()
    model.negative_entropy = pyo.Objective(
        # The eps term as z log(z / scale) takes it in: up to a constant it is -eps * scale * log(z).
        expr=pyo.quicksum(
            (z[i] - scale[i] * model.eps) * pyo.log(z[i] / scale[i]) for i in range(n_mass)
        )
        + pyo.quicksum(float(program.cost[i]) * z[i] for i in np.flatnonzero(program.cost).tolist())
    )
    model.linear = pyo.ConstraintList()
    for row in range(program.rows.shape[0]):
        total = _sum(program.rows, row, z)
        low, high = float(program.low[row]), float(program.high[row])
        model.linear.add(total == low if low == high else (_finite(low), total, _finite(high)))
    model.split = pyo.ConstraintList()
    for row in range(len(program.split_constant)):
        terms = np.flatnonzero(program.term_row == row).tolist()
        total = pyo.quicksum(_term(program, z, t) for t in terms)
        if program.split_linear.indptr[row + 1] > program.split_linear.indptr[row]:
            total = total + _sum(program.split_linear, row, z)
        model.split.add(
            total + float(program.split_constant[row]) <= float(program.split_limit[row])
        )
    return model


def _sum(rows: sparse.csr_matrix, row: int, z: list[pyo.Var]) -> object:
    span = slice(rows.indptr[row], rows.indptr[row + 1])
    variables = [z[i] for i in rows.indices[span].tolist()]
    # One object per row: writing sums term by term takes Pyomo twice as long.
    return LinearExpression(
        constant=0, linear_coefs=rows.data[span].tolist(), linear_vars=variables
    )


def _term(program: Program, z: list[pyo.Var], term: int) -> object:
    u = z[program.term_variable[term]]
    coefficient, scale = float(program.term_coefficient[term]), float(program.term_scale[term])
    if program.criterion is Criterion.GINI:
        return (-coefficient / scale) * u**2
    return -coefficient * u * pyo.log(u / scale)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
