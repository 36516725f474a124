"""The same tables by IPOPT, through Pyomo: for the few small problems in which Newton's method on the dual gives up.

That is so where rows together leave some cells nobody, so that multipliers grow without end: what linear rows force
is fixed first. What is found is judged by the dual, whose value at any multipliers bounds the entropy of every table.
"""

from __future__ import annotations

import math
import time

import numpy as np
from scipy import optimize, sparse

from treewarden.audit.ipopt.program import SMALLEST_MASS, Program
from treewarden.audit.partial.allowance import Allowance
from treewarden.audit.partial.rows import Cells, Rows
from treewarden.audit.solver.block_solver import solve_task
from treewarden.audit.solver.interior import interior
from treewarden.audit.solver.task import CONVEX_TRIES, Task
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.nodes import Criterion

MOST_VARIABLES = 3_000
"""Cells of a table up to which IPOPT is asked: some seconds."""
VARIABLE = 1e5
"""Operations that a cell costs, about."""
ACTIVE = 1e-4
"""A row whose end is nearer than that, for each person, may hold the table back."""


def by_ipopt(
    cells: Cells,
    supply: FloatArray,
    demand: FloatArray,
    rows: Rows,
    allowance: Allowance,
) -> tuple[FloatArray, float, FloatArray] | None:
    """Return the table of greatest entropy that fulfils rows, (K,), how far it is off, and the prices of rows, (C,).

    How far is from the optimum, in records times nats. None where it is too large, or not found. The arguments are
    those of ``multipliers``.

    Raises:
        SolverError: the wanted solver is not there.
    """
    if len(cells) > MOST_VARIABLES or not allowance.spend(VARIABLE * len(cells)):
        return None
    whole = _program(cells, supply, demand, rows)
    inner = interior(whole)
    program = whole if inner is None else inner.program
    left = allowance.until.left
    deadline = time.monotonic() + left if math.isfinite(left) else math.inf
    answer = solve_task(Task(program, (program.start,), CONVEX_TRIES, allowance.door, deadline))
    if not answer.is_accepted:
        return None
    z = answer.z if inner is None else inner.restored(answer.z)
    prices = np.abs(_prices(whole, z)[len(supply) + len(demand) :])
    return z, _gap(program, answer.z), prices


def _program(cells: Cells, supply: FloatArray, demand: FloatArray, rows: Rows) -> Program:
    at, ones = np.arange(len(cells)), np.ones(len(cells))
    of_group = sparse.csr_array((ones, (cells.group, at)), shape=(len(supply), len(cells)))
    of_place = sparse.csr_array((ones, (cells.place, at)), shape=(len(demand), len(cells)))
    matrix = sparse.csr_matrix(sparse.vstack([of_group, of_place, rows.value]))
    low = np.concatenate([supply, demand, rows.least])
    is_equal = np.concatenate([np.ones(len(supply) + len(demand), dtype=bool), rows.is_equal])
    size, none, nowhere = len(cells), np.zeros(0), np.zeros(0, dtype=np.intp)
    return Program(
        criterion=Criterion.GINI,
        scale=np.ones(size),
        start=supply[cells.group] * demand[cells.place] / demand.sum(),
        lower=np.full(size, SMALLEST_MASS),
        upper=np.minimum(supply[cells.group], demand[cells.place]),
        rows=matrix,
        low=low,
        high=np.where(is_equal, low, np.inf),
        term_row=nowhere,
        term_variable=nowhere,
        term_coefficient=none,
        term_scale=none,
        term_known=none,
        term_most=none,
        split_constant=none,
        split_limit=none,
        split_records=none,
        cost=np.zeros(size),
        split_linear=sparse.csr_matrix((0, size)),
    )


def _gap(program: Program, z: FloatArray) -> float:
    """Return how much more entropy any point that fulfils the rows has at most, in records times nats."""
    if not program.size:
        return 0.0
    prices = _prices(program, z)
    asked = np.where(prices > 0, program.high, program.low)
    is_held = prices != 0
    dual = -float(np.exp(-1 - program.rows.T @ prices).sum())
    dual -= float(prices[is_held] @ asked[is_held])
    return max(program.objective(z) - dual, 0.0)


def _prices(program: Program, z: FloatArray) -> FloatArray:
    """Return what each row is worth, (C,), as cells with somebody tell; 0 where it does not hold the table back."""
    value, most = program.rows @ z, abs(program.rows) @ np.ones(len(z))
    off = ACTIVE * np.maximum(most, 1.0)
    at_low, at_high = value <= program.low + off, value >= program.high - off
    ends = np.where(at_low, -np.inf, 0.0), np.where(at_high, np.inf, 0.0)
    held, some = np.flatnonzero(at_low | at_high), np.flatnonzero(z > 2 * SMALLEST_MASS)
    slope = np.log(z[some]) + 1
    rows = program.rows[held][:, some]
    found = np.zeros(len(value))
    bounds = ends[0][held], ends[1][held]
    found[held] = optimize.lsq_linear(rows.T, -slope, bounds, tol=1e-14).x
    return found
