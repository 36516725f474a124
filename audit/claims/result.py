"""What was found of a claim of differential privacy, and what side channels mean for one.

A file keeps its promise only if all of it does. What else was computed from the records (a mean, a count, an error) was
published without noise, and voids the claim. What may have been, or may as well be public (a range, a list of values),
leaves it open. What says nothing of the records (who wrote the file, when and where) is harmless.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tree.privacy_claim import (
    ClaimUnit,
    PrivacyClaim,
    SplitOrigin,
    add_epsilons,
)
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

if TYPE_CHECKING:  # what is worked out of a claim, where there is one
    from treewarden.audit.claims.leaf_labels import LeafLabels
    from treewarden.audit.claims.realised_loss import LabelTest, RealisedLoss

NO_CLAIM = Undetermined(
    "the file claims no differential privacy. If the owner claims it, state the claim, such as --claims "
    "epsilon=1"
)
NO_EPSILON = Undetermined(
    "the file claims differential privacy but no epsilon; state the claim, such as --claims epsilon=1"
)
CLAIM_NOT_JUDGED = Undetermined(
    "a claim of differential privacy is judged only for the column that the model predicts, and "
    "for adversaries who know all columns of the audit"
)
DEFAULT_LEVEL = 0.001
"""The significance level of the test of labels, where a policy names none."""
DEFAULT_DELTA = 1e-6
"""The largest delta that a claim may have, where a policy names none."""
MOST_DELTA = 0.01
"""The most that a policy may allow: with more, a mechanism may publish the records of one person in a hundred."""
LOSS_TOLERANCE_SHARE = 1e-9
"""What decimal numbers that are added up may add to an epsilon, as a share of it."""
NO_SHARE_OF_LABELS = Undetermined(
    "the claim does not state the epsilon of the labels, so it is not known how wrong they may be"
)
LEAST_LEVEL = 1e-4
"""The lowest level of a test: below it labels that speak against a claim would be taken for chance."""
LEAST_SHOWN = 1e-9
"""The lowest probability that is shown: it is a sum, or 1 less one, exact to some 1e-12."""
MOST_LEVEL = 0.05
"""The highest level of a test: labels of a true claim are not relied on so often, and refuted more rarely."""


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
        return _excess(self.loss, self.claim.epsilon) > self.loss.rounding

    @property
    def is_open_by_rounding(self) -> bool:
        """Whether rounding does not let anybody tell if somebody lost more than is claimed."""
        if isinstance(self.loss, Undetermined):
            return False
        return 0 < _excess(self.loss, self.claim.epsilon) <= self.loss.rounding

    def contradicts_table(self, level: float) -> bool:
        """Whether labels as bad as these have a probability below ``level`` under the claim."""
        p = self.p_value_of_contradiction
        return not isinstance(p, Undetermined) and p < max(level, LEAST_LEVEL)

    @property
    def p_value_of_contradiction(self) -> float | Undetermined:
        """How likely labels as bad as these are with the noise that is claimed."""
        if isinstance(self.test, Undetermined):
            return self.test
        if self.claim.label_epsilon is None and self.claim.splits is not SplitOrigin.INDEPENDENT:
            return NO_SHARE_OF_LABELS
        return self.test.p_value_of_contradiction(most_label_epsilon(self.claim))

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


class ClaimOutcome(StrEnum):
    """What came of a claim: it is no promise, it is false, nothing speaks against it, or it could not be judged."""

    VOID = "void"
    REFUTED = "refuted"
    NOT_REFUTED = "not refuted"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """What came of a claim, and why; nothing is to be said of one that nothing speaks against."""

    outcome: ClaimOutcome
    reason: str = ""


def judge_findings(
    findings: ClaimFindings, level: float = DEFAULT_LEVEL, delta: float = DEFAULT_DELTA
) -> ClaimVerdict:
    """Return what came of a claim at a significance level of the test, where a policy allows so much delta."""
    if findings.voids:
        return ClaimVerdict(ClaimOutcome.VOID, f"the claim is void: {findings.voids[0]}")
    if findings.is_refuted_by_loss:
        reason = (
            "the claim is false: under the named mechanism, the file costs one person more than "
            f"epsilon = {findings.claim.epsilon:g}"
        )
        return ClaimVerdict(ClaimOutcome.REFUTED, reason)
    if findings.is_refuted_by_test(level):
        reason = (
            "the claim is refuted: if it were true, labels as accurate as these would have a "
            f"probability of {findings.p_value:.2g}; the policy's significance level is {level:g}"
        )
        return ClaimVerdict(ClaimOutcome.REFUTED, reason)
    if findings.contradicts_table(level):
        return ClaimVerdict(ClaimOutcome.UNDETERMINED, _contradiction(findings))
    if findings.claim.delta > delta:
        reason = f"the claimed delta is {findings.claim.delta:g}, more than the policy allows"
        return ClaimVerdict(ClaimOutcome.UNDETERMINED, reason)
    if findings.doubts:
        return ClaimVerdict(ClaimOutcome.UNDETERMINED, findings.doubts[0])
    if findings.is_open_by_rounding:
        return ClaimVerdict(ClaimOutcome.UNDETERMINED, ROUNDED)
    return ClaimVerdict(ClaimOutcome.NOT_REFUTED)


def why_not_measured(findings: ClaimFindings | ComposedClaim) -> str:
    """Return why what a claim cost people is not known, "" where nothing speaks against it.

    Under any other claim nobody knows how labels were drawn. A delta does not change what was drawn.
    """
    verdict = findings.judge(delta=1.0) if isinstance(findings, ComposedClaim) else None
    if isinstance(findings, ClaimFindings):
        verdict = judge_findings(findings, delta=1.0)
    assert verdict is not None
    return "" if verdict.outcome is ClaimOutcome.NOT_REFUTED else verdict.reason


ROUNDED = (
    "epsilon is so small that rounding hides whether one person lost more than it; claim a larger epsilon, such as "
    "0.000001"
)


def _excess(loss: RealisedLoss, epsilon: float) -> float:
    """Return by how much more than epsilon somebody lost, as it was worked out."""
    return loss.low - epsilon * (1 + LOSS_TOLERANCE_SHARE)


def _contradiction(findings: ClaimFindings) -> str:
    p = findings.p_value_of_contradiction
    assert not isinstance(p, Undetermined)
    chance = f"{p:.2g}" if p > LEAST_SHOWN else f"less than {LEAST_SHOWN:g}"
    return (
        "labels as wrong as these would have a probability of "
        f"{chance} with the noise that is claimed. So the table is not the training table, or the "
        "labels were drawn otherwise; give the table that the model was trained on, or correct the claim"
    )


@dataclass(frozen=True, slots=True)
class ReleaseClaim:
    """One of several releases, and what was found of its claim; why nothing where it makes none.

    ``is_one_each`` says that each person is known to have one record in its table.
    """

    name: str
    findings: ClaimFindings | Undetermined
    is_one_each: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ComposedClaim:
    """The claims of several releases together: what their files promise a person who is in all of them.

    ``loss`` is what all files cost each person together, or why that is not known. Where the tables are not
    ``is_linked``, nobody knows who is in several of them, and the sum of the epsilons is only the most that can be.
    """

    releases: tuple[ReleaseClaim, ...]
    loss: RealisedLoss | Undetermined
    is_linked: bool

    @property
    def epsilon(self) -> float:
        """The sum of the epsilons that are claimed, as decimal numbers add up."""
        return add_epsilons(found.claim.epsilon for _, found in self._findings)

    @property
    def delta(self) -> float:
        """The sum of the deltas that are claimed."""
        return add_epsilons(found.claim.delta for _, found in self._findings)

    @property
    def largest(self) -> float:
        """The largest epsilon that one of them claims."""
        return max((found.claim.epsilon for _, found in self._findings), default=0.0)

    @property
    def units(self) -> tuple[ClaimUnit, ...]:
        """The units that are claimed, each once: what is not said is a record."""
        said = (found.claim.unit is ClaimUnit.PERSON for _, found in self._findings)
        return tuple(
            ClaimUnit.PERSON if is_person else ClaimUnit.RECORD for is_person in dict.fromkeys(said)
        )

    @property
    def words(self) -> str:
        """What all of them claim together; of units that differ none is named."""
        delta = f", delta={self.delta!r}" if self.delta else ""
        unit = f", unit={self.units[0].value}" if len(self.units) == 1 else ""
        return f"epsilon={self.epsilon!r}{delta}{unit}"

    @property
    def has_mixed_units(self) -> bool:
        """Whether losses of persons and of records are added up, which are alike only where each has one record.

        Different tables are linked by ids that stand for one record each in all of them; one table by its records.
        """
        about_persons = [
            release.is_one_each
            for release in self.releases
            if not isinstance(release.findings, Undetermined)
            and release.findings.claim.unit is ClaimUnit.PERSON
        ]
        return len(self.units) > 1 and not (self.is_linked and all(about_persons))

    @property
    def voids(self) -> tuple[str, ...]:
        """Why a claim of one of them is no promise."""
        return tuple(f"{name}: {found.voids[0]}" for name, found in self._findings if found.voids)

    @property
    def _findings(self) -> Iterator[tuple[str, ClaimFindings]]:
        for release in self.releases:
            if not isinstance(release.findings, Undetermined):
                yield release.name, release.findings

    def judge(self, level: float = DEFAULT_LEVEL, delta: float = DEFAULT_DELTA) -> ClaimVerdict:
        """Return what came of all claims together: one that is void or false is worst, then one that is open."""
        verdicts = [(release.name, _verdict_of(release, level, delta)) for release in self.releases]
        for outcome in (ClaimOutcome.VOID, ClaimOutcome.REFUTED):
            for name, verdict in verdicts:
                if verdict.outcome is outcome:
                    return ClaimVerdict(outcome, f"{name}: {verdict.reason}")
        loss, excess = self.loss, 0.0
        if not isinstance(loss, Undetermined):
            excess = _excess(loss, self.epsilon)
        if not isinstance(loss, Undetermined) and excess > loss.rounding:
            reason = f"all files together cost one person more than epsilon = {self.epsilon:g}"
            return ClaimVerdict(ClaimOutcome.REFUTED, reason)
        for name, verdict in verdicts:
            if verdict.outcome is ClaimOutcome.UNDETERMINED:
                return ClaimVerdict(verdict.outcome, f"{name}: {verdict.reason}")
        if self.has_mixed_units:
            return ClaimVerdict(ClaimOutcome.UNDETERMINED, MIXED_UNITS)
        if self.delta > delta:
            reason = f"the claimed deltas add up to {self.delta:g}, more than the policy allows"
            return ClaimVerdict(ClaimOutcome.UNDETERMINED, reason)
        if excess > 0:
            return ClaimVerdict(ClaimOutcome.UNDETERMINED, ROUNDED)
        return ClaimVerdict(ClaimOutcome.NOT_REFUTED)


MIXED_UNITS = (
    "some claims are about persons and others about records, and these add up only where each person is known to have "
    "one record in each table; add --id COLUMN, or claim unit=person for all"
)


def _verdict_of(release: ReleaseClaim, level: float, delta: float) -> ClaimVerdict:
    if isinstance(release.findings, Undetermined):
        return ClaimVerdict(ClaimOutcome.UNDETERMINED, release.findings.reason)
    return judge_findings(release.findings, level, delta)


def most_label_epsilon(claim: PrivacyClaim) -> float:
    """Return the most that a claim lets be spent on the labels of one tree."""
    return claim.epsilon if claim.label_epsilon is None else claim.label_epsilon


# What a side channel means for a claim.


class ClaimEffect(StrEnum):
    """Whether a side channel voids a claim, leaves it open, or does neither."""

    VOIDS = "voids"
    DOUBTS = "doubts"
    HARMLESS = "harmless"


EFFECTS = {
    LeakKind.RAW_RECORDS: ClaimEffect.VOIDS,
    LeakKind.EXACT_TARGETS: ClaimEffect.VOIDS,
    LeakKind.RARE_VALUES: ClaimEffect.VOIDS,
    LeakKind.OLD_MODEL: ClaimEffect.DOUBTS,  # it spent an epsilon of its own, if it had any
    LeakKind.PERSON: ClaimEffect.DOUBTS,  # perhaps of the table
    LeakKind.UNKNOWN: ClaimEffect.DOUBTS,
    LeakKind.EXTREMES: ClaimEffect.DOUBTS,  # a range of values may be public
    LeakKind.MEDIANS: ClaimEffect.VOIDS,
    LeakKind.AVERAGES: ClaimEffect.VOIDS,
    LeakKind.HISTOGRAM: ClaimEffect.VOIDS,
    LeakKind.CATEGORIES: ClaimEffect.DOUBTS,  # a list of values may be public
    LeakKind.TARGET_STATISTICS: ClaimEffect.VOIDS,
    LeakKind.SMALL_COUNTS: ClaimEffect.VOIDS,
    LeakKind.PER_RECORD: ClaimEffect.VOIDS,
    LeakKind.REPLAY: ClaimEffect.VOIDS,  # the draws can be repeated
    LeakKind.DIFFERENCING: ClaimEffect.VOIDS,
    LeakKind.AUTHOR: ClaimEffect.HARMLESS,
    LeakKind.PATH: ClaimEffect.HARMLESS,
    LeakKind.TIMESTAMP: ClaimEffect.HARMLESS,
    LeakKind.IDENTIFIER: ClaimEffect.HARMLESS,
}
"""Of every kind, in the order in which they are listed; of what is only possible see ``effect_of``."""
NOT_PROTECTED = (
    "the file contains {what}, which was computed from the records without noise; {advice}"
)
NOT_JUDGED = (
    "the file contains {what}, and nothing says that this was known without the records; {advice}"
)
REDACT = "remove it (treewarden redact), or train without it"
TREES_ALONE = "write only the trees (treewarden convert MODEL NEW.pmml), or train without it"


def effect_of(leak: Leak) -> ClaimEffect:
    """Return what a side channel means for a claim; what may be there or not is a doubt where it would void."""
    effect = EFFECTS[leak.kind]
    return ClaimEffect.DOUBTS if leak.is_possible and effect is ClaimEffect.VOIDS else effect


def voids_beside_trees(leaks: Iterable[Leak]) -> Iterator[str]:
    """Yield why side channels void a claim; a seed is told of elsewhere."""
    for leak in leaks:
        if leak.kind is not LeakKind.REPLAY and effect_of(leak) is ClaimEffect.VOIDS:
            yield _reason(NOT_PROTECTED, leak)


def doubts_beside_trees(leaks: Iterable[Leak]) -> Iterator[str]:
    """Yield why side channels leave a claim open."""
    for leak in leaks:
        if effect_of(leak) is ClaimEffect.DOUBTS:
            yield _reason(NOT_JUDGED, leak)


def _reason(sentence: str, leak: Leak) -> str:
    place = f" ({leak.where})" if leak.where else ""
    advice = REDACT if leak.removable else TREES_ALONE
    return sentence.format(what=f"{leak.what}{place}", advice=advice)
