"""What one noisy label tells of each person in its leaf: the exact posterior, as of a randomised response.

An adversary knows who is in which leaf, takes everybody's class as drawn by itself from one distribution, and knows how
labels are drawn. By Bayes' rule P(class c | label) is in proportion to prior_c E[P(label | counts)], over the classes
of all others in the leaf: with two classes a sum over a binomial distribution, with no bound and no sample.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.claims.leaf_labels import LeafLabels
from treewarden.audit.claims.mechanisms import log_probabilities
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.privacy_claim import LabelMechanism


def posterior_of_labels(
    labels: LeafLabels, prior: FloatArray, epsilon: float, mechanism: LabelMechanism
) -> FloatArray:
    """Return how likely each class is of a person of each profile, (P, 2); of one tree of two classes.

    ``prior`` (2,) are the shares of the classes before the file.

    Raises:
        ValueError: there are more trees or classes.
    """
    if len(labels.leaf_of_profile) != 1 or labels.counts.shape[1] != 2:
        raise ValueError("one tree of two classes is needed")
    people = np.rint(labels.counts.sum(axis=1)).astype(np.int64)
    kinds, kind_of_leaf = np.unique(
        np.stack([people, labels.labels], axis=1), axis=0, return_inverse=True
    )
    found = np.array(
        [
            _of_leaf(size, label, prior, epsilon=epsilon, mechanism=mechanism)
            for size, label in kinds.tolist()
        ]
    )
    return np.asarray(found[kind_of_leaf.reshape(-1)][labels.leaf_of_profile[0]])


def _of_leaf(
    size: int, label: int, prior: FloatArray, *, epsilon: float, mechanism: LabelMechanism
) -> FloatArray:
    """Return how likely each class is of one of so many people, (2,)."""
    if size == 0:
        return prior
    others = np.arange(size, dtype=np.float64)
    chances = _binomial(size - 1, float(prior[0]))
    found = np.empty(2)
    for place in range(2):
        counts = np.stack([others, size - 1 - others], axis=1)
        counts[:, place] += 1
        drawn = np.exp(log_probabilities(counts, epsilon, mechanism)[:, label])
        found[place] = prior[place] * float(chances @ drawn)
    return np.asarray(found / found.sum())


def _binomial(trials: int, share: float) -> FloatArray:
    """Return the probabilities of 0 to ``trials`` successes."""
    if share <= 0 or share >= 1:
        found = np.zeros(trials + 1)
        found[trials if share >= 1 else 0] = 1.0
        return found
    steps = np.arange(1, trials + 1, dtype=np.float64)
    ways = np.concatenate([[0.0], np.cumsum(np.log(trials - steps + 1) - np.log(steps))])
    successes = np.arange(trials + 1)
    logs = ways + successes * np.log(share) + (trials - successes) * np.log1p(-share)
    found = np.exp(logs - logs.max())
    return np.asarray(found / found.sum())
