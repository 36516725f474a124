"""How far split rows can bend the problem away from convex, chain by chain.

In masses the entropy's curvature is 1/y per mass. The chosen split's side of a row takes away at most
``lambda * w / y`` along a chain of active nodes: by Cauchy-Schwarz (sum d)^2 <= sum(d^2 / y) * sum(y), and sum(y) is at
most the free mass hv of the branch, so w = hv / (hv + known mass) for the entropy and w = 2 hv / n for gini. Where the
weights times the multipliers sum to 1 or less along every chain, the Lagrangian is convex and its minimum a bound.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from audit.blocks import Candidate
from audit.cells import Cells
from audit.impurity import by_bin, by_child, candidate_branches, ratios
from audit.posterior import FloatArray
from audit.program import IntArray
from audit.rows import SplitFamily
from audit.system import System
from ppdm_models.tree import Criterion


def chains(system: System, cells: Cells, criterion: Criterion) -> sparse.csr_matrix:
    """Return the weight of each split row in each chain, shape (split rows, chains), as the module says.

    A chain is a leaf's path through the active nodes, for one pool; chains with the same weights are one.
    """
    candidates = cells.build.split_candidates
    branch, weights = _weights(system, cells, candidates, criterion)
    found: dict[bytes, FloatArray] = {}
    for leaf, lump in zip(*np.unique(cells.lumping.leaf, return_index=True), strict=True):
        for pool in range(len(cells.lumping.kappa)):
            if cells.leaf_total[int(leaf), pool][0] is None:
                continue
            row = np.array(
                [w.get((int(branch[k, lump]), pool), 0.0) for k, w in enumerate(weights)]
            )
            if row.any():
                found[row.tobytes()] = row
    if not found:
        return sparse.csr_matrix((len(candidates), 0))
    return sparse.csr_matrix(np.array(list(found.values())).T)


def _weights(
    system: System, cells: Cells, candidates: list[Candidate], criterion: Criterion
) -> tuple[IntArray, list[dict[tuple[int, int], float]]]:
    """Return the branch of each lump at each row's node, -1 outside, and each row's weight by branch and pool."""
    lumping = cells.lumping
    branch = np.full((len(candidates), len(lumping.weight)), -1, dtype=np.intp)
    found = []
    for k, candidate in enumerate(candidates):
        family = system.rows[candidate.family]
        assert isinstance(family, SplitFamily)
        inside = lumping.of_profile[np.searchsorted(lumping.profiles, family.profiles)]
        branch[k, inside] = family.chosen
        ratio = ratio_of(system, family, candidate)
        whole = _by_pool(cells, np.flatnonzero(branch[k] >= 0), criterion)
        by_branch = {}
        for b in np.unique(family.chosen):
            own = _by_pool(cells, np.flatnonzero(branch[k] == b), criterion)
            for pool, weight in enumerate(own):
                by_branch[int(b), pool] = ratio * weight + max(0.0, 1.0 - ratio) * whole[pool]
        found.append(by_branch)
    return branch, found


def _by_pool(cells: Cells, lumps: IntArray, criterion: Criterion) -> list[float]:
    """Return w of each pool for the leaves of some lumps."""
    lumping = cells.lumping
    records = float(lumping.weight[lumps].sum())
    leaves, weights = np.unique(lumping.leaf[lumps]).tolist(), []
    for pool, kappa in enumerate(lumping.kappa):
        free = known = 0.0
        for leaf in leaves:
            variable, mass = cells.leaf_total[leaf, pool]
            if variable is None:
                known += mass
            else:
                free += float(cells.leaves[leaf].high[pool])
        if criterion is Criterion.GINI:
            weights.append(2 * free / (records * float(kappa)))
        else:
            weights.append(free / (free + known) if free else 0.0)
    return weights


def ratio_of(system: System, family: SplitFamily, candidate: Candidate) -> float:
    """Return a = SI(candidate) / SI(chosen) for the gain ratio, 1 otherwise; it depends on the records alone."""
    if family.criterion is not Criterion.GAIN_RATIO:
        return 1.0
    records = system.case.population.counts[:, None]
    one = replace(family, admissible=family.admissible[[candidate.position]])
    branches = candidate_branches(one, by_bin(one, records))
    return float(ratios(one, by_child(one, records), branches)[0])
