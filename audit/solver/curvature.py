"""How far split rows can bend the problem away from convex, chain by chain.

A chain is the terms of the chosen splits that a mass is in, node by node. Seen from a point, the entropy of masses y
rises above its tangent by D(y|p) = sum y log(y / p) - y + p, and by at least D(v|w) for their total v, w at the point
(log-sum inequality). A term of a chosen split falls below its tangent: by c (v - w)^2 / s for gini, by c D(v + k|w + k)
for the entropy, k the known mass beside them. The ratio of its fall to D(v|w) grows with v (that of the second
derivatives does), so it is largest at the most that v can be: the term's weight. Where weights times multipliers sum to
1 or less along every chain, each term can have its own part of the entropy, and the Lagrangian lies above its tangent
at that point. From any point the weights are at most 2 c v / s and c v / (v + k), v at its most (Cauchy-Schwarz): under
these the Lagrangian is convex.

All this holds for every class by itself. Pooled, each class has its share of the pool's masses, and the same weight.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from treewarden.audit.ipopt.program import SMALLEST_MASS, Program
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.tree import Criterion

NEAR_SHARE = 1e-3
"""Totals nearer to their most than this share of it get the weight of all points: the other's digits would cancel."""
DIGITS = 1e12
"""Weights are rounded up to so many parts of 1: those that differ by rounding are one."""
ROUNDING_SHARE = 1e-9
"""What rounding may take from a weight that is not near its most."""


def chains(program: Program, members: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return which terms of the chosen splits each mass is in, 1 or 0, shape (terms, masses).

    ``members`` (variables, masses) says which masses each variable sums.
    """
    bent = sparse.diags_array((program.term_coefficient > 0).astype(float))
    return sparse.csr_matrix(bent @ members[program.term_variable])


def weights(
    program: Program, chains: sparse.csr_matrix, z: FloatArray | None = None, margin: float = 1.0
) -> sparse.csr_matrix:
    """Return the weight of each split row in each chain, seen from a point, or the most it is from any point.

    Seen from a point, each term is taken ``margin`` times, but no more than from any point. Shape (split rows, chains);
    chains with the same weights are one, chains without weight are left out.
    """
    shape = (len(program.split_limit), len(program.term_row))
    bend = _most(program)
    if z is not None:
        bend = np.minimum(margin * _from(program, chains, z), bend)
    bend = np.where(program.term_coefficient > 0, program.term_coefficient * bend, 0.0)
    terms = sparse.csr_matrix((bend, (program.term_row, np.arange(shape[1]))), shape=shape)
    dense = (terms @ chains).toarray()
    dense = np.ceil(dense[:, dense.any(axis=0)] * DIGITS) / DIGITS
    return sparse.csr_matrix(np.unique(dense, axis=1) if dense.size else dense)


def _most(program: Program) -> FloatArray:
    """Return the weight of each term that no point exceeds."""
    free = program.term_most - program.term_known
    if program.criterion is Criterion.GINI:
        return np.asarray(2 * free / program.term_scale)
    return np.divide(free, program.term_most, out=np.zeros_like(free), where=free > 0)


def _from(program: Program, chains: sparse.csr_matrix, z: FloatArray) -> FloatArray:
    """Return the weight of each term seen from a point."""
    total = np.maximum(chains @ z[: len(program.scale)], SMALLEST_MASS)
    beside = np.maximum(z[program.term_variable] - total, 0.0)
    most = program.term_most - beside
    far = most - total > NEAR_SHARE * most
    w, v = np.where(far, total, 1.0), np.where(far, most, 2.0)
    if program.criterion is Criterion.GINI:
        fall = (v - w) ** 2 / program.term_scale
    else:
        fall = _divergence(v + beside, w + beside)
    return np.where(far, fall / _divergence(v, w) * (1 + ROUNDING_SHARE), _most(program))


def _divergence(v: FloatArray, w: FloatArray) -> FloatArray:
    return np.asarray(v * np.log(v / w) - v + w)
