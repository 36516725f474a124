"""When noisy labels are taken as what they are: a claim that nothing speaks against, of one tree.

Under it every table gives the file with some probability, so that labels prove nothing of anybody, and what they tell
is a posterior. Under any other claim labels are left out and keep open whatever hangs on them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from treewarden.audit.claims.noisy_labels import posterior_of_labels
from treewarden.audit.claims.result import ClaimFindings, most_label_epsilon
from treewarden.audit.entropy.posterior import Posterior, certain
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tree.claimed_models import with_claim
from treewarden.ppdm_models.tree.privacy_claim import SplitOrigin
from treewarden.ppdm_models.tree.tree import Tree

SUSPECT_BELOW = 0.05
"""Labels that are truer than so under the claim are not relied on, though they do not refute it."""
MOST_EPSILON = 5.0
"""Above, a label is nearly the commonest class, and is not called noise: our own judgement."""
OTHER_KNOWLEDGE = Undetermined(
    "what noisy labels tell is worked out for adversaries who know nobody's class and no accuracy"
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
