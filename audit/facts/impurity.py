"""Impurity of the branches of a split, in records: n_b * I(b), summed over branches (Zhu & Du 2010, section 3)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treewarden.audit.facts.rows import Grouping, SplitFamily
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, ShortArray
from treewarden.ppdm_models.tree.tree import Criterion

FEW_CLASSES = 4
"""Up to so many, classes are quicker summed one after the other."""

# The two functions below are the whole of the arithmetic. ``masses`` has shape (..., m): records per class of a branch.


def branch_impurity(criterion: Criterion, masses: FloatArray) -> FloatArray:
    """Return n_b * I(b) of each branch, shape (...): gini, or entropy in nats (also for the gain ratio)."""
    total = masses.sum(axis=-1, keepdims=True)
    if criterion is Criterion.GINI:
        squares = np.divide(masses**2, total, out=np.zeros_like(masses), where=total > 0)
        return np.asarray(total[..., 0] - squares.sum(axis=-1))
    share = np.divide(masses, total, out=np.ones_like(masses), where=(total > 0) & (masses > 0))
    return np.asarray(-(masses * np.log(share)).sum(axis=-1))


def split_information(records: FloatArray) -> FloatArray:
    """Return the entropy of the branch sizes, in nats; ``records`` has shape (..., branches) (Quinlan 1993)."""
    total = records.sum(axis=-1, keepdims=True)
    share = np.divide(records, total, out=np.ones_like(records), where=records > 0)
    return np.asarray(-(records / total * np.log(share)).sum(axis=-1))


def by_bin(family: SplitFamily, mass: FloatArray) -> FloatArray:
    """Return the masses in each bin of the family's attribute at its node, shape (B, m)."""
    return grouped(family.bins, _inside(family, mass), len(family.bin_names))


def by_child(family: SplitFamily, mass: FloatArray) -> FloatArray:
    """Return the masses in each branch of the split that was chosen, shape (branches, m)."""
    return grouped(family.chosen, _inside(family, mass), int(family.chosen.max()) + 1)


def _inside(family: SplitFamily, mass: FloatArray) -> FloatArray:
    here = mass.take(family.profiles, axis=0)
    return here if family.weights is None else here * family.weights[:, None]


def grouped(groups: IndexArray | ShortArray, mass: FloatArray, count: int) -> FloatArray:
    """Return the sums of masses (K, m) by group, shape (count, m)."""
    width = mass.shape[1]
    if width <= FEW_CLASSES:
        columns = (np.bincount(groups, mass[:, klass], count) for klass in range(width))
        return np.stack([column.astype(np.float64) for column in columns], axis=1)
    cells = (groups[:, None] * width + np.arange(width)).ravel()
    sums = np.bincount(cells, weights=mass.ravel(), minlength=count * width)
    return sums.astype(np.float64).reshape(count, width)


def candidate_branches(family: SplitFamily, bins: FloatArray) -> FloatArray:
    """Return the masses in the branches of every admissible candidate, shape (A, branches, m)."""
    if family.grouping is Grouping.MULTIWAY:
        return bins[None]
    if family.grouping is Grouping.THRESHOLD:
        left = np.cumsum(bins, axis=0)[family.admissible]
    elif family.grouping is Grouping.ONE_AGAINST_REST:
        left = bins[family.admissible]
    else:
        inside = (family.admissible[:, None] >> np.arange(len(bins))) & 1
        left = inside @ bins
    return np.stack([left, bins.sum(axis=0) - left], axis=1)


def excess(family: SplitFamily, mass: FloatArray) -> FloatArray:
    """Return by how much each admissible candidate beats the chosen split, per record of the node, shape (A,).

    Positive means that the row is violated. For gini and entropy this is E(chosen) - E(candidate). For the gain ratio,
    gain(chosen) / SI(chosen) >= gain(candidate) / SI(candidate) is multiplied by SI(candidate): with
    a = SI(candidate) / SI(chosen) the excess is a * E(chosen) - E(candidate) + (1 - a) * I(node).
    """
    here = _inside(family, mass)
    children = grouped(family.chosen, here, int(family.chosen.max()) + 1)
    bins = grouped(family.bins, here, len(family.bin_names))
    branches = candidate_branches(family, np.maximum(bins, 0.0))
    records = float(bins.sum())
    chosen = branch_impurity(family.criterion, np.maximum(children, 0.0)).sum()
    candidate = branch_impurity(family.criterion, np.maximum(branches, 0.0)).sum(axis=-1)
    ratio = ratios(family, children, branches)
    node = branch_impurity(family.criterion, np.maximum(bins.sum(axis=0), 0.0))
    return np.asarray((ratio * chosen - candidate + (1 - ratio) * node) / records)


def ratios(family: SplitFamily, children: FloatArray, branches: FloatArray) -> FloatArray:
    """Return a = SI(candidate) / SI(chosen) of each candidate, shape (A,); 1 unless the gain ratio decides."""
    if family.criterion is not Criterion.GAIN_RATIO:
        return np.ones(len(branches))
    of_chosen = split_information(children.sum(axis=-1))
    return np.asarray(split_information(branches.sum(axis=-1)) / of_chosen)


def ratio_at(family: SplitFamily, position: int, counts: FloatArray) -> float:
    """Return the ratio of one candidate; it depends on the profiles' records ``counts`` (P,) alone."""
    if family.criterion is not Criterion.GAIN_RATIO:
        return 1.0
    records = counts[:, None]
    one = replace(family, admissible=family.admissible[[position]])
    branches = candidate_branches(one, by_bin(one, records))
    return float(ratios(one, by_child(one, records), branches)[0])
