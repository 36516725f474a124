"""How likely a mechanism draws each label from the counts of the classes in a leaf, in closed form.

Permute-and-flip (McKenna & Sheldon 2020, "Permute-and-flip: a new mechanism for differentially private selection"):
with q_r = e^(-s gap_r), class r is drawn with probability q_r times the sum over sets S of other classes of (-1)^|S|
prod_S q / (|S| + 1), which is the integral of prod (1 - q t) over t from 0 to 1. Gauss and Legendre's rule with k / 2
nodes is exact for it, and adds positive numbers alone. The exponential mechanism (McSherry & Talwar 2007) draws r in
proportion to e^(s count_r). The scale s is epsilon, or half of it where the mechanism does not use that counts only
grow with a record.
"""

from __future__ import annotations

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.privacy_claim import LabelMechanism

MOST_CLASSES = 200
"""The most classes of which probabilities are worked out."""
IS_MONOTONIC = frozenset(
    {LabelMechanism.PERMUTE_AND_FLIP_MONOTONIC, LabelMechanism.EXPONENTIAL_MONOTONIC}
)
IS_EXPONENTIAL = frozenset({LabelMechanism.EXPONENTIAL, LabelMechanism.EXPONENTIAL_MONOTONIC})


def log_probabilities(counts: FloatArray, epsilon: float, mechanism: LabelMechanism) -> FloatArray:
    """Return ln P(label = r) for each leaf and class, (L, k), from the counts of people, (L, k).

    A leaf without people has a label drawn evenly, as its counts are all the same.

    Raises:
        ValueError: the mechanism is not known.
    """
    if mechanism is LabelMechanism.UNKNOWN:
        raise ValueError("the mechanism is not known")
    scale = epsilon if mechanism in IS_MONOTONIC else epsilon / 2
    if not len(counts):
        return np.zeros_like(counts, dtype=np.float64)
    weakness = scale * (counts.max(axis=1, keepdims=True) - counts)
    if mechanism in IS_EXPONENTIAL:
        total = np.log(np.exp(-weakness).sum(axis=1, keepdims=True))
        return np.asarray(-weakness - total, dtype=np.float64)
    return _permute_and_flip(weakness)


def _permute_and_flip(weakness: FloatArray) -> FloatArray:
    """Return ln P of each class, (L, k), from -ln of the probability of its coin, (L, k)."""
    coins = np.exp(-weakness)
    classes = coins.shape[1]
    nodes, weights = np.polynomial.legendre.leggauss(classes // 2 + 1)
    integral = np.zeros_like(coins)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        factors = 1 - coins * node
        before = np.cumprod(np.hstack([np.ones((len(coins), 1)), factors[:, :-1]]), axis=1)
        after = np.cumprod(np.hstack([np.ones((len(coins), 1)), factors[:, :0:-1]]), axis=1)
        integral += weight * before * after[:, ::-1]
    return np.asarray(np.log(integral) - weakness, dtype=np.float64)
