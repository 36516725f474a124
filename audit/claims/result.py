"""What was found of a claim of differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tree.privacy_claim import PrivacyClaim

if TYPE_CHECKING:  # what is worked out of a claim, where there is one
    from treewarden.audit.claims.leaf_labels import LeafLabels
    from treewarden.audit.claims.realised_loss import LabelTest, RealisedLoss

NO_CLAIM = Undetermined(
    "the file claims no differential privacy. If its owner does, state the claim: --claims "
    "epsilon=1,..."
)
NO_EPSILON = Undetermined(
    "the file claims differential privacy but no epsilon; state the claim: --claims epsilon=1,..."
)
CLAIM_NOT_JUDGED = Undetermined(
    "a claim of differential privacy is judged only for one model with its table, and for "
    "the column that it predicts"
)
LOSS_TOLERANCE_SHARE = 1e-9
"""What rounding may add to a loss, as a share of it."""


@dataclass(frozen=True, slots=True, eq=False)
class ClaimFindings:
    """What speaks against a claim, and what the file cost each person if it is kept.

    ``voids`` are the reasons why it is no promise at all, each seen in the file or stated by its owner; ``doubts`` why
    it cannot be judged. ``loss`` and ``test`` are reasons where they are not known. ``labels`` are those of the leaves.
    """

    claim: PrivacyClaim
    voids: tuple[str, ...]
    doubts: tuple[str, ...]
    loss: RealisedLoss | Undetermined
    test: LabelTest | Undetermined
    labels: LeafLabels | Undetermined

    @property
    def is_refuted_by_loss(self) -> bool:
        """Whether somebody lost more than is claimed: a proof that the claim is false."""
        if isinstance(self.loss, Undetermined):
            return False
        return self.loss.low > self.claim.epsilon * (1 + LOSS_TOLERANCE_SHARE)

    def is_refuted_by_test(self, level: float) -> bool:
        """Whether labels as true as these have a probability below ``level`` under the claim."""
        p = self.p_value
        return not isinstance(p, Undetermined) and p < level

    @property
    def p_value(self) -> float | Undetermined:
        """How likely labels as true as these, or truer, are under the claim."""
        if isinstance(self.test, Undetermined):
            return self.test
        return self.test.p_value(most_label_epsilon(self.claim))


def claim_warnings(findings: ClaimFindings | Undetermined) -> tuple[str, ...]:
    """Return what speaks against a claim for sure, or leaves it open, for the reader of a report."""
    if isinstance(findings, Undetermined):
        return ()
    about = "the claim of differential privacy"
    if findings.voids:
        return tuple(f"{about} is void: {reason}" for reason in findings.voids)
    if findings.is_refuted_by_loss:
        return (f"{about} is false: the file costs one person more privacy than claimed",)
    if findings.doubts:
        return tuple(f"{about} is not decided: {reason}" for reason in findings.doubts)
    return (
        (
            f"the audit assumes that labels were drawn as claimed ({findings.claim.words}); it "
            "cannot check the mechanism"
        ),
    )


def most_label_epsilon(claim: PrivacyClaim) -> float:
    """Return the most that a claim lets be spent on the labels of one tree."""
    return claim.epsilon if claim.label_epsilon is None else claim.label_epsilon
