"""The elastic form of a program: every split row may be broken at a price, so that its optimum bounds all others.

The price is 1 per unit and chain, weighted as `audit.curvature` says. At its optimum the multipliers satisfy the chain
condition, so the Lagrangian is convex there and the local optimum that IPOPT finds is the global one: no point of the
program has a lower objective.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from audit.posterior import FloatArray
from audit.program import Program

FLAT_SHARE = 1e-2
"""A chain whose weighted multipliers come this close to 1 has flat directions: other estimates are as good."""


def elastic(program: Program, chains: sparse.csr_matrix) -> Program:
    """Return the elastic form; ``chains`` (split rows, chains) adds one variable per chain, its price in the cost."""
    weights = sparse.csr_matrix(chains)
    extra = weights.shape[1]
    wide = sparse.csr_matrix((program.rows.shape[0], extra))
    return replace(
        program,
        start=np.concatenate([program.start, np.full(extra, 1e-3)]),
        lower=np.concatenate([program.lower, np.zeros(extra)]),
        upper=np.concatenate([program.upper, np.full(extra, np.inf)]),
        rows=sparse.csr_matrix(sparse.hstack([program.rows, wide])),
        cost=np.concatenate([program.cost, np.ones(extra)]),
        split_linear=sparse.csr_matrix(sparse.hstack([program.split_linear, -weights])),
    )


def is_flat(chains: sparse.csr_matrix, split: FloatArray) -> bool:
    """Return whether multipliers ``split`` of the split rows leave flat directions along some chain."""
    return bool((np.abs(chains.T @ split - 1) <= FLAT_SHARE).any())


def is_convex_at(chains: sparse.csr_matrix, split: FloatArray) -> bool:
    """Return whether multipliers meet the chain condition: then the Lagrangian is convex and no direction can help."""
    return not chains.shape[1] or bool((chains.T @ split).max() <= 1)
