"""When a claim of noisy labels is relied on, and what one noisy label then tells of each person in its leaf.

A claim is relied on where nothing contradicts it, for a single tree. Then every table gives the file with some
probability, so that labels prove nothing of anybody, and what they tell is a posterior, as of a randomised response.
Under any other claim labels are left out, and what depends on them stays undecided.

An adversary knows who is in which leaf, takes everybody's class as drawn by itself from one distribution, and knows how
labels are drawn. By Bayes' rule P(class c | label) is in proportion to prior_c E[P(label | counts)], over the classes
of all others in the leaf: with two classes a sum over a binomial distribution, with no bound and no sample.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from treewarden.audit.claims.leaf_labels import LeafLabels, log_probabilities
from treewarden.audit.claims.result import ClaimFindings, most_label_epsilon
from treewarden.audit.entropy.posterior import Posterior, certain
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.ensemble import with_claim
from treewarden.ppdm_models.tree.privacy_claim import LabelMechanism, SplitOrigin
from treewarden.ppdm_models.tree.tree import Tree

SUSPECT_BELOW = 0.05
"""Labels that are truer than so under the claim are not relied on, though they do not refute it."""
MOST_EPSILON = 5.0
"""Above, a label is nearly the commonest class, and is not called noise: our own judgement."""
OTHER_KNOWLEDGE = Undetermined(
    "noisy labels are evaluated only for adversaries who know no person's class and not "
    "the accuracy"
)


def relied_on(forest: Forest, findings: ClaimFindings | Undetermined) -> Forest:
    """Return the forest with its claim marked as one that may be relied on; as it is where it may not."""
    if isinstance(findings, Undetermined) or not isinstance(forest.model, Tree):
        return forest
    is_sound = not (findings.voids or findings.doubts or findings.is_refuted_by_loss)
    if not is_sound or findings.is_refuted_by_test(SUSPECT_BELOW):
        return forest
    if most_label_epsilon(findings.claim) > MOST_EPSILON or findings.claim.epsilon > MOST_EPSILON:
        return forest
    model = with_claim(forest.model, replace(findings.claim, is_relied_on=True))
    assert isinstance(model, Tree)
    return replace(forest, model=model, trees=(model,))


def noisy_posterior(
    findings: ClaimFindings | Undetermined, population: Population, knowledge: Knowledge
) -> Posterior | Undetermined:
    """Return what noise tells of each profile, (P, k), where the claim is relied on; or why that is not known.

    Exact for labels of two classes where no record had a part in the tests. Elsewhere between the ends that the claim
    leaves: whoever's class is taken as drawn by itself, no output shifts the odds of two classes by more than
    e^(2 epsilon), as another class is one record less and one more.
    """
    if isinstance(findings, Undetermined):
        return findings
    truth, claim = population.truth, findings.claim
    if isinstance(findings.labels, Undetermined) or isinstance(truth, Undetermined):
        return Undetermined(findings.doubts[0])
    if knowledge.facts or knowledge.accuracy:
        return OTHER_KNOWLEDGE
    classes = truth.shape[1]
    prior = truth.sum(axis=0) / truth.sum()
    if not knowledge.marginal:
        prior = np.full(classes, 1 / classes)
    values = np.tile(prior, (len(truth), 1))
    if classes == 2:
        epsilon = most_label_epsilon(claim)
        values = posterior_of_labels(findings.labels, prior, epsilon, claim.mechanism)
        if claim.splits is SplitOrigin.INDEPENDENT:
            return certain(values)
    shift = math.exp(2 * claim.epsilon)
    low = np.broadcast_to(prior / (prior + (1 - prior) * shift), truth.shape)
    high = np.broadcast_to(prior / (prior + (1 - prior) / shift), truth.shape)
    return Posterior(np.clip(values, low, high), np.ones(len(truth), dtype=bool), low, high)


def posterior_of_labels(
    labels: LeafLabels, prior: FloatArray, epsilon: float, mechanism: LabelMechanism
) -> FloatArray:
    """Return how likely each class is of a person of each profile, (P, 2); of one tree of two classes.

    ``prior`` (2,) are the shares of the classes before the file.

    Raises:
        ValueError: there are more trees or classes.
    """
    if len(labels.leaf_of_profile) != 1 or labels.counts.shape[1] != 2:
        raise ValueError("available only for a single tree with two classes")
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
