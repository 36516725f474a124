"""The claim of differential privacy of a whole model: what its file says, and what its owner states of it."""

from __future__ import annotations

from dataclasses import replace

from treewarden.ppdm_models.tree.ensemble import Model, trees_of, with_trees
from treewarden.ppdm_models.tree.privacy_claim import PrivacyClaim
from treewarden.ppdm_models.tree.tree import PRIVACY, Tree


def claims_privacy(model: Model) -> bool:
    """Return whether some tree of a model claims differential privacy, whatever is known of the claim."""
    return any(tree.learner.claims_privacy for tree in trees_of(model))


def claim_of(model: Model) -> PrivacyClaim | None:
    """Return the claim of a model; None where none is known, or where its trees claim different things."""
    claims = {tree.learner.claim for tree in trees_of(model)}
    return claims.pop() if len(claims) == 1 else None


def with_claim(model: Model, claim: PrivacyClaim) -> Model:
    """Return the model with this claim: its labels and numbers may have been drawn, and none is taken for certain."""
    if isinstance(model, Tree):
        return _claiming(model, claim)
    claimed = (_claiming(tree, claim) for tree in trees_of(model))
    return replace(with_trees(model, claimed), growth=model.growth, sampling=model.sampling)


def _claiming(tree: Tree, claim: PrivacyClaim) -> Tree:
    learner = tree.learner
    unmodelled = learner.unmodelled if learner.claims_privacy else (*learner.unmodelled, PRIVACY)
    return replace(tree, learner=replace(learner, unmodelled=unmodelled, claim=claim))
