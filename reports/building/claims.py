"""Claims of differential privacy in a report: what is claimed, what came of it, and what the file really cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.claims.result import (
    DEFAULT_DELTA,
    DEFAULT_LEVEL,
    NO_EPSILON,
    ClaimFindings,
    ClaimOutcome,
    ClaimVerdict,
    ComposedClaim,
    judge_findings,
)
from treewarden.audit.reading import ALONE, Undetermined
from treewarden.audit.result import NOT_MEASURED, Audit, Exposure
from treewarden.policies.pack import Pack, measure_call
from treewarden.ppdm_models.tree.privacy_claim import ClaimUnit
from treewarden.reports.building.worded import value
from treewarden.reports.document.inferred_parts import Claim, PersonLoss
from treewarden.reports.document.parts import Value, number
from treewarden.reports.document.words import sentence

MEASURE, USED, LOST = "epsilon", "epsilon_used", "epsilon_realised"
UNIT = "nats"
ALL = "all releases"
UNCHECKED = "The audit assumes that labels were drawn as claimed; it cannot check the program."
DIGITS = 3
"""So many digits of a probability are told."""
LOSS_DIGITS = 6
"""So many digits of a loss are told."""
MOST_LOSSES = 50
"""So many groups with a value are told of, those who lost most; the file of --posterior has all."""
NEARLY = 0.99
"""Who lost this share of epsilon lost nearly all of it."""


@dataclass(frozen=True, slots=True)
class _ClaimCheck:
    """What a policy asks of a claim: the significance level of the test, and the largest delta."""

    level: float = DEFAULT_LEVEL
    delta: float = DEFAULT_DELTA


def claim_parts(audit: Audit, pack: Pack) -> tuple[Claim, ...]:
    """Return what came of each claim, those of several releases one by one and then all together."""
    return tuple(_claims(audit, _check_of(pack)))


def _check_of(pack: Pack) -> _ClaimCheck:
    """Return what a policy asks; where it asks nothing of claims, what the metric has."""
    for clause in pack.clauses:
        if clause.measure == MEASURE:
            parameters = dict(measure_call(clause).parameters)
            return _ClaimCheck(float(parameters["level"]), float(parameters["delta"]))
    return _ClaimCheck()


def _claims(audit: Audit, check: _ClaimCheck) -> Iterator[Claim]:
    claim = audit.full.evidence.claim
    if isinstance(claim, ClaimFindings):
        yield _claim("", claim, audit.full, check)
    elif claim is NO_EPSILON:
        yield _open("", NO_EPSILON.reason, check)
    elif isinstance(claim, ComposedClaim):
        alone = {exposure.of: exposure for exposure in audit.exposures if not exposure.under}
        for release in claim.releases:
            if isinstance(release.findings, Undetermined):
                yield _open(release.name, release.findings.reason, check)
            else:
                exposure = alone.get(ALONE.format(release.name))
                yield _claim(release.name, release.findings, exposure, check)
        yield _of_all(claim, audit.full, check)


def _open(name: str, reason: str, check: _ClaimCheck) -> Claim:
    """Return that nothing could be judged, as nothing is known to be claimed."""
    unknown = value(Undetermined(reason), UNIT)
    return Claim(
        of=name,
        words="",
        outcome="undetermined",
        reason=reason,
        level=number(check.level),
        epsilon_used=unknown,
        largest_loss=unknown,
        summary=sentence(reason),
    )


def _claim(name: str, findings: ClaimFindings, seen: Exposure | None, check: _ClaimCheck) -> Claim:
    verdict = judge_findings(findings, check.level, check.delta)
    used, lost, p = _read(seen, USED), _read(seen, LOST), findings.p_value
    return Claim(
        of=name,
        words=findings.claim.words,
        outcome=verdict.outcome.value,
        reason=verdict.reason,
        level=number(check.level),
        p_value=None if isinstance(p, Undetermined) else number(float(f"{p:.{DIGITS}g}")),
        epsilon_used=used,
        largest_loss=lost,
        summary=_summary(verdict, used, lost, is_last=not name, persons=_of_persons(findings)),
    ).model_copy(update=_losses(findings, seen))


def _of_all(composed: ComposedClaim, seen: Exposure, check: _ClaimCheck) -> Claim:
    verdict = composed.judge(check.level, check.delta)
    used, lost = _read(seen, USED), _read(seen, LOST)
    return Claim(
        of=ALL,
        words=composed.words,
        outcome=verdict.outcome.value,
        reason=verdict.reason,
        level=number(check.level),
        epsilon_used=used,
        largest_loss=lost,
        summary=_summary(verdict, used, lost),
    )


def _losses(findings: ClaimFindings, seen: Exposure | None) -> dict[str, object]:
    """Return what the file cost each person; nothing where that is not known, or the claim is void."""
    loss = findings.loss
    if isinstance(loss, Undetermined) or findings.voids or seen is None:
        return {}
    people, classes = seen.evidence.population, seen.evidence.classes
    truth = people.truth
    if isinstance(truth, Undetermined) or truth.shape != loss.of_cell.shape:
        return {}
    lost = np.abs(loss.of_cell)
    profiles, codes = np.nonzero(truth > 0)
    order = np.argsort(-lost[profiles, codes], kind="stable")
    rows = tuple(
        PersonLoss(
            profile=people.describe(int(profiles[row])),
            value=classes[int(codes[row])],
            people=number(float(truth[profiles[row], codes[row]])),
            loss=number(float(f"{lost[profiles[row], codes[row]]:.{LOSS_DIGITS}g}")),
        )
        for row in order[:MOST_LOSSES].tolist()
    )
    at_epsilon = np.nan_to_num(lost) >= NEARLY * findings.claim.epsilon
    return {
        "mean_loss": number(float(f"{loss.mean:.{LOSS_DIGITS}g}")),
        "people_at_epsilon": number(float(truth[at_epsilon].sum())),
        "losses": rows,
        "losses_left_out": len(order) - len(rows),
    }


def _read(seen: Exposure | None, measure: str) -> Value:
    return value((NOT_MEASURED if seen is None else seen.measured(measure)).reading, UNIT)


def _of_persons(findings: ClaimFindings) -> str:
    """Return what is said of a person with several records, to whom a claim about records promises less."""
    loss = findings.loss
    if isinstance(loss, Undetermined) or loss.most_records == 1:
        return ""
    if findings.claim.unit is ClaimUnit.PERSON:
        return ""
    return f" (epsilon is for one record, and one person has {loss.most_records:,} records)"


def _summary(
    verdict: ClaimVerdict, used: Value, lost: Value, *, is_last: bool = True, persons: str = ""
) -> str:
    """Return what is said of a claim; what the audit assumes of all of them is said once, with the last."""
    if verdict.outcome is not ClaimOutcome.NOT_REFUTED:
        return sentence(verdict.reason)
    said = []
    if (used.low, used.high) == (0, "inf"):
        said.append("the labels do not tell which epsilon was used")
    elif not used.reason:
        said.append(f"the labels fit an epsilon of {_figures(used)} (95 % confidence)")
    if not lost.reason:
        said.append(f"no person lost more than {_figures(lost).rpartition(' to ')[2]}{persons}")
    told = sentence(", and ".join(said)) if said else ""
    return f"{told} {UNCHECKED if is_last else ''}".strip() or "Nothing speaks against it."


def _figures(figure: Value) -> str:
    return figure.text.replace(f" {UNIT}", "")
