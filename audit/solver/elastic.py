"""The elastic form of a program: every split row may be broken at a price, so that its optimum bounds all others.

The price is 1 per unit and chain, weighted as `treewarden.audit.solver.curvature` says, seen from the program's
start. So the
multipliers at its optimum are about as large as they may be for the Lagrangian to lie above its tangent there, and no
point of the program has a lower objective than the tangent has. What is proved does not rest on IPOPT, or on where it
started: `floor` holds for any point and multipliers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from treewarden.audit.ipopt.program import Program
from treewarden.audit.solver.canonical import NOTHING_RECORDS, NUMBER_BITS
from treewarden.audit.solver.curvature import weights
from treewarden.ppdm_models.arrays import FloatArray

ROUNDING_SHARE = 1e-7
"""What rounding may cost a floor, as a share of the masses' scales, beyond which it proves nothing."""
MARGIN = 1.06
"""How much heavier chains are taken to be than they are seen from the start: from the optimum they may be heavier."""
LOAD_SHARE = 1e-6
"""By how much a chain may be overloaded where that is the solver's tolerance."""
FLAT_SHARE = 1e-2
"""A chain whose weighted multipliers come this close to 1 has flat directions: other estimates are as good."""


def elastic(program: Program, chains: sparse.csr_matrix, z: FloatArray | None) -> Program:
    """Return the elastic form: one more variable per chain of `curvature`, with its price; ``z`` as there."""
    prices = weights(program, chains, z, MARGIN)
    extra = prices.shape[1]
    wide = sparse.csr_matrix((program.rows.shape[0], extra))
    return replace(
        program,
        start=np.concatenate([program.start, np.full(extra, 1e-3)]),
        lower=np.concatenate([program.lower, np.zeros(extra)]),
        upper=np.concatenate([program.upper, np.full(extra, np.inf)]),
        rows=sparse.csr_matrix(sparse.hstack([program.rows, wide])),
        cost=np.concatenate([program.cost, np.ones(extra)]),
        split_linear=sparse.csr_matrix(sparse.hstack([program.split_linear, -prices])),
    )


def is_overloaded(
    program: Program, chains: sparse.csr_matrix, z: FloatArray, split: FloatArray
) -> bool:
    """Return whether multipliers break the chain condition seen from a point: then they prove little."""
    loads = weights(program, chains, z).T @ np.maximum(split, 0.0)
    return bool(loads.max(initial=0.0) > 1 + LOAD_SHARE)


def is_flat(program: Program, chains: sparse.csr_matrix, split: FloatArray) -> bool:
    """Return whether multipliers ``split`` of the split rows leave flat directions along some chain."""
    loads = weights(program, chains).T @ split
    return bool((np.abs(loads - 1) <= FLAT_SHARE).any())


def is_convex_at(program: Program, chains: sparse.csr_matrix, split: FloatArray) -> bool:
    """Return whether multipliers meet the chain condition: then the Lagrangian is convex and no direction can help."""
    return bool((weights(program, chains).T @ split).max(initial=0.0) <= 1)


def floor(
    program: Program,
    chains: sparse.csr_matrix,
    z: FloatArray,
    linear: FloatArray,
    split: FloatArray,
) -> float:
    """Return a number that the objective goes below at no point of the program, proved by any point and multipliers.

    Rounding is taken off; it is minus infinity where multipliers are so large that rounding leaves nothing.

    ``z`` satisfies the rows that define aggregates. The multipliers of the split rows are brought to 0 or more and
    under the chain condition seen from ``z``. The Lagrangian then lies above its tangent at ``z``, which is lowest at a
    corner of the box of the variables.
    """
    prices = np.maximum(split, 0.0)
    loads = weights(program, chains, z).T @ prices
    prices = prices / max(1.0, float(loads.max(initial=0.0)))
    ends = np.where(linear > 0, program.high, program.low)
    duals = np.where(np.isfinite(ends), linear, 0.0)
    misses = program.rows @ z - np.where(np.isfinite(ends), ends, 0.0)
    value = program.objective(z) + prices @ program.split_values(z) + duals @ misses
    slope = program.gradient(z, 0.0) + program.rows.T @ duals + program.split_jacobian(z).T @ prices
    most = np.full(program.size, float(program.scale.sum()))
    most[: len(program.scale)] = program.scale
    most = np.minimum(most, program.upper)
    corner = np.where(slope > 0, -z, most - z)
    margin = _rounding(program, z, duals, prices, np.maximum(np.abs(z), np.abs(most - z)))
    if margin > ROUNDING_SHARE * float(program.scale.sum()):
        return -np.inf
    return float(value + slope @ corner - margin)


def _rounding(
    program: Program, z: FloatArray, duals: FloatArray, prices: FloatArray, reach: FloatArray
) -> float:
    """Return how far floating point may put a floor too high (Higham 2002, section 3.1).

    Rows that leave no interior have multipliers of 1e13 and more, which cancel each other. The program's own numbers
    may have been rounded, see `treewarden.audit.solver.canonical`.
    """
    rows, huge = abs(program.rows), np.abs(duals)
    slope = np.abs(program.gradient(z, 0.0)) + rows.T @ huge
    slope = slope + abs(program.split_jacobian(z)).T @ prices
    ends = np.where(np.isfinite(program.low), np.abs(program.low), 0.0)
    ends = np.maximum(ends, np.where(np.isfinite(program.high), np.abs(program.high), 0.0))
    value = huge @ (rows @ np.abs(z) + ends) + slope @ np.abs(z)
    operations = program.size + len(duals) + len(prices) + 2.0 ** (53 - NUMBER_BITS)
    nothing = NOTHING_RECORDS * (huge.sum() + prices.sum())
    return float(operations * np.finfo(float).eps * (value + slope @ reach) + nothing)
