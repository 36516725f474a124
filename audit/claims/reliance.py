"""When noisy labels are taken as what they are: a claim that nothing speaks against, of one tree.

Under it every table gives the file with some probability, so that labels prove nothing of anybody, and what they tell
is a posterior. Under any other claim labels are left out and keep open whatever hangs on them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treewarden.audit.claims.noisy_labels import posterior_of_labels
from treewarden.audit.claims.result import ClaimFindings, most_label_epsilon
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.claimed_models import with_claim
from treewarden.ppdm_models.tree.tree import Tree

SUSPECT_BELOW = 0.05
"""Labels that are truer than so under the claim are not relied on, though they do not refute it."""
MOST_EPSILON = 5.0
"""Above, a label is nearly the commonest class, and is not called noise: our own judgement."""
MANY_CLASSES = Undetermined("what noisy labels of more than two classes tell is not worked out")
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
) -> FloatArray | Undetermined:
    """Return what noisy labels tell of each profile, (P, 2), where the claim is relied on; or why that is not known."""
    if isinstance(findings, Undetermined):
        return findings
    truth = population.truth
    if isinstance(findings.labels, Undetermined) or isinstance(truth, Undetermined):
        return Undetermined(findings.doubts[0])
    if truth.shape[1] != 2:
        return MANY_CLASSES
    if knowledge.facts or knowledge.accuracy:
        return OTHER_KNOWLEDGE
    prior = truth.sum(axis=0) / truth.sum() if knowledge.marginal else np.full(2, 0.5)
    epsilon = most_label_epsilon(findings.claim)
    return posterior_of_labels(findings.labels, prior, epsilon, findings.claim.mechanism)
